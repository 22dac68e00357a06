"""Uses of storage in a piece of the loop tree: reads, writes, their loops and conditions."""

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
Taker = tuple[Call, int]


@dataclass(frozen=True)
class Use:
    """One use of an object. `loops` are the canonical loops around it, outermost first.

    `conditional`: the use may not happen although all `loops` run (if, ?:, &&, ||, while, break, a
    function's body). `path`: the way to a member, if the use is of a member of one element.
    `taker`: the call of a user's function that gets the element's address and may touch others
    around it, and the number of the parameter.
    """

    object: DataObject
    subscripts: tuple[Expression, ...]
    reads: bool
    writes: bool
    conditional: bool
    loops: tuple[Loop, ...]
    range: SourceRange
    path: tuple[Member | Index, ...] = ()
    taker: Taker | None = None


@dataclass(frozen=True)
class _Context:
    functions: tuple[Function, ...]
    launch: bool
    conditional: bool = False
    loops: tuple[Loop, ...] = ()


def uses(node: Any, functions: tuple[Function, ...] = (), *, launch: bool = False) -> Iterator[Use]:
    """All uses under `node`, roughly in order of evaluation; a loop writes its iterator.

    `functions` may be called: a call writes through a pointer argument unless the parameter is
    const. With `launch`, the kernel's needs remain: bounds that the host evaluates (of TiledLoops
    with launch bounds) and their iterators are left out.
    """
    context = _Context(functions, launch)
    if not isinstance(node, (Block, TileNest)):
        return iter(_uses(node, context))
    # Nodes never change, and passes often ask for the same launches, so cache the uses in the node.
    cache: list[tuple[tuple[Function, ...], bool, tuple[Use, ...]]] = vars(node).setdefault(_USES, [])
    for cached_functions, launched, uses_then in cache:
        if cached_functions is functions and launched is launch:
            return iter(uses_then)
    cache.append((functions, launch, tuple(_uses(node, context))))
    return iter(cache[-1][2])


def function_uses(functions: tuple[Function, ...]) -> Iterator[Use]:
    """Uses of outside objects in the functions' bodies, all conditional."""
    for function in functions:
        for use in _uses(function.body, _Context(functions, False, conditional=True)):
            yield replace(use, loops=())


@once
def implied_objects(node: Any) -> frozenset[DataObject]:
    """The variables of the file that functions called under `node` use."""
    return frozenset(
        argument.object
        for call in walk(node)
        if isinstance(call, Call)
        for argument in call.arguments[len(call.arguments) - call.implied :]
        if isinstance(argument, Access)
    )


@once
def leaves_early(body: Any) -> bool:
    """Whether a `break` or `continue` leaves the loop body early; switches keep their `break`."""
    return _leaves_early(body, (Break, Continue))


def returns_early(body: Block) -> bool:
    """Whether a function returns before its body's end, so that later code may not run."""
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


# Planning spends most time in walks: they append uses to one list instead of yielding them.


@dataclass
class _UseList:
    """Uses in their order.

    `written` has the index of each object's last write. `certain` has, within a branch, the indices
    of unconditional uses by what they do. Equal uses of many branches share an entry, so that time
    stays linear in long chains of branches.
    """

    uses: list[Use] = field(default_factory=list)
    written: dict[DataObject, int] = field(default_factory=dict)
    certain: dict[tuple[object, ...], list[int]] | None = None

    def append(self, use: Use) -> None:
        """Add the next use."""
        if use.writes:
            self.written[use.object] = len(self.uses)
        if self.certain is not None and not use.conditional:
            self.certain.setdefault(_done(use), []).append(len(self.uses))
        self.uses.append(use)

    def certain_in(self, branch: Any, context: _Context) -> dict[tuple[object, ...], list[int]]:
        """Add the uses of a branch; the result has the indices of those that are certain in it."""
        around, self.certain = self.certain, {}
        _add(branch, context, self)
        certain, self.certain = self.certain, around
        return certain

    def stay_certain(self, done: tuple[object, ...], places: list[int]) -> None:
        """Keep uses certain that both branches have."""
        if self.certain is not None:
            earlier = self.certain.get(done, [])
            few, many = sorted((earlier, places), key=len)
            many += few
            self.certain[done] = many

    def become_conditional(self, places: list[int]) -> None:
        """Mark uses that only one branch has."""
        for place in places:
            self.uses[place] = replace(self.uses[place], conditional=True)


def _uses(node: Any, context: _Context) -> list[Use]:
    collected = _UseList()
    _add(node, context, collected)
    return collected.uses


def _add(node: Any, context: _Context, collected: _UseList) -> None:
    """Add the uses under `node` to `collected`."""
    of_kind = _OF_KIND.get(type(node))
    if of_kind is not None:
        of_kind(node, context, collected)
    else:
        _below(node, context, collected)


def _below(node: Any, context: _Context, collected: _UseList) -> None:
    for child in children(node):
        _add(child, context, collected)


def _binary(node: Binary, context: _Context, collected: _UseList) -> None:
    if node.operator in ("&&", "||"):
        _conditional(node, context, collected)
    else:
        _below(node, context, collected)


def _read(node: Access, context: _Context, collected: _UseList) -> None:
    _access(node, context, collected, reads=True, writes=False)


def _assignment(node: Assignment, context: _Context, collected: _UseList) -> None:
    _add(node.value, context, collected)
    _access(node.target, context, collected, reads=node.operator != "=", writes=True)


def _changed_in_place(node: Increment | AddressOf, context: _Context, collected: _UseList) -> None:
    _access(node.target, context, collected, reads=True, writes=True)


def _access(
    node: Access, context: _Context, collected: _UseList, *, reads: bool, writes: bool, taker: Taker | None = None
) -> None:
    for subscript in node.subscripts:
        _add(subscript, context, collected)
    for step in node.path:
        if isinstance(step, Index):
            _add(step.index, context, collected)
    conditional, loops = context.conditional, context.loops
    collected.append(Use(node.object, node.subscripts, reads, writes, conditional, loops, node.range, node.path, taker))


def _call(node: Call, context: _Context, collected: _UseList) -> None:
    function = next((f for f in context.functions if f.name == node.function and node.callee is Callee.USER), None)
    for place, argument in enumerate(node.arguments):
        target = argument.target if isinstance(argument, AddressOf) else argument
        if isinstance(target, Access) and (isinstance(argument, AddressOf) or _is_pointer(target)):
            parameter = (
                function.parameters[place] if function is not None and place < len(function.parameters) else None
            )
            writes = parameter is None or not parameter.const
            taker = None if function is None or parameter is None else (node, place)
            _access(target, context, collected, reads=True, writes=writes, taker=taker)
        else:
            _add(argument, context, collected)


def _is_pointer(access: Access) -> bool:
    if isinstance(access.type, PointerType):  # an array that is a member
        return True
    return access.object.storage is not Storage.SCALAR and len(access.subscripts) < access.object.rank


def _conditional(node: Any, context: _Context, collected: _UseList) -> None:
    """Add the uses of a node whose first part always runs, and the rest perhaps."""
    inside = context if context.conditional else replace(context, conditional=True)
    if isinstance(node, ForLoop):
        if node.initialization is not None:
            _add(node.initialization, context, collected)
        if node.condition is not None:
            _add(node.condition, context, collected)
        for part in (node.body, node.advance):
            if part is not None:
                _add(part, inside, collected)
        return
    if isinstance(node, (If, Conditional)) and node.otherwise is not None and not context.conditional:
        _add(node.condition, context, collected)
        _either(node, context, collected)
        return
    first, *rest = children(node)
    _add(first, context, collected)
    for child in rest:
        _add(child, inside, collected)


def _either(node: If | Conditional, context: _Context, collected: _UseList) -> None:
    """Add the uses of both branches; of equal uses in both, the later one counts as certain."""
    start = len(collected.uses)
    then = collected.certain_in(node.then, context)
    otherwise = collected.certain_in(node.otherwise, context)
    for done, places in otherwise.items():
        use = collected.uses[places[0]]
        if done in then and len(use.loops) == len(context.loops) and not _changes(use, collected, start):
            collected.stay_certain(done, places)
        else:
            collected.become_conditional(places)
    for places in then.values():
        collected.become_conditional(places)


def _changes(use: Use, collected: _UseList, start: int) -> bool:
    """Whether objects in a use's subscripts are written by uses from index `start` on."""
    steps = (step.index for step in use.path if isinstance(step, Index))
    places = (node for part in (*use.subscripts, *steps) for node in walk(part) if isinstance(node, Access))
    return any(collected.written.get(node.object, -1) >= start for node in places)


def _done(use: Use) -> tuple[object, ...]:
    """What a use does, and in how many loops: equal for uses of one element in one iteration."""
    return use.object, use.subscripts, use.path, use.reads, use.writes, len(use.loops)


def _loop(node: Loop, context: _Context, collected: _UseList) -> None:
    for bound in (node.lower, node.upper, node.step):
        _add(bound, context, collected)
    collected.append(Use(node.iterator, (), False, True, context.conditional, context.loops, node.header))
    conditional = context.conditional or leaves_early(node.body)
    _add(node.body, replace(context, conditional=conditional, loops=(*context.loops, node)), collected)


def _nest(node: TileNest, context: _Context, collected: _UseList) -> None:
    inner = context
    for tiled in node.loops:
        loop = tiled.loop
        if not (context.launch and tiled.launch_bounds):
            for bound in (loop.lower, loop.upper, loop.step):
                _add(bound, inner, collected)
        if not context.launch:
            collected.append(Use(loop.iterator, (), False, True, context.conditional, inner.loops, loop.header))
        inner = replace(inner, loops=(*inner.loops, loop))
    _add(node.body, inner, collected)


def _declarator(node: Declarator, context: _Context, collected: _UseList) -> None:
    for length in node.object.lengths:
        if length is not None:
            _add(length, context, collected)
    for child in children(node):
        _add(child, context, collected)
    if node.initializer is not None:
        collected.append(Use(node.object, (), False, True, context.conditional, context.loops, node.object.range))


#: Kinds of nodes whose uses are more than those of their children.
_OF_KIND: dict[type, Callable[[Any, _Context, _UseList], None]] = {
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
