"""Tile legality: which orders and distributions of tiles the dependences allow, for all sizes.

A tile of a loop holds one digit of the iteration's number (mixed radix, the first tile the most
significant). A distance d > 0 makes the first differing digit grow, d < 0 makes it shrink, and the
digits after it may do either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.traversal import walk
from tilepragma.poly.dependences import (
    Dependence,
    alike_at_first,
    distance_text,
    distance_vector,
    has_sign,
    may_differ,
    with_sign,
    with_zero,
)
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import place_of

_FEW_ITERATIONS = 1 << 16
"""independent loops have more iterations than this in real runs"""


@dataclass(frozen=True)
class Violation:
    """The distances { [d] } that a transformation breaks, at an order's place or a loop's index."""

    dependence: Dependence
    distances: isl.Set
    place: int

    @property
    def nearest(self) -> str:
        """The least broken distance if it is constant, else the signs."""
        if self.distances.is_bounded():
            least = self.distances.lexmin()
            if distance_vector(least) is not None:
                return distance_text(least)
        return distance_text(self.distances)


def order_violation(
    dependences: Iterable[Dependence], nest: Sequence[int], order: Sequence[tuple[int, int]]
) -> Violation | None:
    """The first dependence that the order breaks for some tile sizes, if any.

    `nest` holds the indices of perfectly nested loops, outermost first; `order` the (loop,
    position) of their tiles in order of execution. All orders keep distances that outer loops
    carry.
    """
    for dependence in dependences:
        first = place_of(nest[0], dependence.loops)
        if first is None or [loop.index for loop in dependence.loops[first : first + len(nest)]] != list(nest):
            continue
        rest = dependence.distances
        for outer in range(first):
            rest = with_zero(rest, outer)
        broken = _broken(rest, {loop: first + depth for depth, loop in enumerate(nest)}, order)
        if broken is not None:
            return Violation(dependence, *broken)
    return None


def _broken(distances: isl.Set, places: dict[int, int], order: Sequence[tuple[int, int]]) -> tuple[isl.Set, int] | None:
    """Walk through the order; `distances` are those whose digits may all be equal so far."""
    waiting = {loop: sorted(position for tiled, position in order if tiled == loop) for loop in places}
    for step, (loop, position) in enumerate(order):
        place = places[loop]
        # A digit shrinks first: the distance is negative, or a more significant, growing digit
        # follows.
        sign = 1 if waiting[loop][0] < position else -1
        for direction in {sign, -1}:
            broken = with_sign(distances, place, direction)
            if not broken.is_empty():
                return broken, step
        waiting[loop].remove(position)
        if not waiting[loop]:
            distances = with_zero(distances, place)
    return None


def distribution_violation(
    dependences: Iterable[Dependence], loop: int, ordered: frozenset[int] = frozenset()
) -> Violation | None:
    """The first dependence between iterations of the loop that distribution would leave unordered.

    All instances wait for each other after each iteration of the outer loops `ordered`.
    """
    for dependence in dependences:
        place = place_of(loop, dependence.loops)
        if place is None:
            continue
        rest = dependence.distances
        for outer in range(place):
            if dependence.loops[outer].index in ordered:
                rest = with_zero(rest, outer)
        for sign in (1, -1):
            broken = with_sign(rest, place, sign)
            if not broken.is_empty():
                return Violation(dependence, broken, loop)
        moved = _start_moves(rest, dependence.loops, place)
        if moved is not None:
            return Violation(dependence, moved, loop)
    return None


def shares_surely(dependence: Dependence, loop: int) -> bool:
    """Whether enough iterations of the loop, in one iteration of outer loops, surely share
    elements.

    The parameters P for which they do are those of { d : d_outer = 0, d_loop != 0 }. For others the
    loop must have few iterations: where `a[i]` and `a[i + m]` are written, it may have arbitrarily
    many if m is no less.
    """
    place = place_of(loop, dependence.loops)
    if place is None or not (dependence.exact and dependence.source.whole and dependence.sink.whole):
        return False
    try:
        with operation_limit(dependence.distances.get_ctx(), DEFAULT_LIMIT, "counting iterations that share nothing"):
            return _shares_surely(dependence, place)
    except OperationLimitError:
        return False


def _shares_surely(dependence: Dependence, place: int) -> bool:
    meeting = dependence.distances
    for outer in range(place):
        meeting = with_zero(meeting, outer)
    if not may_differ(meeting, place):
        return False
    meeting = meeting.subtract(with_zero(meeting, place))
    domain = dependence.source_statement.domain
    apart = domain.subtract(domain.intersect_params(meeting.params()))
    # The length of a loop that is always short does not exclude irrelevant parameters.
    enough = _FEW_ITERATIONS if _longest(domain, place) > _FEW_ITERATIONS else 0
    return _longest(apart, place) <= enough


def _longest(instances: isl.Set, place: int) -> float:
    """The greatest distance of two instances in a loop, in one iteration of outer loops."""
    pairs = alike_at_first(isl.Map.from_domain_and_range(instances, instances), place)
    if pairs.is_empty():
        return 0
    most = pairs.deltas().dim_max_val(place)
    return float(most.to_python()) if most.is_int() else float("inf")


def _start_moves(distances: isl.Set, loops: Sequence[Loop], place: int) -> isl.Set | None:
    """{ d : d_outer != 0 } for an outer loop on which the start of the loop at `place` depends, if
    not empty.

    Distribution counts iterations from the start: where that moves, one value of the iterator
    belongs to different instances.
    """
    read = {node.object for node in walk(loops[place].lower) if isinstance(node, Access)}
    for outer in range(place):
        if loops[outer].iterator in read:
            moved = distances.subtract(with_zero(distances, outer))
            if not moved.is_empty():
                return moved
    return None


def carried_outside(violation: Violation, loop: int) -> Loop | None:
    """The loop around `loop` that carries all broken distances, { [d] : d_outer > 0 }, if any."""
    for place, outer in enumerate(violation.dependence.loops):
        if outer.index == loop:
            return None
        zero, negative = with_zero(violation.distances, place), has_sign(violation.distances, place, -1)
        if zero.is_empty() and not negative:
            return outer
    return None
