"""Footprints of an object in a region: touched elements, surely written ones, and those whose old
values the region needs.

A delinearised object (`a[i*m + j]` as a[i][j]) has the elements A[q_1, …, q_k, r].
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import Conditional, DataObject, Expression
from tilepragma.ir.polynomial import Polynomial, divide, number, polynomial, select
from tilepragma.ir.types import RecordType, ScalarType
from tilepragma.poly.affine import Frame, NotAffineError, affine_polynomial
from tilepragma.poly.delinearise import Strides, extent
from tilepragma.poly.extents import Bounds
from tilepragma.poly.isl_ast import ParameterReader
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.scop import Accessed, AccessKind, Reference, Scop

#: The greatest number of sets in a union of elements for tests of what lies between them.
_MOST_PIECES = 16

#: `[lower : length]` of one dimension.
Interval = tuple[Expression, Expression]


def overwrites(scop: Scop, object_: DataObject, section: Sequence[Interval] | None) -> bool:
    """Whether the region reads no old values and writes the whole section (None: what it writes).

        { A[a] : section } subset of { A[a] : exists S[i]: S[i] surely writes A[a] }
        { S[i] -> A[a] : S[i] reads A[a] }
            subset of { S[i] -> A[a] : exists T[j] before S[i]: T[j] surely writes A[a] }

    Each member of a record counts alone. False where isl cannot represent the section. Raises
    OperationLimitError.
    """
    accesses = _accesses(scop, object_)
    if accesses is None:
        return False
    with operation_limit(scop.context, DEFAULT_LIMIT, f"finding what is overwritten of '{object_.host}'"):
        rank = accesses[0][1].relation.dim(isl.dim_type.out)
        nothing = isl.Set.empty(isl.Space.set_alloc(scop.context, 0, rank)).set_tuple_name(object_.name)
        wanted = nothing if section is None else _section_set(scop, object_, section)
        return wanted is not None and all(
            _covers([each for each in accesses if member is None or each[1].member in (None, member)], member, wanted)
            for member in _members(object_)
        )


def touched(scop: Scop, object_: DataObject) -> tuple[tuple[Polynomial, Polynomial], ...] | None:
    """(lower, length) by dimension of the smallest section around { A[a] : exists S[i]: S[i]
    touches A[a] }; length 0 where nothing is touched.

    None where that set is not exact, or no simple function of the parameters. Raises
    OperationLimitError.
    """
    accesses = _accesses(scop, object_)
    if accesses is None:
        return None
    with operation_limit(scop.context, DEFAULT_LIMIT, f"finding what is touched of '{object_.host}'"):
        certain = [reference.relation.range() for _, reference in accesses if reference.exact]
        if not certain:
            return None
        elements = reduce(isl.Set.union, certain).coalesce()
        strides = scop.strides_of(object_)
        perhaps = (reference.relation.range() for _, reference in accesses if not reference.exact)
        if not all(_lies_between(each, elements, in_rows=bool(strides)) for each in perhaps):
            return None
        if elements.is_empty():
            return ((number(0), number(0)),) * object_.rank
        bounds, origin = _bounds(scop, elements, strides), scop.origin_of(object_)
        return bounds and ((bounds[0][0] + origin, bounds[0][1]), *bounds[1:])


def has_bounds(values: isl.Set) -> bool:
    """Whether each dimension of { [x] } has a lower and an upper bound."""
    dimensions = range(values.dim(isl.dim_type.set))
    bounds = (values.dim_has_any_lower_bound, values.dim_has_any_upper_bound)
    return all(has_bound(isl.dim_type.set, place) for has_bound in bounds for place in dimensions)


def _lies_between(cells: isl.Set, elements: isl.Set, *, in_rows: bool) -> bool:
    """Whether { A[a] } lies between first and last element, in row order or in each dimension."""
    if cells.is_subset(elements):
        return True
    if not (_is_plain(cells) and _is_plain(elements)):
        return False
    if in_rows:
        return _is_surrounded(cells, elements)
    rank = cells.dim(isl.dim_type.set)
    return all(_is_surrounded(_dimension(cells, place), _dimension(elements, place)) for place in range(rank))


def _is_plain(cells: isl.Set) -> bool:
    """Whether few sets without divisions form it: isl's operation count omits work on others."""
    pieces = cells.get_basic_sets()
    return len(pieces) <= _MOST_PIECES and not any(piece.dim(isl.dim_type.div) for piece in pieces)


def _dimension(cells: isl.Set, place: int) -> isl.Set:
    """{ [a_place] }"""
    rank = cells.dim(isl.dim_type.set)
    cells = cells.project_out(isl.dim_type.set, place + 1, rank - place - 1).project_out(isl.dim_type.set, 0, place)
    return cells.reset_tuple_id()


def _is_surrounded(cells: isl.Set, elements: isl.Set) -> bool:
    """{ [a] in cells } subset of { [a] : exists l, g in elements: l <= a <= g }"""
    space = elements.get_space()
    after = isl.Map.lex_le(space).intersect_domain(elements).range()
    before = isl.Map.lex_ge(space).intersect_domain(elements).range()
    return bool(cells.is_subset(after.intersect(before)))


def shadows(cells: Sequence[isl.Set]) -> isl.Set:
    """{ [x] : in each dimension some cell has x's index }: a box unless there are gaps. For rows of
    one length, all of it is the array's memory if the cells are.
    """
    rank = cells[0].dim(isl.dim_type.set)
    result = isl.Set.universe(cells[0].get_space())
    for place in range(rank):
        kept = isl.Map.identity(result.get_space().map_from_set())
        kept = kept.project_out(isl.dim_type.out, place + 1, rank - place - 1).project_out(isl.dim_type.out, 0, place)
        side = reduce(isl.Set.union, [cell.apply(kept) for cell in cells]).coalesce()
        result = result.intersect(side.apply(kept.reverse()))
    return result.coalesce()


def bounding_box(scop: Scop, cells: isl.Set, around: int = 0) -> tuple[tuple[Bounds, bool], ...] | None:
    """A box around { [x] : [o, x] in cells }, o being the first `around` dimensions; the smallest
    if there are no gaps. For each dimension its bounds, and whether the lower one may be negative.
    None without simple functions of the parameters. Raises OperationLimitError.
    """
    reader = ParameterReader(scop.context, scop.parameters)
    sides = []
    with operation_limit(scop.context, DEFAULT_LIMIT, "finding the extents of new arrays"):
        # isl's operation count omits the work that divisions make.
        cells = cells.project_out(isl.dim_type.set, 0, around).remove_divs().coalesce()
        for place in range(cells.dim(isl.dim_type.set)):
            least, greatest = reader.value(cells.dim_min(place)), reader.value(cells.dim_max(place))
            if least is None or greatest is None:
                return None
            below = cells.upper_bound_val(isl.dim_type.set, place, isl.Val(-1, context=cells.get_ctx()))
            sides.append((Bounds(least, greatest), not below.is_empty()))
    return tuple(sides)


def _bounds(
    scop: Scop, elements: isl.Set, strides: Sequence[Polynomial]
) -> tuple[tuple[Polynomial, Polynomial], ...] | None:
    """Bounds by dimension; a delinearised array's first and last elements lie in the outer rows."""
    reader = ParameterReader(scop.context, scop.parameters)
    nonempty = reader.condition(elements.params())
    rank = elements.dim(isl.dim_type.set)
    if strides:
        least, greatest = elements.lexmin_pw_multi_aff(), elements.lexmax_pw_multi_aff()
        ends = [[reader.value(extreme.get_pw_aff(place)) for place in range(rank)] for extreme in (least, greatest)]
        columns = [tuple(_flat(end, strides) for end in ends)]
    else:
        columns = [
            (reader.value(elements.dim_min(place)), reader.value(elements.dim_max(place))) for place in range(rank)
        ]
    if nonempty is None or any(end is None for column in columns for end in column):
        return None
    return tuple(
        (low, select(nonempty.test, high - low + number(1), number(0)))
        for low, high in columns
        if low is not None and high is not None
    )


def _flat(place: Sequence[Polynomial | None], strides: Sequence[Polynomial]) -> Polynomial | None:
    """q_1 s_1 + … + q_k s_k + r"""
    result = number(0)
    for value, stride in zip(place, (*strides, number(1)), strict=True):
        if value is None:
            return None
        result = result + value * stride
    return result


def _accesses(scop: Scop, object_: DataObject) -> list[Accessed] | None:
    """All references to the object; None where their ranks differ."""
    accesses = scop.accesses_to(object_)
    ranks = {reference.relation.dim(isl.dim_type.out) for _, reference in accesses}
    return accesses if len(ranks) == 1 else None


def _members(object_: DataObject) -> tuple[str | None, ...]:
    """The members that may be written one by one; None for all, as copies include padding."""
    element = object_.element
    if not isinstance(element, RecordType) or element.is_union or not element.fields:
        return (None,)
    plain = [field.type for field in element.fields if isinstance(field.type, ScalarType)]
    if len(plain) != len(element.fields) or sum(type_.bits for type_ in plain) != 8 * element.size:
        return (None,)
    return tuple(field.name for field in element.fields)


def _covers(accesses: Sequence[Accessed], member: str | None, wanted: isl.Set) -> bool:
    writes = [each for each in accesses if surely_writes(each[1], member)]
    if not writes:
        return False
    written = reduce(isl.Set.union, (reference.relation.range() for _, reference in writes))
    if not wanted.is_subset(written):
        return False
    reads = (each for each in accesses if each[1].kind is AccessKind.READ)
    return not any(_needs_old_values(read, writes) for read in reads)


def surely_writes(reference: Reference, member: str | None) -> bool:
    """Whether it surely writes that member, although it may write the element."""
    surely = reference.writes and reference.exact and reference.whole
    return reference.kind is AccessKind.MUST_WRITE or (member is not None and surely and reference.member == member)


def _needs_old_values(read: Accessed, writes: Iterable[Accessed]) -> bool:
    """{ S[i] -> A[a] : S[i] reads A[a], no T[j] before S[i] surely writes it } is not empty."""
    statement, reference = read
    exposed = reference.relation
    for writer, write in writes:
        if exposed.is_empty():
            return False
        before = statement.schedule.lex_gt_map(writer.schedule)
        exposed = exposed.subtract(before.apply_range(write.relation))
    return not exposed.is_empty()


def _section_set(scop: Scop, object_: DataObject, section: Sequence[Interval]) -> isl.Set | None:
    """{ A[a] : lower_d <= a_d < lower_d + length_d }; None for non-affine bounds, or cut rows."""
    bounds = [section_ends(lower, length) for lower, length in section]
    by = scop.strides_of(object_)
    if by:
        origin = scop.origin_of(object_)
        ends = [(low - origin, end - origin) for low, end in bounds]
        bounds = _whole_rows(ends[0], by) if len(ends) == 1 else []
    if not bounds:
        return None
    # The array stands for its subscripts' names: no scalar of a bound equals it.
    frame = Frame(scop.context, (object_,) * len(bounds), scop.written)
    result = isl.Set.universe(frame.space)
    try:
        for place, (low, end) in enumerate(bounds):
            index, whole = frame.iterator(place), section[min(place, len(section) - 1)][1]
            result = result.intersect(index.ge_set(affine_polynomial(low, whole, frame)))
            result = result.intersect(index.lt_set(affine_polynomial(end, whole, frame)))
    except NotAffineError:
        return None
    return result.set_tuple_name(object_.name)


def section_ends(lower: Expression, length: Expression) -> tuple[Polynomial, Polynomial]:
    """(low, end) where the section is not empty, ignoring the 0 of `condition ? length : 0`."""
    low = polynomial(lower)
    if isinstance(length, Conditional) and polynomial(length.otherwise).constant == 0:
        return low, low + polynomial(length.then)
    return low, low + polynomial(length)


def _whole_rows(bounds: tuple[Polynomial, Polynomial], by: Strides) -> list[tuple[Polynomial, Polynomial]]:
    """[low, end) as whole rows of the greatest stride; empty where a row is cut."""
    rows = [divide(value, by[0]) for value in bounds]
    if any(rest.terms for _, rest in rows):
        return []
    if any(divide(greater, less)[1].terms for greater, less in itertools.pairwise(by)):
        return []
    return [(rows[0][0], rows[1][0]), *((number(0), extent(by, place)) for place in range(1, len(by) + 1))]
