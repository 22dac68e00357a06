"""Launch conditions under which loop bounds mean in C what they mean as mathematical integers.

Plans reason about mathematical integers. Signed overflow is undefined in C, but unsigned arithmetic
wraps, and a comparison with an unsigned value converts a negative iterator: `for (unsigned i = n -
5; …)` with n = 3 starts at the top of the type, and `for (int i = -4; i < m; …)` with an unsigned m
does not run at all. Iterators wrap too: in `for (unsigned char i = 0; i < n; i += s)` the type must
hold the value after the last one. Conditions keep such values where C and arithmetic agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import text_key
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.c_values import c_value
from tilepragma.ir.expressions import Access, Binary, DataObject, Expression, integer
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import Polynomial, collected_parts, is_scalar, not_negative, number, polynomial, select
from tilepragma.ir.traversal import children
from tilepragma.ir.types import INT, LONG, ScalarType, Type, is_signed, least_and_greatest, usual_type
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.poly.extents import NotExactError, box_of, condition_of
from tilepragma.poly.launch_checks import can_hold, may_leave, undecided

#: The greatest signed 64-bit number.
_HALF = least_and_greatest(LONG)[1]
#: Loop ends that tile sizes divide: bounds of wavefronts multiply quotients by other tile sizes, so
#: that 64 bits hold them for sizes 2^20 times as large.
_TILED = 1 << 40
#: Arrays with 32-bit subscripts end before this offset.
_OFFSET = 1 << 31
#: Loops with shorter steps do not cross from one half of the 64-bit numbers to the other.
_LONG_STEP = 1 << 20

Invariant = Callable[[Expression], bool]


def launch_conditions(
    kernel: Kernel,
    invariant: Invariant,
    diagnostics: Diagnostics,
    assumptions: tuple[Expression, ...],
    automatic: bool,
    tiled: bool,
) -> tuple[Expression, ...]:
    """The conditions, for the host, under which a region's loops run as the plan assumes.

    The plan's `assumptions` come last. `invariant` tells what the host can evaluate. A bound that
    it cannot check is an error of an `automatic` plan; users answer for their own tiles. `tiled`:
    tile sizes divide loop ends. The result lacks conditions that always hold; one that never holds
    draws a warning.
    """
    checks: dict[Expression, None] = {}
    short: set[DataObject] = set()
    for loop, outer in _loops(kernel.body, ()):
        checks |= dict.fromkeys(test for test in _end_tests(loop, tiled, short) if invariant(test.left))
        for doubt in (*_doubtful(loop), *_doubtful_iterator(loop)):
            try:
                checks |= dict.fromkeys(_conditions(doubt, loop.iterator, outer, invariant))
            except NotExactError:
                # The host cannot check the bound; if the engine cannot either, no plan relies on
                # it.
                if automatic and may_leave(doubt.value, doubt.least, doubt.greatest, outer):
                    diagnostics.error(loop.header, f"a bound of the loop over '{loop.iterator.host}' may wrap around")
    result = (*undecided(checks), *assumptions)
    _warn_of_what_never_holds(kernel, result, diagnostics)
    return result


def with_subscript_checks(plan: KernelPlan, kernel: Kernel, diagnostics: Diagnostics) -> KernelPlan:
    """The plan, with checks that the user's unsigned subscripts do not wrap."""
    if plan.untransformed is not None:
        return plan
    checks: dict[Expression, None] = {}
    invariant = host_evaluable(written_objects(kernel))
    for use, part in _wrapping_subscripts(kernel):
        with suppress(NotExactError):
            checks |= dict.fromkeys(_conditions(part, use.object, use.loops, invariant))
    added = tuple(condition for condition in undecided(checks) if condition not in plan.conditions)
    _warn_of_what_never_holds(kernel, added, diagnostics)
    return replace(plan, conditions=(*plan.conditions, *added)) if added else plan


def _warn_of_what_never_holds(kernel: Kernel, conditions: tuple[Expression, ...], diagnostics: Diagnostics) -> None:
    never = never_holding(conditions)
    if never:
        checks = " and ".join(f"'{plain_text(condition)}'" for condition in never)
        message = f"kernel '{kernel.name}' always runs as the original loop: its launch check {checks} never holds"
        diagnostics.warning(kernel.range, message)


def never_holding(conditions: Iterable[Expression]) -> tuple[Expression, ...]:
    """The conditions that no launch fulfils: one, or all if they contradict; else none."""
    conditions = tuple(conditions)
    for condition in conditions:
        if not can_hold((condition,)):
            return (condition,)
    return () if can_hold(conditions) else conditions


def _loops(node: Any, outer: tuple[Loop, ...]) -> Iterator[tuple[Loop, tuple[Loop, ...]]]:
    if isinstance(node, Loop):
        yield node, outer
        outer = (*outer, node)
    for child in children(node):
        yield from _loops(child, outer)


@dataclass(frozen=True)
class _Doubt:
    """A value that must lie in a range (None: no end); with `must_be_known` plans rely on it."""

    value: Expression
    least: int | None
    greatest: int | None
    must_be_known: bool


def _doubtful(loop: Loop) -> Iterator[_Doubt]:
    """Bounds that must not be negative, and their greatest allowed value where that matters."""
    for bound in (loop.lower, loop.upper):
        if _is_unsigned(bound.type):
            assert isinstance(bound.type, ScalarType)
            value = polynomial(bound)
            products = any(len(monomial) > 1 for monomial, _ in value.terms)
            narrow = bound.type.bits < LONG.bits
            last = least_and_greatest(bound.type)[1]
            greatest = last if narrow and products else None
            if greatest is not None or not _is_natural(value):
                yield _Doubt(bound, 0, greatest, True)
            if narrow and not products and _greatest_sum(value) > last:
                yield _Doubt(bound, None, last, False)
    if _is_unsigned(loop.upper.type) and not _is_unsigned(loop.iterator.element):
        bits = [type_.bits for type_ in (loop.upper.type, loop.iterator.element) if isinstance(type_, ScalarType)]
        if bits[0] >= max(bits[-1], INT.bits) and not _is_natural(polynomial(loop.lower)):
            yield _Doubt(loop.lower, 0, None, True)


def _wrapping_subscripts(kernel: Kernel) -> Iterator[tuple[Use, _Doubt]]:
    """Subscripts that are sums of unsigned 32-bit numbers, which may wrap.

    `a[i + offset]` is a[i - 1] for offset 4294967295. A negative sum lies outside any array, unless
    it is below -_OFFSET.
    """
    last = (1 << INT.bits) - 1
    least: dict[Any, tuple[int, Use, Expression]] = {}
    most: dict[Any, tuple[int, Use, Expression]] = {}
    for use in uses(kernel.body, kernel.functions):
        for part in (part for subscript in use.subscripts for part in _unsigned_parts(subscript)):
            value = polynomial(part)
            constant = value.constant_term
            # Of parts that differ by constants, the least and the greatest decide.
            alike = (use.loops, tuple(term for term in value.terms if term[0]))
            if any(factor < 0 for _, factor in value.terms) and constant < least.get(alike, (constant + 1,))[0]:
                least[alike] = (constant, use, part)
            if _greatest_sum(value) > last and constant > most.get(alike, (constant - 1,))[0]:
                most[alike] = (constant, use, part)
    yield from ((use, _Doubt(part, -_OFFSET, None, False)) for _, use, part in least.values())
    yield from ((use, _Doubt(part, None, last, False)) for _, use, part in most.values())


def _unsigned_parts(value: Expression) -> Iterator[Expression]:
    if not isinstance(value.type, ScalarType):
        return
    if value.type.bits == INT.bits:
        if _is_unsigned(value.type):
            yield value
        return
    for part in collected_parts(value):
        yield from _unsigned_parts(part)


def _end_tests(loop: Loop, tiled: bool, short: set[DataObject]) -> Iterator[Binary]:
    """Tests that 64-bit variables in loop ends fit the signed arithmetic of launches.

    Unsigned ones must be in its range, and if tiles multiply them (`tiled`), all must be far from
    its ends. No test if a number out of range would let the loop run for 2**40 rounds or more:
    `for (size_t i = 0; i < n; i++)`. Outer loops come first; `short` collects the iterators of
    loops without a test.
    """
    far, near = (loop.lower, loop.upper) if loop.decreasing else (loop.upper, loop.lower)
    limits: dict[Expression, int] = {}
    most = _TILED if tiled else _HALF // 2
    safe = abs(c_value(loop.step) or _LONG_STEP) < _LONG_STEP and _is_small(near, short)
    for end in (far, near):
        factors = {monomial[0]: abs(factor) for monomial, factor in polynomial(end).terms if len(monomial) == 1}
        bounding = {node for node in _bounding(end) if node.object not in short}
        wide = {node for node in bounding if _is_wide(node.type) and (tiled or not is_signed(node.type))}
        safe = safe and (end == near or all(factors.get(atom, 1) == 1 for atom in wide))
        for atom in sorted(wide, key=text_key):
            limits[atom] = min(limits.get(atom, _HALF), most // factors.get(atom, 1) // len(wide))
    if safe:
        short.add(loop.iterator)
        return
    for variable, limit in limits.items():
        yield Binary("<=", variable, integer(limit, LONG), INT)
        if is_signed(variable.type):
            yield Binary(">=", variable, integer(-limit, LONG), INT)


def _is_wide(type_: Type) -> bool:
    return isinstance(type_, ScalarType) and type_.is_integer and type_.bits >= LONG.bits


def _is_small(value: Expression, short: set[DataObject]) -> bool:
    """Whether it is at most a 32-bit number; other tests exclude negative ones."""
    constant = c_value(value)
    if constant is not None:
        return abs(constant) < _HALF // 2
    return all(
        isinstance(atom.type, ScalarType)
        and (atom.type.bits <= INT.bits or (isinstance(atom, Access) and atom.object in short))
        for atom in polynomial(value).atoms
    )


def _bounding(value: Any) -> Iterator[Access]:
    """The variables that bound a value's size: a signed remainder is less than its divisor."""
    if isinstance(value, Binary) and value.operator == "%" and is_signed(value.type):
        value = value.right
    if isinstance(value, Access) and is_scalar(value):
        yield value
    for part in children(value):
        yield from _bounding(part)


def _greatest_sum(value: Polynomial) -> int:
    """The greatest possible sum of the unsigned terms with positive factors."""
    greatest = 0
    for monomial, factor in value.terms:
        if factor > 0 and all(isinstance(atom.type, ScalarType) and atom.type.is_integer for atom in monomial):
            greatest += factor * prod(_values_of(atom)[1] for atom in monomial)
    return greatest


def _doubtful_iterator(loop: Loop) -> Iterator[_Doubt]:
    """Values that conversion to the iterator's type, or arithmetic in it, may change."""
    type_, upper, by = loop.iterator.element, loop.upper, c_value(loop.step)
    types = (type_, upper.type, loop.lower.type)
    if not all(isinstance(operand, ScalarType) and operand.is_integer for operand in types):
        return
    assert isinstance(type_, ScalarType) and isinstance(upper.type, ScalarType)
    for end in (loop.lower, upper, loop.step):
        if isinstance(end.type, ScalarType) and end.type.bits > INT.bits:
            # A widened value may have wrapped before: `i -= -q`, `i < (long)(n - m)`.
            last = (1 << INT.bits) - 1
            for part in _unsigned_parts(end):
                value = polynomial(part)
                below, above = not _is_natural(value), _greatest_sum(value) > last
                if below or above:
                    yield _Doubt(part, 0 if below else None, last if above else None, False)
    if by is None:
        # Also where the loop does not run: workers count with the step.
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
        if type_.bits < LONG.bits:
            # A loop that starts behind its end runs to the end of its type, and around.
            ends = (loop.lower, upper) if loop.decreasing else (upper, loop.lower)
            yield _Doubt(Binary("-", *ends, LONG), 0, None, False)
        return
    open_end = 0 if len(loop.comparison) == 2 else 1 if loop.decreasing else -1
    behind = Binary("+", upper, loop.step, LONG)
    if open_end:
        behind = Binary("+", behind, integer(open_end), LONG)
    low, high = (sum(ends) + open_end for ends in zip(_values_of(upper), _values_of(loop.step), strict=True))
    if least <= (low if loop.decreasing else high) <= greatest:
        return
    yield from _outside(behind, least if loop.decreasing else None, None if loop.decreasing else greatest, type_)


def _wraps(loop: Loop, type_: ScalarType) -> bool:
    """Whether C lets the iterator wrap: overflow of its type is not undefined."""
    step = loop.step.type
    wider = isinstance(step, ScalarType) and step.bits > type_.bits
    return not type_.signed or type_.bits < INT.bits or wider


def _values_of(value: Expression) -> tuple[int, int]:
    """The least and the greatest value of an expression, as far as its type tells."""
    constant = c_value(value)
    if constant is not None:
        return constant, constant
    assert isinstance(value.type, ScalarType)
    return least_and_greatest(value.type)


def _may_be_beyond(value: Expression) -> bool:
    """Whether launches, which count in signed 64 bits, may take it for a negative number."""
    return c_value(value) is None and not is_signed(value.type) and _values_of(value)[1] >= 1 << (LONG.bits - 1)


def _outside(value: Expression, least: int | None, greatest: int | None, type_: ScalarType) -> Iterator[_Doubt]:
    """A doubt where the value may leave the range; 64-bit sizes are taken to be real ones."""
    low, high = _values_of(value)
    below = least is not None and (low < least or (_may_be_beyond(value) and type_.bits < LONG.bits))
    above = greatest is not None and high > greatest and type_.bits < LONG.bits
    if below or above:
        yield _Doubt(value, least if below else None, greatest if above else None, False)


def _is_unsigned(type_: object) -> bool:
    return isinstance(type_, ScalarType) and not type_.signed and type_.is_integer and type_.bits >= INT.bits


def _is_natural(value: Polynomial) -> bool:
    """Whether it is plainly nonnegative: a sum of unsigned values."""
    return all(
        factor > 0 and all(isinstance(atom.type, ScalarType) and not atom.type.signed for atom in monomial)
        for monomial, factor in value.terms
    )


def _conditions(
    doubt: _Doubt, object_: DataObject, outer: tuple[Loop, ...], invariant: Invariant
) -> Iterator[Expression]:
    use = Use(object_, (doubt.value,), True, False, False, outer, NOWHERE)
    box = box_of(use, invariant)
    runs = condition_of(box.nonempty)
    (bounds,) = box.dimensions
    limits = [] if doubt.least is None else [bounds.low - number(doubt.least)]
    limits += [] if doubt.greatest is None else [number(doubt.greatest) - bounds.high]
    for limit in limits:
        if not _is_natural(limit) or (_may_be_beyond(doubt.value) and not doubt.must_be_known):
            yield not_negative(select(runs, limit, number(0)))
