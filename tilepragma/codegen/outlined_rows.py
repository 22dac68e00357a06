"""Outlines the rows of tiles into functions, for compilers of host functions.

The innermost loop of a time tile stands in a nest of many loops whose bounds and addresses compete
for registers. gcc (12) takes a pointer for each element that the statement reads, spills these
pointers, and loads them again for every vector. An outlined function gets one pointer for all
elements at known distances, and one for each other row, so that its loop has only arithmetic:
heat-3d takes 0.75 of the time (float, 120 points a side), 3-D Jacobi 0.8 to 0.85, jacobi-2d 0.85 to
0.95. fdtd-2d takes 1.03 of it, where 5 elements are outlined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.loop_hints import vector_width
from tilepragma.codegen.mentioned_objects import accessed_objects
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Binary,
    Cast,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    integer,
    is_local_index,
)
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, Loop
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import Polynomial, combination, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import changed_in, declared_in, walk
from tilepragma.ir.types import LONG, PointerType

#: The least number of elements in the body of an outlined loop. Fewer pointers fit in registers.
_LEAST_ELEMENTS = 6


@dataclass(frozen=True)
class OutlinedRow:
    """An outlined row. `loop` is the function's body, over iterations from 0 to the first of its
    `parameters`. `arguments` are the values of the other parameters, valid where the loop stood,
    while its iterator has its first value.
    """

    parameters: tuple[DataObject, ...]
    arguments: tuple[Expression, ...]
    loop: Loop


#: Rows by the element that a pointer points to in the first iteration: elements at known distances.
_Rows = dict[Access, dict[Access, int]]


def row_function(loop: Loop, apart: Collection[DataObject], numbers: LaunchParameters) -> OutlinedRow | None:
    """The function for a planner's loop; None where the loop is to stay. It is called where the
    iterator has its first value. No written array of `apart` overlaps another.
    """
    elements = _elements(loop, apart)
    if elements is None:
        return None
    rows = _rows(elements)
    written = changed_in(loop.body)
    for object_ in written:
        if sum(start.object == object_ for start in rows) > 1:
            return None
    return _outlined(loop, rows, written, numbers)


def _elements(loop: Loop, apart: Collection[DataObject]) -> list[Access] | None:
    """The body's different elements, in order; None where it is no row, or has few of them."""
    upwards = loop.comparison in ("<", "<=") and literal_value(loop.step) == 1
    if loop.range != NOWHERE or not loop.declares_iterator or not upwards or not is_local_index(loop.iterator):
        return None
    if vector_width(loop.iterator, loop.step, loop.body) is None:
        return None
    accesses = (node for node in walk(loop.body) if isinstance(node, Access) and node.object.rank > 0)
    elements = list(dict.fromkeys(accesses))
    reads_result = not accessed_objects(elements).keys().isdisjoint(declared_in(loop.body))
    if reads_result or len(elements) < _LEAST_ELEMENTS or any(element.object not in apart for element in elements):
        return None
    return elements


def _rows(elements: list[Access]) -> _Rows:
    """The elements grouped by pointer; each points to the element of the shortest name."""
    groups: list[list[Access]] = []
    for element in elements:
        group = next((group for group in groups if _distance(group[0], element) is not None), None)
        if group is None:
            groups.append([element])
        else:
            group.append(element)
    starts = (min(group, key=lambda element: len(expression_text(element))) for group in groups)
    pairs = zip(starts, groups, strict=True)
    return {start: {element: _distance(start, element) or 0 for element in group} for start, group in pairs}


def _distance(start: Access, element: Access) -> int | None:
    """The distance from `start` to `element`, equal in every iteration; None where not known."""
    if start.object != element.object:
        return None
    pairs = zip(element.subscripts, start.subscripts, strict=True)
    differences = [polynomial(left) - polynomial(right) for left, right in pairs]
    lengths = [literal_value(length) for length in start.object.lengths[1:]]
    total: Polynomial = Polynomial(())
    for length, difference in zip([None, *lengths], differences, strict=True):
        if total.terms and length is None:
            return None
        total = combination(((length or 0, total), (1, difference)))
    return total.constant


def _outlined(loop: Loop, rows: _Rows, written: Set[DataObject], numbers: LaunchParameters) -> OutlinedRow:
    iterator = loop.iterator
    count = _scalar(numbers.fresh(f"{iterator.name}_count"))
    index = _scalar(numbers.fresh(f"{iterator.name}_index"))
    parameters: list[DataObject] = [count]
    arguments: list[Expression] = []
    accesses: dict[Access, Access] = {}
    for start, elements in rows.items():
        object_ = start.object
        siblings = [sibling for sibling in rows if sibling.object == object_]
        number = f"{siblings.index(start) + 1}" if len(siblings) > 1 else ""
        const = object_.const or object_ not in written
        pointer = _pointer(numbers.fresh(f"{object_.name}_row{number}"), object_, const)
        parameters.append(pointer)
        arguments.append(AddressOf(start, PointerType(object_.element)))
        for element, distance in elements.items():
            moves = any(access_to(iterator) in polynomial(subscript).atoms for subscript in element.subscripts)
            accesses[element] = Access(pointer, (_place(index if moves else None, distance),), (), element.type)
    body = with_accesses(loop.body, lambda access: accesses.get(access, access))
    first = _scalar(numbers.fresh(f"{iterator.name}_first"))
    for object_ in _outside(body, index):
        is_iterator = object_ == iterator
        parameters.append(first if is_iterator else replace(object_, scope=Scope.LOCAL, const=True))
        arguments.append(access_to(iterator if is_iterator else object_))
        if is_iterator:
            value = Binary("+", access_to(first), access_to(index), LONG)
            body = Block((Declaration((Declarator(iterator, value),)), *body.statements))
    counted = replace(
        loop, iterator=index, lower=integer(0), comparison="<", upper=access_to(count), step=integer(1), body=body
    )
    return OutlinedRow(tuple(parameters), tuple(arguments), counted)


def iterations(loop: Loop) -> Expression:
    """The trip count of an outlined loop, where its iterator has its first value."""
    upper = loop.upper if loop.upper.type == LONG else Cast(LONG, loop.upper)
    count = Binary("-", upper, access_to(loop.iterator), LONG)
    return count if loop.comparison == "<" else Binary("+", count, integer(1), LONG)


def _outside(body: Block, index: DataObject) -> Iterator[DataObject]:
    """The scalars, except the iterator, that the body reads and does not declare, in order."""
    inside = {index} | declared_in(body)
    scalars = [node.object for node in walk(body) if isinstance(node, Access) and not node.subscripts]
    return (scalar for scalar in dict.fromkeys(scalars) if scalar not in inside)


def _place(index: DataObject | None, distance: int) -> Expression:
    if index is None:
        return integer(distance)
    if distance == 0:
        return access_to(index)
    return Binary("+" if distance > 0 else "-", access_to(index), integer(abs(distance)), LONG)


def _scalar(name: str) -> DataObject:
    return DataObject(name, name, LONG, Storage.SCALAR, Scope.LOCAL, const=True)


def _pointer(name: str, object_: DataObject, const: bool) -> DataObject:
    return DataObject(name, name, object_.element, Storage.CONTIGUOUS, Scope.LOCAL, (None,), const=const, restrict=True)
