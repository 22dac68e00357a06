"""How many workers a gang gets at a launch: those that the user says, else the runtime's choice
(`choose_device_workers` in runtime/launch/launch_geometry.c).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilepragma.cost.launch_counts import ENTRIES, Entries, Place, entries_of
from tilepragma.cost.parameter_batch import Numbers
from tilepragma.cost.tile_work import axis_of
from tilepragma.ir.directives import AxisKind, CountClause
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.loop_tree import Axis
from tilepragma.plan.array_bytes import host_value
from tilepragma.plan.shared_constants import PREFERRED_WORKERS


def gang_workers(
    place: Place, counts: Sequence[CountClause], scalars: Mapping[str, int], most: int
) -> tuple[Numbers, Numbers, Numbers]:
    """The workers of a launch's gangs along each dimension, in each case, where a gang of the
    device has so many at `most`.

    They are the runtime's preferred ones, halved as long as half of them are enough for the loops.
    Where launches of a case differ, these are the most. Raises UncountableError.
    """
    dimensions = sorted(axis.dimension for axis in place.launch.axes if axis.kind is AxisKind.WORKER)
    said = {count.dimension: host_value(count.count, scalars) for count in counts if count.axis is AxisKind.WORKER}
    found = {dimension: place.lanes.all(said[dimension]) for dimension in dimensions if dimension in said}
    given = np.prod([place.lanes.all(1), *found.values()], axis=0, dtype=np.int64)
    entries = entries_of(place, ENTRIES)
    left = [dimension for dimension in dimensions if dimension not in said]
    for preferred, dimension in zip(PREFERRED_WORKERS.get(len(left), ()), left, strict=True):
        found[dimension] = _halved(place.lanes.all(preferred), _need(place, entries, dimension), most)
    for dimension in left:
        others = given * np.prod([found[one] for one in left if one != dimension], axis=0, dtype=np.int64)
        while np.any(beyond := (others * found[dimension] > most) & (found[dimension] > 1)):
            found[dimension] = np.where(beyond, found[dimension] // 2, found[dimension])
    one, two, three = (found.get(dimension, place.lanes.all(1)) for dimension in range(3))
    return one, two, three


def _halved(workers: Numbers, need: Numbers, most: int) -> Numbers:
    while np.any(more := (workers > 1) & ((workers > most) | (workers // 2 >= need))):
        workers = np.where(more, workers // 2, workers)
    return workers


def _need(place: Place, entries: Entries, dimension: int) -> Numbers:
    """How many workers along the dimension have an iteration of some loop, in each case."""
    axis = Axis(AxisKind.WORKER, dimension)
    loops = [loop for loop in place.launch.loops if any(tile.axis == axis for tile in loop.tiles)]
    if not loops:
        raise UncountableError(f"how many workers {place.launch.name} has depends on what runs inside its tiles")
    needs = [-(-entries.lanes.all(entries.lanes.evaluation.trips(loop.loop)) // axis_of(loop)[2]) for loop in loops]
    return np.maximum(np.maximum.reduceat(np.max(needs, axis=0), entries.starts), 1)
