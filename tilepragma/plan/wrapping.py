"""What must hold at launch so that bounds of loops mean in C what they mean as numbers.

Plans reason about mathematical integers. Signed overflow is undefined in C, but unsigned arithmetic wraps, and a comparison with
an unsigned value converts a negative iterator: `for (unsigned i = n - 5; …)` with n = 3 starts at the top of the type, and
`for (int i = -4; i < m; …)` with an unsigned m does not run at all. Such values must lie where C and arithmetic agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.ranges import NOWHERE
from tilepragma.ir.accesses import Use
from tilepragma.ir.dump import plain_text
from tilepragma.ir.expressions import Expression
from tilepragma.ir.looptree import Kernel, Loop
from tilepragma.ir.polynomial import Polynomial, not_negative, number, polynomial, select
from tilepragma.ir.traversal import children
from tilepragma.ir.types import INT, ScalarType
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
        for value, greatest in _doubtful(loop):
            try:
                for condition in _conditions(value, greatest, loop, outer, invariant):
                    found[condition] = None
            except NotExactError:
                if automatic:
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


def _doubtful(loop: Loop) -> Iterator[tuple[Expression, int | None]]:
    """Bounds that must not be negative, and the greatest value that they may have where that matters."""
    for bound in (loop.lower, loop.upper):
        if _is_unsigned(bound.type):
            value = polynomial(bound)
            products = any(len(monomial) > 1 for monomial, _ in value.terms)
            narrow = isinstance(bound.type, ScalarType) and bound.type.bits < 64
            greatest = 2**bound.type.bits - 1 if isinstance(bound.type, ScalarType) and narrow and products else None
            if greatest is not None or not _is_natural(value):
                yield bound, greatest
    if _is_unsigned(loop.upper.type) and not _is_unsigned(loop.iterator.element):
        bits = [type_.bits for type_ in (loop.upper.type, loop.iterator.element) if isinstance(type_, ScalarType)]
        if bits[0] >= max(bits[-1], INT.bits) and not _is_natural(polynomial(loop.lower)):
            yield loop.lower, None


def _is_unsigned(type_: object) -> bool:
    return isinstance(type_, ScalarType) and not type_.signed and type_.is_integer and type_.bits >= INT.bits


def _is_natural(value: Polynomial) -> bool:
    """Whether it is plainly no less than 0: a sum of unsigned values."""
    return all(
        factor > 0 and all(isinstance(atom.type, ScalarType) and not atom.type.signed for atom in monomial)
        for monomial, factor in value.terms
    )


def _conditions(
    bound: Expression, greatest: int | None, loop: Loop, outer: tuple[Loop, ...], invariant: Invariant
) -> Iterator[Expression]:
    use = Use(loop.iterator, (bound,), True, False, False, outer, NOWHERE)
    box = box_of(use, invariant)
    runs = condition_of(box.nonempty)
    (bounds,) = box.dimensions
    limits = [bounds.low] if greatest is None else [bounds.low, number(greatest) - bounds.high]
    for limit in limits:
        if not _is_natural(limit):
            yield not_negative(select(runs, limit, number(0)))
