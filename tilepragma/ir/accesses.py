"""Uses of storage in a piece of the loop tree: reads, writes, their loops and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
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
from tilepragma.ir.traversal import children, objects_in, statements_of, walk
from tilepragma.ir.types import PointerType

_USES = "_uses"


@dataclass(frozen=True)
class PassedAddress:
    """An argument of a call of a user's function, and its position: the address of an element."""

    call: Call
    position: int

    def function_in(self, functions: Iterable[Function]) -> Function:
        """The function that gets the address."""
        return next(function for function in functions if function.name == self.call.function)


@dataclass(frozen=True)
class Use:
    """One use of an object. `loops` are the canonical loops around it, outermost first.

    `conditional`: the use may not happen although all `loops` run (if, ?:, &&, ||, while, break, a
    function's body). `path`: the way to a member, if the use is of a member of one element.
    `passed`: a function gets the element's address, and may touch others around it.
    `from_pointers`: as in the access.
    """

    object: DataObject
    subscripts: tuple[Expression, ...]
    reads: bool
    writes: bool
    conditional: bool
    loops: tuple[Loop, ...]
    range: SourceRange
    path: tuple[Member | Index, ...] = ()
    passed: PassedAddress | None = None
    from_pointers: tuple[int, ...] = ()


def uses(node: Any, functions: tuple[Function, ...] = (), *, launch: bool = False) -> Iterator[Use]:
    """All uses under `node`, roughly in order of evaluation; a loop writes its iterator.

    `functions` may be called: a call writes through a pointer argument unless the parameter is
    const. With `launch`, the kernel's needs remain: bounds that the host evaluates (of TiledLoops
    with launch bounds) and their iterators are left out.
    """
    if not isinstance(node, (Block, TileNest)):
        return iter(_collected(node, functions, launch))
    return iter(_cached(node, functions, launch).uses)


class _CachedUses:
    """The uses under a node, in which they are cached: nodes never change, and passes often ask for
    the same launches.
    """

    def __init__(self, node: Any, functions: tuple[Function, ...], launch: bool, reached: bool) -> None:
        self.functions, self.launch, self.reached = functions, launch, reached
        collected = _collected(node, functions, launch, conditional=reached)
        self.uses = tuple(replace(use, loops=()) for use in collected) if reached else tuple(collected)

    @cached_property
    def objects(self) -> frozenset[DataObject]:
        return frozenset(use.object for use in self.uses)


def _cached(node: Any, functions: tuple[Function, ...], launch: bool, *, reached: bool = False) -> _CachedUses:
    """The uses under a node; `reached`: of a function that may be called."""
    cache: list[_CachedUses] = vars(node).setdefault(_USES, [])
    for cached in cache:
        if cached.functions is functions and cached.launch is launch and cached.reached is reached:
            return cached
    cache.append(_CachedUses(node, functions, launch, reached))
    return cache[-1]


def uses_of_statement(node: Any, functions: tuple[Function, ...]) -> tuple[Use, ...]:
    """What `uses` gives, kept in the node also where it is a statement or expression."""
    return _cached(node, functions, False).uses


def written_in(node: Any, functions: tuple[Function, ...] = ()) -> frozenset[DataObject]:
    """The objects that `node` writes, iterators included."""
    return frozenset(use.object for use in uses(node, functions) if use.writes)


def used_in(node: Any, functions: tuple[Function, ...] = (), *, launch: bool = False) -> frozenset[DataObject]:
    """The objects that `node` reads or writes; with `launch` as in `uses`."""
    return _cached(node, functions, launch).objects


def function_uses(functions: tuple[Function, ...]) -> Iterator[Use]:
    """Uses of outside objects in the functions' bodies, all conditional."""
    for function in functions:
        yield from _cached(function.body, functions, False, reached=True).uses


@once
def implied_objects(node: Any) -> frozenset[DataObject]:
    """The variables of the file that functions called under `node` use."""
    calls = (call for call in walk(node) if isinstance(call, Call))
    implied = (argument for call in calls for argument in call.arguments[len(call.arguments) - call.implied :])
    return frozenset(argument.object for argument in implied if isinstance(argument, Access))


@once
def leaves_early(body: Any) -> bool:
    """Whether a `break` or `continue` leaves the loop body early; switches keep their `break`."""
    return any(True for _ in early_exits(body, Break, Continue))


def returns_early(body: Block) -> bool:
    """Whether a function returns before its body's end, so that later code may not run."""
    return any(isinstance(node, Return) for node in walk(body) if node not in body.statements[-1:])


def early_exits(body: Any, *kinds: type[Break | Continue]) -> Iterator[Break | Continue]:
    """The statements of these kinds that leave the loop body, or its iteration."""
    for child in statements_of(body):
        if isinstance(child, kinds):
            yield child
        elif isinstance(child, Switch):
            yield from early_exits(child, *(kind for kind in kinds if kind is not Break))
        elif not isinstance(child, (Loop, ForLoop, While, TileNest)):
            yield from early_exits(child, *kinds)


def _collected(node: Any, functions: tuple[Function, ...], launch: bool, *, conditional: bool = False) -> list[Use]:
    collector = _Collector(functions, launch, conditional)
    collector.add(node)
    return collector.uses


@dataclass
class _Collector:
    """Collects uses in their order; `conditional` and `loops` are those around the current node.

    `written` has the index of each object's last write. `certain` has, within a branch, the indices
    of unconditional uses by what they do. Equal uses of many branches share an entry, so that time
    stays linear in long chains of branches. Planning spends most time in walks, so uses are
    appended to one list, and never yielded.
    """

    functions: tuple[Function, ...]
    launch: bool
    conditional: bool
    loops: tuple[Loop, ...] = ()
    uses: list[Use] = field(default_factory=list)
    written: dict[DataObject, int] = field(default_factory=dict)
    certain: dict[tuple[object, ...], list[int]] | None = None

    def add(self, node: Any) -> None:
        of_kind = _OF_KIND.get(type(node))
        if of_kind is not None:
            of_kind(self, node)
        else:
            self.add_all(children(node))

    def add_all(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self.add(node)

    def add_inside(self, nodes: Iterable[Any], *, conditional: bool, loops: tuple[Loop, ...]) -> None:
        """Add the uses under nodes that run under a condition, or in further loops."""
        saved = self.conditional, self.loops
        self.conditional, self.loops = conditional, loops
        self.add_all(nodes)
        self.conditional, self.loops = saved

    def append(self, use: Use) -> None:
        if use.writes:
            self.written[use.object] = len(self.uses)
        if self.certain is not None and not use.conditional:
            self.certain.setdefault(_done(use), []).append(len(self.uses))
        self.uses.append(use)

    def set(self, object_: DataObject, range_: SourceRange) -> None:
        """Add the use of a variable that a loop or declaration sets."""
        self.append(Use(object_, (), False, True, self.conditional, self.loops, range_))

    def read(self, node: Access) -> None:
        self.access(node, reads=True, writes=False)

    def assignment(self, node: Assignment) -> None:
        self.add(node.value)
        self.access(node.target, reads=node.operator != "=", writes=True)

    def changed_in_place(self, node: Increment | AddressOf) -> None:
        self.access(node.target, reads=True, writes=True)

    def access(self, node: Access, *, reads: bool, writes: bool, passed: PassedAddress | None = None) -> None:
        self.add_all(node.subscripts)
        for step in node.path:
            if isinstance(step, Index):
                self.add(step.index)
        where = self.conditional, self.loops, node.range
        self.append(Use(node.object, node.subscripts, reads, writes, *where, node.path, passed, node.from_pointers))

    def call(self, node: Call) -> None:
        """A call's arguments; it writes through pointers to what is not const."""
        function = next((f for f in self.functions if f.name == node.function and node.callee is Callee.USER), None)
        parameters = () if function is None else function.parameters
        for position, argument in enumerate(node.arguments):
            target = argument.target if isinstance(argument, AddressOf) else argument
            if isinstance(target, Access) and (isinstance(argument, AddressOf) or _is_pointer(target)):
                parameter = parameters[position] if position < len(parameters) else None
                passed = None if parameter is None else PassedAddress(node, position)
                self.access(target, reads=True, writes=parameter is None or not parameter.const, passed=passed)
            else:
                self.add(argument)

    def binary(self, node: Binary) -> None:
        if node.operator in ("&&", "||"):
            self.first_part_always(node)
        else:
            self.add_all(children(node))

    def first_part_always(self, node: Any) -> None:
        """A node whose first part always runs; the others may not run."""
        parts: list[Any]
        if isinstance(node, ForLoop):
            always, rest = (node.initialization, node.condition), (node.body, node.advance)
            self.add_all(part for part in always if part is not None)
            parts = [part for part in rest if part is not None]
        else:
            first, *parts = children(node)
            self.add(first)
            if isinstance(node, (If, Conditional)) and node.otherwise is not None and not self.conditional:
                self.either(node)
                return
        self.add_inside(parts, conditional=True, loops=self.loops)

    def either(self, node: If | Conditional) -> None:
        """Both branches; of equal uses in both, the later one counts as certain."""
        start = len(self.uses)
        then, otherwise = self.certain_in(node.then), self.certain_in(node.otherwise)
        for done, places in otherwise.items():
            use = self.uses[places[0]]
            if done in then and len(use.loops) == len(self.loops) and not self.changes(use, start):
                self.stay_certain(done, places)
            else:
                self.become_conditional(places)
        for places in then.values():
            self.become_conditional(places)

    def certain_in(self, branch: Any) -> dict[tuple[object, ...], list[int]]:
        """Add the uses of a branch; the result has the indices of those that are certain in it."""
        saved, self.certain = self.certain, {}
        self.add(branch)
        certain, self.certain = self.certain, saved
        return certain

    def stay_certain(self, done: tuple[object, ...], places: list[int]) -> None:
        """Keep uses certain that both branches have."""
        if self.certain is not None:
            few, many = sorted((self.certain.get(done, []), places), key=len)
            many += few
            self.certain[done] = many

    def become_conditional(self, places: list[int]) -> None:
        """Mark uses that only one branch has."""
        for place in places:
            self.uses[place] = replace(self.uses[place], conditional=True)

    def changes(self, use: Use, start: int) -> bool:
        """Whether objects in a use's subscripts are written by uses from index `start` on."""
        indices = (step.index for step in use.path if isinstance(step, Index))
        read = (object_ for part in (*use.subscripts, *indices) for object_ in objects_in(part))
        return any(self.written.get(object_, -1) >= start for object_ in read)

    def loop(self, node: Loop) -> None:
        self.add_all(node.bounds)
        self.set(node.iterator, node.header)
        conditional = self.conditional or leaves_early(node.body)
        self.add_inside((node.body,), conditional=conditional, loops=(*self.loops, node))

    def nest(self, node: TileNest) -> None:
        """A nest of tiled loops; with `launch`, the host has evaluated bounds."""
        saved = self.loops
        for tiled in node.loops:
            loop = tiled.loop
            if not (self.launch and tiled.launch_bounds):
                self.add_all(loop.bounds)
            if not self.launch:
                self.set(loop.iterator, loop.header)
            self.loops = (*self.loops, loop)
        if node.guard is None:
            self.add(node.body)
        else:
            self.add(node.guard)
            self.add_inside((node.body,), conditional=True, loops=self.loops)
        self.loops = saved

    def declarator(self, node: Declarator) -> None:
        """A declaration, which writes the variable if it has an initialiser."""
        self.add_all(length for length in node.object.lengths if length is not None)
        self.add_all(children(node))
        if node.initializer is not None:
            self.set(node.object, node.object.range)


def _is_pointer(access: Access) -> bool:
    if isinstance(access.type, PointerType):  # an array that is a member
        return True
    return access.object.storage is not Storage.SCALAR and len(access.subscripts) < access.object.rank


def _done(use: Use) -> tuple[object, ...]:
    """What a use does, and in how many loops: equal for uses of one element in one iteration."""
    return use.object, use.subscripts, use.path, use.reads, use.writes, len(use.loops)


#: Kinds of nodes whose uses are more than those of their children.
_OF_KIND: dict[type, Callable[[_Collector, Any], None]] = {
    Access: _Collector.read,
    Assignment: _Collector.assignment,
    **dict.fromkeys((Increment, AddressOf), _Collector.changed_in_place),
    Call: _Collector.call,
    Binary: _Collector.binary,
    **dict.fromkeys((Conditional, If, While, ForLoop, Switch), _Collector.first_part_always),
    Loop: _Collector.loop,
    TileNest: _Collector.nest,
    Declarator: _Collector.declarator,
}
