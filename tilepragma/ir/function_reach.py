"""Elements that functions touch around the element they get: with &a[i] for p, p[3] is a[i + 3]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from tilepragma.ir.accesses import PassedAddress, Use, returns_early, uses
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
    accesses: Iterable[Use], functions: tuple[Function, ...], members: Mapping[str, DataObject] | None = None
) -> Iterator[Use]:
    """The uses, with those inside functions in place of elements whose addresses the functions get.

    A use has no subscripts if they are unknown. `members` are numbers from outside that the region
    does not change, by their names (`grid->n`).
    """
    for use in accesses:
        whole = not use.subscripts and use.object.rank == 1
        if use.passed is None or use.path or not (use.subscripts or whole):
            yield use
            continue
        inner = _uses_inside(use.passed, functions, members or {})
        if inner is None:
            yield replace(use, subscripts=())
            continue
        # A row is its first element's address.
        row = use.object.rank - len(use.subscripts) == 1
        *rows, last = (*use.subscripts, integer(0)) if row else use.subscripts
        for part in inner:
            (distance,) = part.subscripts
            is_passed = polynomial(distance) == number(0)
            place = last if is_passed else expression(polynomial(last) + polynomial(distance))
            conditional, loops = use.conditional or part.conditional, (*use.loops, *part.loops)
            yield replace(
                use,
                subscripts=(*rows, place),
                path=part.path,
                conditional=conditional,
                loops=loops,
                passed=None,
                from_pointers=() if is_passed or not rows else (-1,),
            )


def touches_one_element(use: Use, functions: tuple[Function, ...]) -> bool:
    """Whether a function that gets an element's address touches only that element."""
    if use.passed is None or not use.subscripts or use.path:
        return False
    inside = _uses_inside(use.passed, functions)
    return inside is not None and all(polynomial(inner.subscripts[0]) == number(0) for inner in inside)


def _uses_inside(
    passed: PassedAddress, functions: tuple[Function, ...], members: Mapping[str, DataObject] = MappingProxyType({})
) -> tuple[Use, ...] | None:
    """The uses of a parameter inside its function, in the call's terms; None without subscripts."""
    function = passed.function_in(functions)
    parameter = function.parameters[passed.position]
    accesses = tuple(with_reach(uses(function.body, functions), functions))
    inside = [use for use in accesses if use.object == parameter]
    if parameter.rank != 1 or any(len(use.subscripts) != 1 for use in inside):
        return None
    written = {use.object for use in accesses if use.writes}
    values = zip(function.parameters, passed.call.arguments, strict=False)
    unwritten = {parameter: value for parameter, value in values if parameter not in written}
    arguments = {parameter: value for parameter, value in unwritten.items() if parameter.storage is Storage.SCALAR}
    arguments |= _set_once(function, accesses, arguments)
    structs = {
        parameter: value.object.host
        for parameter, value in unwritten.items()
        if isinstance(value, Access) and not value.subscripts and not value.path
    }
    in_call = _in_terms_of_call(function, arguments, structs, members)

    def loop_in_call(loop: Loop) -> Loop:
        lower, upper, step = map(in_call, loop.bounds)
        return replace(loop, iterator=_local_of(function, loop.iterator), lower=lower, upper=upper, step=step)

    early = returns_early(function.body)
    return tuple(
        replace(
            use,
            conditional=use.conditional or early,
            subscripts=tuple(map(in_call, use.subscripts)),
            path=tuple(Index(in_call(step.index)) if isinstance(step, Index) else step for step in use.path),
            loops=tuple(map(loop_in_call, use.loops)),
        )
        for use in inside
    )


def _set_once(
    function: Function, accesses: Iterable[Use], arguments: Mapping[DataObject, Expression]
) -> dict[DataObject, Expression]:
    """The numbers that a function declares and never changes, in terms of the call's arguments."""
    writes = Counter(use.object for use in accesses if use.writes)
    numbers = dict(arguments)

    def known(access: Access) -> Expression:
        return numbers.get(access.object, access)

    for node in walk(function.body):
        for declarator in node.declarators if isinstance(node, Declaration) else ():
            value = declarator.value
            changes = writes[declarator.object] > 1 or declarator.object.storage is not Storage.SCALAR
            if value is not None and not changes and all(_is_known(part, numbers) for part in walk(value)):
                numbers[declarator.object] = Cast(declarator.object.element, with_accesses(value, known))
    return {object_: value for object_, value in numbers.items() if object_ not in arguments}


def _is_known(part: object, numbers: Mapping[DataObject, Expression]) -> bool:
    if isinstance(part, Access):
        return part.object in numbers and not (part.subscripts or part.path)
    return not isinstance(part, (Assignment, Increment, Call))


def _in_terms_of_call(
    function: Function,
    arguments: Mapping[DataObject, Expression],
    structs: Mapping[DataObject, str],
    members: Mapping[str, DataObject],
) -> Callable[[Expression], Expression]:
    """Replaces parameters by arguments, and names the function's locals uniquely."""

    def instead(access: Access) -> Expression:
        object_ = access.object
        if object_ in arguments and not access.path:
            return arguments[object_]
        if object_ in structs and access.subscripts in ((), (integer(0),)) and len(access.path) == 1:
            [step] = access.path
            known = members.get(f"{structs[object_]}->{step.name}") if isinstance(step, Member) else None
            if known is not None:
                return access_to(known)
        return replace(access, object=_local_of(function, object_)) if object_.scope is Scope.LOCAL else access

    return lambda value: with_accesses(value, instead)


def _local_of(function: Function, object_: DataObject) -> DataObject:
    return replace(object_, name=f"{object_.name} of {function.name}")
