"""The context of lowering a region or function: names, objects, facts about the user's code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from tilepragma.base.diagnostics import Diagnostics, SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import ClangUnit, CursorKind, Key, Node, strip
from tilepragma.frontend.clang.struct_members import written_members
from tilepragma.frontend.clang.type_conversion import TypeConverter, is_array, is_pointer, is_record, target_type
from tilepragma.ir.directives import LoopDirective
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Declarator, Function
from tilepragma.ir.types import RecordType, Type


@dataclass(frozen=True)
class FunctionFacts:
    """The user's function around a region, and what it does with variables.

    `writes` has offsets; a write in an included file has None, as it may stand anywhere.
    """

    node: Node
    writes: dict[Key, list[int | None]]
    address_taken: set[Key]

    def written_from(self, key: Key, offset: int, end: int | None = None) -> bool:
        """Whether the variable is, or may be, written in [offset, end), or from `offset` on."""
        places = self.writes.get(key, ())
        return any(place is None or (offset <= place and (end is None or place < end)) for place in places)


def member_key(name: str) -> Key:
    """The key for writes to members of that name, of any struct."""
    return (f".{name}", 0)


def changed_operand(node: Node, *, addressed: bool = True) -> Node | None:
    """The operand that an assignment, `++` or `--` changes, or None.

    With `addressed` also that of which `&` takes the address.
    """
    if node.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
        operator = node.binary_operator
        changes = operator.endswith("=") and operator not in ("==", "!=", "<=", ">=")
    else:
        increments = node.kind == CursorKind.UNARY_OPERATOR and node.unary_operator in ("x++", "x--", "++", "--")
        changes = increments or (addressed and node.takes_address)
    return strip(node.children[0]) if changes else None


def member_root(node: Node) -> Node:
    """The expression at the root of a path of members: `a[i]` of `a[i].b.c`."""
    while node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
        node = strip(node.children[0])
    return node


@once
def function_facts(function: Node) -> FunctionFacts:
    """Collect the facts of one function definition."""
    facts = FunctionFacts(function, {}, set())
    for node in function.walk():
        addressed = strip(node.children[0]).named if node.takes_address else None
        if addressed is not None:
            facts.address_taken.add(addressed.key)
        target = changed_operand(node, addressed=False)
        if target is None:
            continue
        position = node.start if node.first_file == function.file else None
        named = [] if target.named is None else [target.named.key]
        for key in (*map(member_key, written_members(target)), *named):
            facts.writes.setdefault(key, []).append(position)
    return facts


def whole_uses(region: Node) -> set[Key]:
    """The variables that the region uses other than as the root of a member path (`s.x`, `p->x`).

    Passing a struct to a function that takes it as const does not count if no member is written.
    """
    keys: set[Key] = set()
    changed = _changed_roots(region)
    pending = [region]
    while pending:
        node = pending.pop()
        if node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
            if _path_root(node) is None:
                pending += node.children
        elif node.named is not None:
            keys.add(node.named.key)
        elif node.kind == CursorKind.CALL_EXPR:
            pending += [child for child in node.children if _constant_struct(child) in changed | {None}]
        else:
            pending += node.children
    return keys


def _constant_struct(argument: Node) -> Key | None:
    """The variable passed as a pointer to a struct of constants (`g`, or `&g`); None for others."""
    if not is_pointer(argument.type):
        return None
    pointee = target_type(argument.type)
    inner = strip(argument)
    variable = strip(inner.children[0]).named if inner.takes_address else inner.named
    is_constant = pointee.is_const_qualified() and is_record(pointee)
    return variable.key if variable is not None and is_constant else None


def _changed_roots(region: Node) -> set[Key]:
    """The variables whose members the region assigns, or whose members' addresses it takes."""
    keys: set[Key] = set()
    for node in region.walk():
        target = changed_operand(node)
        if target is None:
            continue
        while target.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and is_array(strip(target.children[0]).type):
            target = strip(target.children[0])
        root = _path_root(target) if target.kind == CursorKind.MEMBER_REF_EXPR else target
        if root is not None and root.declaration is not None and target.kind == CursorKind.MEMBER_REF_EXPR:
            keys.add(root.declaration.key)
    return keys


def _path_root(member: Node) -> Node | None:
    """The variable at the root of `a.b->c` or `(*a).b`; None if the path indexes or calls."""
    node = member
    while True:
        if node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
            node = strip(node.children[0])
        elif node.is_dereference and is_pointer(node.children[0].type):
            node = strip(node.children[0])
            if node.kind not in (CursorKind.MEMBER_REF_EXPR, CursorKind.DECL_REF_EXPR):
                return None
        else:
            return node if node.kind == CursorKind.DECL_REF_EXPR else None


@dataclass(frozen=True)
class Implied:
    """An implied parameter, the variable it stands for, and its first use."""

    object: DataObject
    declaration: Node
    range: SourceRange


@dataclass
class FunctionCollector:
    """Lowers called functions on demand; refuses recursion.

    `lowering` lowers a definition for a call. `_lowered` has each function with the context that
    lowered it.
    """

    unit: ClangUnit
    diagnostics: Diagnostics
    types: TypeConverter
    lowering: Callable[[FunctionCollector, Node, Node], tuple[Function, Context]]
    _done: dict[Key, str] = field(default_factory=dict)
    _lowered: dict[str, tuple[Function, Context]] = field(default_factory=dict)
    _active: list[Key] = field(default_factory=list)

    def require(self, definition: Node, call: Node, caller: Context) -> str:
        """The name of the function, which is lowered at its first call. Raises SourceError."""
        key, name = definition.key, definition.spelling
        if key in self._active:
            message = f"'{name}' calls itself, which a kernel cannot do"
            raise source_error(call.range, message, "write the recursion as a loop")
        if key not in self._done:
            self._active.append(key)
            try:
                self._lowered[name] = self.lowering(self, definition, call)
            finally:
                self._active.pop()
            self._done[key] = name
        if name not in caller.callees:
            caller.callees.append(name)
        caller.names.taken.add(name)
        return name

    def implied(self, name: str) -> tuple[Implied, ...]:
        """The parameters that lowering added to a function."""
        return tuple(self._lowered[name][1].implied)

    def parameters(self, name: str) -> tuple[DataObject, ...]:
        """All parameters of a required function, with those that lowering added."""
        return self._lowered[name][0].parameters

    def closure(self, callees: list[str]) -> tuple[tuple[Function, ...], set[str]]:
        """The functions and all their callees, callee first; and the records they use."""
        collected: dict[str, Function] = {}
        records: set[str] = set()

        def visit(name: str) -> None:
            if name not in self._lowered or name in collected:
                return
            function, context = self._lowered[name]
            for callee in context.callees:
                visit(callee)
            collected[name] = function
            records.update(context.records)

        for name in callees:
            visit(name)
        return tuple(collected.values()), records


@dataclass
class Context:
    """The state of lowering one region or one called function.

    `declared` holds the variables declared inside, `known` the outside objects by their host
    expression, `used` those of them that the body uses, in order; `roots` has their declarations.
    `refused` holds declarations that were reported already, `values` the values of constants in
    statement expressions, `aliases` the storage_accesses.Address of each local pointer that never
    changes. `constants` are outside constants that a called function copies, `implied` the
    parameters for other outside variables that it uses. `block_end` is where the current block
    ends. `is_region` is false in called functions, which see nothing outside. `lowering` lowers an
    expression in a context. `moving` are the element numbers of local pointers that change.
    """

    unit: ClangUnit
    diagnostics: Diagnostics
    types: TypeConverter
    functions: FunctionCollector
    facts: FunctionFacts
    is_region: bool
    lowering: Callable[[Context, Node], Expression]
    whole: set[Key] = field(default_factory=set)
    loops: dict[int, LoopDirective] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    declared: dict[Key, DataObject] = field(default_factory=dict)
    known: dict[str, DataObject] = field(default_factory=dict)
    used: dict[str, DataObject] = field(default_factory=dict)
    roots: dict[str, Node] = field(default_factory=dict)
    records: set[str] = field(default_factory=set)
    aliases: dict[Key, Any] = field(default_factory=dict)
    moving: dict[Key, DataObject] = field(default_factory=dict)
    values: dict[Key, Expression] = field(default_factory=dict)
    refused: dict[Key, SourceError] = field(default_factory=dict)
    callees: list[str] = field(default_factory=list)
    constants: list[Declarator] = field(default_factory=list)
    implied: list[Implied] = field(default_factory=list)
    loop_count: int = 0
    block_end: int = 0

    def lower(self, node: Node) -> Expression:
        """The IR of an expression. Raises SourceError, located, with a remedy."""
        return self.lowering(self, node)

    def convert(self, clang_type: Any, range_: SourceRange) -> Type:
        """The IR's type of a value; the kernel needs the record. Raises SourceError."""
        type_ = self.types.convert(clang_type, range_)
        if isinstance(type_, RecordType):
            self.records.add(type_.spelling)
        return type_

    @contextmanager
    def without_use(self) -> Iterator[None]:
        """Outside objects that are looked at inside do not count as used by the body."""
        used = dict(self.used)
        try:
            yield
        finally:
            self.used.clear()
            self.used.update(used)

    def key_of(self, object_: DataObject) -> Key | None:
        """The declaration that an object was made from; for a member path, that of its root."""
        root = self.roots.get(object_.host)
        if root is not None and self.known.get(object_.host) == object_:
            return root.key
        return next((key for key, declared in self.declared.items() if declared == object_), None)
