"""What must hold at launch so that bounds of loops mean in C what they mean as numbers.

Plans reason about mathematical integers. Signed overflow is undefined in C, but unsigned arithmetic wraps, and a comparison with
an unsigned value converts a negative iterator: `for (unsigned i = n - 5; …)` with n = 3 starts at the top of the type, and
`for (int i = -4; i < m; …)` with an unsigned m does not run at all. Iterators wrap too: in `for (unsigned char i = 0; i < n; i += s)` the
value behind the last one must be one of the type. Such values must lie where C and arithmetic agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.ranges import NOWHERE
from tilepragma.ir.accesses import Use
from tilepragma.ir.c_values import c_value, least_and_greatest
from tilepragma.ir.dump import plain_text
from tilepragma.ir.expressions import Binary, Expression, integer
from tilepragma.ir.looptree import Kernel, Loop
from tilepragma.ir.polynomial import Polynomial, not_negative, number, polynomial, select
from tilepragma.ir.traversal import children
from tilepragma.ir.types import INT, LONG, ScalarType, is_signed, usual_type
from tilepragma.plan.extents import NotExactError, box_of, condition_of
from tilepragma.polyhedral.launch_checks import can_hold, undecided

Invariant = Callable[[Expression], bool]


def launch_conditions(
    kernel: Kernel,
    invariant: Invariant,
    diagnostics: Diagnostics,
    assumptions: tuple[Expression, ...],
    *,
    automatic: bool,
) -> tuple[Expression, ...]:
    """Expressions over host objects that are all nonzero where the loops of a region run as plans see them, and then what these assume.

    `invariant` says what the host can evaluate. Where it cannot tell, that is an error of an `automatic` plan; the user who says
    the tiles vouches for it. What holds always is left out; of what never holds there is a warning.
    """
    found: dict[Expression, None] = {}
    for loop, outer in _loops(kernel.body, ()):
        for doubt in (*_doubtful(loop), *_doubtful_iterator(loop)):
            try:
                for condition in _conditions(doubt, loop, outer, invariant):
                    found[condition] = None
            except NotExactError:
                if automatic and doubt.must_be_known:
                    diagnostics.error(loop.header, f"a bound of the loop over '{loop.iterator.host}' may wrap around")
    result = (*undecided(found), *assumptions)
    never = never_holding(result)
    if never:
        checks = " and ".join(f"'{plain_text(one)}'" for one in never)
        diagnostics.warning(
            kernel.range,
            f"kernel '{kernel.name}' always runs as the original loop: its launch check {checks} never holds",
        )
    return result


def never_holding(conditions: Iterable[Expression]) -> tuple[Expression, ...]:
    """The conditions that no launch fulfils: one by itself, or else all of them where they cannot hold at once; empty where they may."""
    conditions = tuple(conditions)
    alone = next(((one,) for one in conditions if not can_hold((one,))), None)
    return alone if alone is not None else () if can_hold(conditions) else conditions


def _loops(node: Any, outer: tuple[Loop, ...]) -> Iterator[tuple[Loop, tuple[Loop, ...]]]:
    if isinstance(node, Loop):
        yield node, outer
        outer = (*outer, node)
    for child in children(node):
        yield from _loops(child, outer)


@dataclass(frozen=True)
class _Doubt:
    """A value that must lie in a range; None where that has no end. `must_be_known`: plans count on it wherever it is computed."""

    value: Expression
    least: int | None
    greatest: int | None
    must_be_known: bool


def _doubtful(loop: Loop) -> Iterator[_Doubt]:
    """Bounds that must not be negative, and the greatest value that they may have where that matters."""
    for bound in (loop.lower, loop.upper):
        if _is_unsigned(bound.type):
            value = polynomial(bound)
            products = any(len(monomial) > 1 for monomial, _ in value.terms)
            narrow = isinstance(bound.type, ScalarType) and bound.type.bits < 64
            greatest = 2**bound.type.bits - 1 if isinstance(bound.type, ScalarType) and narrow and products else None
            if greatest is not None or not _is_natural(value):
                yield _Doubt(bound, 0, greatest, True)
    if _is_unsigned(loop.upper.type) and not _is_unsigned(loop.iterator.element):
        bits = [type_.bits for type_ in (loop.upper.type, loop.iterator.element) if isinstance(type_, ScalarType)]
        if bits[0] >= max(bits[-1], INT.bits) and not _is_natural(polynomial(loop.lower)):
            yield _Doubt(loop.lower, 0, None, True)


def _doubtful_iterator(loop: Loop) -> Iterator[_Doubt]:
    """What conversions to the iterator's type, and comparisons and steps in it, may change."""
    type_, upper, by = loop.iterator.element, loop.upper, c_value(loop.step)
    if not all(isinstance(one, ScalarType) and one.is_integer for one in (type_, upper.type, loop.lower.type)):
        return
    assert isinstance(type_, ScalarType) and isinstance(upper.type, ScalarType)
    if by is None:
        # Also where the loop does not run at all: workers count with the step.
        yield _Doubt(loop.step, None if loop.decreasing else 1, -1 if loop.decreasing else None, False)
    least, greatest = least_and_greatest(type_)
    if by == -1 and c_value(upper) == 0 and loop.comparison == ">=" and not type_.signed:
        # `i-- > 0`: it starts one above, and its last value does wrap.
        yield from _outside(loop.lower, -1, greatest - 1, type_)
        return
    yield from _outside(loop.lower, least, greatest, type_)
    common = usual_type(type_, upper.type)
    if not common.signed and upper.type.signed:
        yield from _outside(upper, 0, None, type_)
    if type_.signed and not common.signed:
        least = 0
    if not _wraps(loop, type_) and not (loop.decreasing and least == 0):
        return
    if loop.comparison == "!=":
        yield from _outside(upper, least, greatest, type_)
        return
    closed = len(loop.comparison) == 2
    behind = Binary("+", upper, loop.step, LONG)
    if not closed:
        behind = Binary("+", behind, integer(1 if loop.decreasing else -1), LONG)
    low, high = (
        ends + steps - (0 if closed else 1 if not loop.decreasing else -1)
        for ends, steps in zip(_values_of(upper), _values_of(loop.step), strict=True)
    )
    if least <= (low if loop.decreasing else high) <= greatest:
        return
    yield from _outside(behind, least if loop.decreasing else None, None if loop.decreasing else greatest, type_)


def _wraps(loop: Loop, type_: ScalarType) -> bool:
    """Whether C lets the iterator wrap: not where its type overflows, which is undefined."""
    step = loop.step.type
    wider = isinstance(step, ScalarType) and step.bits > type_.bits
    return not type_.signed or type_.bits < INT.bits or wider


def _values_of(value: Expression) -> tuple[int, int]:
    """The least and the greatest value that an expression may have, as far as its type says."""
    known = c_value(value)
    if known is not None:
        return known, known
    assert isinstance(value.type, ScalarType)
    return least_and_greatest(value.type)


def _may_be_beyond(value: Expression) -> bool:
    """Whether it may be a number that launches, which count in signed integers of 64 bits, take for a negative one."""
    return c_value(value) is None and not is_signed(value.type) and _values_of(value)[1] >= 1 << (LONG.bits - 1)


def _outside(value: Expression, least: int | None, greatest: int | None, type_: ScalarType) -> Iterator[_Doubt]:
    """A doubt where the value may lie outside. Sizes of 64 bits are taken to be those of arrays that there can be."""
    low, high = _values_of(value)
    below = least is not None and (low < least or (_may_be_beyond(value) and type_.bits < LONG.bits))
    above = greatest is not None and high > greatest and type_.bits < LONG.bits
    if below or above:
        yield _Doubt(value, least if below else None, greatest if above else None, False)


def _is_unsigned(type_: object) -> bool:
    return isinstance(type_, ScalarType) and not type_.signed and type_.is_integer and type_.bits >= INT.bits


def _is_natural(value: Polynomial) -> bool:
    """Whether it is plainly no less than 0: a sum of unsigned values."""
    return all(
        factor > 0 and all(isinstance(atom.type, ScalarType) and not atom.type.signed for atom in monomial)
        for monomial, factor in value.terms
    )


def _conditions(doubt: _Doubt, loop: Loop, outer: tuple[Loop, ...], invariant: Invariant) -> Iterator[Expression]:
    use = Use(loop.iterator, (doubt.value,), True, False, False, outer, NOWHERE)
    box = box_of(use, invariant)
    runs = condition_of(box.nonempty)
    (bounds,) = box.dimensions
    limits = [] if doubt.least is None else [bounds.low - number(doubt.least)]
    limits += [] if doubt.greatest is None else [number(doubt.greatest) - bounds.high]
    for limit in limits:
        if not _is_natural(limit) or (_may_be_beyond(doubt.value) and not doubt.must_be_known):
            yield not_negative(select(runs, limit, number(0)))
