"""What functions touch around an element whose address they get: of `mean(&a[i])` with `p[0] + p[3]` in it, a[i] and a[i + 3]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from tilepragma.ir.accesses import Use, returns_early, uses
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Call,
    Cast,
    DataObject,
    Expression,
    Increment,
    Index,
    Member,
    Scope,
    Storage,
    access_to,
    integer,
)
from tilepragma.ir.loop_tree import Declaration, Function, Loop
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk


def with_reach(
    found: Iterable[Use], functions: tuple[Function, ...], members: Mapping[str, DataObject] | None = None
) -> Iterator[Use]:
    """The uses, with those that functions make in the place of elements whose addresses they get:
    without subscripts where they are not known.

    `members`: the numbers that the region has from outside and leaves alone, by their names there
    (`grid->n`).
    """
    for use in found:
        whole = not use.subscripts and use.object.rank == 1
        if use.taker is None or use.path or not (use.subscripts or whole):
            yield use
            continue
        inner = _uses_inside(*use.taker, functions, members or {})
        if inner is None:
            yield replace(use, subscripts=())
            continue
        *rows, last = (integer(0),) if whole else use.subscripts
        for one in inner:
            (distance,) = one.subscripts
            place = last if polynomial(distance) == number(0) else expression(polynomial(last) + polynomial(distance))
            conditional = use.conditional or one.conditional
            yield replace(
                use,
                subscripts=(*rows, place),
                path=one.path,
                conditional=conditional,
                loops=(*use.loops, *one.loops),
                taker=None,
            )


def touches_one_element(use: Use, functions: tuple[Function, ...]) -> bool:
    """Whether a function that gets an element's address touches that element and no other around it."""
    if use.taker is None or not use.subscripts or use.path:
        return False
    inside = _uses_inside(*use.taker, functions)
    return inside is not None and all(polynomial(one.subscripts[0]) == number(0) for one in inside)


def _uses_inside(
    call: Call, place: int, functions: tuple[Function, ...], members: Mapping[str, DataObject] = MappingProxyType({})
) -> tuple[Use, ...] | None:
    """The uses of one of a function's parameters in it, in terms of the call's arguments; None where one has no element."""
    function = next(function for function in functions if function.name == call.function)
    parameter = function.parameters[place]
    found = tuple(with_reach(uses(function.body, functions), functions))
    inside = [use for use in found if use.object == parameter]
    if parameter.rank != 1 or any(len(use.subscripts) != 1 for use in inside):
        return None
    written = {use.object for use in found if use.writes}
    arguments = {
        one: value
        for one, value in zip(function.parameters, call.arguments, strict=False)
        if one.storage is Storage.SCALAR and one not in written
    }
    arguments |= _set_once(function, found, arguments)
    structs = {
        one: value.object.host
        for one, value in zip(function.parameters, call.arguments, strict=False)
        if isinstance(value, Access) and not value.subscripts and not value.path and one not in written
    }
    seen = _seen_from_outside(function, arguments, structs, members)
    early = returns_early(function.body)
    return tuple(
        replace(
            use,
            conditional=use.conditional or early,
            subscripts=tuple(map(seen, use.subscripts)),
            path=tuple(Index(seen(step.index)) if isinstance(step, Index) else step for step in use.path),
            loops=tuple(_loop(loop, function, seen) for loop in use.loops),
        )
        for use in inside
    )


def _set_once(
    function: Function, found: Iterable[Use], arguments: Mapping[DataObject, Expression]
) -> dict[DataObject, Expression]:
    """The numbers that a function declares and never sets again, by what they are in terms of the call's arguments."""
    writes = Counter(use.object for use in found if use.writes)
    known = dict(arguments)
    for node in walk(function.body):
        for one in node.declarators if isinstance(node, Declaration) else ():
            value = one.initializer
            if (
                writes[one.object] > 1
                or one.object.storage is not Storage.SCALAR
                or value is None
                or isinstance(value, tuple)
            ):
                continue
            if all(_is_known(part, known) for part in walk(value)):
                known[one.object] = Cast(one.object.element, with_accesses(value, _instead(known)))
    return {one: value for one, value in known.items() if one not in arguments}


def _is_known(part: object, known: Mapping[DataObject, Expression]) -> bool:
    if isinstance(part, Access):
        return part.object in known and not (part.subscripts or part.path)
    return not isinstance(part, (Assignment, Increment, Call))


def _instead(known: Mapping[DataObject, Expression]) -> Callable[[Access], Expression]:
    return lambda access: known.get(access.object, access)


def _seen_from_outside(
    function: Function,
    arguments: Mapping[DataObject, Expression],
    structs: Mapping[DataObject, str],
    members: Mapping[str, DataObject],
) -> Callable[[Expression], Expression]:
    """Arguments for parameters, and names for the function's own objects that nobody else has."""

    def instead(access: Access) -> Expression:
        own = access.object
        if own in arguments and not access.path:
            return arguments[own]
        if own in structs and access.subscripts in ((), (integer(0),)) and len(access.path) == 1:
            [step] = access.path
            known = members.get(f"{structs[own]}->{step.name}") if isinstance(step, Member) else None
            if known is not None:
                return access_to(known)
        return replace(access, object=_named_apart(own, function)) if own.scope is Scope.LOCAL else access

    return lambda value: with_accesses(value, instead)


def _named_apart(own: DataObject, function: Function) -> DataObject:
    return replace(own, name=f"{own.name} of {function.name}")


def _loop(loop: Loop, function: Function, seen: Callable[[Expression], Expression]) -> Loop:
    lower, upper, step = map(seen, (loop.lower, loop.upper, loop.step))
    return replace(loop, iterator=_named_apart(loop.iterator, function), lower=lower, upper=upper, step=step)
