"""Whether a plan runs dependences forward: { A[i] -> B[j] } between instances of two leaves, where
A's must run first.

An instance is earlier than another where a sequential loop or the text (launches included) puts it
first, if one worker runs both, or workers of one gang with a barrier between them. Gangs and
threads of one launch never wait for each other.

Tiles are proven for all sizes together: the tiles of a loop hold the digits of the iteration's
number. The first digit that differs between two iterations differs as they do, later digits in any
way (as in `poly/tile_legality`).
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Axis
from tilepragma.verify.launch_tree_relation import Element, InSequence, Launched, Leaf, Mapped, Ordered

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True)
class Broken:
    """{ A[i] -> B[j] } that do not run in order, and why: a clause."""

    pairs: isl.Map
    reason: str


def out_of_order(first: Leaf, second: Leaf, pairs: isl.Map, *, alone: bool = False) -> Broken | None:
    """The part of `pairs`, { A[i] -> B[j] : i must run before j } over the leaves' dimensions, that
    does not run in order; None without any.

    `alone`: every instance has a private copy of the object of the pairs, so that only the order in
    one instance matters.
    """
    return None if pairs.is_empty() else _Order(first, second, pairs, alone).find()


def text_orders(first: Leaf, second: Leaf) -> bool:
    """Whether A runs before B by the text alone; `out_of_order` is then None for any pairs."""
    for element, counterpart in zip(first.path, second.path, strict=False):
        if not isinstance(element, InSequence) or not isinstance(counterpart, InSequence):
            return False
        if element is not counterpart:
            return element.index < counterpart.index
    return False


def by_two_workers(first: Leaf, second: Leaf, pairs: isl.Map) -> isl.Map:
    """The `pairs` of one gang that two workers, or different rounds of mapped loops, run."""
    axes = () if first.launch is None else first.launch.axes
    apart = _Order(first, second, pairs, alone=False).apart([axis for axis in axes if axis.kind is AxisKind.WORKER])
    return pairs if apart is None else pairs.intersect(apart)


class _Order:
    """One walk down the common path; earlier elements leave `pairs` simultaneous."""

    def __init__(self, first: Leaf, second: Leaf, pairs: isl.Map, alone: bool) -> None:
        self.first = first
        self.second = second
        self.pairs = pairs
        self.alone = alone
        self.workers: isl.Map | None = None
        """{ A[i] -> B[j] } that two workers of a gang may run"""

    def find(self) -> Broken | None:
        for place, (element, counterpart) in enumerate(zip(self.first.path, self.second.path, strict=False)):
            before = self.pairs
            if element is not counterpart:
                return self._in_text(element, counterpart, place)
            if isinstance(element, Ordered):
                broken = self._round(element.dimension, element.sign, place)
            elif isinstance(element, Launched):
                broken = self._launch(element)
            elif isinstance(element, Mapped):
                broken = self._nest(element, place)
            else:
                continue
            # Test only changed sets for emptiness: that takes longest.
            if broken is not None or (self.pairs is not before and self.pairs.is_empty()):
                return broken
        return Broken(self.pairs, "are the same instance in the plan")

    def _in_text(self, element: Element, counterpart: Element, place: int) -> Broken | None:
        assert isinstance(element, InSequence) and isinstance(counterpart, InSequence)
        if element.index > counterpart.index:
            return Broken(self.pairs, "run in the opposite order")
        between = any(element.index < barrier < counterpart.index for barrier in element.barriers)
        return None if between else self._waits(self.pairs, place)

    def _waits(self, pairs: isl.Map, place: int) -> Broken | None:
        """The pairs that two workers may run without a wait between, parting at `place`."""
        if self._never_waits(place):
            return None
        assert self.workers is not None
        apart = pairs.intersect(self.workers)
        return None if apart.is_empty() else Broken(apart, "may be run by two workers with no barrier between")

    def _never_waits(self, place: int) -> bool:
        """Whether instances that differ at `place` need no wait, or all wait there."""
        return self.workers is None or self._barrier_below(place)

    def _barrier_below(self, place: int) -> bool:
        after = any(barrier > part.index for part in _passed(self.first, place) for barrier in part.barriers)
        return after or any(barrier < part.index for part in _passed(self.second, place) for barrier in part.barriers)

    def _round(self, dimension: int, sign: int, place: int) -> Broken | None:
        broken = self._forward(dimension, sign, place)
        self.pairs = self.pairs.equate(_IN, dimension, _OUT, dimension)
        return broken

    def _forward(self, dimension: int, sign: int, place: int, *, leading: bool = True) -> Broken | None:
        """Pairs that a dimension, or a digit of it, splits: the first must be earlier."""
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

    def _nest(self, element: Mapped, place: int) -> Broken | None:
        """The unmapped tiles in order; below the nest, one worker runs all of an instance."""
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
                # Pairs that differ there are done above; these are equal, or about different
                # copies.
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
        """{ A[i] -> B[j] } that may differ in the index of one of the axes; None if none may."""
        apart = None
        for axis in axes:
            first, second = _mapping(self.first, axis), _mapping(self.second, axis)
            if first is None or second is None or not _alike(first, second):
                return isl.Map.universe(self.pairs.get_space())
            differ = self._differ(first, second)
            apart = differ if apart is None else apart.union(differ)
        return apart

    def _differ(self, first_mapping: tuple[Mapped, int], second_mapping: tuple[Mapped, int]) -> isl.Map:
        """Different iterations of equally mapped loops, or any where their bounds differ."""
        (first, place), (second, there) = first_mapping, second_mapping
        everything = isl.Map.universe(self.pairs.get_space())
        first_dimension, second_dimension = first.first + place, second.first + there
        differ = everything.order_lt(_IN, first_dimension, _OUT, second_dimension).union(
            everything.order_gt(_IN, first_dimension, _OUT, second_dimension)
        )
        if first.nest.loops[place].launch_bounds:
            return differ
        for bound, counterpart in zip(first.bounds[place], second.bounds[there], strict=True):
            if bound is None or counterpart is None:
                return everything
            values = [
                isl.Map.from_pw_aff(value.add_dims(_IN, leaf.depth - value.dim(_IN)))
                for value, leaf in ((bound, self.first), (counterpart, self.second))
            ]
            differ = differ.union(everything.subtract(values[0].apply_range(values[1].reverse())))
        return differ


def _passed(leaf: Leaf, place: int) -> list[InSequence]:
    """The sequence parts below `place` on the way to the leaf, up to where workers part."""
    parts = []
    for element in leaf.path[place + 1 :]:
        if isinstance(element, Mapped) and element.to_workers:
            break
        if isinstance(element, InSequence):
            parts.append(element)
    return parts


def _mapping(leaf: Leaf, axis: Axis) -> tuple[Mapped, int] | None:
    """The nest that maps a loop to the axis on the way to the leaf, and the loop's place in it."""
    for element in leaf.path:
        if isinstance(element, Mapped):
            for place, tiled in enumerate(element.nest.loops):
                reached = element.first + place < leaf.depth
                if reached and any(tile.axis == axis for tile in tiled.tiles):
                    return element, place
    return None


def _alike(first_mapping: tuple[Mapped, int], second_mapping: tuple[Mapped, int]) -> bool:
    """Whether two loops are mapped in the same way wherever their bounds are the same."""
    if first_mapping[0] is second_mapping[0] and first_mapping[1] == second_mapping[1]:
        return True
    first, second = first_mapping[0].nest.loops[first_mapping[1]], second_mapping[0].nest.loops[second_mapping[1]]
    return first.distribution_key == second.distribution_key
