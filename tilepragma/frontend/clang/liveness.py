"""Liveness: which outside variables may be read after a region before they are written again."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.frontend.clang.cursor_tree import LOOPS, CursorKind, Key, Node, TypeKind, strip
from tilepragma.frontend.clang.lowering_context import FunctionFacts
from tilepragma.frontend.clang.struct_members import overlaps_of
from tilepragma.frontend.pragma.text_scan import header_semicolons

_UNSTRUCTURED = {
    *(CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT, CursorKind.LABEL_STMT, CursorKind.SWITCH_STMT),
    *(CursorKind.ASM_STMT, CursorKind.StmtExpr),
}
_ARRAYS = {TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY}
_LEAVING = {CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT}
_WITH_STATEMENTS = {*LOOPS, CursorKind.IF_STMT, CursorKind.COMPOUND_STMT}


class _Effect(Enum):
    """What code does first with the variable."""

    READS = "may read it before writing it"
    KILLS = "writes it, or ends the function, on every path before reading it"
    PASSES = "neither"


class _Relation(Enum):
    """How an lvalue relates to a variable, or to its member."""

    WHOLE = "it covers all of it, and perhaps more"
    PART = "it is a part of it, or shares memory with it"
    OTHER_MEMBER = "it is another member of the same variable"


@dataclass(frozen=True)
class _Variable:
    """A variable, or the member of a struct that `members` lead to."""

    key: Key
    members: tuple[str, ...]

    def relation(self, node: Node) -> _Relation | None:
        """How `node` relates to it; None if `node` is no part of the variable."""
        path: list[Node] = []
        while node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
            path.insert(0, node)
            node = strip(node.children[0])
        if not _is_reference(node, self.key):
            return None
        for member, name in zip(path, self.members, strict=False):
            if member.spelling != name:
                return _Relation.PART if name in overlaps_of(member) else _Relation.OTHER_MEMBER
        return _Relation.WHOLE if len(path) <= len(self.members) else _Relation.PART


@dataclass(frozen=True)
class Liveness:
    """The function around a region, and the statements from its body down to the region."""

    facts: FunctionFacts
    path: tuple[Node, ...]

    def read_after(self, declaration: Node, members: tuple[str, ...] = ()) -> bool:
        """Whether the variable's or member's value may be read after the region; true in doubt."""
        if not declaration.is_local or declaration.storage in ("STATIC", "EXTERN"):
            return True
        if declaration.key in self._addressed or not _UNSTRUCTURED.isdisjoint(_contents(self.facts.node).kinds):
            return True
        return self._after(declaration, _Variable(declaration.key, members))

    @cached_property
    def _addressed(self) -> frozenset[Key]:
        """The variables of which code outside the region takes the address, or that of a part;
        functions in the region keep none.
        """
        keys, pending = set(), [self.facts.node]
        while pending:
            node = pending.pop()
            if self._is_region(node):
                continue
            if node.takes_address:
                operand = strip(node.children[0])
                while (
                    operand.kind in (CursorKind.MEMBER_REF_EXPR, CursorKind.ARRAY_SUBSCRIPT_EXPR) and operand.children
                ):
                    operand = strip(operand.children[0])
                if operand.named is not None:
                    keys.add(operand.named.key)
            pending += node.children
        return frozenset(keys)

    def _is_region(self, node: Node) -> bool:
        return node.start == self.path[-1].start and node.end == self.path[-1].end

    def forgets(self, declaration: Node, rank: int, members: tuple[str, ...] = ()) -> bool:
        """Whether the array, or member, is dead after the region.

        It must be automatic, and the function may use only its elements outside the region.
        """
        is_array = declaration.kind == CursorKind.VAR_DECL and (declaration.type.kind in _ARRAYS or bool(members))
        if not is_array or self.read_after(declaration, members):
            return False
        return not self._escapes(self.facts.node, _Variable(declaration.key, members), rank)

    def _escapes(self, node: Node, array: _Variable, rank: int) -> bool:
        """Whether `node` uses the array, or a row of it, as a pointer outside the region."""
        if self._is_region(node):
            return False
        if node.takes_address:
            return any(_is_reference(inner, array.key) for inner in node.walk())
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            base, indices = node, []
            while base.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                indices.append(base.children[1])
                base = strip(base.children[0])
            if array.relation(base) is _Relation.WHOLE and len(indices) == rank:
                return any(self._escapes(index, array, rank) for index in indices)
        relation = array.relation(node)
        if relation is not None:
            return relation is not _Relation.OTHER_MEMBER
        return any(self._escapes(child, array, rank) for child in node.children)

    def _after(self, declaration: Node, variable: _Variable) -> bool:
        for parent, child in zip(reversed(self.path[:-1]), reversed(self.path[1:]), strict=True):
            if parent.kind == CursorKind.COMPOUND_STMT:
                position = next(n for n, node in enumerate(parent.children) if node is child)
                behind = parent.children[position + 1 :]
                effect = _sequence(behind, variable)
                if effect is _Effect.READS:
                    return True
                # A `break` or `continue` behind the region may jump over the write that kills.
                if effect is _Effect.KILLS and all(_LEAVING.isdisjoint(_contents(later).kinds) for later in behind):
                    return False
                if parent.start < declaration.start < parent.end:
                    return False
            elif parent.kind in LOOPS and _around(parent, variable) is _Effect.READS:
                return True
        return False


@dataclass(frozen=True)
class _Contents:
    """What is in a statement: the declarations that it names, and the kinds of its nodes."""

    named: frozenset[Key]
    kinds: frozenset[CursorKind]


@once
def _contents(node: Node) -> _Contents:
    nodes = list(node.walk())
    named = frozenset(each.named.key for each in nodes if each.named is not None)
    return _Contents(named, frozenset(each.kind for each in nodes))


def _is_reference(node: Node, variable: Key) -> bool:
    return node.named is not None and node.named.key == variable


def _around(loop: Node, variable: _Variable) -> _Effect:
    """The effect of the next iteration of a loop around the region: last part, condition, body."""
    if loop.kind == CursorKind.FOR_STMT:
        header = for_header(loop)
        if header is None:
            return _any(loop.children, variable)
        parts = [part for part in (header.advance, header.condition, loop.children[-1]) if part is not None]
    elif loop.kind == CursorKind.DO_STMT:
        parts = [loop.children[1], loop.children[0]]
    else:
        parts = list(loop.children)
    return _sequence(parts, variable)


@dataclass(frozen=True)
class ForHeader:
    """The parts of a `for`'s header; None for those that are missing."""

    initialization: Node | None
    condition: Node | None
    advance: Node | None


def for_header(loop: Node) -> ForHeader | None:
    """The header of a `for`; None if a macro hides which parts are missing."""
    parts = loop.children[:-1]
    if len(parts) == 3:
        return ForHeader(*parts)
    semicolons = header_semicolons(loop.unit.text(loop.file), loop.start, loop.unit.skipped(loop.file))
    if semicolons is None:
        return None
    first = next((part for part in parts if part.start < semicolons[0]), None)
    second = next((part for part in parts if semicolons[0] < part.start < semicolons[1]), None)
    third = next((part for part in parts if part.start > semicolons[1]), None)
    return ForHeader(first, second, third)


def _any(nodes: Iterable[Node], variable: _Variable) -> _Effect:
    """The effect of code whose parts may run or not, in any order."""
    return _Effect.READS if any(_effect(node, variable) is _Effect.READS for node in nodes) else _Effect.PASSES


def _sequence(nodes: Iterable[Node], variable: _Variable) -> _Effect:
    for node in nodes:
        effect = _effect(node, variable)
        if effect is not _Effect.PASSES:
            return effect
    return _Effect.PASSES


def _effect(node: Node, variable: _Variable) -> _Effect:
    kind = node.kind
    if kind in _WITH_STATEMENTS:
        contents = _contents(node)
        if variable.key not in contents.named and CursorKind.RETURN_STMT not in contents.kinds:
            return _Effect.PASSES
    relation = variable.relation(node)
    if relation is not None:
        return _Effect.PASSES if relation is _Relation.OTHER_MEMBER else _Effect.READS
    if kind == CursorKind.BINARY_OPERATOR:
        return _binary(node, variable)
    if kind == CursorKind.FOR_STMT:
        return _for(node, variable)
    if kind == CursorKind.WHILE_STMT:
        return _maybe(_effect(node.children[0], variable), _sequence(node.children[1:], variable))
    if kind == CursorKind.DO_STMT:
        effect = _sequence(node.children, variable)
        leaves = effect is _Effect.KILLS and not _LEAVING.isdisjoint(_contents(node).kinds)
        return _Effect.PASSES if leaves else effect
    if kind in (CursorKind.IF_STMT, CursorKind.CONDITIONAL_OPERATOR):
        return _choice(node, variable)
    if kind == CursorKind.RETURN_STMT:
        return _Effect.READS if _sequence(node.children, variable) is _Effect.READS else _Effect.KILLS
    return _sequence(node.children, variable)


def _binary(node: Node, variable: _Variable) -> _Effect:
    operator = node.binary_operator
    left, right = node.children
    if operator == "=":
        relation = variable.relation(strip(left))
        if relation is _Relation.WHOLE:
            return _Effect.READS if _effect(right, variable) is _Effect.READS else _Effect.KILLS
        if relation is not None:
            return _effect(right, variable)
    if operator in ("&&", "||"):
        return _maybe(_effect(left, variable), _effect(right, variable))
    return _sequence((left, right), variable)


def _maybe(always: _Effect, sometimes: _Effect) -> _Effect:
    """The effect of what runs always, followed by what may run."""
    if always is not _Effect.PASSES:
        return always
    return _Effect.READS if sometimes is _Effect.READS else _Effect.PASSES


def _choice(node: Node, variable: _Variable) -> _Effect:
    condition = _effect(node.children[0], variable)
    if condition is not _Effect.PASSES:
        return condition
    branches = [_effect(branch, variable) for branch in node.children[1:]]
    if _Effect.READS in branches:
        return _Effect.READS
    both = len(branches) == 2 and all(effect is _Effect.KILLS for effect in branches)
    return _Effect.KILLS if both else _Effect.PASSES


def _for(node: Node, variable: _Variable) -> _Effect:
    header = for_header(node)
    if header is None:
        return _any(node.children, variable)
    always = _sequence([part for part in (header.initialization, header.condition) if part is not None], variable)
    if always is not _Effect.PASSES:
        return always
    body, advance = node.children[-1], header.advance
    effect = _sequence((body,) if advance is None else (body, advance), variable)
    may_continue = effect is _Effect.KILLS and CursorKind.CONTINUE_STMT in _contents(body).kinds
    if advance is not None and may_continue:
        effect = _effect(advance, variable)
    return _maybe(always, effect)
