"""Sections of one-dimensional arrays seen through strides: `a[i*m + j]` as A[q_1, …, q_k, r]
(delinearisation).

    held      { A[q, r] : l <= (q, r) < h lexicographically }
    lower = l . (s, 1),  lower + length = h . (s, 1)

The parts of l and h lie in the ranges of elements' parts, 0 <= l_(j+1) < s_j / s_(j+1), so that
their order is the order of places. This proves a section for all strides. Where the ends have no
such parts, the check compares places at some strides, where all is affine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Expression, Storage
from tilepragma.ir.polynomial import Polynomial, expression
from tilepragma.poly.affine import Frame, NotAffineError, affine, affine_polynomial
from tilepragma.poly.delinearise import split_subscript
from tilepragma.poly.footprints import section_ends
from tilepragma.poly.operation_limit import OperationLimitError, operation_limit
from tilepragma.poly.scop import Reference, Scop

_SET = isl.dim_type.set
_PARAMETER = isl.dim_type.param

#: isl's operations for the proof of one reference.
_MOST_WORK = 400_000

#: Trial values of the scalars that make up strides.
_STRIDES = ((5, 7, 6, 4), (8, 5, 9, 6), (1, 2, 1, 3))

Bounds = tuple[Expression, Expression]


def beyond_section(reference: Reference, bounds: Bounds, scop: Scop, frame: Frame) -> str | None:
    """Where the reference touches an element outside `[lower : length]` of its array under the
    SCoP's assumptions, in words; None where it does not, or where that is unknown.
    """
    by, parameters = scop.strides_of(reference.object), scop.parameters
    touched = reference.relation.range().reset_tuple_id()
    if scop.assumed is not None:
        touched = touched.intersect_params(scop.assumed)
    if not reference.exact and not _bounded(touched):
        return None
    try:
        with operation_limit(scop.context, _MOST_WORK, "proving a section for all strides"):
            held = _held(bounds, by, touched.params(), frame)
            if held is not None and touched.is_subset(held):
                return None
    except OperationLimitError:
        pass  # some strides are easier
    for chosen in _choices(by, frame):
        places = chosen.places(touched, by, parameters)
        within = chosen.within(bounds)
        if places is None or within is None:
            continue
        outside = places.subtract(within)
        if not outside.is_empty():
            place = outside.sample_point().get_coordinate_val(_SET, 0)
            return f"index {place} (where {chosen.text})"
    return None


def _bounded(touched: isl.Set) -> bool:
    """Whether the touched elements have any bounds."""
    return all(
        touched.dim_has_any_lower_bound(_SET, place) and touched.dim_has_any_upper_bound(_SET, place)
        for place in range(touched.dim(_SET))
    )


def _held(bounds: Bounds, by: tuple[Polynomial, ...], given: isl.Set, frame: Frame) -> isl.Set | None:
    """{ [q, r] : lower <= q . s + r < lower + length } where `given`; None without parts."""
    first, beyond = (_point(value, by, given, frame) for value in section_ends(*bounds))
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
    return reduce(isl.Set.flat_product, (isl.Map.from_pw_aff(part).range() for part in split[0]))


@dataclass(frozen=True)
class _Chosen:
    """Trial values of the scalars that make up strides; `frame` has them as facts."""

    numbers: tuple[tuple[DataObject, int], ...]
    frame: Frame

    @property
    def text(self) -> str:
        """`m = 5`"""
        return ", ".join(f"{object_.host} = {value}" for object_, value in self.numbers)

    def places(
        self, touched: isl.Set, by: tuple[Polynomial, ...], parameters: Mapping[str, Expression]
    ) -> isl.Set | None:
        """{ [q . s + r] : [q, r] in touched }; None where it is not affine with these numbers."""
        try:
            for place in range(touched.dim(_PARAMETER)):
                name = str(touched.get_dim_name(_PARAMETER, place))
                value = affine(parameters[name], self.frame)
                touched = touched.intersect_params(self.frame.parameter(name).eq_set(value).params())
            strides = [affine_polynomial(stride, expression(stride), self.frame) for stride in by]
        except NotAffineError:
            return None
        if not all(stride.is_cst() for stride in strides):
            return None
        names = [f"q{place}" for place in range(len(by) + 1)]
        terms = [f"{stride.min_val()} * {name}" for stride, name in zip(strides, names, strict=False)]
        flat = f"{{ [{', '.join(names)}] -> [{' + '.join((*terms, names[-1]))}] }}"
        return touched.apply(isl.Map(flat, context=self.frame.context))

    def within(self, bounds: Bounds) -> isl.Set | None:
        """{ [x] : lower <= x < lower + length }; None where it is not affine with these numbers."""
        try:
            lower = affine(bounds[0], self.frame)
            end = lower.add(affine(bounds[1], self.frame))
        except NotAffineError:
            return None
        return half_open(lower, end)


def half_open(lower: isl.PwAff, end: isl.PwAff) -> isl.Set:
    """{ [x] : lower <= x < end }, of functions without inputs."""
    return _at_least(lower).subtract(_at_least(end))


def _at_least(value: isl.PwAff) -> isl.Set:
    values = isl.Map.from_pw_aff(value).range()
    return isl.Map.lex_le(values.get_space()).intersect_domain(values).range()


def _choices(by: tuple[Polynomial, ...], frame: Frame) -> Iterator[_Chosen]:
    """Trial values of the strides' scalars; none where strides contain anything else."""
    atoms = dict.fromkeys(atom for stride in by for monomial, _ in stride.terms for atom in monomial)
    objects = [atom.object for atom in atoms if isinstance(atom, Access) and atom.object.storage is Storage.SCALAR]
    if len(objects) < len(atoms):
        return
    for values in _STRIDES:
        numbers = tuple((object_, values[place % len(values)]) for place, object_ in enumerate(objects))
        chosen = frame
        for object_, value in numbers:
            chosen = chosen.knowing(object_, frame.number(value))
        yield _Chosen(numbers, chosen)
