"""How many workers a gang gets: those that the user says, else the runtime's choice
(`choose_device_workers` in runtime/launch/launch_geometry.c).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tilepragma.cost.launch_counts import ENTRIES, Entries, Place, entries_of
from tilepragma.cost.tile_work import mapped_loop
from tilepragma.ir.directives import AxisKind, CountClause, TileKind
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.loop_tree import Axis
from tilepragma.model.device import Gpu
from tilepragma.model.execution_time import Integers
from tilepragma.plan.array_bytes import host_value
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.plan.shared_constants import COPYING_WORKERS, LANES, LEAST_WORKERS, PREFERRED_WORKERS, WIDE_GANG_WORKERS


def gang_workers(
    place: Place, counts: Sequence[CountClause], scalars: Mapping[str, int], gpu: Gpu
) -> tuple[Integers, Integers, Integers]:
    """The workers of a launch's gangs along each dimension, in each case.

    The user's counts hold. Otherwise the runtime's preferred counts are halved while half of them
    cover the loops, until the GPU's blocks hold as many, and while gangs are too few for its
    multiprocessors; where a gang runs all iterations, the first count is of whole groups of lanes.
    Gangs that copy tiles keep more along the last dimension. Where launches of a case differ, the
    largest count stands for all. Raises UncountableError.
    """
    most = gpu.threads_per_block
    dimensions = sorted(axis.dimension for axis in place.launch.axes if axis.kind is AxisKind.WORKER)
    fixed = {count.dimension: host_value(count.count, scalars) for count in counts if count.axis is AxisKind.WORKER}
    workers = {dimension: place.batch.all(fixed[dimension]) for dimension in dimensions if dimension in fixed}
    product = np.prod([place.batch.all(1), *workers.values()], axis=0, dtype=np.int64)
    entries = entries_of(place, ENTRIES)
    left = [dimension for dimension in dimensions if dimension not in fixed]
    axes = [Axis(AxisKind.WORKER, dimension) for dimension in left]
    for preferred, dimension in zip(_preferred(place.launch, axes), left, strict=True):
        need = _need(place, entries, dimension)
        workers[dimension] = _halved(place.batch.all(preferred), need, most)
        if dimension == left[0] and _held_by_gang(place.launch, axes[0]):
            workers[dimension] = np.minimum(workers[dimension], LANES * -(-need // LANES))
    for dimension in left:
        others = product * np.prod([workers[other] for other in left if other != dimension], axis=0, dtype=np.int64)
        while np.any(beyond := (others * workers[dimension] > most) & (workers[dimension] > 1)):
            workers[dimension] = np.where(beyond, workers[dimension] // 2, workers[dimension])
    if not place.launch.reductions and not any(count.axis is AxisKind.GANG for count in counts):
        _spread(place, entries, workers, left, gpu.multiprocessors)
    if len(left) > 1 and place.launch.staged_scratchpads:
        _add_copying(workers, left[-1], PREFERRED_WORKERS[len(left)][-1], most)
    first, second, third = (workers.get(dimension, place.batch.all(1)) for dimension in range(3))
    return first, second, third


def _spread(
    place: Place, entries: Entries, workers: dict[int, Integers], left: Sequence[int], multiprocessors: int
) -> None:
    """Halve the workers along the dimensions `left` while the gangs that cover the loops in one
    round are fewer than the multiprocessors (`spread_gangs` in runtime/launch/launch_geometry.c).
    """
    kinds = [{tile.kind for tile in tiled.tiles} for tiled in place.launch.loops]
    others = {TileKind.SIZE, TileKind.STATIC}
    if any(not {TileKind.DYNAMIC, TileKind.GANG} <= each or each & others for each in kinds):
        return
    mapped = [(tiled, mapped_loop(tiled)) for tiled in place.launch.loops]
    trips = [_most(entries, entries.batch.all(entries.batch.evaluation.trips(loop.loop))) for _, loop in mapped]

    def gangs() -> Integers:
        most = dict.fromkeys((loop.dimension for _, loop in mapped), place.batch.all(0))
        for trip, (_, loop) in zip(trips, mapped, strict=True):
            cover = -(-trip // workers[loop.dimension]) if loop.workers else trip
            most[loop.dimension] = np.maximum(most[loop.dimension], cover)
        total: Integers = np.prod([place.batch.all(1), *most.values()], axis=0, dtype=np.int64)
        return total

    for dimension in reversed(left):
        while np.any(
            few := (np.prod(list(workers.values()), axis=0) > LEAST_WORKERS)
            & (gangs() < multiprocessors)
            & (workers[dimension] > 1)
        ):
            workers[dimension] = np.where(few, workers[dimension] // 2, workers[dimension])


def _add_copying(workers: dict[int, Integers], last: int, preferred: int, most: int) -> None:
    """More workers along the dimension `last` of gangs that copy the rows of their tiles."""

    def product() -> Integers:
        total: Integers = np.prod(list(workers.values()), axis=0, dtype=np.int64)
        return total

    while np.any(
        few := (product() < COPYING_WORKERS) & (2 * product() <= most) & (2 * workers[last] <= min(preferred, most))
    ):
        workers[last] = np.where(few, 2 * workers[last], workers[last])


def _most(entries: Entries, values: Integers) -> Integers:
    """The largest value of a case's launches."""
    most: Integers = np.maximum.reduceat(values, entries.starts)
    return most


def _halved(workers: Integers, need: Integers, most: int) -> Integers:
    while np.any(halve := (workers > 1) & ((workers > most) | (workers // 2 >= need))):
        workers = np.where(halve, workers // 2, workers)
    return workers


def _preferred(launch: Launch, axes: Sequence[Axis]) -> tuple[int, ...]:
    """The runtime's preferred workers along the axes that the user leaves open."""
    if len(axes) == 1 and (launch.reductions or _held_by_gang(launch, axes[0])):
        return (WIDE_GANG_WORKERS,)
    return PREFERRED_WORKERS.get(len(axes), ())


def _held_by_gang(launch: Launch, axis: Axis) -> bool:
    """Whether each gang runs all iterations of the loops over this axis of workers."""
    loops = [loop for loop in launch.loops if any(tile.axis == axis for tile in loop.tiles)]
    return all(tile.kind in (TileKind.DYNAMIC, TileKind.WORKER) for loop in loops for tile in loop.tiles)


def _need(place: Place, entries: Entries, dimension: int) -> Integers:
    """The number of workers along the dimension that get a loop iteration, in each case."""
    axis = Axis(AxisKind.WORKER, dimension)
    loops = [loop for loop in place.launch.loops if any(tile.axis == axis for tile in loop.tiles)]
    if not loops:
        raise UncountableError(f"how many workers {place.launch.name} has depends on what runs inside its tiles")
    batch = entries.batch
    needs = [-(-batch.all(batch.evaluation.trips(loop.loop)) // mapped_loop(loop).points) for loop in loops]
    return np.maximum(_most(entries, np.max(needs, axis=0)), 1)


def likely_workers(plan: KernelPlan, launch: Launch, most: int) -> Mapping[Axis, int]:
    """The expected workers of a gang along each axis before a launch: the user's numbers, else the
    runtime's preference, halved as in `gang_workers` down to at most `most`.
    """
    axes = sorted((axis for axis in launch.axes if axis.kind is AxisKind.WORKER), key=lambda axis: axis.dimension)
    given = {Axis(count.axis, count.dimension): count.count.literal for count in plan.counts}
    left = [axis for axis in axes if given.get(axis) is None]
    preferred = dict(zip(left, _preferred(launch, left), strict=True))
    workers = {axis: given.get(axis) or preferred[axis] for axis in axes}
    for axis in left:
        while math.prod(workers.values()) > most and workers[axis] > 1:
            workers[axis] //= 2
    return workers


def gang_workers_by_dimension(workers: Mapping[Axis, int]) -> tuple[int, int, int]:
    """The workers by dimension, 1 where a gang has no such axis."""
    x, y, z = (workers.get(Axis(AxisKind.WORKER, dimension), 1) for dimension in range(3))
    return x, y, z
