"""A device's sections suffice: accesses lie in them, and each read has a value, copied in or
written before.

    accessed    { A[x] : an instance of the region touches it, and 0 <= x < its extent, if known }
    held        { A[x] : lower_k <= x_k < lower_k + length_k }

A plan that runs every instance once, dependences forward, has the region's accesses and live-out
values. The check skips dimensions that are not affine.

Sections of one-dimensional arrays seen through strides, `a[i*m + j]` as A[q_1, …, q_k, r]
(delinearisation):

    held      { A[q, r] : l <= (q, r) < h lexicographically }
    lower = l . (s, 1),  lower + length = h . (s, 1)

The parts of l and h lie in the ranges of elements' parts, 0 <= l_(j+1) < s_j / s_(j+1), so that
their order is the order of places. This proves a section for all strides. Where the ends have no
such parts, the check compares places at some strides, where all is affine.

Delinearised arrays (`DataObject.rows_in`) are the user's one-dimensional arrays:

    place      { A[q_1, …, q_k, r] -> A[q_1 s_1 + … + q_k s_k + r] }

is one to one where 0 <= q_(l+1) < s_l / s_(l+1) and 0 <= r < s_k, so all accesses must lie there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope, Storage
from tilepragma.ir.polynomial import Polynomial, expression
from tilepragma.ir.row_strides import row_strides
from tilepragma.ir.types import RecordType
from tilepragma.plan.kernel_plan import ArrayArgument
from tilepragma.poly.affine import Frame, NotAffineError, affine, affine_polynomial
from tilepragma.poly.delinearise import split_subscript
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.footprints import has_bounds, overwrites, section_ends, surely_writes
from tilepragma.poly.operation_limit import OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind, Reference, Scop
from tilepragma.verify.certificate import Fault
from tilepragma.verify.instances import grouped, parameter_values

_SET, _PARAMETER = isl.dim_type.set, isl.dim_type.param

#: isl's operations for the proof of one reference.
_MOST_WORK = 400_000

#: Trial values of the scalars that make up strides.
_STRIDES = ((5, 7, 6, 4), (8, 5, 9, 6), (1, 2, 1, 3))

Bounds = tuple[Expression, Expression]


def unheld(
    scop: Scop, dependences: Iterable[Dependence], arrays: Iterable[ArrayArgument], written: frozenset[DataObject]
) -> Iterator[Fault]:
    """A fault for each access outside its section, and for results without a value."""
    frame = Frame(scop.context, (), written)
    every = (reference for statement in scop.statements for reference in statement.references)
    by_name = grouped(every, lambda reference: reference.object.name)
    dependence_list = list(dependences)
    for array in arrays:
        references = by_name.get(array.object.name, [])
        if not array.copy_in:
            yield from _without_value(array, references, dependence_list)
        if array.object.rows_in is not None:
            yield from _leaving_rows(array.object, references, frame)
            flat = [flattened for reference in references if (flattened := _in_one_dimension(reference)) is not None]
            if len(flat) == len(references):
                references, array = flat, replace(array, object=array.object.stored)
        if scop.strides_of(array.object):
            yield from _outside_rows(array, references, scop, frame)
        else:
            yield from _outside(array, references, frame)
        if array.copy_out and not array.copy_in and not _all_written(array, references, frame, scop):
            text = f"'{array.object.host}' is copied out but not in, and not all of it is surely written"
            yield Fault("what is read has a value", text, False)


def _section(array: ArrayArgument) -> tuple[Bounds | None, ...]:
    """Each dimension's lower bound and length; None for the user's own. An array with assumed
    extents holds no element for certain: launches may read only what the region reads.
    """
    sides = ((bound.lower, bound.length) for bound in array.section)
    return tuple(
        None
        if array.doubt is not None or isinstance(lower, ClauseExpression) or isinstance(length, ClauseExpression)
        else (lower, length)
        for lower, length in sides
    )


def _outside(array: ArrayArgument, references: list[Reference], frame: Frame) -> Iterator[Fault]:
    ranges = [reference.relation.range().reset_tuple_id() for reference in references]
    for place, bounds in enumerate(_section(array)):
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


def lies_in_section(array: ArrayArgument, elements: isl.Set, touched: isl.Set, frame: Frame) -> bool:
    """Whether { [x] } surely lies in the array's section, wherever all of { [x] : the region
    touches x } does; elsewhere the region itself leaves the section.
    """
    if len(array.section) != array.object.rank:
        return False
    every = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 1))
    section, inside = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 0)), True
    for place, bounds in enumerate(_section(array)):
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


def lies_between(array: ArrayArgument, elements: isl.Set, touched: isl.Set) -> bool:
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
    return elements.project_out(_SET, place + 1, rank - place - 1).project_out(_SET, 0, place).coalesce()


def _beyond(array: ArrayArgument, reference: Reference, where: str) -> Fault:
    start = reference.range.start
    text = (
        f"'{array.object.host}' is accessed on line {start.line}, column {start.column} at {where}, outside its section"
    )
    return Fault("accesses lie in the sections", text, reference.exact)


def _outside_rows(array: ArrayArgument, references: list[Reference], scop: Scop, frame: Frame) -> Iterator[Fault]:
    bounds, by = next(iter(_section(array)), None), scop.strides_of(array.object)
    for reference in references:
        if bounds is not None and reference.relation.dim(isl.dim_type.out) == len(by) + 1:
            where = _beyond_section(reference, bounds, scop, frame)
            if where is not None:
                yield _beyond(array, reference, where)
                return


def _comparable(held: isl.Set, touched: isl.Set, frame: Frame) -> bool:
    """Whether both contain each expression that isl takes for a parameter."""
    return all(isinstance(frame.parameters.get(name), Access) for name in _parameters(held) - _parameters(touched))


def _parameters(values: isl.Set) -> set[str]:
    return {str(values.get_dim_name(_PARAMETER, place)) for place in range(values.dim(_PARAMETER))}


def _at(place: int, values: isl.Set, rank: int) -> isl.Set:
    """{ [x_1, …, x_rank] : x_place in values }"""
    return values.insert_dims(_SET, 0, place).add_dims(_SET, rank - place - 1)


def _bounded(touched: isl.Set, place: int) -> bool:
    rank = touched.dim(_SET)
    return has_bounds(touched.project_out(_SET, place + 1, rank - place - 1).project_out(_SET, 0, place))


def _extent(object_: DataObject, place: int, frame: Frame) -> isl.Set:
    """{ [x] } in the dimension's extent, all x if unknown: accesses keep to the user's word."""
    everything = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 1))
    length = object_.lengths[place]
    if length is None or object_.scope is Scope.TEMPORARY:
        return everything
    try:
        return _half_open(frame.number(0), affine(length, frame))
    except NotAffineError:
        return everything


def _between(bounds: tuple[Expression, Expression] | None, frame: Frame) -> isl.Set | None:
    """{ [x] : lower <= x < lower + length }, if it is affine."""
    if bounds is None:
        return None
    try:
        lower = affine(bounds[0], frame)
        return _half_open(lower, lower.add(affine(bounds[1], frame)))
    except NotAffineError:
        return None


def _without_value(array: ArrayArgument, references: list[Reference], dependences: list[Dependence]) -> Iterator[Fault]:
    """Reads without a sure write before them: { S[i] } minus the sinks of flow from must-writes."""
    for reference in references:
        if reference.writes:
            continue
        flow = (edge for edge in dependences if edge.kind is DependenceKind.FLOW and edge.sink is reference)
        served = (edge.relation.range() for edge in flow if surely_writes(edge.source, reference.member))
        unserved = reduce(isl.Set.subtract, served, reference.relation.domain())
        if not unserved.is_empty():
            start = reference.range.start
            text = (
                f"'{array.object.host}' is read on line {start.line}, column {start.column}, but is not copied in, and "
                "nothing surely writes those elements before"
            )
            yield Fault("what is read has a value", text, reference.exact)
            return


def _all_written(array: ArrayArgument, references: list[Reference], frame: Frame, scop: Scop) -> bool:
    """Whether all { A[x] : x in the section } are written, since all of them go back."""
    if scop.strides_of(array.object) or isinstance(array.object.element, RecordType):
        section = [bounds for bounds in _section(array) if bounds is not None]
        return len(section) == len(array.section) and overwrites(scop, array.object, section)
    held = isl.Set.universe(isl.Space.set_alloc(frame.context, 0, 0))
    for bounds in _section(array):
        side = _between(bounds, frame)
        if side is None:
            return False
        held = held.flat_product(side)
    writes = (reference for reference in references if reference.kind is AccessKind.MUST_WRITE)
    written = (reference.relation.range().reset_tuple_id() for reference in writes)
    return bool(reduce(isl.Set.subtract, written, held).is_empty())


def _example(elements: isl.Set, place: int) -> str:
    point = elements.sample_point()
    given = parameter_values(point)
    return f"{point.get_coordinate_val(_SET, place)}" + (f" (where {given})" if given else "")


# -- arrays seen through strides


def _beyond_section(reference: Reference, bounds: Bounds, scop: Scop, frame: Frame) -> str | None:
    """Where the reference touches an element outside `[lower : length]` of its array under the
    SCoP's assumptions, in words; None where it does not, or where that is unknown.
    """
    by, origin, parameters = scop.strides_of(reference.object), scop.origin_of(reference.object), scop.parameters
    touched = reference.relation.range().reset_tuple_id()
    if scop.assumed is not None:
        touched = touched.intersect_params(scop.assumed)
    if not reference.exact and not has_bounds(touched):
        return None
    try:
        with operation_limit(scop.context, _MOST_WORK, "proving a section for all strides"):
            held = _held(bounds, by, origin, touched.params(), frame)
            if held is not None and touched.is_subset(held):
                return None
    except OperationLimitError:
        pass  # some strides are easier
    for numbers, chosen in _trials(by, frame):
        places = _places(touched, by, origin, parameters, chosen)
        within = _between(bounds, chosen)
        if places is None or within is None:
            continue
        outside = places.subtract(within)
        if not outside.is_empty():
            place = outside.sample_point().get_coordinate_val(_SET, 0)
            return f"index {place} (where {numbers})"
    return None


def _held(
    bounds: Bounds, by: tuple[Polynomial, ...], origin: Polynomial, given: isl.Set, frame: Frame
) -> isl.Set | None:
    """{ [q, r] : lower <= o + q . s + r < lower + length } where `given`; None without parts."""
    first, beyond = (_point(value - origin, by, given, frame) for value in section_ends(*bounds))
    if first is None or beyond is None:
        return None
    try:
        nonempty = affine(bounds[1], frame).gt_set(frame.number(0)).params()
    except NotAffineError:
        return None
    space = first.get_space()
    from_first = isl.Map.lex_le(space).intersect_domain(first).range()
    before_end = isl.Map.lex_gt(space).intersect_domain(beyond).range()
    return from_first.intersect(before_end).intersect_params(nonempty)


def _point(value: Polynomial, by: tuple[Polynomial, ...], given: isl.Set, frame: Frame) -> isl.Set | None:
    """{ [q, r] : q . s + r = value }, with parts in the ranges of elements' parts."""
    split = split_subscript(expression(value), by, frame, isl.Set.from_params(given))
    if split is None:
        return None
    return reduce(isl.Set.flat_product, (isl.Map.from_pw_aff(part).range() for part in split.parts))


def _places(
    touched: isl.Set,
    by: tuple[Polynomial, ...],
    origin: Polynomial,
    parameters: Mapping[str, Expression],
    frame: Frame,
) -> isl.Set | None:
    """{ [o + q . s + r] : [q, r] in touched }; None where it is not affine with the frame's
    numbers.
    """
    try:
        for place in range(touched.dim(_PARAMETER)):
            name = str(touched.get_dim_name(_PARAMETER, place))
            value = affine(parameters[name], frame)
            touched = touched.intersect_params(frame.parameter(name).eq_set(value).params())
        strides = [affine_polynomial(stride, expression(stride), frame) for stride in by]
        moved = affine_polynomial(origin, expression(origin), frame)
    except NotAffineError:
        return None
    if not all(stride.is_cst() for stride in strides):
        return None
    places = touched.apply(_linear([*(stride.min_val() for stride in strides), 1], frame.context))
    if not origin.terms:
        return places
    first = isl.Map.from_pw_aff(moved).range().align_params(places.get_space())
    return first.sum(places.align_params(first.get_space()))


def _linear(strides: Sequence[object], context: isl.Context) -> isl.Map:
    """{ [q_1, …, q_n] -> [q_1 s_1 + … + q_n s_n] }"""
    names = [f"q{place}" for place in range(len(strides))]
    total = " + ".join(f"{stride} * {name}" for stride, name in zip(strides, names, strict=True))
    return isl.Map(f"{{ [{', '.join(names)}] -> [{total}] }}", context=context)


def _half_open(lower: isl.PwAff, end: isl.PwAff) -> isl.Set:
    """{ [x] : lower <= x < end }, of functions without inputs."""
    return _at_least(lower).subtract(_at_least(end))


def _at_least(value: isl.PwAff) -> isl.Set:
    values = isl.Map.from_pw_aff(value).range()
    return isl.Map.lex_le(values.get_space()).intersect_domain(values).range()


def _trials(by: tuple[Polynomial, ...], frame: Frame) -> Iterator[tuple[str, Frame]]:
    """Trial values of the scalars that make up strides, as text (`m = 5`) and as a frame's facts;
    none where strides contain anything else.
    """
    atoms = dict.fromkeys(atom for stride in by for monomial, _ in stride.terms for atom in monomial)
    objects = [atom.object for atom in atoms if isinstance(atom, Access) and atom.object.storage is Storage.SCALAR]
    for values in _STRIDES if len(objects) == len(atoms) else ():
        numbers = [(object_, values[place % len(values)]) for place, object_ in enumerate(objects)]
        chosen = frame
        for object_, value in numbers:
            chosen = chosen.knowing(object_, frame.number(value))
        yield ", ".join(f"{object_.host} = {value}" for object_, value in numbers), chosen


# -- arrays seen by rows


def _leaving_rows(object_: DataObject, references: Iterable[Reference], frame: Frame) -> Iterator[Fault]:
    """A fault where an access to a delinearised array is not known to keep to its row."""
    # The array itself names its subscripts: it equals no scalar of a length.
    row_frame = replace(frame, iterators=(object_,) * object_.rank)
    inside = isl.Set.universe(row_frame.space)
    for place, length in enumerate(object_.lengths[1:], 1):
        assert length is not None, "rows have a length"
        index = row_frame.iterator(place)
        inside = inside.intersect(index.ge_set(row_frame.number(0))).intersect(index.lt_set(affine(length, row_frame)))
    for reference in references:
        if not reference.relation.range().reset_tuple_id().is_subset(inside):
            start = reference.range.start
            text = f"'{object_.host}' is accessed on line {start.line}, column {start.column} beyond its row"
            yield Fault("rows are as long as they are seen", text, False)
            return


def _in_one_dimension(reference: Reference) -> Reference | None:
    """{ S[i] -> A[place(i)] } for the user's array; None where a length is no constant."""
    object_, relation = reference.object, reference.relation
    strides = [stride.constant for stride in row_strides(object_)]
    if None in strides:
        return None
    place = _linear(strides, relation.get_ctx())
    flat = relation.reset_tuple_id(isl.dim_type.out).apply_range(place).set_tuple_name(isl.dim_type.out, object_.name)
    return replace(reference, object=object_.stored, relation=flat)
