"""The load balance of a launch whose tiles go to host cores cyclically."""

from __future__ import annotations

import numpy as np

from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter
from tilepragma.cost.launch_counts import entries_of
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import Numbers, Reals
from tilepragma.cost.tile_work import MappedNest, mapped_nest

#: Sampled launches of each case, iterations of the mapped loop, and iterations of each loop inside;
#: counts between samples are interpolated.
_ENTRIES, _PLACES, _SAMPLES = 7, 9, 3
#: The most iterations of a mapped loop that are modelled: in a longer loop the remainder is
#: negligible.
_LONGEST = 256


def slowest_part(work: LaunchWork, cores: int) -> Reals | None:
    """The largest core's share of a launch's points, in each case, if core k takes iterations k, k
    + cores, … of the mapped loop: 1 / cores if all are equal. None unless exactly one loop is
    mapped. Raises UncountableError.

    Where wavefronts overlap, an idle core takes the next tile: then the share is that of the
    largest tile, if it exceeds 1 / cores.
    """
    entries = entries_of(work.place, _ENTRIES)
    nest = mapped_nest(work.place.launch, entries.batch)
    if nest is None or len(nest.loops) != 1:
        return None
    (trips,) = nest.trips()
    most, every = _of_entries(nest, trips, cores, work.place.launch.pipelined)
    cases = len(work.starts)
    slowest, whole = (
        np.bincount(entries.case, weights=points * entries.repeats, minlength=cases) for points in (most, every)
    )
    return np.asarray(np.where(whole > 0, slowest / np.maximum(whole, 1e-300), 1 / cores))


def _of_entries(nest: MappedNest, trips: Numbers, cores: int, pipelined: bool) -> tuple[Reals, Reals]:
    """Points of the core that has most, and of all cores, in each entry."""
    taken = np.minimum(np.maximum(trips, 1), _PLACES)
    points = _points(nest, trips, taken)
    length = np.clip(trips, 1, _LONGEST)
    width = -(-int(length.max()) // cores) * cores
    place = np.arange(width)[None, :]
    position = place * (taken - 1)[:, None] / np.maximum(length - 1, 1)[:, None]
    before = np.minimum(position.astype(np.int64), (taken - 1)[:, None])
    after = np.minimum(before + 1, (taken - 1)[:, None])
    rows = np.arange(len(trips))[:, None]
    between = points[rows, before] * (1 - position + before) + points[rows, after] * (position - before)
    tiles = np.where(place < length[:, None], between, 0.0)
    of_cores = tiles.reshape(len(trips), -1, cores).sum(axis=1)
    every = np.asarray(of_cores.sum(axis=1))
    return np.asarray(np.maximum(tiles.max(axis=1), every / cores) if pipelined else of_cores.max(axis=1)), every


def _points(nest: MappedNest, trips: Numbers, taken: Numbers) -> Reals:
    """Points of sampled iterations of the mapped loop: a row for each entry, 0 without any."""
    loop = nest.loops[0].loop
    index, number = members(taken)
    place = number * (trips[index] - 1) // np.maximum(taken[index] - 1, 1)
    counts = Counter(samples=_SAMPLES).count(nest.body, nest.batch.iterations(loop, index, place))
    points = np.zeros((len(taken), _PLACES))
    points[index, number] = sum(
        (np.broadcast_to(count, (len(index),)) for count in counts.values()), np.zeros(len(index))
    )
    points[trips <= 0] = 0.0
    return points
