"""Inside one tile on a device: wavefronts of points, each dealt cyclically to the workers of the
tile's gang (Figure 3.17).

    for (e_1 ...)                          one wavefront after another; barriers after each
        for each group of statements       a barrier between
            for (rows that run at once)    workers
                the points that have them

Barriers stand where drafts are finished (user_tiles/barrier_placement.py): what stands here are the
loops between which workers must wait.
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
    from tilepragma.poly.bands import Part
    from tilepragma.poly.intra_tile import IntraTile

WORKER_DIMENSIONS = 3

Tiles = dict[int, tuple[TileClause, ...]]


@dataclass(frozen=True)
class BoundedTile:
    """A tile: `rows` are its rows and those of host loops around, about which something is `known`.

    The tiles of the rows at the levels `bounded` are in the range of those that have points,
    whatever the other rows' are.
    """

    rows: TileConstraints
    bounded: frozenset[int]
    known: KnownFacts


def point_wavefronts(
    loops: BandLoops, planned: PlannedBand, inside: BoundedTile
) -> tuple[tuple[Statement, ...], Tiles]:
    """Loops over the points of a tile, and the tiles of those that are dealt to workers.

    Workers count from 0 to the extent of a tile, or of the whole row where that is less, so that
    the launch knows their loops; what is no point is left out by conditions. A tile without points
    is passed over: all workers of a gang would go through its fronts. Raises UnboundedRowError,
    OperationLimitError.
    """
    from tilepragma.lower.band_ast import TileConstraint

    part, found = planned.part, fronts_of(loops, planned)
    whole = tuple(replace(each, level=_shifted(part, each.level)) for each in inside.rows)
    bounded = frozenset(_shifted(part, level) for level in inside.bounded)
    condition, known = loops.code.has_points(found.part.statements, whole, bounded, inside.known)
    tile = {each.level: each for each in whole}
    front = loops.names.scalar("front")
    fronts = _fronts(loops, found, tile)
    step = TileConstraint(found.level, access_to(front))
    rows = found.summed or (found.level,)
    known = known.also(loops.code.known_sum(found.part.statements, rows, _outside(found, tile), step))
    if found.summed:
        known = known.also(loops.code.known_in_tiles(tuple(tile[level] for level in found.summed), step))
    if len(found.summed) == 1:
        del tile[found.summed[0]]
    tile[found.level] = step
    tiles: Tiles = {}
    groups: list[Statement] = []
    for names in found.groups:
        groups += _group(loops, found, names, tile, known, tiles)
    body: tuple[Statement, ...] = (loops.loop(front, fronts.lower, fronts.upper, groups),)
    return body if condition is None else (If(condition, Block(body), None),), tiles


def fronts_of(loops: BandLoops, planned: PlannedBand) -> IntraTile:
    """The wavefronts of points in a tile of the part: along time where tiles begin together."""
    from tilepragma.poly.intra_tile import concurrent_tile, intra_tile

    dependences, private = loops.code.program.dependences, private_names(loops.code.scop)
    if planned.concurrent is None:
        return intra_tile(planned.part, dependences, private)
    found = concurrent_tile(planned.concurrent, dependences, private)
    if found is None:
        raise ValueError("points of one time step wait for each other")
    return found


def _shifted(part: Part, level: int) -> int:
    """The level of one of the part's rows behind the row of fronts."""
    return level + (level >= part.outer)


def _outside(found: IntraTile, tile: dict[int, TileConstraint]) -> TileConstraints:
    return tuple(each for level, each in tile.items() if level < found.level)


def _fronts(loops: BandLoops, found: IntraTile, tile: dict[int, TileConstraint]) -> Bounds:
    """The wavefronts of one tile: neither beyond its corners nor beyond those of the whole nest."""
    outside = _outside(found, tile)
    if not found.summed:
        every, own = (loops.row_range(found.part.statements, found.level, at) for at in (outside, (*tile.values(),)))
        return Bounds(maximum((every.lower, own.lower)), minimum((every.upper, own.upper)))
    whole = [loops.row_range(found.part.statements, level, outside) for level in found.summed]
    first, last = _corners([tile[level] for level in found.summed])
    lower = maximum((total(each.lower for each in whole), first))
    return Bounds(lower, minimum((total(each.upper for each in whole), last)))


def _corners(tiles: list[TileConstraint]) -> tuple[Polynomial, Polynomial]:
    """The least and the greatest sum of points in these tiles."""
    first = total(polynomial(each.origin) for each in tiles)
    return first, first + total(polynomial(each.size) - number(1) for each in tiles if each.size is not None)


def _group(
    loops: BandLoops,
    found: IntraTile,
    names: tuple[str, ...],
    tile: dict[int, TileConstraint],
    known: KnownFacts,
    tiles: Tiles,
) -> tuple[Statement, ...]:
    """One group of one wavefront: loops over the rows that run at once, their tiles noted in `tiles`."""
    from tilepragma.lower.band_ast import TileConstraint
    from tilepragma.poly.intra_tile_schedule import row_order

    group = found.of_group(names)
    steps, places, fixed = [], [], []
    for level in found.parallel[-WORKER_DIMENSIONS:]:
        whole = loops.row_range(found.part.statements, level, _outside(found, tile))
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
            outside = _outside(found, tile)
            known = known.also(loops.code.known_sum(found.part.statements, (level,), outside, fixed[-1]))
        steps.append((step, last))
        places.append(declared(point, start + term(step)))
    points = loops.points(group, row_order(group), (*tile.values(), *fixed), known)
    body: tuple[Statement, ...] = (*places, *points)
    for dimension, (step, last) in enumerate(reversed(steps)):
        loop = loops.loop(step, number(0), last, body)
        tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.WORKER, dimension=dimension)
        body = (loop,)
    return body
