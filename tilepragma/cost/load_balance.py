"""How evenly the cores of a host share a launch: tiles are dealt to them in turn, and those at the ends of a wavefront are smaller."""

from __future__ import annotations

import numpy as np

from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter
from tilepragma.cost.footprint_boxes import Reals
from tilepragma.cost.launch_counts import entries_of
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import Numbers, chosen
from tilepragma.cost.tile_work import MappedNest, dealt_nest

#: Launches of each case that are looked at, iterations of the loop that is dealt out, and of each
#: loop inside; between them lie straight lines.
_ENTRIES, _PLACES, _SAMPLES = 7, 9, 3
#: Of a longer loop that is dealt out as many iterations stand for all: who has one more matters no
#: longer.
_LONGEST = 256


def slowest_part(work: LaunchWork, cores: int) -> Reals | None:
    """Which part of a launch's points the core has that has most of them, in each case, where core
    k takes iterations k, k + cores, … of the loop that is dealt out: 1 / cores where all have as
    many. None where not just one loop is. Raises UncountableError.

    Where wavefronts overlap, whoever is free takes the next tile: then it is the part of the
    largest tile, if that is more than 1 / cores.
    """
    entries = entries_of(work.place, _ENTRIES)
    nest = dealt_nest(work.place.launch, entries.lanes)
    if nest is None or len(nest.loops) != 1:
        return None
    (trips,) = nest.trips()
    most, every = _of_entries(nest, trips, cores, work.place.launch.pipelined)
    cases = len(work.starts)
    slowest, whole = (
        np.bincount(entries.case, weights=one * entries.repeats, minlength=cases) for one in (most, every)
    )
    return np.asarray(np.where(whole > 0, slowest / np.maximum(whole, 1e-300), 1 / cores))


def _of_entries(nest: MappedNest, trips: Numbers, cores: int, pipelined: bool) -> tuple[Reals, Reals]:
    """Points of the core that has most of them, and of all, in each entry."""
    taken = np.minimum(np.maximum(trips, 1), _PLACES)
    points = _points(nest, trips, taken)
    length = np.clip(trips, 1, _LONGEST)
    width = -(-int(length.max()) // cores) * cores
    place = np.arange(width)[None, :]
    there = place * (taken - 1)[:, None] / np.maximum(length - 1, 1)[:, None]
    before = np.minimum(there.astype(np.int64), (taken - 1)[:, None])
    after = np.minimum(before + 1, (taken - 1)[:, None])
    rows = np.arange(len(trips))[:, None]
    between = points[rows, before] * (1 - there + before) + points[rows, after] * (there - before)
    tiles = np.where(place < length[:, None], between, 0.0)
    dealt = tiles.reshape(len(trips), -1, cores).sum(axis=1)
    every = np.asarray(dealt.sum(axis=1))
    return np.asarray(np.maximum(tiles.max(axis=1), every / cores) if pipelined else dealt.max(axis=1)), every


def _points(nest: MappedNest, trips: Numbers, taken: Numbers) -> Reals:
    """Points of the first, the last and some iterations between of the loop that is dealt out, a row for each entry; 0 where there are none."""
    loop = nest.loops[0].loop
    index, number = members(taken)
    place = number * (trips[index] - 1) // np.maximum(taken[index] - 1, 1)
    lower, step = (chosen(nest.lanes.evaluation.value(bound), index) for bound in (loop.lower, loop.step))
    inside = nest.lanes.at(index, {loop.iterator.name: lower + step * place})
    counts = Counter(samples=_SAMPLES).count(nest.body, inside)
    found = np.zeros((len(taken), _PLACES))
    found[index, number] = sum(
        (np.broadcast_to(count, (len(index),)) for count in counts.values()), np.zeros(len(index))
    )
    found[trips <= 0] = 0.0
    return found
