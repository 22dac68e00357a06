"""Extents: exact bounds of affine subscripts over (triangular) loop nests.

For an access under loops i1 … ik, Fourier-Motzkin elimination projects the iteration set
{ (i1, …, ik) : lower_j <= i_j <= last_j }, innermost iterator first; all coefficients are 1 or -1,
so that this is exact over the integers. By the sign of each iterator's coefficient, a subscript has
its least and greatest value at the bounds. A set that may be empty contributes under the condition
that it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use
from tilepragma.ir.expressions import Access, Binary, Expression, Storage, access_to, conjunction
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import (
    Polynomial,
    expression,
    maximum,
    minimum,
    not_negative,
    number,
    of_atom,
    polynomial,
    select,
)
from tilepragma.ir.types import LONG

#: "No element" in minima: larger than any index, and far from overflow.
_BEYOND = number(2**62)
#: The most candidates for an extreme value, so that no bound fills a page.
_MOST_ENDS = 8


class NotExactError(Exception):
    """An access has no exact bounds; the message names the expression in the way."""


@dataclass(frozen=True)
class Bounds:
    """Inclusive bounds of a value."""

    low: Polynomial
    high: Polynomial

    @property
    def is_natural(self) -> bool:
        """Whether the value is certainly not negative."""
        return self.low.constant is not None and self.low.constant >= 0


def around(bounds: Sequence[Bounds]) -> Bounds:
    """The bounds of values of which each has some of these bounds."""
    return Bounds(minimum(each.low for each in bounds), maximum(each.high for each in bounds))


@dataclass(frozen=True)
class Box:
    """Bounds of all subscripts, attained where all `nonempty` values are >= 0 (else no element)."""

    dimensions: tuple[Bounds, ...]
    nonempty: frozenset[Polynomial]


@dataclass(frozen=True)
class _Range:
    """The facts on one iterator: it lies between all `lows` and all `highs`; `dense` for steps of
    ±1.

    The loop runs iff `room` >= 0, and then reaches the first of `lows` and of `highs`.
    """

    atom: Access
    lows: tuple[Polynomial, ...]
    highs: tuple[Polynomial, ...]
    dense: bool
    room: Polynomial

    @property
    def rooms(self) -> tuple[Polynomial, ...]:
        """All values that must be >= 0 for the loop to run."""
        return tuple(high - low for low in self.lows for high in self.highs) if self.dense else (self.room,)


def box_of(use: Use, invariant: Callable[[Expression], bool]) -> Box:
    """The bounds of an access; `invariant`: whether the host can evaluate an atom at launch. Raises
    NotExactError.
    """
    ranges = [_range(loop) for loop in use.loops]
    nonempty: list[Polynomial] = []
    for place in range(len(ranges) - 1, -1, -1):
        for room in ranges[place].rooms:
            _constrain(room, ranges, place, nonempty)
    eliminator = _Eliminator(invariant, tuple(nonempty))
    subscripts = [eliminator.bounds(polynomial(subscript), ranges) for subscript in use.subscripts]
    for bounds in subscripts:
        for atom in bounds.low.atoms | bounds.high.atoms:
            if not invariant(atom):
                raise NotExactError(
                    "a subscript is not a sum of loop iterators and values that the kernel leaves alone"
                )
    for value in nonempty:
        for atom in value.atoms:
            if not invariant(atom):
                raise NotExactError(f"the bounds of a loop around it depend on {_unknown(atom)}")
    return Box(tuple(subscripts), _needed(nonempty))


def _unknown(atom: Expression) -> str:
    """A value that the host cannot tell at launch, with the reason."""
    memory = isinstance(atom, Access) and (atom.subscripts or atom.path or atom.object.storage is not Storage.SCALAR)
    why = "is read from an array or a struct inside the kernel" if memory else "changes inside the kernel"
    return f"'{plain_text(atom)}', which {why}"


def _needed(conditions: Sequence[Polynomial]) -> frozenset[Polynomial]:
    """`conditions` (values >= 0) without those that always hold or that another one implies."""
    open_ = [value for value in dict.fromkeys(conditions) if value.constant is None or value.constant < 0]
    return frozenset(value for value in open_ if not any(other != value and _at_most(other, value) for other in open_))


def hull(boxes: Sequence[Box]) -> tuple[tuple[Polynomial, Polynomial], ...]:
    """(lower, length) by dimension of the smallest section of all boxes; length 0 if empty."""
    groups: dict[frozenset[Polynomial], list[Box]] = {}
    for box in _outer(_merged(boxes)):
        groups.setdefault(box.nonempty, []).append(box)
    conditions = {key: condition_of(key) for key in groups}
    section = []
    for dimension in range(len(boxes[0].dimensions)):
        ends = {
            key: (
                minimum(box.dimensions[dimension].low for box in group),
                maximum(box.dimensions[dimension].high for box in group) + number(1),
            )
            for key, group in groups.items()
        }
        section.append(_section(ends, conditions))
    return tuple(section)


def _merged(boxes: Sequence[Box]) -> list[Box]:
    """The boxes with those joined that differ by constants only: stencils may have thousands."""
    alike: dict[object, list[Box]] = {}
    for box in boxes:
        # without constants
        ends = tuple(
            tuple(term for term in end.terms if term[0])
            for dimension in box.dimensions
            for end in (dimension.low, dimension.high)
        )
        alike.setdefault((box.nonempty, ends), []).append(box)
    return [
        Box(tuple(around(bounds) for bounds in zip(*(box.dimensions for box in group), strict=True)), group[0].nonempty)
        for group in alike.values()
    ]


def _outer(boxes: Sequence[Box]) -> list[Box]:
    """`boxes` without those that another box covers."""
    kept: list[Box] = []
    for box in boxes:
        if not any(covered(box, (larger,)) for larger in kept):
            kept = [smaller for smaller in kept if not covered(smaller, (box,))]
            kept.append(box)
    return kept


def covered(box: Box, boxes: Iterable[Box]) -> bool:
    """Whether `box` lies inside the hull of those `boxes` that are empty only where it is."""
    others = [candidate for candidate in boxes if candidate.nonempty <= box.nonempty]
    if not others:
        return False
    return all(
        any(_at_most(outer.dimensions[place].low, bounds.low) for outer in others)
        and any(_at_most(bounds.high, outer.dimensions[place].high) for outer in others)
        for place, bounds in enumerate(box.dimensions)
    )


def _at_most(left: Polynomial, right: Polynomial) -> bool:
    difference = (right - left).constant
    return difference is not None and difference >= 0


def _section(
    ends: dict[frozenset[Polynomial], tuple[Polynomial, Polynomial]],
    conditions: dict[frozenset[Polynomial], Expression | None],
) -> tuple[Polynomial, Polynomial]:
    if len(ends) == 1:
        ((key, (low, end)),) = ends.items()
        return low, select(conditions[key], end - low, number(0))
    low = minimum(select(conditions[key], low, _BEYOND) for key, (low, _) in ends.items())
    end = maximum(select(conditions[key], end, number(0)) for key, (_, end) in ends.items())
    if all(condition is not None for condition in conditions.values()):
        # Without touched elements the lower bound must still be an index.
        return minimum([low, maximum([end, number(0)])]), maximum([end - low, number(0)])
    return low, maximum([end - low, number(0)])


def condition_of(nonempty: frozenset[Polynomial]) -> Expression | None:
    """C for "all values are >= 0"; None without values."""
    return conjunction(map(not_negative, sorted(nonempty, key=repr))) if nonempty else None


def last_value(loop: Loop) -> Polynomial:
    """The iterator's value in the last iteration. Raises NotExactError for a step of 0."""
    range_ = _range(loop)
    return range_.lows[0] if loop.decreasing else range_.highs[0]


def _range(loop: Loop) -> _Range:
    lower, upper, step = polynomial(loop.lower), polynomial(loop.upper), polynomial(loop.step)
    atom = access_to(loop.iterator)
    size = step.constant
    dense = size is not None and abs(size) == 1
    down = loop.decreasing
    if loop.comparison == "!=":
        limit = upper - step
    else:
        toward = number(1) if down else number(-1)
        limit = upper if len(loop.comparison) == 2 else upper + toward
    last = limit if dense else _reached(lower, limit, step, down)
    if down:
        return _Range(atom, (last,), (lower,), dense, lower - limit)
    return _Range(atom, (lower,), (last,), dense, limit - lower)


def _reached(lower: Polynomial, limit: Polynomial, step: Polynomial, down: bool) -> Polynomial:
    """The last value lower + k * step up to `limit`, for a loop that runs."""
    constant = step.constant
    if constant is None:
        # A step of 0 must not divide; such a loop has no end and never launches.
        step = minimum([step, number(-1)]) if down else maximum([step, number(1)])
    elif constant == 0:
        raise NotExactError("a loop around it has the step 0")
    distance = limit - lower
    if distance.constant is not None and constant is not None:
        return lower + number(abs(distance.constant) // abs(constant) * constant)
    # For a constant step, both are positive, so that analysis knows the quotient.
    length, size = (-distance, -step) if constant is not None and constant < 0 else (distance, step)
    quotient = Binary("/", expression(length), expression(size), LONG)
    return lower + of_atom(quotient) * step


@dataclass(frozen=True)
class _Eliminator:
    """Substitutes bounds for iterators; the values `nonempty` are >= 0 where any access runs."""

    invariant: Callable[[Expression], bool]
    nonempty: tuple[Polynomial, ...]

    def bounds(self, value: Polynomial, ranges: Sequence[_Range]) -> Bounds:
        """The bounds of a subscript over the whole ranges of all iterators."""
        return Bounds(minimum(self._ends(value, ranges, least=True)), maximum(self._ends(value, ranges, least=False)))

    def _ends(self, value: Polynomial, ranges: Sequence[_Range], *, least: bool) -> Sequence[Polynomial]:
        """The candidates for the subscript's end; the extreme one is it."""
        ends: Sequence[Polynomial] = (value,)
        for current in reversed(ranges):
            ends = tuple(dict.fromkeys(extreme for end in ends for extreme in self._extreme(end, current, least=least)))
            if len(ends) > _MOST_ENDS:
                raise NotExactError(
                    f"a subscript ends at one of more than {_MOST_ENDS} values, by the signs of its factors"
                )
        return ends

    def _extreme(self, value: Polynomial, current: _Range, *, least: bool) -> tuple[Polynomial, ...]:
        """The value at the end of an iterator's range; at both ends if a sign stays unknown."""
        parts = value.split(current.atom)
        if parts is None:
            raise NotExactError("a subscript is not linear in a loop's iterator")
        coefficient, rest = parts
        if not coefficient.terms:
            return (value,)
        low, high = self._single(current.lows, maximum), self._single(current.highs, minimum)
        sign = self._sign(coefficient)
        if sign:
            return (coefficient * (low if (sign > 0) == least else high) + rest,)
        both = (coefficient * low, coefficient * high)
        if all(self.invariant(atom) for product in both for atom in product.atoms):
            return ((minimum(both) if least else maximum(both)) + rest,)
        for atom in coefficient.atoms:
            if not self.invariant(atom):
                raise NotExactError(f"a subscript multiplies an iterator by {_unknown(atom)}")
        return tuple(product + rest for product in both)

    def _sign(self, value: Polynomial) -> int:
        """1 or -1 where `value` is certainly on that side of 0 (or 0), else 0."""
        if value.constant is not None:
            return 1 if value.constant >= 0 else -1
        if self._is_positive(value):
            return 1
        return -1 if self._is_positive(-value) else 0

    def _is_positive(self, value: Polynomial) -> bool:
        """Whether `value` is at least a nonempty one, or a sum of products of such."""
        if any(_at_most(least, value) for least in self.nonempty):
            return True
        return all(
            factor > 0 and all(any(_at_most(least, of_atom(atom)) for least in self.nonempty) for atom in monomial)
            for monomial, factor in value.terms
        )

    def _single(self, values: tuple[Polynomial, ...], pick: Callable[[Iterable[Polynomial]], Polynomial]) -> Polynomial:
        """The tightest of several bounds."""
        result = pick(values)
        if len(values) > 1 and result not in values and not all(self.invariant(a) for v in values for a in v.atoms):
            raise NotExactError("the loops around it bound each other in more than one way")
        return result


def _constrain(room: Polynomial, ranges: list[_Range], place: int, nonempty: list[Polynomial]) -> None:
    """Use `room >= 0` as a bound of its innermost iterator, else as a condition of the launch."""
    for outer in range(place - 1, -1, -1):
        current = ranges[outer]
        if current.atom not in room.atoms:
            continue
        parts = room.split(current.atom)
        sign = parts[0].constant if parts is not None else None
        if parts is None or sign not in (1, -1):
            raise NotExactError("a loop's bounds depend on an outer iterator with a factor other than 1 or -1")
        bound = -parts[1] if sign == 1 else parts[1]
        bounds = current.lows if sign == 1 else current.highs
        if any(_implied(bound, existing, sign) for existing in bounds):
            return
        if not current.dense:
            raise NotExactError("a loop's bounds depend on an outer loop whose step is not 1 or -1")
        if sign == 1:
            ranges[outer] = replace(current, lows=(*current.lows, bound))
        else:
            ranges[outer] = replace(current, highs=(*current.highs, bound))
        return
    nonempty.append(room)


def _implied(bound: Polynomial, known: Polynomial, sign: int) -> bool:
    """Whether a known bound is at least as tight (sign 1: lower bounds)."""
    return _at_most(bound, known) if sign == 1 else _at_most(known, bound)
