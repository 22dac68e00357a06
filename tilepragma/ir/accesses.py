"""Every use of storage in a piece of LoopTree: what is read and written, where, under which loops and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilepragma.base.ranges import SourceRange
from tilepragma.base.remembered import once
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
from tilepragma.ir.looptree import (
    Block,
    Break,
    Continue,
    Declarator,
    ForLoop,
    Function,
    If,
    Loop,
    Switch,
    TileNest,
    While,
)
from tilepragma.ir.traversal import children, walk

_USES = "_uses"


@dataclass(frozen=True)
class Use:
    """One use of an object. `loops` are the canonical loops around it, outermost first.

    `conditional`: it may be left out although all `loops` run (if, ?:, &&, ||, while, break, a function's body).
    `path`: the way to a member, where of one element only that is meant. `taker`: the call of a user's function that
    gets the element's address, and may touch others around it, and for which of its parameters.
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

    @property
    def partial(self) -> bool:
        """Whether of one element only a member is meant."""
        return bool(self.path)


@dataclass(frozen=True)
class _Context:
    functions: tuple[Function, ...]
    launch: bool
    conditional: bool = False
    loops: tuple[Loop, ...] = ()


def uses(node: Any, functions: tuple[Function, ...] = (), *, launch: bool = False) -> Iterator[Use]:
    """All uses under `node`, roughly in order of evaluation; iterators of loops count as written by their loop.

    `functions` are those that may be called: a pointer argument is written unless its parameter is const. With
    `launch`, bounds that the host evaluates (of TiledLoops with launch bounds) and their iterators are left out:
    what remains is what the kernel's body itself needs.
    """
    found = _uses(node, _Context(functions, launch))
    if not isinstance(node, (Block, TileNest)):
        return found
    # Nodes never change, and passes ask the same of launches again and again: kept as children are.
    known: list[tuple[tuple[Function, ...], bool, tuple[Use, ...]]] = vars(node).setdefault(_USES, [])
    for mine, launched, uses_then in known:
        if mine is functions and launched is launch:
            return iter(uses_then)
    known.append((functions, launch, tuple(found)))
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


def _leaves_early(body: Any, kinds: tuple[type, ...]) -> bool:
    for child in children(body):
        if isinstance(child, kinds):
            return True
        if isinstance(child, (Loop, ForLoop, While, TileNest)):
            continue
        if _leaves_early(child, (Continue,) if isinstance(child, Switch) else kinds):
            return True
    return False


def _uses(node: Any, at: _Context) -> Iterator[Use]:
    if isinstance(node, Access):
        yield from _access(node, at, reads=True, writes=False)
    elif isinstance(node, Assignment):
        yield from _uses(node.value, at)
        yield from _access(node.target, at, reads=node.operator != "=", writes=True)
    elif isinstance(node, (Increment, AddressOf)):
        yield from _access(node.target, at, reads=True, writes=True)
    elif isinstance(node, Call):
        yield from _call(node, at)
    elif isinstance(node, (Conditional, If, While, ForLoop, Switch)) or _is_lazy(node):
        yield from _conditional(node, at)
    elif isinstance(node, Loop):
        yield from _loop(node, at)
    elif isinstance(node, TileNest):
        yield from _nest(node, at)
    elif isinstance(node, Declarator):
        yield from _declarator(node, at)
    else:
        for child in children(node):
            yield from _uses(child, at)


def _is_lazy(node: Any) -> bool:
    return isinstance(node, Binary) and node.operator in ("&&", "||")


def _access(
    node: Access, at: _Context, *, reads: bool, writes: bool, taker: tuple[Call, int] | None = None
) -> Iterator[Use]:
    for subscript in node.subscripts:
        yield from _uses(subscript, at)
    for step in node.path:
        if isinstance(step, Index):
            yield from _uses(step.index, at)
    yield Use(node.object, node.subscripts, reads, writes, at.conditional, at.loops, node.range, node.path, taker)


def _call(node: Call, at: _Context) -> Iterator[Use]:
    function = next((f for f in at.functions if f.name == node.function and node.callee is Callee.USER), None)
    for place, argument in enumerate(node.arguments):
        target = argument.target if isinstance(argument, AddressOf) else argument
        if isinstance(target, Access) and (isinstance(argument, AddressOf) or _is_pointer(target)):
            parameter = (
                function.parameters[place] if function is not None and place < len(function.parameters) else None
            )
            writes = parameter is None or not parameter.const
            taker = None if function is None or parameter is None else (node, place)
            yield from _access(target, at, reads=True, writes=writes, taker=taker)
        else:
            yield from _uses(argument, at)


def _is_pointer(access: Access) -> bool:
    return access.object.storage is not Storage.SCALAR and len(access.subscripts) < access.object.rank


def _conditional(node: Any, at: _Context) -> Iterator[Use]:
    """Nodes whose first part is evaluated for certain and the rest perhaps."""
    inside = replace(at, conditional=True)
    if isinstance(node, ForLoop):
        if node.initialization is not None:
            yield from _uses(node.initialization, at)
        if node.condition is not None:
            yield from _uses(node.condition, at)
        for part in (node.body, node.advance):
            if part is not None:
                yield from _uses(part, inside)
        return
    if isinstance(node, (If, Conditional)) and node.otherwise is not None and not at.conditional:
        yield from _uses(node.condition, at)
        yield from _either(tuple(_uses(node.then, at)), tuple(_uses(node.otherwise, at)), at)
        return
    first, *others = children(node)
    yield from _uses(first, at)
    for other in others:
        yield from _uses(other, inside)


def _either(then: tuple[Use, ...], otherwise: tuple[Use, ...], at: _Context) -> Iterator[Use]:
    """Uses of which those of one branch, or choice, happen: of what both do to the same element, the later one counts as certain."""
    changed = {use.object for use in (*then, *otherwise) if use.writes}
    certain = {_done(use) for use in then if not use.conditional and use.loops == at.loops}
    for use in then:
        yield replace(use, conditional=True)
    for use in otherwise:
        steps = (step.index for step in use.path if isinstance(step, Index))
        places = (node for part in (*use.subscripts, *steps) for node in walk(part) if isinstance(node, Access))
        steady = not any(node.object in changed for node in places)
        both = not use.conditional and use.loops == at.loops and _done(use) in certain
        yield replace(use, conditional=not (both and steady))


def _done(use: Use) -> tuple[object, ...]:
    return use.object, use.subscripts, use.path, use.reads, use.writes


def _loop(node: Loop, at: _Context) -> Iterator[Use]:
    for bound in (node.lower, node.upper, node.step):
        yield from _uses(bound, at)
    yield Use(node.iterator, (), False, True, at.conditional, at.loops, node.header)
    conditional = at.conditional or leaves_early(node.body)
    yield from _uses(node.body, replace(at, conditional=conditional, loops=(*at.loops, node)))


def _nest(node: TileNest, at: _Context) -> Iterator[Use]:
    inner = at
    for tiled in node.loops:
        loop = tiled.loop
        if not (at.launch and tiled.launch_bounds):
            for bound in (loop.lower, loop.upper, loop.step):
                yield from _uses(bound, inner)
        if not at.launch:
            yield Use(loop.iterator, (), False, True, at.conditional, inner.loops, loop.header)
        inner = replace(inner, loops=(*inner.loops, loop))
    yield from _uses(node.body, inner)


def _declarator(node: Declarator, at: _Context) -> Iterator[Use]:
    for length in node.object.lengths:
        if length is not None:
            yield from _uses(length, at)
    for child in children(node):
        yield from _uses(child, at)
    if node.initializer is not None:
        yield Use(node.object, (), False, True, at.conditional, at.loops, node.object.range)
