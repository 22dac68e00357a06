"""Which elements of an array a region touches: exact bounds of affine subscripts over (triangular)
loop nests.

For an access under loops i1 … ik, the iteration set { (i1, …, ik) : lower_j <= i_j <= last_j } is
projected, innermost iterator first (Fourier-Motzkin elimination; exact over the integers, as every
coefficient met is 1 or -1). The least and the greatest value of a subscript are attained at the
bounds, by the sign of each iterator's coefficient. A set that may be empty contributes under the
condition that it is not.
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

#: Stands for "no element" in minima: larger than any index, and far enough from overflow.
_BEYOND = number(2**62)
#: Of values among which a bound is the extreme one, so that no bound becomes a page of text.
_MOST_ENDS = 8


class NotExactError(Exception):
    """The bounds of an access cannot be found exactly; the message says which expression is in the way."""


@dataclass(frozen=True)
class Bounds:
    """Inclusive bounds of one subscript."""

    low: Polynomial
    high: Polynomial


@dataclass(frozen=True)
class Box:
    """Bounds of every subscript of an access, attained where all `nonempty` values are >= 0 (no element otherwise)."""

    dimensions: tuple[Bounds, ...]
    nonempty: frozenset[Polynomial]


@dataclass(frozen=True)
class _Range:
    """What is known of one iterator: it lies between each of `lows` and each of `highs`; `dense`
    for steps of ±1.

    The loop runs iff `room` >= 0, given which the first of `lows` and of `highs` are reached.
    """

    atom: Access
    lows: tuple[Polynomial, ...]
    highs: tuple[Polynomial, ...]
    dense: bool
    room: Polynomial

    @property
    def rooms(self) -> tuple[Polynomial, ...]:
        """All values that must be >= 0 for the loop to run."""
        if not self.dense:
            return (self.room,)
        return tuple(high - low for low in self.lows for high in self.highs)


def box_of(use: Use, invariant: Callable[[Expression], bool]) -> Box:
    """The bounds of one access. `invariant` says which atoms the host can evaluate at launch.

    Raises NotExactError.
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
    """`conditions` (values >= 0) without those that hold always or that another one implies."""
    open_ = [value for value in dict.fromkeys(conditions) if value.constant is None or value.constant < 0]
    return frozenset(value for value in open_ if not any(other != value and _at_most(other, value) for other in open_))


def hull(boxes: Sequence[Box]) -> tuple[tuple[Polynomial, Polynomial], ...]:
    """(lower, length) of the smallest section that holds all boxes, by dimension; length 0 where every box is empty."""
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
    """One box in place of those that differ by constants only: the terms of a stencil may be thousands."""
    alike: dict[object, list[Box]] = {}
    for box in boxes:
        ends = tuple(
            (_without_constant(dimension.low), _without_constant(dimension.high)) for dimension in box.dimensions
        )
        alike.setdefault((box.nonempty, ends), []).append(box)
    return [
        Box(tuple(_hull_of(one) for one in zip(*(box.dimensions for box in ones), strict=True)), ones[0].nonempty)
        for ones in alike.values()
    ]


def _hull_of(bounds: Sequence[Bounds]) -> Bounds:
    return Bounds(minimum(bound.low for bound in bounds), maximum(bound.high for bound in bounds))


def _without_constant(value: Polynomial) -> tuple[object, ...]:
    return tuple(term for term in value.terms if term[0])


def _outer(boxes: Sequence[Box]) -> list[Box]:
    """`boxes` without those that another one covers."""
    kept: list[Box] = []
    for box in boxes:
        if not any(covered(box, (other,)) for other in kept):
            kept = [other for other in kept if not covered(other, (box,))]
            kept.append(box)
    return kept


def covered(box: Box, boxes: Iterable[Box]) -> bool:
    """Whether `box` provably lies inside the hull of those of `boxes` that are empty only where it is."""
    others = [other for other in boxes if other.nonempty <= box.nonempty]
    if not others:
        return False
    return all(
        any(_at_most(other.dimensions[place].low, bounds.low) for other in others)
        and any(_at_most(bounds.high, other.dimensions[place].high) for other in others)
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
        # Where nothing is touched the lower bound must still be an index.
        return minimum([low, maximum([end, number(0)])]), maximum([end - low, number(0)])
    return low, maximum([end - low, number(0)])


def condition_of(nonempty: frozenset[Polynomial]) -> Expression | None:
    """C for "all values are >= 0"; None where there is nothing to test."""
    return conjunction(map(not_negative, sorted(nonempty, key=repr))) if nonempty else None


def last_value(loop: Loop) -> Polynomial:
    """The iterator's value in the last iteration of a loop that runs at all. Raises NotExactError for a step of 0."""
    found = _range(loop)
    return found.lows[0] if loop.decreasing else found.highs[0]


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
    """The last value lower + k * step on this side of `limit`, for a loop that runs at all."""
    constant = step.constant
    if constant is None:
        # A step of 0 must not divide; such a loop has no end and never launches.
        step = minimum([step, number(-1)]) if down else maximum([step, number(1)])
    elif constant == 0:
        raise NotExactError("a loop around it has the step 0")
    distance = limit - lower
    if distance.constant is not None and constant is not None:
        return lower + number(abs(distance.constant) // abs(constant) * constant)
    # Both of one sign: of a constant step both positive, so that the engine knows what the quotient
    # is.
    apart, size = (-distance, -step) if constant is not None and constant < 0 else (distance, step)
    quotient = Binary("/", expression(apart), expression(size), LONG)
    return lower + of_atom(quotient) * step


@dataclass(frozen=True)
class _Eliminator:
    """Puts bounds for iterators. `nonempty` are values known to be >= 0 where there is any access at all."""

    invariant: Callable[[Expression], bool]
    nonempty: tuple[Polynomial, ...]

    def bounds(self, value: Polynomial, ranges: Sequence[_Range]) -> Bounds:
        """The bounds of a subscript over the whole ranges of all iterators."""
        return Bounds(minimum(self._ends(value, ranges, least=True)), maximum(self._ends(value, ranges, least=False)))

    def _ends(self, value: Polynomial, ranges: Sequence[_Range], *, least: bool) -> Sequence[Polynomial]:
        """What the subscript may be at its end: the extreme one of several is."""
        ends: Sequence[Polynomial] = (value,)
        for current in reversed(ranges):
            ends = tuple(dict.fromkeys(one for end in ends for one in self._extreme(end, current, least=least)))
            if len(ends) > _MOST_ENDS:
                raise NotExactError(
                    f"a subscript ends at one of more than {_MOST_ENDS} values, by the signs of its factors"
                )
        return ends

    def _extreme(self, value: Polynomial, current: _Range, *, least: bool) -> tuple[Polynomial, ...]:
        """The value at the end of one iterator's range; at both, where that depends on a sign and on iterators around."""
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
        """1 or -1 where `value` is known to be on that side of 0 (or 0 itself), else 0."""
        if value.constant is not None:
            return 1 if value.constant >= 0 else -1
        if self._is_positive(value):
            return 1
        return -1 if self._is_positive(-value) else 0

    def _is_positive(self, value: Polynomial) -> bool:
        """Whether `value` is at least a known one, or a sum of products of such."""
        if any(_at_most(known, value) for known in self.nonempty):
            return True
        return all(
            factor > 0 and all(any(_at_most(known, of_atom(atom)) for known in self.nonempty) for atom in monomial)
            for monomial, factor in value.terms
        )

    def _single(self, values: tuple[Polynomial, ...], pick: Callable[[Iterable[Polynomial]], Polynomial]) -> Polynomial:
        """The one bound that counts among several."""
        result = pick(values)
        if len(values) > 1 and result not in values and not all(self.invariant(a) for v in values for a in v.atoms):
            raise NotExactError("the loops around it bound each other in more than one way")
        return result


def _constrain(room: Polynomial, ranges: list[_Range], place: int, nonempty: list[Polynomial]) -> None:
    """Take up `room >= 0`: as a bound of the innermost iterator left in it, else as a condition of the launch."""
    for outer in range(place - 1, -1, -1):
        current = ranges[outer]
        if current.atom not in room.atoms:
            continue
        parts = room.split(current.atom)
        sign = parts[0].constant if parts is not None else None
        if parts is None or sign not in (1, -1):
            raise NotExactError("a loop's bounds depend on an outer iterator with a factor other than 1 or -1")
        bound = -parts[1] if sign == 1 else parts[1]
        known = current.lows if sign == 1 else current.highs
        if any(_implied(bound, other, sign) for other in known):
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
