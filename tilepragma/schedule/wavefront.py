"""Two-level wavefronts of a permutable band: thesis (3.17) to (3.19), Figure 3.17.

    t_k = floor(phi_k / s_k)          tiles, s_k a symbol
    w   = t_1 + ... + t_m             wavefronts of tiles, one after another: a host loop
    t_1, ..., t_(m-1)                 parallel tiles of one wavefront: a launch

If two rows have concurrent start (poly/concurrent_start.py), w = t_1 + t_2 of these two is parallel
to time: diamond tiles, as many in each wavefront.

On the host, and for diamonds, w = t_1 + t_2, and the tiles t_3, ..., t_m of a pair run in sequence
inside its instance. This gives fewer wavefronts, and shared data stays in the cache. Both are legal
because every dependence has t(target) >= t(source) in all rows of the band.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.expressions import DataObject, access_to
from tilepragma.ir.loop_tree import Block, Statement
from tilepragma.ir.polynomial import Polynomial
from tilepragma.lower.band_loops import (
    Around,
    BandLoops,
    Bounds,
    PlannedBand,
    base_name,
    bounds_of,
    clauses,
    declared,
    term,
    total,
)
from tilepragma.plan.kernel_plan import TiledBand, TiledStatement
from tilepragma.schedule.cpu_register_tiles import with_full_tiles
from tilepragma.schedule.intra_tile_wavefront import BoundedTile, point_wavefronts
from tilepragma.schedule.tree import HostLoopNode, LaunchNode, ScheduleNode
from tilepragma.schedule.wavefront_array_tiles import array_tiles

if TYPE_CHECKING:
    from tilepragma.lower.band_ast import TileConstraint, TileConstraints

HOST_TILE, LONG_HOST_TILE, CHAINED_HOST_TILE = 32, 128, 8
DEVICE_TILE, LONG_DEVICE_TILE = 16, 32
"""Default tile extents on devices. The long one is for a row along vectors. A row whose iterations
wait for each other has short tiles, so that a processor can overlap them: Gauss-Seidel with 8 takes
0.6 of the time with 32.
"""
FLAT_HOST_TILE, LONG_CHAINED_HOST_TILE = 128, 512
"""Tiles of two rows, where a short chain would be too little work for a tile. 6000 x 7000 cells of
smith_waterman cost one core as much as the loops as written, and with 64 x 256 a quarter more.
Threads wait for each other half as often (0.7 of the time on two busy cores).
"""
FLAT_REGISTER_TILE, LONG_REGISTER_TILE = 64, 256
"""The same with sums in registers, which hide a row's start: trisolv takes 1.1 times as long with
128 x 512.
"""
RELAXATION_TILES = {2: (256, HOST_TILE, HOST_TILE), 3: (2, HOST_TILE, HOST_TILE), 4: (1, 8, 8)}
"""Tiles of time steps over a grid whose points wait for each other, by the number of tiled rows:
time steps, the next row, other rows before the chain. Cores share the tiles of a wavefront, as many
as there are tiles of time. With 8 steps a tile, 6 to 20 sweeps over a plane took 1.2 to 1.9 times
as long as with 1. 2 take 0.93 to 1.02 of the time of 1 for 6 to 100 sweeps over 200 to 4000 points
a side; launches take 1 if that keeps more threads busy (balanced chunking). In space 8 x 8 take
0.87 to 0.93 of the time of 8 x 16, floats and doubles, 64 to 300 points a side (two cores).
"""
LINE_CHAIN, SHORT_CHAIN, FEW_READS = 16, 4, 6
"""The chain of such tiles along a line. It is short if a point reads more than a few elements, so
that fewer points fill a processor: seidel-2d takes 0.85 of the time with 8.
"""
PROCESSOR_LINE_CHAIN = ((2**16, 64), (2**18, 256), (None, 4096))
PROCESSOR_PLANE_STEPS, PROCESSOR_PLANE_ROWS = ((2**23, 2), (None, 1)), ((None, 64),)
"""OpenCL processors: the chain of such tiles along a line, by the bytes of all arrays; time steps
and rows over a plane. Planes of 1500 and 2500 points a side take 1.08 and 1.2 times as long with 2
steps as with 1, of 400 and 900 0.88 and 0.93.
"""
TALL_HOST_TILE, NARROW_HOST_TILE = 256, 64
"""Tiles of two rows without a chain: across and along vectors. gcc vectorises only tiles that do
not contain what they read of the written row, so tiles are narrow; they are tall, since few tiles
have few wavefronts. floyd-warshall takes 0.8 of the time with 32 x 128.
"""
REGISTER_TILE, REGISTER_COLUMNS_TILE = 32, 96
"""Tiles around register tiles, and their columns, a multiple for each type: lu takes 0.4 of the
time without, cholesky 0.35.
"""
HOST_STEPS = 8
"""Time steps of a tile that reuse its elements; with more, a few steps would be one wavefront's
tile.
"""
USUAL_SKEW = 2
"""Points that a row moves in a time step, up to which tiles have all their steps; jacobi-2d has 2.
"""
STENCIL_TILES: dict[int, tuple[int, tuple[int, ...], int]] = {
    2: (64, (), 2048),
    3: (HOST_STEPS, (64,), 256),
    4: (3, (8, 4), 1024),
}
"""Tile extents by the number of tiled rows: time steps, other rows, the row along vectors. Of the
tiles whose elements stay in 1 MiB of cache, these were the fastest for jacobi-1d, jacobi-2d,
fdtd-2d and heat-3d. Whole rows in space are best: 1024 instead of 256 takes 0.9 of the time at 120
to 400 points a side, where the latter cuts every row. In space with 7 and 27 points, 100 to 256 a
side, 3 steps of 8 x 4 take 1.04 times the best of nine layouts on average and 1.2 at most, 4 steps
of 8 x 8 1.14 and 1.5.
"""
DIAMOND_TILES = {2: (2048, 2048, 2048), 3: (24, 24, 112), 4: (32, 16, 256)}
"""The same for diamond tiles: either row of the pair (a tile spans 2 / c times as many time steps),
other rows, the row along vectors. In the plane 32 and 128 take 0.95 to 1.1 times as long for
Jacobi, heat and FDTD, in floats and doubles, 800 to 4000 points a side; 64 and 256 take longer.
"""
DIAMONDS = "diamond tiles: concurrent start"
HOST_ROWS, DEVICE_ROWS = 2, 4
"""Rows of a band in a wavefront: a device launch has three dimensions for all but one row."""


@dataclass(frozen=True)
class _TiledRow:
    """A tiled row: tile coordinate `tile` in lower ... upper, and tile origin `first`."""

    level: int
    size: DataObject
    tile: DataObject
    first: DataObject
    lower: Polynomial
    upper: Polynomial

    @property
    def inside(self) -> TileConstraint:
        """The points of one tile."""
        from tilepragma.lower.band_ast import TileConstraint

        return TileConstraint(self.level, access_to(self.first), access_to(self.size))

    @property
    def origin(self) -> Statement:
        """`const long first = tile * size;`"""
        return declared(self.first, term(self.tile) * term(self.size))


def wavefront_node(loops: BandLoops, planned: PlannedBand, around: Around) -> ScheduleNode:
    """The host loop over wavefronts of the band's tiles, around the launch of a wavefront."""
    part, outside = planned.part, around.rows
    # The row along vectors has the longest tiles, hence the fewest.
    levels = sorted(part.carrying, key=lambda level: not loops.device and level == planned.points.along)
    count = DEVICE_ROWS if loops.device else HOST_ROWS
    summed = planned.pair or tuple(levels[:count])
    inner_levels = tuple(level for level in levels if level not in summed)
    rows: list[_TiledRow] = []
    # Columns are tiles of the first row. Narrow ones would cut register tiles; a pair has tiles of
    # one size.
    can_be_even = not loops.device and not planned.pair and not planned.registers
    for level in summed:
        rows.append(_tiled_row(loops, planned, level, outside, 1 if can_be_even and level == summed[0] else 0))
    wavefront = loops.names.scalar("wavefront")
    tile = (*outside, *(row.inside for row in rows))
    bounded = BoundedTile(tile, frozenset(summed[:-1]), around.known)
    inner, tiles = inner_tiles(loops, planned, inner_levels, bounded)
    staged = loops.device and not planned.pair and not inner_levels
    staging = array_tiles(loops, planned, tile, tiles) if staged else None
    fronts = loops.wavefronts(part.statements, {row.level: row.size for row in rows}, outside)
    every = bounds_of(fronts.range())
    mapped = [bounds_of(fronts.tile_range(place, access_to(wavefront))) for place in range(len(rows) - 1)]
    launch = replace(_launch(loops, wavefront, rows, mapped, inner, tiles), array_tiles=staging)
    band = _tiled_band(loops, planned, (*summed, *inner_levels), len(summed))
    loop = loops.loop(wavefront, every.lower, every.upper)
    return HostLoopNode(loop, (launch,), DIAMONDS if planned.pair else "", band)


def _tiled_band(loops: BandLoops, planned: PlannedBand, levels: tuple[int, ...], summed: int) -> TiledBand:
    """The tiles as reports show them; their rows are those at `levels`."""
    statements = []
    for each in planned.part.statements:
        statement, rows = loops.code.user_rows(each)
        chosen = [rows[level] for level in levels]
        offsets = tuple(row.constant for row in chosen)
        for part in statement.parts or (statement,):
            names = tuple(loop.iterator.host for loop in part.loops)
            inside = (0,) * (len(part.loops) - len(statement.loops))
            factors = tuple((*row.coefficients, *inside) for row in chosen)
            statements.append(TiledStatement(part.range, names, factors, offsets))
    sizes = tuple(loops.sizes.sizes[planned.number, _size_level(planned, level)].object for level in levels)
    return TiledBand(tuple(statements), summed, planned.part.outer, sizes)


def _size_level(planned: PlannedBand, level: int) -> int:
    """The level whose tile size a row has: wavefronts of a pair are parallel to time where its tiles have one size."""
    return planned.pair[-1] if level in planned.pair else level


def _tiled_row(loops: BandLoops, planned: PlannedBand, level: int, inside: TileConstraints, unit: int = 0) -> _TiledRow:
    """A row's tile names, and the range of tiles with points `inside`; `unit` as in TileSize."""
    part = planned.part
    device = LONG_DEVICE_TILE if level == planned.points.along else DEVICE_TILE
    named = _size_level(planned, level)
    base = base_name(part.statements, named)
    processor = () if loops.device else _processor_tile(planned, level)
    size = loops.sizes.of(planned.number, named, base, _host_tile(planned, level), device, unit, processor)
    tiles = loops.tile_range(part.statements, level, size, inside)
    return _TiledRow(
        level, size, loops.names.scalar(f"{base}_block"), loops.names.scalar(f"{base}_first"), tiles.lower, tiles.upper
    )


def _host_tile(planned: PlannedBand, level: int) -> int:
    points, rows = planned.points, len(planned.part.carrying)
    if planned.pair:
        return _diamond_tile(planned, level)
    if points.chained is not None and points.repeating not in (None, points.chained):
        return _relaxation_tile(planned, level)
    if points.chained is not None and rows == 2:
        if planned.registers:
            return LONG_REGISTER_TILE if level == points.chained else FLAT_REGISTER_TILE
        return LONG_CHAINED_HOST_TILE if level == points.chained else FLAT_HOST_TILE
    if planned.registers:
        columns = {each.column for each in planned.registers.values()}
        return REGISTER_COLUMNS_TILE if level in columns else REGISTER_TILE
    if level == points.chained:
        return CHAINED_HOST_TILE
    if rows == 2 and points.repeating is None and points.along is not None:
        return NARROW_HOST_TILE if level == points.along else TALL_HOST_TILE
    if points.repeating in (None, points.along) or points.along is None or rows < min(STENCIL_TILES):
        return LONG_HOST_TILE if level == points.along else HOST_STEPS if level == points.repeating else HOST_TILE
    steps, others, along = STENCIL_TILES[min(rows, max(STENCIL_TILES))]
    if level == points.repeating:
        return max(1, steps * USUAL_SKEW // max(USUAL_SKEW, _skew(planned, level)))
    if level == points.along:
        return along
    between = [level for level in planned.part.carrying if level not in (points.repeating, points.along)]
    return others[min(between.index(level), len(others) - 1)]


def _relaxation_tile(planned: PlannedBand, level: int) -> int:
    """The tile extent in time steps over a grid whose points wait for each other."""
    points, levels = planned.points, planned.part.carrying
    steps, following, others = RELAXATION_TILES[min(len(levels), max(RELAXATION_TILES))]
    if level == points.chained and len(levels) == min(RELAXATION_TILES):
        return LINE_CHAIN
    if level == points.chained:
        return CHAINED_HOST_TILE if _reads_little(planned) else SHORT_CHAIN
    if level == points.repeating:
        return steps
    return following if level == next(each for each in levels if each != points.repeating) else others


def _reads_little(planned: PlannedBand) -> bool:
    """Whether every point reads at most a few elements."""
    return max(each.statement.elements_read for each in planned.part.statements) <= FEW_READS


def _processor_tile(planned: PlannedBand, level: int) -> tuple[tuple[int | None, int], ...]:
    """The extents for OpenCL processors instead of the host's (TileSize)."""
    points, levels = planned.points, planned.part.carrying
    if planned.pair or points.chained is None or points.repeating in (None, points.chained):
        return ()
    if len(levels) == 2:
        return PROCESSOR_LINE_CHAIN if level == points.chained else ()
    if len(levels) == 3 and level != points.chained and _reads_little(planned):
        return PROCESSOR_PLANE_STEPS if level == points.repeating else PROCESSOR_PLANE_ROWS
    return ()


def _diamond_tile(planned: PlannedBand, level: int) -> int:
    """The tile extent of a diamond pair, or of the rows inside its tiles."""
    pair, others, along = DIAMOND_TILES[min(len(planned.part.carrying), max(DIAMOND_TILES))]
    if level in planned.pair:
        return pair
    return along if level == planned.points.along else others


def _skew(planned: PlannedBand, level: int) -> int:
    """The shift of the tile's other rows in one step of this row: fast shifts reuse little."""
    steps = {each.statement.name: each.rows[level].coefficients for each in planned.part.statements}
    return max(
        abs(
            sum(
                step * factor
                for step, factor in zip(steps[each.statement.name], each.rows[row].coefficients, strict=True)
            )
        )
        for each in planned.part.statements
        for row in planned.part.carrying
        if row != level
    )


def inner_tiles(
    loops: BandLoops,
    planned: PlannedBand,
    levels: tuple[int, ...],
    tile: BoundedTile,
) -> tuple[tuple[Statement, ...], dict[int, tuple[TileClause, ...]]]:
    """The sequential tiles of rows at `levels` in the tile around, with points and clauses."""
    if not levels and loops.device:
        return point_wavefronts(loops, planned, tile)
    if not levels:
        points = loops.points(planned.part, planned.points.order, tile.rows, tile.known)
        return (points if loops.device else with_full_tiles(loops, planned, tile, points)), {}
    row = _tiled_row(loops, planned, levels[0], tile.rows)
    body, tiles = inner_tiles(loops, planned, levels[1:], replace(tile, rows=(*tile.rows, row.inside)))
    return (loops.loop(row.tile, row.lower, row.upper, (row.origin, *body)),), tiles


def _launch(
    loops: BandLoops,
    wavefront: DataObject,
    rows: list[_TiledRow],
    mapped: list[Bounds],
    inner: tuple[Statement, ...],
    inner_tiles: dict[int, tuple[TileClause, ...]],
) -> LaunchNode:
    """The launch of one wavefront's tiles. t_1, ..., t_(m-1) run between the bounds `mapped`, and
    t_m = w - t_1 - ... - t_(m-1). Positions beyond the wavefront run empty.
    """
    *others, last = rows
    body: tuple[Statement, ...] = (
        declared(last.tile, term(wavefront) - total(term(row.tile) for row in others)),
        *(row.origin for row in rows),
        *inner,
    )
    tiles = dict(inner_tiles)
    for dimension, (row, bounds) in enumerate(reversed(list(zip(others, mapped, strict=True)))):
        loop = loops.loop(row.tile, bounds.lower, bounds.upper, body)
        if loops.device:
            tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.GANG, dimension=dimension)
        else:
            tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.THREAD)
        body = (loop,)
    return LaunchNode(Block(body), tiles, pipelined=True)
