"""A plan's work as the execution-time model wants it: equations (5.2)-(5.11) for each of its
launches, at many tile sizes at once.

A tile of wavefronts of points is a tile of the thesis. Where nobody waits inside a tile (DOALL
nests, and everything on cores) a tile has no intra-tile wavefronts: its points are dealt to the
lanes of its unit evenly.
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
    """Who does the work: `units` that run a tile at a time, `lanes` of each that run in step (a
    warp, a vector), and on devices how many `workers` a gang has along each dimension.
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


#: How a tile's traffic is found: of a launch, its tile, and workers of a gang by dimensions. Raises
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
    """Which part of a launch's work the slowest unit has, in each case: 1 / units where it is dealt out evenly."""
    mean = _mean(work, organisation)
    points = mean if work.tile.points is None else work.tile.points.astype(np.float64)
    full_tiles, rounds = _balance(work, points, organisation)
    return np.asarray(np.where(full_tiles > 0, rounds / np.maximum(full_tiles, 1e-300), 1.0))


def _tiles(work: LaunchWork, organisation: Organisation) -> Integers:
    """Of each entry those that have something to do."""
    return work.tiles(organisation.workers) if work.working is None else work.working


def _mean(work: LaunchWork, organisation: Organisation) -> Numbers:
    """Points of a tile."""
    every = sums(work.repeats * _tiles(work, organisation), work.starts)
    return np.asarray(work.points / np.maximum(every, 1), dtype=np.float64)


def _balance(work: LaunchWork, points: Numbers, organisation: Organisation) -> tuple[Numbers, Numbers]:
    """Where the tile that stands for all has so many points: all tiles in such ones, and those that the slowest unit has."""
    tiles = _tiles(work, organisation)
    every = np.maximum(sums(work.repeats * tiles, work.starts), 1)
    share = np.where(points > 0, _mean(work, organisation) / np.maximum(points, 1e-300), 0.0)
    # The slowest unit has its share of all tiles at least, and all of them at most.
    full_tiles = np.asarray(every * share)
    rounds = _wavefronts(work, tiles, share).rounds(organisation.units)
    return full_tiles, np.clip(rounds, full_tiles / organisation.units, full_tiles)


def roofline_demand(
    model: LaunchModel, device: Device, arrays: tuple[ArrayBytes, ...], resident: Numbers | float = 1.0
) -> Demand | None:
    """What a launch asks of a device's arithmetic and memories; None where a tile's traffic is
    unknown.

    Nested in each other are tiles, of which each moves its own rows in whole transactions, and all
    of the `arrays` that they touch. So many tiles are `resident` on a unit at once.
    """
    if model.traffic is None:
        return None
    transaction = device.transaction if isinstance(device, Gpu) else device.line
    moved = sum(_moved(array, transaction) for array in model.traffic.arrays) + np.zeros_like(model.tiles)
    footprint = sum(array.touched * array.bytes for array in model.traffic.arrays) + np.zeros_like(model.tiles)
    # What is staged comes into the gang's memory part by part, each once.
    footprint = np.where(model.work.shared > 0, np.minimum(footprint, model.work.shared), footprint)
    touched = {array.array.stored for array in model.traffic.arrays}
    own = [array for array in arrays if array.array.stored in touched]
    whole = np.full_like(model.tiles, sum(one.bytes for one in own))
    once = np.full_like(model.tiles, sum(one.bytes * (one.reads + one.writes) for one in own))
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
    """The bytes from each memory, no more than `once` behind one that all units share and that holds the `whole`."""
    found = [levels[0]]
    for nearer, level in zip(device.memories, levels[1:], strict=False):
        fits = (nearer.sharers >= units_of(device)) & (whole <= (nearer.size or np.inf))
        found.append(np.minimum(np.where(fits, np.minimum(level, once), level), found[-1]))
    return tuple(found)


def _moved(one: ArrayTraffic, transaction: int) -> Numbers:
    """Bytes of a tile's rows, in whole transactions."""
    parts = ((one.read, one.read_rows), (one.written, one.written_rows))
    moved = [row_bytes(-(-length // np.maximum(rows, 1)), rows, one.bytes, transaction) for length, rows in parts]
    return np.asarray(moved[0] + moved[1], dtype=np.float64)


def _wavefronts(work: LaunchWork, tiles: Integers, share: Numbers) -> TileWavefronts:
    """The inter-tile wavefronts, where tiles are such a share of a full one on average.

    Tiles are taken to be full or halves (thesis 5.3.4), in each wavefront as many as make up all
    points: that of them which are full is 2 share - 1. Where this is no number between 0 and 1, all
    are the share.
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
    """Bytes of the gangs' memory that the launch keeps scratchpads and staged boxes in, where gangs have so many workers."""
    scratchpads = sum(
        _bytes(scratchpad.object, [_length(scratchpad.object, place) for place in range(scratchpad.object.rank)])
        for scratchpad in launch.scratchpads
    )
    boxes = sum(staged_bytes(array, workers) for array in staged_arrays(launch))
    return scratchpads + boxes * (2 if copies_ahead(launch) else 1)


def staged_bytes(staged: Staged, workers: tuple[int, int, int]) -> int:
    """Bytes of a box, where gangs have so many workers."""
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
