"""The geometry of a plan's launches on a GPU: gangs, workers, and the tiles of loops, as the
runtime decides them (`runtime/launch/launch_geometry.c`) for given scalars and the plan's own tile
sizes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.cost.gang_workers import gang_workers
from tilepragma.cost.launch_counts import Place, entries_of, places_of
from tilepragma.cost.parameter_batch import ParameterBatch
from tilepragma.ir.directives import AxisKind, ClauseExpression, CountClause, TileKind
from tilepragma.ir.evaluation import UncountableError, Values, clause_value
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import Axis, Tile, TiledLoop
from tilepragma.model.device import Gpu
from tilepragma.plan.array_bytes import host_value
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.plan.shared_constants import (
    COPIED_POINTS,
    HIDING_WORKERS,
    PREFERRED_WORKERS,
    REDUCING_GANGS,
    THREADS_PER_UNIT,
    VECTOR_POINTS,
)
from tilepragma.plan.summary import points_of

#: Iterations of a host's loop that stand for the others.
ITERATIONS = 17
#: The largest grid that CUDA takes.
_GRID = (2**31 - 1, 65535, 65535)


@dataclass(frozen=True)
class Bounds:
    """What a launch knows of a loop; a `trip` of 0 where the kernel computes it."""

    lower: int
    step: int
    trip: int


@dataclass(frozen=True, eq=False)
class LaunchGeometry:
    """A launch, which stands for `repeats`, with the values of its names in `batch`; `exact`: these
    are launches like it. Of each of its loops: `bounds`, and the count and the stride of each tile.
    """

    launch: Launch
    repeats: int
    exact: bool
    batch: ParameterBatch
    bounds: tuple[Bounds, ...]
    axes: Mapping[Axis, int]
    tiles: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def grid(self) -> tuple[int, int, int]:
        """Groups along each dimension."""
        kind = AxisKind.THREAD if self._by_threads else AxisKind.GANG
        x, y, z = (min(self.axes.get(Axis(kind, place), 1), most) for place, most in enumerate(_GRID))
        return x, y, z

    @property
    def group(self) -> tuple[int, int, int]:
        """Workers of a group along each dimension."""
        x, y, z = (1 if self._by_threads else self.axes.get(Axis(AxisKind.WORKER, place), 1) for place in range(3))
        return x, y, z

    @property
    def _by_threads(self) -> bool:
        return any(axis.kind is AxisKind.THREAD for axis in self.launch.axes)

    def rounds(self, axis: Axis) -> int:
        """How many of an axis's instances a group takes."""
        count = self.axes.get(axis, 1)
        return 1 if axis.kind is AxisKind.WORKER else -(-count // min(count, _GRID[axis.dimension]))

    def value(self, expression: Expression) -> int:
        """Raises UncountableError."""
        return self._number(self.batch.evaluation.value(expression))

    def known(self, object_: DataObject) -> int | None:
        """The value of a scalar; None for data."""
        value = self.batch.get(object_.name)
        return None if value is None else self._number(value)

    def argument(self, tile: Tile) -> int:
        """A tile's argument, 0 without one. Raises UncountableError."""
        return _argument(self.batch, tile)

    def _number(self, value: Values) -> int:
        return int(self.batch.all(value)[0])


def launch_geometries(plan: KernelPlan, scalars: Mapping[str, int], gpu: Gpu) -> tuple[LaunchGeometry, ...]:
    """The launches of a plan, in textual order; a few stand for those of a long loop of the host.
    Raises UncountableError.
    """
    sizes = {size.object.name: size.device for size in plan.sizes}
    places = places_of(plan.device_steps, ParameterBatch(1, {**sizes, **scalars}))
    return tuple(each for place in places for each in _Launches(plan.counts, place, scalars, gpu).all())


@dataclass(frozen=True, eq=False)
class _Launches:
    counts: Sequence[CountClause]
    place: Place
    scalars: Mapping[str, int]
    gpu: Gpu

    def all(self) -> Iterator[LaunchGeometry]:
        entries = entries_of(self.place, ITERATIONS)
        batches = [entries.batch.at(np.array([index])) for index in range(len(entries.repeats))]
        bounds = [tuple(_bounds(batch, tiled) for tiled in self.place.launch.loops) for batch in batches]
        largest = max(bounds, key=lambda each: math.prod(loop.trip for loop in each))
        place = replace(self.place, launch=_with_less_points(self.place.launch, self._divisors(largest)))
        # Workers are the same in all launches, and the largest one decides.
        of_gang = gang_workers(place, self.counts, self.scalars, self.gpu)
        workers = {Axis(AxisKind.WORKER, dimension): int(count[0]) for dimension, count in enumerate(of_gang)}
        for batch, loops, repeats in zip(batches, bounds, entries.repeats.tolist(), strict=True):
            if repeats > 0 and not (loops and loops[0].trip == 0):
                geometry = self._geometry(place.launch, batch, loops, workers)
                yield replace(geometry, launch=self.place.launch, repeats=repeats, exact=entries.exact)

    def _geometry(
        self, launch: Launch, batch: ParameterBatch, bounds: tuple[Bounds, ...], workers: Mapping[Axis, int]
    ) -> LaunchGeometry:
        """Of one launch with the points that it takes."""
        arguments = [[_argument(batch, tile) for tile in tiled.tiles] for tiled in launch.loops]
        axes = self._axes(launch, arguments, bounds, workers)
        tiles = []
        for tiled, of_loop, loop in zip(launch.loops, arguments, bounds, strict=True):
            counts = [
                given if tile.axis is None else axes.get(tile.axis, 1)
                for tile, given in zip(tiled.tiles, of_loop, strict=True)
            ]
            tiles.append(tile_numbers(loop.trip, [tile.kind for tile in tiled.tiles], counts))
        return LaunchGeometry(launch, 1, True, batch, bounds, axes, tuple(tiles))

    def _axes(
        self,
        launch: Launch,
        arguments: Sequence[Sequence[int]],
        bounds: Sequence[Bounds],
        workers: Mapping[Axis, int],
    ) -> dict[Axis, int]:
        """The counts of all axes (`choose_device`)."""
        axes, units = dict(workers), self.gpu.multiprocessors
        given = {Axis(count.axis, count.dimension): count.count for count in self.counts}
        order = (Axis(AxisKind.THREAD, 0), *(Axis(AxisKind.GANG, dimension) for dimension in range(3)))
        for axis in (axis for axis in order if axis in launch.axes):
            if axis in given:
                axes[axis] = host_value(given[axis], self.scalars)
                continue
            need, must = 0, False
            for tiled, of_loop, loop in zip(launch.loops, arguments, bounds, strict=True):
                place = next((number for number, tile in enumerate(tiled.tiles) if tile.axis == axis), None)
                if place is not None:
                    must |= all(tile.kind is not TileKind.DYNAMIC for tile in tiled.tiles)
                    need = max(need, _needed(tiled, of_loop, loop.trip, axes, place))
            need = need or 4 * units
            if not must and axis.kind is AxisKind.THREAD:
                need = min(need, THREADS_PER_UNIT * units)
            if not must and launch.reductions:
                need = min(need, REDUCING_GANGS)
            axes[axis] = max(need, 1)
        return axes

    def _divisors(self, bounds: Sequence[Bounds]) -> dict[int, int]:
        """What the plan's points are divided by, by the workers' dimension (`choose_points`)."""
        launch = self.place.launch
        if not points_of(launch) or any(count.axis is AxisKind.GANG for count in self.counts):
            return {}
        given = {count.dimension: count.count for count in self.counts if count.axis is AxisKind.WORKER}
        used = sorted(axis.dimension for axis in launch.axes if axis.kind is AxisKind.WORKER)
        left = [dimension for dimension in used if dimension not in given]
        workers = {dimension: host_value(count, self.scalars) for dimension, count in given.items()}
        workers |= dict(zip(left, PREFERRED_WORKERS.get(len(left), ()), strict=True))
        gang = math.prod(workers.values())
        divisors: dict[int, int] = {}
        best, least, longest = divisors, math.inf, 0
        while longest >= 0:
            gangs, points, vectors, copied, most, longest = 1, 1, 0, 0, 0, -1
            for tiled, loop in zip(launch.loops, bounds, strict=True):
                dimension = _dimension(tiled)
                along = tiled.points // divisors.get(dimension, 1)
                side = along * workers.get(dimension, 1)
                gangs *= -(-loop.trip // side)
                points *= along
                vectors += -(-along // VECTOR_POINTS) if dimension >= 0 else 0
                copied += side if dimension >= 0 else 0
                # First sides along which workers have more than a vector.
                rank = side + (2**31 if along > VECTOR_POINTS else 0)
                if along % 2 == 0 and rank > most:
                    most, longest = rank, dimension
            busiest = max(-(-gangs // self.gpu.multiprocessors) * gang, HIDING_WORKERS)
            time = busiest * (points + vectors + -(-COPIED_POINTS * copied // gang))
            if time < least:
                best, least = divisors, time
            divisors = {**divisors, longest: 2 * divisors.get(longest, 1)}
        return best


def _bounds(batch: ParameterBatch, tiled: TiledLoop) -> Bounds:
    if not tiled.launch_bounds:
        return Bounds(0, 1, 0)
    evaluation = batch.evaluation
    values = (evaluation.value(tiled.loop.lower), evaluation.value(tiled.loop.step), evaluation.trips(tiled.loop))
    return Bounds(*(int(batch.all(value)[0]) for value in values))


def _argument(batch: ParameterBatch, tile: Tile) -> int:
    if tile.argument is None:
        return 0
    if tile.argument.literal is not None:
        return tile.argument.literal
    names = {name: value for name in re.findall(r"\w+", tile.argument.text) if (value := batch.get(name)) is not None}
    value = clause_value(tile.argument.text, {name: int(batch.all(value)[0]) for name, value in names.items()})
    if value is None:
        raise UncountableError(f"the clause's '{tile.argument.text}' has no known value")
    return value


def _dimension(tiled: TiledLoop) -> int:
    """The dimension of a loop's workers; -1 without any."""
    return next((tile.axis.dimension for tile in tiled.tiles if tile.axis and tile.axis.kind is AxisKind.WORKER), -1)


def _with_less_points(launch: Launch, divisors: Mapping[int, int]) -> Launch:
    """The launch with the points that it takes."""

    def divided(tiled: TiledLoop) -> TiledLoop:
        divisor = divisors.get(_dimension(tiled), 1)
        points = ClauseExpression(str(tiled.points // divisor), NOWHERE)
        tiles = (replace(tile, argument=points) if tile.kind is TileKind.STATIC else tile for tile in tiled.tiles)
        return replace(tiled, tiles=tuple(tiles)) if divisor > 1 else tiled

    return replace(launch, loops=tuple(map(divided, launch.loops)))


def _needed(tiled: TiledLoop, arguments: Sequence[int], trip: int, axes: Mapping[Axis, int], place: int) -> int:
    """How many of the tile at `place` its loop needs: nothing is left for the dynamic tile."""
    extent, others, start = trip, 1, 0
    for outer in range(place):
        if tiled.tiles[outer].kind is TileKind.SIZE:
            start, extent = outer + 1, arguments[outer]
    for other in range(start, len(tiled.tiles)):
        tile = tiled.tiles[other]
        if other != place and tile.kind is not TileKind.DYNAMIC:
            others *= max(arguments[other] if tile.axis is None else axes.get(tile.axis, 1), 1)
        if other != place and tile.kind is TileKind.SIZE:
            break
    return max(-(-extent // others), 1)


def tile_numbers(trip: int, kinds: Sequence[TileKind], arguments: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Algorithm 1: the count and the stride of each tile (`runtime/launch/tile.c`)."""
    dynamic = kinds.index(TileKind.DYNAMIC) if TileKind.DYNAMIC in kinds else len(kinds)
    tiles: list[tuple[int, int]] = []
    stride = 1
    for place in reversed(range(len(kinds))):
        kind, count = kinds[place], arguments[place]
        if place == dynamic or (kind is TileKind.SIZE and place < dynamic):
            count = _filling(trip, kinds, arguments, place, stride)
        elif kind is TileKind.SIZE:
            count = -(-count // stride)
        tiles.insert(0, (count, stride))
        stride *= max(count, 1)
    return tuple(tiles)


def _filling(trip: int, kinds: Sequence[TileKind], arguments: Sequence[int], place: int, stride: int) -> int:
    divisor = stride
    for outer in reversed(range(place)):
        if kinds[outer] is TileKind.SIZE:
            return -(-arguments[outer] // divisor)
        divisor *= arguments[outer]
    return -(-trip // divisor)
