"""A device's sections suffice: accesses lie in them, and each read has a value, copied in or
written before.

    accessed    { A[x] : an instance of the region touches it, and 0 <= x < its extent, if known }
    held        { A[x] : lower_k <= x_k < lower_k + length_k }

A plan that runs every instance once, dependences forward, has the region's accesses and live-out
values. The check skips dimensions that are not affine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope
from tilepragma.ir.types import RecordType
from tilepragma.poly.affine import Frame, NotAffineError, affine
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.footprints import overwrites
from tilepragma.poly.scop import AccessKind, Reference, Scop
from tilepragma.verify.delinearised_rows import beyond_section, half_open
from tilepragma.verify.flat_indices import in_one_dimension, leaving_rows
from tilepragma.verify.statement_matching import Finding, parameter_values

_SET = isl.dim_type.set


@dataclass(frozen=True)
class HeldArray:
    """An array on a device. `section`: (lower, length) of each dimension, None for the user's own
    bounds. `copied_in`: it holds the host's values from the start; `copied_out`: the whole section
    goes back.
    """

    object: DataObject
    section: tuple[tuple[Expression, Expression] | None, ...]
    copied_in: bool
    copied_out: bool


def unheld(
    scop: Scop, dependences: Iterable[Dependence], arrays: Iterable[HeldArray], written: frozenset[DataObject]
) -> Iterator[Finding]:
    """A sentence for each access outside its section, and for results without a value."""
    frame = Frame(scop.context, (), written)
    by_name: dict[str, list[Reference]] = {}
    for statement in scop.statements:
        for reference in statement.references:
            by_name.setdefault(reference.object.name, []).append(reference)
    dependence_list = list(dependences)
    for array in arrays:
        references = by_name.get(array.object.name, [])
        if not array.copied_in:
            yield from _without_value(array, references, dependence_list)
        if array.object.rows_in is not None:
            yield from leaving_rows(array.object, references, frame)
            flat = [flattened for reference in references if (flattened := in_one_dimension(reference)) is not None]
            if len(flat) == len(references):
                references, array = flat, replace(array, object=array.object.stored)
        if scop.strides_of(array.object):
            yield from _outside_rows(array, references, scop, frame)
        else:
            yield from _outside(array, references, frame)
        if array.copied_out and not array.copied_in and not _all_written(array, references, frame, scop):
            text = f"'{array.object.host}' is copied out but not in, and not all of it is surely written"
            yield Finding("what is read has a value", text, False)


def _outside(array: HeldArray, references: list[Reference], frame: Frame) -> Iterator[Finding]:
    ranges = [reference.relation.range().reset_tuple_id() for reference in references]
    for place, bounds in enumerate(array.section):
        held = _between(bounds, frame)
        if held is None:
            continue
        beyond = _at(place, _extent(array.object, place, frame).subtract(held).coalesce(), array.object.rank)
        for reference, touched in zip(references, ranges, strict=True):
            if touched.dim(_SET) != array.object.rank or not _comparable(held, touched, frame):
                continue
            outside = touched.intersect(beyond)
            if not outside.is_empty() and (reference.exact or _bounded(touched, place)):
                yield _beyond(array, reference, f"index {_example(outside, place)} of dimension {place}")
                return


def lies_in_section(array: HeldArray, elements: isl.Set, touched: isl.Set, frame: Frame) -> bool:
    """Whether { [x] } surely lies in the array's section, wherever all of { [x] : the region
    touches x } does; elsewhere the region itself leaves the section.
    """
    if len(array.section) != array.object.rank:
        return False
    every = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 1))
    section, inside = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 0)), True
    for place, bounds in enumerate(array.section):
        held = _between(bounds, frame)
        if held is None or not _comparable(held, elements, frame):
            return False
        section = section.flat_product(held)
        inside = inside and elements.intersect(_at(place, every.subtract(held), array.object.rank)).is_empty()
    if inside:
        return True
    beyond = elements.subtract(section)
    astray = touched.subtract(section).params()
    return bool(beyond.intersect_params(astray.complement()).is_empty())


def lies_between(array: HeldArray, elements: isl.Set, touched: isl.Set) -> bool:
    """Whether elements { [x] } of a delinearised array keep to their rows, between the first and
    the last element that the region touches: its section is one piece.
    """
    rank = array.object.rank
    if len(array.section) == rank or rank < 2:
        return False
    touched = touched.coalesce()
    if not elements.params().is_subset(touched.params()) or _leaves(elements, touched):
        return False
    return not any(_leaves(_along(elements, place, rank), _along(touched, place, rank)) for place in range(1, rank))


def _leaves(elements: isl.Set, touched: isl.Set) -> bool:
    """Whether an element lies before the first touched one or after the last, lexicographically."""
    first, last = elements.lex_lt_set(touched.lexmin()), elements.lex_gt_set(touched.lexmax())
    return not first.is_empty() or not last.is_empty()


def _along(elements: isl.Set, place: int, rank: int) -> isl.Set:
    """Their subscripts in one dimension."""
    kind = isl.dim_type.set
    return elements.project_out(kind, place + 1, rank - place - 1).project_out(kind, 0, place).coalesce()


def _beyond(array: HeldArray, reference: Reference, where: str) -> Finding:
    start = reference.range.start
    text = (
        f"'{array.object.host}' is accessed on line {start.line}, column {start.column} at {where}, outside its section"
    )
    return Finding("accesses lie in the sections", text, reference.exact)


def _outside_rows(array: HeldArray, references: list[Reference], scop: Scop, frame: Frame) -> Iterator[Finding]:
    bounds, by = next(iter(array.section), None), scop.strides_of(array.object)
    for reference in references:
        if bounds is not None and reference.relation.dim(isl.dim_type.out) == len(by) + 1:
            where = beyond_section(reference, bounds, scop, frame)
            if where is not None:
                yield _beyond(array, reference, where)
                return


def _comparable(held: isl.Set, touched: isl.Set, frame: Frame) -> bool:
    """Whether both contain each expression that isl takes for a parameter."""
    return all(isinstance(frame.parameters.get(name), Access) for name in _parameters(held) - _parameters(touched))


def _parameters(values: isl.Set) -> set[str]:
    return {str(values.get_dim_name(isl.dim_type.param, place)) for place in range(values.dim(isl.dim_type.param))}


def _at(place: int, values: isl.Set, rank: int) -> isl.Set:
    """{ [x_1, …, x_rank] : x_place in values }"""
    return values.insert_dims(_SET, 0, place).add_dims(_SET, rank - place - 1)


def _bounded(touched: isl.Set, place: int) -> bool:
    """Whether the dimension of the touched elements has any bounds."""
    rank = touched.dim(_SET)
    values = touched.project_out(_SET, place + 1, rank - place - 1).project_out(_SET, 0, place)
    return bool(values.dim_has_any_lower_bound(_SET, 0) and values.dim_has_any_upper_bound(_SET, 0))


def _extent(object_: DataObject, place: int, frame: Frame) -> isl.Set:
    """{ [x] } in the dimension's extent, all x if unknown: accesses keep to the user's word."""
    everything = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 1))
    length = object_.lengths[place]
    if length is None or object_.scope is Scope.TEMPORARY:
        return everything
    try:
        return half_open(frame.number(0), affine(length, frame))
    except NotAffineError:
        return everything


def _between(bounds: tuple[Expression, Expression] | None, frame: Frame) -> isl.Set | None:
    """{ [x] : lower <= x < lower + length }, if it is affine."""
    if bounds is None:
        return None
    try:
        lower = affine(bounds[0], frame)
        return half_open(lower, lower.add(affine(bounds[1], frame)))
    except NotAffineError:
        return None


def _without_value(array: HeldArray, references: list[Reference], dependences: list[Dependence]) -> Iterator[Finding]:
    """Reads without a sure write before them: { S[i] } minus the sinks of flow from must-writes."""
    for reference in references:
        if reference.writes:
            continue
        served = (
            dependence.relation.range()
            for dependence in dependences
            if dependence.kind is DependenceKind.FLOW
            and dependence.sink is reference
            and _surely_writes(dependence.source, reference.member)
        )
        unserved = reduce(isl.Set.subtract, served, reference.relation.domain())
        if not unserved.is_empty():
            text = (
                f"'{array.object.host}' is read on line {reference.range.start.line}, column "
                f"{reference.range.start.column}, but is not "
                "copied in, and nothing surely writes those elements before"
            )
            yield Finding("what is read has a value", text, reference.exact)
            return


def _surely_writes(source: Reference, member: str | None) -> bool:
    """Whether the source writes all of the element, or of the member, that a read reads."""
    if source.kind is AccessKind.MUST_WRITE:
        return True
    return source.exact and source.whole and source.writes and member is not None and source.member == member


def _all_written(array: HeldArray, references: list[Reference], frame: Frame, scop: Scop) -> bool:
    """Whether all { A[x] : x in the section } are written, since all of them go back."""
    if scop.strides_of(array.object) or isinstance(array.object.element, RecordType):
        section = [bounds for bounds in array.section if bounds is not None]
        return len(section) == len(array.section) and overwrites(scop, array.object, section)
    held = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 0))
    for bounds in array.section:
        side = _between(bounds, frame)
        if side is None:
            return False
        held = held.flat_product(side)
    written = (
        reference.relation.range().reset_tuple_id()
        for reference in references
        if reference.kind is AccessKind.MUST_WRITE
    )
    return bool(reduce(isl.Set.subtract, written, held).is_empty())


def _example(elements: isl.Set, place: int) -> str:
    point = elements.sample_point()
    given = parameter_values(point)
    return f"{point.get_coordinate_val(_SET, place)}" + (f" (where {given})" if given else "")
