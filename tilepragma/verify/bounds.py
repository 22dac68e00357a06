"""What a device holds suffices: accesses lie in the sections, and what is read was copied in or
written before.

    accessed    { A[x] : an instance of the region touches it, and 0 <= x < the array's extent where that is known }
    held        { A[x] : lower_k <= x_k < lower_k + length_k }

A plan that runs every instance once, dependences forward, accesses what the region accesses and
hands on what it hands on. Dimensions that are not affine are left out.
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
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.footprints import overwrites
from tilepragma.poly.program_model import DependenceKind
from tilepragma.poly.scop import AccessKind, Reference, Scop
from tilepragma.verify.delinearised_rows import beyond_section
from tilepragma.verify.flat_indices import in_one_dimension, leaving_rows
from tilepragma.verify.statement_matching import Finding

_SET = isl.dim_type.set


@dataclass(frozen=True)
class HeldArray:
    """`section`: (lower, length) of each dimension, None where the user's own words say it.
    `copied_in`: it holds the host's values from the start; `copied_out`: all of the section goes
    back.
    """

    object: DataObject
    section: tuple[tuple[Expression, Expression] | None, ...]
    copied_in: bool
    copied_out: bool


def unheld(
    scop: Scop, dependences: Iterable[Dependence], arrays: Iterable[HeldArray], written: frozenset[DataObject]
) -> Iterator[Finding]:
    """A sentence for every access that a device cannot serve, and for elements that would come back without a value."""
    frame = Frame(scop.context, (), written)
    by_name: dict[str, list[Reference]] = {}
    for statement in scop.statements:
        for reference in statement.references:
            by_name.setdefault(reference.object.name, []).append(reference)
    known = list(dependences)
    for array in arrays:
        references = by_name.get(array.object.name, [])
        if not array.copied_in:
            yield from _without_value(array, references, known)
        if array.object.rows_in is not None:
            yield from leaving_rows(array.object, references, frame)
            flat = [one for each in references if (one := in_one_dimension(each)) is not None]
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
    """Whether { [x] } is known to lie in what is held of an array, wherever all of { [x] : the
    region touches x } does: where it does not, the region leaves the array itself.
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
    """Whether { [x] } of an array that is seen by rows lies in them, between the first and the last
    of the elements { [x] : the region touches x }: what is held of it is one piece.
    """
    rank = array.object.rank
    if len(array.section) == rank or rank < 2:
        return False
    touched = touched.coalesce()
    if not elements.params().is_subset(touched.params()) or _leaves(elements, touched):
        return False
    return not any(_leaves(_along(elements, place, rank), _along(touched, place, rank)) for place in range(1, rank))


def _leaves(elements: isl.Set, touched: isl.Set) -> bool:
    """Whether an element lies before the first of those that are touched or behind the last, in lexicographic order."""
    first, last = elements.lex_lt_set(touched.lexmin()), elements.lex_gt_set(touched.lexmax())
    return not first.is_empty() or not last.is_empty()


def _along(elements: isl.Set, place: int, rank: int) -> isl.Set:
    """The subscripts that they have for a dimension."""
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
    """Whether isl knows how the bounds relate to what is touched: an expression that it takes for a parameter must be in both."""
    return all(isinstance(frame.parameters.get(name), Access) for name in _parameters(held) - _parameters(touched))


def _parameters(values: isl.Set) -> set[str]:
    return {str(values.get_dim_name(isl.dim_type.param, place)) for place in range(values.dim(isl.dim_type.param))}


def _at(place: int, values: isl.Set, rank: int) -> isl.Set:
    """{ [x_1, …, x_rank] : x_place in values }"""
    return values.insert_dims(_SET, 0, place).add_dims(_SET, rank - place - 1)


def _bounded(touched: isl.Set, place: int) -> bool:
    """Whether the dimension is known at all of what may be touched."""
    rank = touched.dim(_SET)
    one = touched.project_out(_SET, place + 1, rank - place - 1).project_out(_SET, 0, place)
    return bool(one.dim_has_any_lower_bound(_SET, 0) and one.dim_has_any_upper_bound(_SET, 0))


def _extent(object_: DataObject, place: int, frame: Frame) -> isl.Set:
    """{ [x] } that the dimension has, all where that is not known: the user's word, which accesses keep to, and not the planner's."""
    everything = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 1))
    length = object_.lengths[place]
    if length is None or object_.scope is Scope.TEMPORARY:
        return everything
    try:
        return _range(frame.number(0), affine(length, frame))
    except NotAffineError:
        return everything


def _between(bounds: tuple[Expression, Expression] | None, frame: Frame) -> isl.Set | None:
    """{ [x] : lower <= x < lower + length }, if it is affine."""
    if bounds is None:
        return None
    try:
        lower = affine(bounds[0], frame)
        return _range(lower, lower.add(affine(bounds[1], frame)))
    except NotAffineError:
        return None


def _range(lower: isl.PwAff, end: isl.PwAff) -> isl.Set:
    """{ [x] : lower <= x < end }, of functions of nothing."""
    return _at_least(lower).subtract(_at_least(end))


def _at_least(value: isl.PwAff) -> isl.Set:
    """{ [x] : x >= value }, of a function of nothing."""
    values = isl.Map.from_pw_aff(value).range()
    return isl.Map.lex_le(values.get_space()).intersect_domain(values).range()


def _without_value(array: HeldArray, references: list[Reference], dependences: list[Dependence]) -> Iterator[Finding]:
    """Reads that no write surely precedes: { S[i] } minus those that a flow dependence of a must-write reaches."""
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
                f"'{array.object.host}' is read on line {reference.range.start.line}, column {reference.range.start.column}, but is not "
                "copied in, and nothing surely writes those elements before"
            )
            yield Finding("what is read has a value", text, reference.exact)
            return


def _surely_writes(source: Reference, member: str | None) -> bool:
    """Whether the source writes all that a read of the element, or of the member, reads."""
    if source.kind is AccessKind.MUST_WRITE:
        return True
    return source.exact and source.whole and source.writes and member is not None and source.member == member


def _all_written(array: HeldArray, references: list[Reference], frame: Frame, scop: Scop) -> bool:
    """{ A[x] : x in the section } must all be written, since all of them go back."""
    if scop.strides_of(array.object) or isinstance(array.object.element, RecordType):
        section = [bounds for bounds in array.section if bounds is not None]
        return len(section) == len(array.section) and overwrites(scop, array.object, section)
    held = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 0))
    for bounds in array.section:
        one = _between(bounds, frame)
        if one is None:
            return False
        held = held.flat_product(one)
    written = (
        reference.relation.range().reset_tuple_id()
        for reference in references
        if reference.kind is AccessKind.MUST_WRITE
    )
    return bool(reduce(isl.Set.subtract, written, held).is_empty())


def _example(elements: isl.Set, place: int) -> str:
    point = elements.sample_point()
    space = elements.get_space()
    given = [
        f"{space.get_dim_name(isl.dim_type.param, index)} = {point.get_coordinate_val(isl.dim_type.param, index)}"
        for index in range(space.dim(isl.dim_type.param))
    ]
    return f"{point.get_coordinate_val(_SET, place)}" + (f" (where {', '.join(given)})" if given else "")
