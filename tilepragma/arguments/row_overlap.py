"""Rows of `T **` that may share memory: which of them launches compare with other arrays.

C lets any two rows be the same memory. Types, `restrict` and the user's sections tell some apart;
for the others, a launch compares the addresses of the rows that it touches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.accesses import Use, function_uses, uses
from tilepragma.ir.expressions import DataObject, Scope, Storage, access_to
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import mentions
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import ArrayArgument


def with_row_checks(
    kernel: Kernel, arguments: Sequence[ArrayArgument], diagnostics: Diagnostics
) -> tuple[ArrayArgument, ...]:
    """The arguments, with the checks of rows that their launches make. An error for rows that no
    launch can check, for they have rows themselves, or it is not known which of them are touched.
    """
    by_object = {argument.object: argument for argument in arguments}
    apart: set[DataObject] = set()
    for first, second in _pairs(kernel):
        if all(array in by_object and by_object[array].section for array in (first, second)) and (
            first.rank == 2 and by_object[first].doubt is None
        ):
            apart.add(first)
            continue
        others = "rows" if second.storage is Storage.ROWS else "elements"
        meeting = f"rows of '{first.host}' and {others} of '{second.host}' may be the same memory"
        remedy = "declare one of them restrict, or say their sections in a data clause"
        diagnostics.error(kernel.range, f"{meeting}: {remedy}")
    touched = tuple(uses(kernel.body, kernel.functions))
    return tuple(
        replace(
            argument,
            rows_apart=argument.object in apart,
            rows_distinct=argument.writes and _touches_whole_rows(argument, touched),
        )
        for argument in arguments
    )


def _pairs(kernel: Kernel) -> Iterator[tuple[DataObject, DataObject]]:
    """Rows, and another array of which an element may lie in one of them; the region writes one of
    the two.
    """
    sections = {section.path for clause in kernel.directive.data for section in clause.sections}
    touched: dict[DataObject, bool] = {}
    for use in (*uses(kernel.body, kernel.functions), *function_uses(kernel.functions)):
        object_ = use.object
        is_reached = object_.scope is Scope.EXTERNAL and object_.name not in kernel.dead_arrays
        if object_.storage is not Storage.SCALAR and is_reached:
            touched[object_] = touched.get(object_, False) or use.writes
    for first, second in itertools.permutations(touched, 2):
        rows = first.storage is Storage.ROWS and not (first.host in sections and second.host in sections)
        if rows and (touched[first] or touched[second]) and not _distinct(first, second):
            yield first, second


def _distinct(first: DataObject, second: DataObject) -> bool:
    if first.restrict or second.restrict:
        return True
    first_type, second_type = first.element, second.element
    if not isinstance(first_type, ScalarType) or not isinstance(second_type, ScalarType):
        return False
    different = (first_type.kind, first_type.bits) != (second_type.kind, second_type.bits)
    return different and min(first_type.bits, second_type.bits) > 8


def _touches_whole_rows(argument: ArrayArgument, touched: Sequence[Use]) -> bool:
    """Whether launches touch all elements of the section, so that two rows of it that share memory
    are a dependence: { [i, j] : low_i <= i < high_i and low_j <= j < high_j }, by the loops' form.
    """
    object_ = argument.object
    if object_.storage is not Storage.ROWS or object_.rank != 2 or not argument.section or argument.doubt is not None:
        return False
    return all(_is_rectangular(use) for use in touched if use.object == object_)


def _is_rectangular(use: Use) -> bool:
    """Whether one loop alone moves each subscript, by 1 an iteration, between fixed bounds."""
    if use.conditional or len(use.subscripts) < use.object.rank:
        return False
    loops = {loop.iterator: loop for loop in use.loops}
    moving: list[DataObject] = []
    for value in map(polynomial, use.subscripts):
        inside = [iterator for iterator in loops if any(mentions(atom, iterator) for atom in value.atoms)]
        parts = value.split(access_to(inside[0])) if len(inside) == 1 else None
        if inside and (parts is None or parts[0].constant not in (1, -1)):
            return False
        if parts is not None and any(mentions(atom, inside[0]) for atom in parts[1].atoms):
            return False
        moving += inside
    return len(set(moving)) == len(moving) and all(
        polynomial(loops[iterator].step).constant in (1, -1)
        and not any(mentions(bound, other) for bound in loops[iterator].bounds for other in loops)
        for iterator in moving
    )
