"""A plan's work for the execution-time model: equations (5.2)-(5.11) for each of its launches, for
many tile sizes.

A tile of wavefronts of points is a tile of the thesis. Where no worker waits inside a tile (DOALL
nests, and everything on cores) a tile has no intra-tile wavefronts: the lanes of its unit share its
points evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.launch_counts import Place
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import summed
from tilepragma.cost.tile_traffic import ArrayTraffic, TileTraffic
from tilepragma.cost.tile_work import TileWork
from tilepragma.cost.traffic_polynomials import tile_traffic
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.ir.expressions import DataObject, IntegerLiteral
from tilepragma.ir.loop_tree import Axis, Staged, StagedSide
from tilepragma.model.device import Device, Gpu
from tilepragma.model.execution_time import HALF_A_TILE, Integers, Numbers, TileWavefronts, Work, sums
from tilepragma.model.roofline import Demand, lanes_of, level_traffic, row_bytes, units_of
from tilepragma.plan.array_bytes import ArrayBytes, element_bytes
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.summary import copies_ahead, staged_arrays


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
    traffic: TileTraffic | None
    counted: LaunchWork


#: Computes a tile's traffic from a launch, its tile, and the workers of a gang by dimension. Raises
#: UncountableError.
Traffic = Callable[[Place, TileWork, Mapping[int, Values]], TileTraffic]


def launch_model(
    work: LaunchWork, organisation: Organisation, on_host: bool, traffic_of: Traffic = tile_traffic
) -> LaunchModel:
    """One launch."""
    cases = len(work.starts)
    points, warps, steps = _tile(work, _mean(work, organisation), organisation)
    full_tiles, rounds = _balance(work, points, organisation)
    traffic = _traffic(work, organisation, traffic_of)
    return LaunchModel(
        Work(
            steps=steps,
            warps=warps,
            points=np.asarray(np.rint(points), dtype=np.int64),
            transfers=np.zeros(cases, dtype=np.int64) if traffic is None else traffic.elements,
            shared=np.full(cases, 0 if on_host else shared_bytes(work.place.launch, organisation.workers)),
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
    model: LaunchModel, device: Device, arrays: tuple[ArrayBytes, ...], resident: Numbers | float = 1.0
) -> Demand | None:
    """What a launch demands of a device's arithmetic and memories; None if a tile's traffic is
    unknown.

    The levels are nested tiles, each of which moves its own rows in whole transactions, then all of
    the `arrays` that they touch. A unit runs `resident` tiles in parallel.
    """
    if model.traffic is None:
        return None
    transaction = device.transaction if isinstance(device, Gpu) else device.line
    moved = sum(_moved(array, transaction) for array in model.traffic.arrays) + np.zeros_like(model.tiles)
    footprint = sum(array.touched * array.bytes for array in model.traffic.arrays) + np.zeros_like(model.tiles)
    # Staged data enters shared memory part by part, each part once.
    footprint = np.where(model.work.shared > 0, np.minimum(footprint, model.work.shared), footprint)
    touched = {array.array.stored for array in model.traffic.arrays}
    touched_arrays = [array for array in arrays if array.array.stored in touched]
    whole = np.full_like(model.tiles, sum(array.bytes for array in touched_arrays))
    once = np.full_like(model.tiles, sum(array.bytes * (array.reads + array.writes) for array in touched_arrays))
    work, counted = model.work, model.counted
    served = counted.accesses.astype(np.float64)
    levels = level_traffic(device.memories, served, (footprint * resident,), (model.tiles * moved,))
    lanes = lanes_of(device, max((array.bytes for array in model.traffic.arrays), default=1))
    return Demand(
        operations=counted.operations.astype(np.float64),
        traffic=_kept(device, levels, whole, once),
        tiles=model.tiles,
        rounds=work.rounds,
        filled=np.asarray(np.minimum(work.points / np.maximum(work.warps * lanes, 1), 1.0), dtype=np.float64),
    )


def _kept(device: Device, levels: tuple[Numbers, ...], whole: Numbers, once: Numbers) -> tuple[Numbers, ...]:
    """The bytes from each memory: at most `once` beyond a shared level that holds the `whole`."""
    traffic = [levels[0]]
    for nearer, level in zip(device.memories, levels[1:], strict=False):
        fits = (nearer.sharers >= units_of(device)) & (whole <= (nearer.size or np.inf))
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
    case = np.repeat(np.arange(len(work.starts)), np.diff(np.append(work.starts, len(tiles))))
    halves = (share >= HALF_A_TILE) & (share <= 1)
    part = np.where(halves, (share - HALF_A_TILE) / (1 - HALF_A_TILE), 0.0)
    full = np.rint(part[case] * tiles).astype(np.int64)
    return TileWavefronts(work.starts, work.repeats, tiles, full, np.where(halves, HALF_A_TILE, share))


def _tile(work: LaunchWork, mean: Numbers, organisation: Organisation) -> tuple[Numbers, Numbers, Integers]:
    """Points, warps and wavefronts of a tile."""
    cases = len(work.starts)
    fronts = work.tile.fronts
    if fronts and work.tile.points is not None:
        warps = sum(summed(front.case, -(-front.points // organisation.lanes), cases) for front in fronts)
        steps = sum(front.steps for front in fronts)
        return work.tile.points.astype(np.float64), np.asarray(warps, dtype=np.float64), np.asarray(steps)
    none = np.zeros(cases, dtype=np.int64)
    taken = [organisation.workers[loop.dimension] for loop in work.loops if loop.workers]
    if not taken:
        points = mean if work.tile.points is None else work.tile.points.astype(np.float64)
        return points, points / organisation.lanes, none
    threads = int(np.prod(taken))
    return mean, mean / threads * -(-threads // organisation.lanes), none


def _traffic(work: LaunchWork, organisation: Organisation, traffic_of: Traffic) -> TileTraffic | None:
    workers: dict[int, Values] = {
        loop.dimension: organisation.workers[loop.dimension] for loop in work.loops if loop.workers
    }
    try:
        return traffic_of(work.place, work.tile, workers)
    except UncountableError:
        return None


def shared_bytes(launch: Launch, workers: tuple[int, int, int]) -> int:
    """Shared memory bytes of scratchpads and staged array tiles, for these workers of a gang."""
    scratchpads = sum(
        _bytes(scratchpad.object, [_length(scratchpad.object, place) for place in range(scratchpad.object.rank)])
        for scratchpad in launch.scratchpads
    )
    boxes = sum(staged_bytes(array, workers) for array in staged_arrays(launch))
    return scratchpads + boxes * (2 if copies_ahead(launch) else 1)


def staged_bytes(staged: Staged, workers: tuple[int, int, int]) -> int:
    """Bytes of an array tile, for these workers of a gang."""
    lengths = [_side(side, workers) for side in staged.sides]
    if staged.odd is not None and lengths[-1] % 2 != staged.odd:
        lengths[-1] += 1
    return _bytes(staged.object, lengths)


def _side(side: StagedSide, workers: tuple[int, int, int]) -> int:
    extents = (
        (
            abs(term.coefficient),
            term.points * workers[term.extent.dimension] if isinstance(term.extent, Axis) else term.extent,
        )
        for term in side.terms
    )
    return side.width + 1 + sum(factor * (extent - 1) for factor, extent in extents)


def _length(object_: DataObject, place: int) -> int:
    length = object_.lengths[place]
    return length.value if isinstance(length, IntegerLiteral) else 1


def _bytes(object_: DataObject, lengths: list[int]) -> int:
    return int(np.prod(lengths)) * element_bytes(object_)
