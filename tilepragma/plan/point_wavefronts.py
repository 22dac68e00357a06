"""Inside one tile on a device: wavefronts of points, each dealt cyclically to the workers of the tile's gang (Figure 3.17).

    for (e_1 ...)                          one wavefront after another; barriers after each
        for each group of statements       a barrier between
            for (rows that run at once)    workers
                the points that have them

Barriers stand where drafts are finished (plan/barriers.py): what stands here are the loops between which workers must wait.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.looptree import Statement
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.plan.row_loops import Bounds, RowLoops, base_name, clauses, term, total, value

if TYPE_CHECKING:
    from tilepragma.polyhedral.intra_tile import IntraTile
    from tilepragma.polyhedral.parallel_parts import Part
    from tilepragma.polyhedral.part_scan import Restriction, Restrictions

WORKER_DIMENSIONS = 3

Tiles = dict[int, tuple[TileClause, ...]]


def point_wavefronts(loops: RowLoops, part: Part, inside: Restrictions) -> tuple[tuple[Statement, ...], Tiles]:
    """Loops over the points of the tile that `inside` says, and the tiles of those that are dealt to workers.

    Workers count from 0 to the size of a tile, so that the launch knows their loops; what is no point is left out by conditions.
    Raises UnboundedRowError, OperationLimitError.
    """
    from tilepragma.polyhedral.intra_tile import intra_tile
    from tilepragma.polyhedral.part_scan import Restriction

    found = intra_tile(part, loops.code.program.dependences)
    tile = {each.level + (each.level >= part.outer): each for each in inside}
    tile = {level: replace(each, level=level) for level, each in tile.items()}
    front = loops.names.scalar("front")
    tiled = [tile[level] for level in found.summed]
    lower = total(polynomial(each.origin) for each in tiled)
    upper = lower + total(polynomial(each.size) - number(1) for each in tiled if each.size is not None)
    if len(tiled) == 1:
        del tile[found.summed[0]]
    tile[found.level] = Restriction(found.level, value(front))
    tiles: Tiles = {}
    groups: list[Statement] = []
    for names in found.groups:
        groups += _group(loops, found, names, tile, tiles)
    return (loops.loop(front, lower, upper, groups),), tiles


def _group(
    loops: RowLoops, found: IntraTile, names: tuple[str, ...], tile: dict[int, Restriction], tiles: Tiles
) -> tuple[Statement, ...]:
    """One group of one wavefront: loops over the rows that run at once, their tiles noted in `tiles`."""
    from tilepragma.polyhedral.part_scan import Restriction
    from tilepragma.polyhedral.point_order import row_order

    group = found.of_group(names)
    outside = tuple(each for level, each in tile.items() if level < found.level)
    dealt = []
    for level in found.parallel[-WORKER_DIMENSIONS:]:
        base = base_name(group.statements, level)
        if level in tile and (size := tile[level].size) is not None:
            step = loops.names.scalar(f"{base}_step")
            bounds = Bounds(number(0), polynomial(size) - number(1))
            place = expression(polynomial(tile[level].origin) + term(step))
        else:
            step = loops.names.scalar(f"{base}_point")
            bounds, place = loops.row_range(found.part.statements, level, outside), value(step)
        dealt.append((step, bounds, Restriction(level, place)))
    inside = {**tile, **{each.level: each for _, _, each in dealt}}
    body: tuple[Statement, ...] = loops.points(group, row_order(group), tuple(inside.values()))
    for dimension, (step, bounds, _) in enumerate(reversed(dealt)):
        loop = loops.loop(step, bounds.lower, bounds.upper, body)
        tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.WORKER, dimension=dimension)
        body = (loop,)
    return body
