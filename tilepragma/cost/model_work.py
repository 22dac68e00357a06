"""A plan's work for the execution-time model: equations (5.2)-(5.11) for each of its launches, for
many tile sizes.

A tile of wavefronts of points is a tile of the thesis. Where no worker waits inside a tile (DOALL
nests, and everything on cores) a tile has no intra-tile wavefronts: the lanes of its unit share its
points evenly.
"""

from __future__ import annotations

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.gang_memory import array_tile_bytes, gang_bytes
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import summed
from tilepragma.cost.tile_traffic import ArrayTraffic, GangTile, tile_traffic
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.device import Gpu
from tilepragma.model.execution_time import HALF_A_TILE, Integers, Numbers, Work, slowest_rounds, sums
from tilepragma.model.roofline import Demand, level_traffic, row_bytes
from tilepragma.plan.array_bytes import ArrayBytes


@dataclass(frozen=True, eq=False)
class LaunchModel:
    """A launch for the model: `work` is that of tiles like the one that stands for all, of which
    there are `tiles` worth. `traffic` is that tile's, None where nobody knows, and 0 stands in the
    work. `counted`: what it was made from.
    """

    work: Work
    tiles: Numbers
    traffic: tuple[ArrayTraffic, ...] | None
    counted: LaunchWork


#: The workers of a gang along each dimension; on cores a gang is one thread.
Workers = tuple[int, int, int]


def launch_model(work: LaunchWork, gpu: Gpu, workers: Workers) -> LaunchModel:
    """One launch on a GPU. Raises UncountableError."""
    place = work.place
    has_workers = any(axis.kind is AxisKind.WORKER for axis in place.launch.axes)
    points, warps, steps = _tile(work, workers, gpu.warp if has_workers else 1)
    full_tiles, rounds = _balance(work, points, gpu.multiprocessors, workers)
    transfers = np.zeros(work.cases, dtype=np.int64)
    try:
        taken = {loop.dimension: workers[loop.dimension] for loop in work.loops if loop.workers}
        traffic = tile_traffic(GangTile(place, work.tile.order, taken))
        transfers = sum((array.read + array.written for array in traffic), transfers)
    except UncountableError:
        traffic = None
    shared = np.full(work.cases, gang_bytes(place.launch, workers, gpu))
    if place.launch.staged_scratchpads:
        # A gang keeps array tiles in shared memory only if they fit.
        tiles = place.batch.all(array_tile_bytes(place.launch, place.batch.evaluation.value))
        shared = shared + np.where(tiles <= gpu.shared_per_block, tiles, 0)
    whole_points = np.asarray(np.rint(points), dtype=np.int64)
    of_tiles = Work(steps, warps, whole_points, transfers, shared, wavefronts=work.launches, rounds=rounds)
    return LaunchModel(of_tiles, full_tiles, traffic, work)


def slowest_share(work: LaunchWork, cores: int) -> Numbers:
    """The slowest core's share of a launch's work in each case: 1 / cores in perfect balance."""
    full_tiles, rounds = _balance(work, _points(work, (1, 1, 1)), cores, (1, 1, 1))
    return np.asarray(np.where(full_tiles > 0, rounds / np.maximum(full_tiles, 1e-300), 1.0))


def _tiles(work: LaunchWork, workers: Workers) -> Integers:
    """The tiles of each entry that have work."""
    return work.tiles(workers) if work.nonempty is None else work.nonempty


def _mean(work: LaunchWork, workers: Workers) -> Numbers:
    """Points of a tile on average."""
    every = sums(work.repeats * _tiles(work, workers), work.starts)
    return np.asarray(work.points / np.maximum(every, 1), dtype=np.float64)


def _points(work: LaunchWork, workers: Workers) -> Numbers:
    """Points of the tile that stands for all."""
    return _mean(work, workers) if work.tile.points is None else work.tile.points.astype(np.float64)


def _balance(work: LaunchWork, points: Numbers, units: int, workers: Workers) -> tuple[Numbers, Numbers]:
    """Where the tile that stands for all has so many points: all tiles in such ones, and those that
    the slowest unit has.
    """
    tiles = _tiles(work, workers)
    every = np.maximum(sums(work.repeats * tiles, work.starts), 1)
    share = np.where(points > 0, _mean(work, workers) / np.maximum(points, 1e-300), 0.0)
    # The slowest unit has at least its share of all tiles, and at most all of them.
    full_tiles = np.asarray(every * share)
    rounds = _rounds(work, tiles, share, units)
    return full_tiles, np.clip(rounds, full_tiles / units, full_tiles)


def roofline_demand(
    model: LaunchModel, gpu: Gpu, arrays: tuple[ArrayBytes, ...], resident: Numbers | float = 1.0
) -> Demand:
    """What a launch demands of a GPU's arithmetic and memories. Raises UncountableError if a tile's
    traffic is unknown.

    The levels are nested tiles, each of which moves its own rows in whole transactions, then all of
    the `arrays` that they touch. A unit runs `resident` tiles in parallel.
    """
    if model.traffic is None:
        raise UncountableError(f"what a tile of {model.counted.place.launch.name} moves is not known")
    moved = sum(_moved(array, gpu.transaction) for array in model.traffic) + np.zeros_like(model.tiles)
    footprint = sum(array.touched * array.bytes for array in model.traffic) + np.zeros_like(model.tiles)
    # Staged data enters shared memory part by part, each part once.
    footprint = np.where(model.work.shared > 0, np.minimum(footprint, model.work.shared), footprint)
    touched = {array.array.stored for array in model.traffic}
    touched_arrays = [array for array in arrays if array.array.stored in touched]
    whole = np.full_like(model.tiles, sum(array.bytes for array in touched_arrays))
    once = np.full_like(model.tiles, sum(array.bytes * (array.reads + array.writes) for array in touched_arrays))
    work, counted = model.work, model.counted
    served = counted.accesses.astype(np.float64)
    levels = level_traffic(gpu.memories, served, footprint * resident, model.tiles * moved)
    return Demand(
        operations=counted.operations.astype(np.float64),
        traffic=_kept(gpu, levels, whole, once),
        tiles=model.tiles,
        rounds=work.rounds,
        filled=np.asarray(np.minimum(work.points / np.maximum(work.warps * gpu.warp, 1), 1.0), dtype=np.float64),
    )


def _kept(gpu: Gpu, levels: tuple[Numbers, ...], whole: Numbers, once: Numbers) -> tuple[Numbers, ...]:
    """The bytes from each memory: at most `once` beyond a shared level that holds the `whole`."""
    traffic = [levels[0]]
    for nearer, level in zip(gpu.memories, levels[1:], strict=False):
        fits = (nearer.sharers >= gpu.multiprocessors) & (whole <= (nearer.size or np.inf))
        traffic.append(np.minimum(np.where(fits, np.minimum(level, once), level), traffic[-1]))
    return tuple(traffic)


def _moved(traffic: ArrayTraffic, transaction: int) -> Numbers:
    """Bytes of a tile's rows, in whole transactions."""
    parts = ((traffic.read, traffic.read_rows), (traffic.written, traffic.written_rows))
    moved = [row_bytes(-(-length // np.maximum(rows, 1)), rows, traffic.bytes, transaction) for length, rows in parts]
    return np.asarray(moved[0] + moved[1], dtype=np.float64)


def _rounds(work: LaunchWork, tiles: Integers, share: Numbers, units: int) -> Numbers:
    """The slowest unit's tiles, in full ones, where a tile is on average such a share of one.

    Tiles are full or halves (thesis 5.3.4), with the share 2 share - 1 of full tiles in each
    wavefront, so that all points are covered. If that is not between 0 and 1, all tiles have the
    mean share.
    """
    case = np.repeat(np.arange(work.cases), np.diff(np.append(work.starts, len(tiles))))
    halves = (share >= HALF_A_TILE) & (share <= 1)
    part = np.where(halves, (share - HALF_A_TILE) / (1 - HALF_A_TILE), 0.0)
    full = np.rint(part[case] * tiles).astype(np.int64)
    return slowest_rounds(work.starts, work.repeats, tiles, full, np.where(halves, HALF_A_TILE, share), units)


def _tile(work: LaunchWork, workers: Workers, lanes: int) -> tuple[Numbers, Numbers, Integers]:
    """Points, warps of `lanes` workers, and wavefronts of a tile."""
    fronts = work.tile.fronts
    if fronts and work.tile.points is not None:
        warps = sum(summed(front.case, -(-front.points // lanes), work.cases) for front in fronts)
        steps = sum(front.steps for front in fronts)
        return work.tile.points.astype(np.float64), np.asarray(warps, dtype=np.float64), np.asarray(steps)
    none = np.zeros(work.cases, dtype=np.int64)
    taken = [workers[loop.dimension] for loop in work.loops if loop.workers]
    if not taken:
        points = _points(work, workers)
        return points, points / lanes, none
    threads, mean = int(np.prod(taken)), _mean(work, workers)
    return mean, mean / threads * -(-threads // lanes), none
