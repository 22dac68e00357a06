"""Two-level wavefronts of a permutable band: thesis (3.17) to (3.19), Figure 3.17.

    t_k = floor(phi_k / s_k)          tiles, s_k a symbol
    w   = t_1 + ... + t_m             wavefronts of tiles, one after another: a host loop
    t_1, ..., t_(m-1)                 parallel tiles of one wavefront: a launch

If two rows have concurrent start (poly/concurrent_start.py), w = t_1 + t_2 of these two is parallel
to time: diamond tiles, as many in each wavefront.

On the host, and for diamonds, w = t_1 + t_2, and the tiles t_3, ..., t_m of a pair run in sequence
inside its instance. This gives fewer wavefronts, and shared data stays in the cache. Both are legal
because every dependence has t(target) >= t(source) in all rows of the band.

Inside a device tile run wavefronts of points, mapped cyclically to the gang's workers:

    for (e_1 ...)                          one wavefront after another; barriers after each
        for each group of statements       a barrier between
            for (parallel rows)            workers
                the points that have them

user_tiles/barrier_placement.py inserts the barriers later. They may run in shared memory
(schedule/wavefront_array_tiles.py).
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.expressions import DataObject, access_to
from tilepragma.ir.loop_tree import Block, If, Statement
from tilepragma.ir.polynomial import Polynomial, maximum, minimum, number, polynomial
from tilepragma.lower.band_loops import (
    BandLoops,
    EnclosingTile,
    PlannedBand,
    TileConstraint,
    TileConstraints,
    base_name,
    clauses,
    declared,
    floor_quotient,
    term,
    total,
)
from tilepragma.plan.default_sizes import (
    CHAINED_HOST_TILE,
    DEVICE_TILE,
    DIAMOND_TILES,
    FEW_READS,
    FLAT_HOST_TILE,
    FLAT_REGISTER_TILE,
    HOST_STEPS,
    HOST_TILE,
    LINE_CHAIN,
    LONG_CHAINED_HOST_TILE,
    LONG_DEVICE_TILE,
    LONG_HOST_TILE,
    LONG_REGISTER_TILE,
    NARROW_HOST_TILE,
    PROCESSOR_LINE_CHAIN,
    PROCESSOR_PLANE_ROWS,
    PROCESSOR_PLANE_STEPS,
    REGISTER_COLUMNS_TILE,
    REGISTER_TILE,
    RELAXATION_TILES,
    SHORT_CHAIN,
    STENCIL_TILES,
    TALL_HOST_TILE,
    USUAL_SKEW,
)
from tilepragma.plan.kernel_plan import HostLoop, TiledBand, TiledStatement
from tilepragma.poly.bands import Band
from tilepragma.poly.intra_tile import IntraTile, concurrent_tile, intra_tile
from tilepragma.poly.intra_tile_schedule import row_order
from tilepragma.poly.reference_spans import Span
from tilepragma.schedule.coalescing import private_names
from tilepragma.schedule.cpu_register_tiles import with_full_tiles
from tilepragma.schedule.tree import LaunchNode, ScheduleNode
from tilepragma.schedule.wavefront_array_tiles import array_tiles

DIAMONDS = "diamond tiles: concurrent start"
HOST_ROWS, DEVICE_ROWS = 2, 4
"""Rows of a band in a wavefront: a device launch has three dimensions for all but one row."""


@dataclass(frozen=True)
class _TiledRow:
    """A tiled row: tile coordinate `tile` in a range, and tile origin `first`."""

    level: int
    size: DataObject
    tile: DataObject
    first: DataObject
    range: Span

    @property
    def inside(self) -> TileConstraint:
        """The points of one tile."""
        return TileConstraint(self.level, access_to(self.first), access_to(self.size))

    @property
    def origin(self) -> Statement:
        """`const long first = tile * size;`"""
        return declared(self.first, term(self.tile) * term(self.size))


def wavefront_node(loops: BandLoops, planned: PlannedBand, around: EnclosingTile) -> ScheduleNode:
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
    bounded = EnclosingTile(tile, around.known, frozenset(summed[:-1]))
    inner, tiles = inner_tiles(loops, planned, inner_levels, bounded)
    staged = loops.device and not planned.pair and not inner_levels
    staging = array_tiles(loops, planned, tile, tiles) if staged else None
    sizes = {row.level: row.size for row in rows}
    every, mapped = loops.wavefronts(part.statements, sizes, wavefront, outside)
    launch = replace(_launch(loops, wavefront, rows, mapped, inner, tiles), array_tiles=staging)
    band = _tiled_band(loops, planned, (*summed, *inner_levels), len(summed))
    loop = loops.loop(wavefront, every.least, every.greatest)
    return HostLoop(loop, (launch,), DIAMONDS if planned.pair else "", band)


def _tiled_band(loops: BandLoops, planned: PlannedBand, levels: tuple[int, ...], summed: int) -> TiledBand:
    """The tiles as reports show them; their rows are those at `levels`."""
    statements = []
    for each in planned.part.statements:
        statement, rows = loops.source(each), loops.user_rows(each)
        chosen = [rows[level] for level in levels]
        offsets = tuple(row.constant for row in chosen)
        for part in statement.parts or (statement,):
            names = tuple(loop.iterator.host for loop in part.loops)
            inside = (0,) * (len(part.loops) - len(statement.loops))
            factors = tuple((*row.coefficients, *inside) for row in chosen)
            statements.append(TiledStatement(part.range, names, factors, offsets))
    sizes = tuple(loops.sizes[planned.number, _size_level(planned, level)].object for level in levels)
    return TiledBand(tuple(statements), summed, planned.part.outer, sizes)


def _size_level(planned: PlannedBand, level: int) -> int:
    """The level whose tile size a row has: wavefronts of a pair are parallel to time where its
    tiles have one size.
    """
    return planned.pair[-1] if level in planned.pair else level


def _tiled_row(loops: BandLoops, planned: PlannedBand, level: int, inside: TileConstraints, unit: int = 0) -> _TiledRow:
    """A row's tile names, and the range of tiles with points `inside`; `unit` as in TileSize."""
    part = planned.part
    device = LONG_DEVICE_TILE if level == planned.points.along else DEVICE_TILE
    named = _size_level(planned, level)
    base = base_name(part.statements, named)
    processor = () if loops.device else _processor_tile(planned, level)
    size = loops.size_of(planned.number, named, base, _host_tile(planned, level), device, unit, processor)
    tiles = loops.tile_range(part.statements, level, size, inside)
    return _TiledRow(level, size, loops.names.scalar(f"{base}_block"), loops.names.scalar(f"{base}_first"), tiles)


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
    tile: EnclosingTile,
) -> tuple[tuple[Statement, ...], dict[int, tuple[TileClause, ...]]]:
    """The sequential tiles of rows at `levels` in the tile around, with points and clauses."""
    if not levels and loops.device:
        return _point_wavefronts(loops, planned, tile)
    if not levels:
        points = loops.points(planned.part, planned.points.order, tile)
        return (points if loops.device else with_full_tiles(loops, planned, tile, points)), {}
    row = _tiled_row(loops, planned, levels[0], tile.rows)
    body, tiles = inner_tiles(loops, planned, levels[1:], replace(tile, rows=(*tile.rows, row.inside)))
    return (loops.loop(row.tile, row.range.least, row.range.greatest, (row.origin, *body)),), tiles


def _launch(
    loops: BandLoops,
    wavefront: DataObject,
    rows: list[_TiledRow],
    mapped: tuple[Span, ...],
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
        loop = loops.loop(row.tile, bounds.least, bounds.greatest, body)
        if loops.device:
            tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.GANG, dimension=dimension)
        else:
            tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.THREAD)
        body = (loop,)
    return LaunchNode(Block(body), tiles, pipelined=True)


# -- wavefronts of points in a device tile

_WORKER_DIMENSIONS = 3

Tiles = dict[int, tuple[TileClause, ...]]


def _point_wavefronts(
    loops: BandLoops, planned: PlannedBand, inside: EnclosingTile
) -> tuple[tuple[Statement, ...], Tiles]:
    """The loops over a tile's points, and the clauses of those mapped to workers. Workers count
    from 0 to the extent of a tile, or of the row if that is less, so that the launch knows the loop
    bounds. Conditions skip positions without a point. Empty tiles are skipped whole: otherwise all
    workers would run their fronts. Raises UnboundedRowError, OperationLimitError.
    """
    part, schedule = planned.part, _fronts_of(loops, planned)
    whole = tuple(replace(each, level=_shifted(part, each.level)) for each in inside.rows)
    bounded = frozenset(_shifted(part, level) for level in inside.bounded)
    condition, known = loops.has_points(schedule.part.statements, EnclosingTile(whole, inside.known, bounded))
    tile = {each.level: each for each in whole}
    front = loops.names.scalar("front")
    fronts = _fronts(loops, schedule, tile)
    step = TileConstraint(schedule.level, access_to(front))
    rows = schedule.summed or (schedule.level,)
    known &= loops.known_sum(schedule.part.statements, rows, _outside(schedule, tile), step.parameter)
    if schedule.summed:
        known &= loops.known_in_tiles(tuple(tile[level] for level in schedule.summed), step.parameter)
    if len(schedule.summed) == 1:
        del tile[schedule.summed[0]]
    tile[schedule.level] = step
    tiles: Tiles = {}
    groups: list[Statement] = []
    for names in schedule.groups:
        groups += _group(loops, schedule, names, tile, known, tiles)
    body: tuple[Statement, ...] = (loops.loop(front, fronts.least, fronts.greatest, groups),)
    return body if condition is None else (If(condition, Block(body), None),), tiles


def _fronts_of(loops: BandLoops, planned: PlannedBand) -> IntraTile:
    """The wavefronts of points in a tile of the band; along time under concurrent start."""
    dependences, private = loops.program.dependences, private_names(loops.scop)
    if planned.concurrent is None:
        return intra_tile(planned.part, dependences, private)
    schedule = concurrent_tile(planned.concurrent, dependences, private)
    if schedule is None:
        raise ValueError("points of one time step wait for each other")
    return schedule


def _shifted(part: Band, level: int) -> int:
    """The level of a row of the band after inserting the row of fronts."""
    return level + (level >= part.outer)


def _outside(schedule: IntraTile, tile: dict[int, TileConstraint]) -> TileConstraints:
    return tuple(each for level, each in tile.items() if level < schedule.level)


def _fronts(loops: BandLoops, schedule: IntraTile, tile: dict[int, TileConstraint]) -> Span:
    """The wavefronts of a tile, within the corners of the tile and of the whole nest."""
    outside = _outside(schedule, tile)
    if not schedule.summed:
        every, inside = (
            loops.row_range(schedule.part.statements, schedule.level, rows) for rows in (outside, (*tile.values(),))
        )
        return Span(maximum((every.least, inside.least)), minimum((every.greatest, inside.greatest)))
    whole = [loops.row_range(schedule.part.statements, level, outside) for level in schedule.summed]
    first, last = _corners([tile[level] for level in schedule.summed])
    lower = maximum((total(each.least for each in whole), first))
    return Span(lower, minimum((total(each.greatest for each in whole), last)))


def _corners(tiles: list[TileConstraint]) -> tuple[Polynomial, Polynomial]:
    """The least and the greatest sum of point coordinates in these tiles."""
    first = total(polynomial(each.origin) for each in tiles)
    return first, first + total(polynomial(each.size) - number(1) for each in tiles if each.size is not None)


def _group(
    loops: BandLoops,
    schedule: IntraTile,
    names: tuple[str, ...],
    tile: dict[int, TileConstraint],
    known: isl.Set,
    tiles: Tiles,
) -> tuple[Statement, ...]:
    """The loops of one statement group of a wavefront over its parallel rows; adds to `tiles`."""
    group = schedule.of_group(names)
    steps, places, fixed = [], [], []
    for level in schedule.parallel[-_WORKER_DIMENSIONS:]:
        whole = loops.row_range(schedule.part.statements, level, _outside(schedule, tile))
        base = base_name(group.statements, level)
        step, point = loops.names.scalar(f"{base}_step"), loops.names.scalar(f"{base}_point")
        last, start = whole.greatest - whole.least, whole.least
        fixed.append(TileConstraint(level, access_to(point)))
        if level in tile and (size := tile[level].size) is not None:
            start = polynomial(tile[level].origin)
            least = floor_quotient(whole.least, size) * polynomial(size)
            last = minimum((whole.greatest - least, polynomial(size) - number(1)))
            known &= loops.known_in_tiles((tile[level],), fixed[-1].parameter)
        else:
            outside = _outside(schedule, tile)
            known &= loops.known_sum(schedule.part.statements, (level,), outside, fixed[-1].parameter)
        steps.append((step, last))
        places.append(declared(point, start + term(step)))
    points = loops.points(group, row_order(group), EnclosingTile((*tile.values(), *fixed), known))
    body: tuple[Statement, ...] = (*places, *points)
    for dimension, (step, last) in enumerate(reversed(steps)):
        loop = loops.loop(step, number(0), last, body)
        tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.WORKER, dimension=dimension)
        body = (loop,)
    return body
