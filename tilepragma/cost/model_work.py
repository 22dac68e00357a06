"""A plan's work for the execution-time model: equations (5.2)-(5.11) for each of its launches, for
many tile sizes.

A tile of wavefronts of points is a tile of the thesis. Where no worker waits inside a tile (DOALL
nests, and everything on cores) a tile has no intra-tile wavefronts: the lanes of its unit share its
points evenly.
"""

from __future__ import annotations

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.gang_memory import shared_bytes
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import summed
from tilepragma.cost.tile_traffic import ArrayTraffic, GangTile, tile_traffic
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.device import Gpu
from tilepragma.model.execution_time import HALF_A_TILE, Integers, Numbers, TileWavefronts, Work, sums
from tilepragma.model.roofline import Demand, level_traffic, row_bytes
from tilepragma.plan.array_bytes import ArrayBytes


@dataclass(frozen=True)
class Organisation:
    """The hardware: `units` that run a tile at a time, `lanes` of a unit that run in step (a warp,
    a vector), and on devices the `workers` of a gang along each dimension.
    """

    units: int
    lanes: int
    workers: tuple[int, int, int] = (1, 1, 1)


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


def launch_model(work: LaunchWork, organisation: Organisation) -> LaunchModel:
    """One launch on a device."""
    points, warps, steps = _tile(work, _mean(work, organisation), organisation)
    full_tiles, rounds = _balance(work, points, organisation)
    transfers = np.zeros(work.cases, dtype=np.int64)
    try:
        workers = {loop.dimension: organisation.workers[loop.dimension] for loop in work.loops if loop.workers}
        traffic = tile_traffic(GangTile(work.place, work.tile.order, workers))
        transfers = sum((array.read + array.written for array in traffic), transfers)
    except UncountableError:
        traffic = None
    return LaunchModel(
        Work(
            steps=steps,
            warps=warps,
            points=np.asarray(np.rint(points), dtype=np.int64),
            transfers=transfers,
            shared=np.full(work.cases, shared_bytes(work.place.launch, organisation.workers)),
            wavefronts=work.launches,
            rounds=rounds,
        ),
        full_tiles,
        traffic,
        work,
    )


def slowest_share(work: LaunchWork, organisation: Organisation) -> Numbers:
    """The slowest unit's share of a launch's work in each case: 1 / units in perfect balance."""
    mean = _mean(work, organisation)
    points = mean if work.tile.points is None else work.tile.points.astype(np.float64)
    full_tiles, rounds = _balance(work, points, organisation)
    return np.asarray(np.where(full_tiles > 0, rounds / np.maximum(full_tiles, 1e-300), 1.0))


def _tiles(work: LaunchWork, organisation: Organisation) -> Integers:
    """The tiles of each entry that have work."""
    return work.tiles(organisation.workers) if work.nonempty is None else work.nonempty


def _mean(work: LaunchWork, organisation: Organisation) -> Numbers:
    """Points of a tile."""
    every = sums(work.repeats * _tiles(work, organisation), work.starts)
    return np.asarray(work.points / np.maximum(every, 1), dtype=np.float64)


def _balance(work: LaunchWork, points: Numbers, organisation: Organisation) -> tuple[Numbers, Numbers]:
    """Where the tile that stands for all has so many points: all tiles in such ones, and those that
    the slowest unit has.
    """
    tiles = _tiles(work, organisation)
    every = np.maximum(sums(work.repeats * tiles, work.starts), 1)
    share = np.where(points > 0, _mean(work, organisation) / np.maximum(points, 1e-300), 0.0)
    # The slowest unit has at least its share of all tiles, and at most all of them.
    full_tiles = np.asarray(every * share)
    rounds = _wavefronts(work, tiles, share).rounds(organisation.units)
    return full_tiles, np.clip(rounds, full_tiles / organisation.units, full_tiles)


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


def _wavefronts(work: LaunchWork, tiles: Integers, share: Numbers) -> TileWavefronts:
    """The inter-tile wavefronts, where a tile is on average such a share of a full tile.

    Tiles are full or halves (thesis 5.3.4), with the share 2 share - 1 of full tiles in each
    wavefront, so that all points are covered. If that is not between 0 and 1, all tiles have the
    mean share.
    """
    case = np.repeat(np.arange(work.cases), np.diff(np.append(work.starts, len(tiles))))
    halves = (share >= HALF_A_TILE) & (share <= 1)
    part = np.where(halves, (share - HALF_A_TILE) / (1 - HALF_A_TILE), 0.0)
    full = np.rint(part[case] * tiles).astype(np.int64)
    return TileWavefronts(work.starts, work.repeats, tiles, full, np.where(halves, HALF_A_TILE, share))


def _tile(work: LaunchWork, mean: Numbers, organisation: Organisation) -> tuple[Numbers, Numbers, Integers]:
    """Points, warps and wavefronts of a tile."""
    fronts = work.tile.fronts
    if fronts and work.tile.points is not None:
        warps = sum(summed(front.case, -(-front.points // organisation.lanes), work.cases) for front in fronts)
        steps = sum(front.steps for front in fronts)
        return work.tile.points.astype(np.float64), np.asarray(warps, dtype=np.float64), np.asarray(steps)
    none = np.zeros(work.cases, dtype=np.int64)
    taken = [organisation.workers[loop.dimension] for loop in work.loops if loop.workers]
    if not taken:
        points = mean if work.tile.points is None else work.tile.points.astype(np.float64)
        return points, points / organisation.lanes, none
    threads = int(np.prod(taken))
    return mean, mean / threads * -(-threads // organisation.lanes), none
