"""Whether a plan runs dependences forward: { A[i] -> B[j] } between instances of two leaves, A's
being needed first.

An instance is earlier than another where a sequential loop or the text puts it first (launches
among them), both being run by one worker, or by workers of one gang with a barrier between. Gangs
and threads of one launch never wait for each other.

Tiles are proven for all their sizes at once: the tiles of a loop hold the digits of the iteration's
number, of which the first that differs between two iterations differs as they do, and those after
it in any way (as in `poly/tile_legality`).
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Axis
from tilepragma.verify.launch_tree_relation import At, Dealt, Element, Launched, Leaf, Ordered

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True)
class Broken:
    """{ A[i] -> B[j] } that do not run in order, and why: a clause."""

    pairs: isl.Map
    reason: str


def out_of_order(first: Leaf, second: Leaf, pairs: isl.Map, *, alone: bool = False) -> Broken | None:
    """What of `pairs`, { A[i] -> B[j] : i must run before j } over the leaves' dimensions, does
    not; None where all does.

    `alone`: every instance has a copy of its own of what the pairs are about, so that only the
    order in one instance matters.
    """
    return None if pairs.is_empty() else _Order(first, second, pairs, alone).find()


def text_orders(first: Leaf, second: Leaf) -> bool:
    """Whether all of A runs before all of B because it stands before it and no loop or launch is
    around both: then `out_of_order` is None for any pairs.
    """
    for one, other in zip(first.path, second.path, strict=False):
        if not isinstance(one, At) or not isinstance(other, At):
            return False
        if one is not other:
            return one.index < other.index
    return False


def by_two_workers(first: Leaf, second: Leaf, pairs: isl.Map) -> isl.Map:
    """What of `pairs`, { A[i] -> B[j] } of one gang, two workers may run, or one in different rounds of the loops that are dealt out."""
    axes = () if first.launch is None else first.launch.axes
    apart = _Order(first, second, pairs, alone=False).apart([axis for axis in axes if axis.kind is AxisKind.WORKER])
    return pairs if apart is None else pairs.intersect(apart)


class _Order:
    """One walk down the common path; `pairs` are those that all before leaves at the same time."""

    def __init__(self, first: Leaf, second: Leaf, pairs: isl.Map, alone: bool) -> None:
        self.first = first
        self.second = second
        self.pairs = pairs
        self.alone = alone
        self.workers: isl.Map | None = None
        """{ A[i] -> B[j] } that two workers of a gang may run"""

    def find(self) -> Broken | None:
        for place, (one, other) in enumerate(zip(self.first.path, self.second.path, strict=False)):
            before = self.pairs
            if one is not other:
                return self._in_text(one, other, place)
            if isinstance(one, Ordered):
                broken = self._round(one.dimension, one.sign, place)
            elif isinstance(one, Launched):
                broken = self._launch(one)
            elif isinstance(one, Dealt):
                broken = self._nest(one, place)
            else:
                continue
            # None are left only if some were taken away: whether a set is empty is what takes
            # longest here.
            if broken is not None or (self.pairs is not before and self.pairs.is_empty()):
                return broken
        return Broken(self.pairs, "are the same instance in the plan")

    def _in_text(self, one: Element, other: Element, place: int) -> Broken | None:
        assert isinstance(one, At) and isinstance(other, At)
        if one.index > other.index:
            return Broken(self.pairs, "run in the opposite order")
        between = any(one.index < barrier < other.index for barrier in one.barriers)
        return None if between else self._waits(self.pairs, place)

    def _waits(self, pairs: isl.Map, place: int) -> Broken | None:
        """Whether workers wait between instances that differ at `place`."""
        if self._never_waits(place):
            return None
        assert self.workers is not None
        apart = pairs.intersect(self.workers)
        return None if apart.is_empty() else Broken(apart, "may be run by two workers with no barrier between")

    def _never_waits(self, place: int) -> bool:
        """Whether nobody has to be waited for between any instances that differ at `place`: one worker runs them, or all wait there."""
        return self.workers is None or self._barrier_below(place)

    def _barrier_below(self, place: int) -> bool:
        after = any(barrier > at.index for at in _passed(self.first, place) for barrier in at.barriers)
        return after or any(barrier < at.index for at in _passed(self.second, place) for barrier in at.barriers)

    def _round(self, dimension: int, sign: int, place: int) -> Broken | None:
        broken = self._forward(dimension, sign, place)
        self.pairs = self.pairs.equate(_IN, dimension, _OUT, dimension)
        return broken

    def _forward(self, dimension: int, sign: int, place: int, *, leading: bool = True) -> Broken | None:
        """Pairs that a dimension, or a digit of it, tells apart: the first instance must have the earlier round."""
        forward = isl.Map.order_lt if sign > 0 else isl.Map.order_gt
        back = isl.Map.order_gt if sign > 0 else isl.Map.order_lt
        backward = back(self.pairs, _IN, dimension, _OUT, dimension)
        if not leading:
            backward = backward.union(forward(self.pairs, _IN, dimension, _OUT, dimension))
        if not backward.is_empty():
            return Broken(backward, "run in the opposite order")
        if self._never_waits(place):
            return None
        return self._waits(forward(self.pairs, _IN, dimension, _OUT, dimension), place)

    def _launch(self, element: Launched) -> Broken | None:
        axes = element.launch.axes
        if self.alone or not axes:
            return None
        apart = self.apart([axis for axis in axes if axis.kind is not AxisKind.WORKER])
        if apart is not None:
            broken = self.pairs.intersect(apart)
            if not broken.is_empty():
                kind = "gangs" if any(axis.kind is AxisKind.GANG for axis in axes) else "threads"
                return Broken(broken, f"may be run by two {kind} of one launch, which do not wait for each other")
        self.workers = self.apart([axis for axis in axes if axis.kind is AxisKind.WORKER])
        return None

    def _nest(self, element: Dealt, place: int) -> Broken | None:
        """The tiles that are no axes, in their order; instances of workers are one and the same below."""
        if element.to_workers:
            broken = self._waits(self.pairs, len(self.first.path))
            if broken is not None:
                return broken
            self.workers = None
        loops = {tiled.loop.index: (element.first + index, tiled) for index, tiled in enumerate(element.nest.loops)}
        waiting = {index: [tile.position for tile in tiled.tiles] for index, (_, tiled) in loops.items()}
        for tile in element.nest.order:
            dimension, tiled = loops[tile.loop]
            if any(tile.axis is not None for tile in tiled.tiles):
                # Told apart above, hence equal here, or about different copies.
                self.pairs = self.pairs.equate(_IN, dimension, _OUT, dimension) if self.alone else self.pairs
                continue
            if dimension >= min(self.first.depth, self.second.depth):
                return Broken(self.pairs, "cannot be told apart: one is a bound of a tiled loop")
            left = waiting[tile.loop]
            sign = -1 if tiled.loop.decreasing else 1
            broken = self._forward(dimension, sign, place, leading=left[0] == tile.position)
            if broken is not None:
                return broken
            left.remove(tile.position)
            if not left:
                self.pairs = self.pairs.equate(_IN, dimension, _OUT, dimension)
        return None

    def apart(self, axes: list[Axis]) -> isl.Map | None:
        """{ A[i] -> B[j] } that may have different indices of one of the axes; None where none may."""
        apart = None
        for axis in axes:
            one, other = _dealt(self.first, axis), _dealt(self.second, axis)
            if one is None or other is None or not _alike(one, other):
                return isl.Map.universe(self.pairs.get_space())
            differ = self._differ(one, other)
            apart = differ if apart is None else apart.union(differ)
        return apart

    def _differ(self, one: tuple[Dealt, int], other: tuple[Dealt, int]) -> isl.Map:
        """Two loops dealt out alike: different iterations, or any where the loops' bounds differ."""
        (first, place), (second, there) = one, other
        everything = isl.Map.universe(self.pairs.get_space())
        mine, theirs = first.first + place, second.first + there
        differ = everything.order_lt(_IN, mine, _OUT, theirs).union(everything.order_gt(_IN, mine, _OUT, theirs))
        if first.nest.loops[place].launch_bounds:
            return differ
        for bound, its in zip(first.bounds[place], second.bounds[there], strict=True):
            if bound is None or its is None:
                return everything
            values = [
                isl.Map.from_pw_aff(value.add_dims(_IN, leaf.depth - value.dim(_IN)))
                for value, leaf in ((bound, self.first), (its, self.second))
            ]
            differ = differ.union(everything.subtract(values[0].apply_range(values[1].reverse())))
        return differ


def _passed(leaf: Leaf, place: int) -> list[At]:
    """The sequences below `place` on the way to the leaf, up to where workers part."""
    found = []
    for element in leaf.path[place + 1 :]:
        if isinstance(element, Dealt) and element.to_workers:
            break
        if isinstance(element, At):
            found.append(element)
    return found


def _dealt(leaf: Leaf, axis: Axis) -> tuple[Dealt, int] | None:
    """The nest that deals a loop out over the axis on the way to the leaf, and the loop's place in it."""
    for element in leaf.path:
        if isinstance(element, Dealt):
            for place, tiled in enumerate(element.nest.loops):
                reached = element.first + place < leaf.depth
                if reached and any(tile.axis == axis for tile in tiled.tiles):
                    return element, place
    return None


def _alike(one: tuple[Dealt, int], other: tuple[Dealt, int]) -> bool:
    """Whether two loops are dealt out in the same way wherever their bounds are the same."""
    if one[0] is other[0] and one[1] == other[1]:
        return True
    first, second = one[0].nest.loops[one[1]], other[0].nest.loops[other[1]]
    return first.distribution_key == second.distribution_key
