"""Wavefronts of points inside a device tile, mapped cyclically to the gang's workers (Figure 3.17).

    for (e_1 ...)                          one wavefront after another; barriers after each
        for each group of statements       a barrier between
            for (parallel rows)            workers
                the points that have them

user_tiles/barrier_placement.py inserts the barriers later. This module builds the loops between
which workers must wait.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.expressions import access_to
from tilepragma.ir.loop_tree import Block, If, Statement
from tilepragma.ir.polynomial import Polynomial, maximum, minimum, number, polynomial
from tilepragma.lower.band_loops import (
    BandLoops,
    Bounds,
    PlannedBand,
    base_name,
    clauses,
    declared,
    floor_quotient,
    term,
    total,
)
from tilepragma.schedule.coalescing import private_names

if TYPE_CHECKING:
    from tilepragma.lower.band_ast import TileConstraint, TileConstraints
    from tilepragma.lower.context import KnownFacts
    from tilepragma.poly.bands import Band
    from tilepragma.poly.wavefronts import IntraTile

WORKER_DIMENSIONS = 3

Tiles = dict[int, tuple[TileClause, ...]]


@dataclass(frozen=True)
class BoundedTile:
    """A tile: `rows` are its rows and those of host loops around; `known` are facts on both. The
    tiles at the levels `bounded` lie in the range of tiles with points, whatever the other rows.
    """

    rows: TileConstraints
    bounded: frozenset[int]
    known: KnownFacts


def point_wavefronts(
    loops: BandLoops, planned: PlannedBand, inside: BoundedTile
) -> tuple[tuple[Statement, ...], Tiles]:
    """The loops over a tile's points, and the clauses of those mapped to workers. Workers count
    from 0 to the extent of a tile, or of the row if that is less, so that the launch knows the loop
    bounds. Conditions skip positions without a point. Empty tiles are skipped whole: otherwise all
    workers would run their fronts. Raises UnboundedRowError, OperationLimitError.
    """
    from tilepragma.lower.band_ast import TileConstraint

    part, schedule = planned.part, fronts_of(loops, planned)
    whole = tuple(replace(each, level=_shifted(part, each.level)) for each in inside.rows)
    bounded = frozenset(_shifted(part, level) for level in inside.bounded)
    condition, known = loops.code.has_points(schedule.part.statements, whole, bounded, inside.known)
    tile = {each.level: each for each in whole}
    front = loops.names.scalar("front")
    fronts = _fronts(loops, schedule, tile)
    step = TileConstraint(schedule.level, access_to(front))
    rows = schedule.summed or (schedule.level,)
    known = known.also(loops.code.known_sum(schedule.part.statements, rows, _outside(schedule, tile), step))
    if schedule.summed:
        known = known.also(loops.code.known_in_tiles(tuple(tile[level] for level in schedule.summed), step))
    if len(schedule.summed) == 1:
        del tile[schedule.summed[0]]
    tile[schedule.level] = step
    tiles: Tiles = {}
    groups: list[Statement] = []
    for names in schedule.groups:
        groups += _group(loops, schedule, names, tile, known, tiles)
    body: tuple[Statement, ...] = (loops.loop(front, fronts.lower, fronts.upper, groups),)
    return body if condition is None else (If(condition, Block(body), None),), tiles


def fronts_of(loops: BandLoops, planned: PlannedBand) -> IntraTile:
    """The wavefronts of points in a tile of the band; along time under concurrent start."""
    from tilepragma.poly.wavefronts import concurrent_tile, intra_tile

    dependences, private = loops.code.dependences, private_names(loops.code.scop)
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


def _fronts(loops: BandLoops, schedule: IntraTile, tile: dict[int, TileConstraint]) -> Bounds:
    """The wavefronts of a tile, within the corners of the tile and of the whole nest."""
    outside = _outside(schedule, tile)
    if not schedule.summed:
        every, inside = (
            loops.row_range(schedule.part.statements, schedule.level, rows) for rows in (outside, (*tile.values(),))
        )
        return Bounds(maximum((every.lower, inside.lower)), minimum((every.upper, inside.upper)))
    whole = [loops.row_range(schedule.part.statements, level, outside) for level in schedule.summed]
    first, last = _corners([tile[level] for level in schedule.summed])
    lower = maximum((total(each.lower for each in whole), first))
    return Bounds(lower, minimum((total(each.upper for each in whole), last)))


def _corners(tiles: list[TileConstraint]) -> tuple[Polynomial, Polynomial]:
    """The least and the greatest sum of point coordinates in these tiles."""
    first = total(polynomial(each.origin) for each in tiles)
    return first, first + total(polynomial(each.size) - number(1) for each in tiles if each.size is not None)


def _group(
    loops: BandLoops,
    schedule: IntraTile,
    names: tuple[str, ...],
    tile: dict[int, TileConstraint],
    known: KnownFacts,
    tiles: Tiles,
) -> tuple[Statement, ...]:
    """The loops of one statement group of a wavefront over its parallel rows; adds to `tiles`."""
    from tilepragma.lower.band_ast import TileConstraint
    from tilepragma.poly.intra_tile_schedule import row_order

    group = schedule.of_group(names)
    steps, places, fixed = [], [], []
    for level in schedule.parallel[-WORKER_DIMENSIONS:]:
        whole = loops.row_range(schedule.part.statements, level, _outside(schedule, tile))
        base = base_name(group.statements, level)
        step, point = loops.names.scalar(f"{base}_step"), loops.names.scalar(f"{base}_point")
        last, start = whole.upper - whole.lower, whole.lower
        fixed.append(TileConstraint(level, access_to(point)))
        if level in tile and (size := tile[level].size) is not None:
            start = polynomial(tile[level].origin)
            least = floor_quotient(whole.lower, size) * polynomial(size)
            last = minimum((whole.upper - least, polynomial(size) - number(1)))
            known = known.also(loops.code.known_in_tiles((tile[level],), fixed[-1]))
        else:
            outside = _outside(schedule, tile)
            known = known.also(loops.code.known_sum(schedule.part.statements, (level,), outside, fixed[-1]))
        steps.append((step, last))
        places.append(declared(point, start + term(step)))
    points = loops.points(group, row_order(group), (*tile.values(), *fixed), known)
    body: tuple[Statement, ...] = (*places, *points)
    for dimension, (step, last) in enumerate(reversed(steps)):
        loop = loops.loop(step, number(0), last, body)
        tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.WORKER, dimension=dimension)
        body = (loop,)
    return body
