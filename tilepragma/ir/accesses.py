"""Every use of storage in a piece of LoopTree: what is read and written, where, under which loops and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Callee,
    Conditional,
    DataObject,
    Expression,
    Increment,
    Index,
    Member,
    Storage,
)
from tilepragma.ir.loop_tree import (
    Block,
    Break,
    Continue,
    Declarator,
    ForLoop,
    Function,
    If,
    Loop,
    Return,
    Switch,
    TileNest,
    While,
)
from tilepragma.ir.traversal import children, walk
from tilepragma.ir.types import PointerType

_USES = "_uses"


@dataclass(frozen=True)
class Use:
    """One use of an object. `loops` are the canonical loops around it, outermost first.

    `conditional`: it may be left out although all `loops` run (if, ?:, &&, ||, while, break, a
    function's body). `path`: the way to a member, where of one element only that is meant. `taker`:
    the call of a user's function that gets the element's address, and may touch others around it,
    and for which of its parameters.
    """

    object: DataObject
    subscripts: tuple[Expression, ...]
    reads: bool
    writes: bool
    conditional: bool
    loops: tuple[Loop, ...]
    range: SourceRange
    path: tuple[Member | Index, ...] = ()
    taker: tuple[Call, int] | None = None


@dataclass(frozen=True)
class _Context:
    functions: tuple[Function, ...]
    launch: bool
    conditional: bool = False
    loops: tuple[Loop, ...] = ()


def uses(node: Any, functions: tuple[Function, ...] = (), *, launch: bool = False) -> Iterator[Use]:
    """All uses under `node`, roughly in order of evaluation; iterators of loops count as written by
    their loop.

    `functions` are those that may be called: a pointer argument is written unless its parameter is
    const. With `launch`, bounds that the host evaluates (of TiledLoops with launch bounds) and
    their iterators are left out: what remains is what the kernel's body itself needs.
    """
    at = _Context(functions, launch)
    if not isinstance(node, (Block, TileNest)):
        return iter(_uses(node, at))
    # Nodes never change, and passes ask the same of launches again and again: kept as children are.
    known: list[tuple[tuple[Function, ...], bool, tuple[Use, ...]]] = vars(node).setdefault(_USES, [])
    for mine, launched, uses_then in known:
        if mine is functions and launched is launch:
            return iter(uses_then)
    known.append((functions, launch, tuple(_uses(node, at))))
    return iter(known[-1][2])


def function_uses(functions: tuple[Function, ...]) -> Iterator[Use]:
    """Uses of outside objects in the functions' bodies, all conditional."""
    for function in functions:
        for use in _uses(function.body, _Context(functions, False, conditional=True)):
            yield replace(use, loops=())


@once
def implied_objects(node: Any) -> frozenset[DataObject]:
    """The variables of the file that functions use which are called under `node`."""
    return frozenset(
        argument.object
        for call in walk(node)
        if isinstance(call, Call)
        for argument in call.arguments[len(call.arguments) - call.implied :]
        if isinstance(argument, Access)
    )


@once
def leaves_early(body: Any) -> bool:
    """Whether a `break` or `continue` of the loop with this body stands in it; a `break` in a switch is the switch's."""
    return _leaves_early(body, (Break, Continue))


def returns_early(body: Block) -> bool:
    """Whether a `return` stands in a function's body anywhere but at the end: what follows it may be left out."""
    return any(isinstance(node, Return) for node in walk(body) if node not in body.statements[-1:])


def _leaves_early(body: Any, kinds: tuple[type, ...]) -> bool:
    for child in children(body):
        if isinstance(child, kinds):
            return True
        if isinstance(child, (Loop, ForLoop, While, TileNest)):
            continue
        if _leaves_early(child, (Continue,) if isinstance(child, Switch) else kinds):
            return True
    return False


# Walks are where planning spends its time: uses are put in one list, not handed up from generator
# to generator.


@dataclass
class _Found:
    """Uses in their order. `written` has the last place where each object is written.

    `certain` are, within a branch, the places of uses that are not conditional there, by what is
    done: what many branches do alike is one entry, so that long chains of branches take no time by
    the square of their length.
    """

    uses: list[Use] = field(default_factory=list)
    written: dict[DataObject, int] = field(default_factory=dict)
    certain: dict[tuple[object, ...], list[int]] | None = None

    def append(self, use: Use) -> None:
        """Adds the next use."""
        if use.writes:
            self.written[use.object] = len(self.uses)
        if self.certain is not None and not use.conditional:
            self.certain.setdefault(_done(use), []).append(len(self.uses))
        self.uses.append(use)

    def certain_in(self, branch: Any, at: _Context) -> dict[tuple[object, ...], list[int]]:
        """The places of uses that are certain if a branch is taken; the uses are added."""
        around, self.certain = self.certain, {}
        _add(branch, at, self)
        certain, self.certain = self.certain, around
        return certain

    def stay_certain(self, done: tuple[object, ...], places: list[int]) -> None:
        """Uses that are certain in both branches are so around these."""
        if self.certain is not None:
            known = self.certain.get(done, [])
            few, many = sorted((known, places), key=len)
            many += few
            self.certain[done] = many

    def become_conditional(self, places: list[int]) -> None:
        """Uses that one branch alone has."""
        for place in places:
            self.uses[place] = replace(self.uses[place], conditional=True)


def _uses(node: Any, at: _Context) -> list[Use]:
    found = _Found()
    _add(node, at, found)
    return found.uses


def _add(node: Any, at: _Context, found: _Found) -> None:
    """Adds the uses under `node` to those found."""
    of_kind = _OF_KIND.get(type(node))
    if of_kind is not None:
        of_kind(node, at, found)
    else:
        _below(node, at, found)


def _below(node: Any, at: _Context, found: _Found) -> None:
    for child in children(node):
        _add(child, at, found)


def _binary(node: Binary, at: _Context, found: _Found) -> None:
    if node.operator in ("&&", "||"):
        _conditional(node, at, found)
    else:
        _below(node, at, found)


def _read(node: Access, at: _Context, found: _Found) -> None:
    _access(node, at, found, reads=True, writes=False)


def _assignment(node: Assignment, at: _Context, found: _Found) -> None:
    _add(node.value, at, found)
    _access(node.target, at, found, reads=node.operator != "=", writes=True)


def _changed_in_place(node: Increment | AddressOf, at: _Context, found: _Found) -> None:
    _access(node.target, at, found, reads=True, writes=True)


def _access(
    node: Access, at: _Context, found: _Found, *, reads: bool, writes: bool, taker: tuple[Call, int] | None = None
) -> None:
    for subscript in node.subscripts:
        _add(subscript, at, found)
    for step in node.path:
        if isinstance(step, Index):
            _add(step.index, at, found)
    found.append(
        Use(node.object, node.subscripts, reads, writes, at.conditional, at.loops, node.range, node.path, taker)
    )


def _call(node: Call, at: _Context, found: _Found) -> None:
    function = next((f for f in at.functions if f.name == node.function and node.callee is Callee.USER), None)
    for place, argument in enumerate(node.arguments):
        target = argument.target if isinstance(argument, AddressOf) else argument
        if isinstance(target, Access) and (isinstance(argument, AddressOf) or _is_pointer(target)):
            parameter = (
                function.parameters[place] if function is not None and place < len(function.parameters) else None
            )
            writes = parameter is None or not parameter.const
            taker = None if function is None or parameter is None else (node, place)
            _access(target, at, found, reads=True, writes=writes, taker=taker)
        else:
            _add(argument, at, found)


def _is_pointer(access: Access) -> bool:
    if isinstance(access.type, PointerType):  # an array that is a member
        return True
    return access.object.storage is not Storage.SCALAR and len(access.subscripts) < access.object.rank


def _conditional(node: Any, at: _Context, found: _Found) -> None:
    """Nodes whose first part is evaluated for certain and the rest perhaps."""
    inside = at if at.conditional else replace(at, conditional=True)
    if isinstance(node, ForLoop):
        if node.initialization is not None:
            _add(node.initialization, at, found)
        if node.condition is not None:
            _add(node.condition, at, found)
        for part in (node.body, node.advance):
            if part is not None:
                _add(part, inside, found)
        return
    if isinstance(node, (If, Conditional)) and node.otherwise is not None and not at.conditional:
        _add(node.condition, at, found)
        _either(node, at, found)
        return
    first, *others = children(node)
    _add(first, at, found)
    for other in others:
        _add(other, inside, found)


def _either(node: If | Conditional, at: _Context, found: _Found) -> None:
    """Uses of which those of one branch, or choice, happen: of what both do to the same element, the later one counts as certain."""
    start = len(found.uses)
    then = found.certain_in(node.then, at)
    otherwise = found.certain_in(node.otherwise, at)
    for done, places in otherwise.items():
        use = found.uses[places[0]]
        if done in then and len(use.loops) == len(at.loops) and not _changes(use, found, start):
            found.stay_certain(done, places)
        else:
            found.become_conditional(places)
    for places in then.values():
        found.become_conditional(places)


def _changes(use: Use, found: _Found, start: int) -> bool:
    """Whether what a use's subscripts name is written among the uses from a place on."""
    steps = (step.index for step in use.path if isinstance(step, Index))
    places = (node for part in (*use.subscripts, *steps) for node in walk(part) if isinstance(node, Access))
    return any(found.written.get(node.object, -1) >= start for node in places)


def _done(use: Use) -> tuple[object, ...]:
    """What a use does, and under how many loops: equal for uses of the same element in the same turn."""
    return use.object, use.subscripts, use.path, use.reads, use.writes, len(use.loops)


def _loop(node: Loop, at: _Context, found: _Found) -> None:
    for bound in (node.lower, node.upper, node.step):
        _add(bound, at, found)
    found.append(Use(node.iterator, (), False, True, at.conditional, at.loops, node.header))
    conditional = at.conditional or leaves_early(node.body)
    _add(node.body, replace(at, conditional=conditional, loops=(*at.loops, node)), found)


def _nest(node: TileNest, at: _Context, found: _Found) -> None:
    inner = at
    for tiled in node.loops:
        loop = tiled.loop
        if not (at.launch and tiled.launch_bounds):
            for bound in (loop.lower, loop.upper, loop.step):
                _add(bound, inner, found)
        if not at.launch:
            found.append(Use(loop.iterator, (), False, True, at.conditional, inner.loops, loop.header))
        inner = replace(inner, loops=(*inner.loops, loop))
    _add(node.body, inner, found)


def _declarator(node: Declarator, at: _Context, found: _Found) -> None:
    for length in node.object.lengths:
        if length is not None:
            _add(length, at, found)
    for child in children(node):
        _add(child, at, found)
    if node.initializer is not None:
        found.append(Use(node.object, (), False, True, at.conditional, at.loops, node.object.range))


#: What of each kind of node is not just what is below it.
_OF_KIND: dict[type, Callable[[Any, _Context, _Found], None]] = {
    Access: _read,
    Assignment: _assignment,
    Increment: _changed_in_place,
    AddressOf: _changed_in_place,
    Call: _call,
    Binary: _binary,
    **dict.fromkeys((Conditional, If, While, ForLoop, Switch), _conditional),
    Loop: _loop,
    TileNest: _nest,
    Declarator: _declarator,
}
