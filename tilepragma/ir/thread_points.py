"""The points that each worker of a uniform nest has of a loop: those of a static tile between its gangs and its workers."""

from __future__ import annotations

from tilepragma.ir.directives import TileKind
from tilepragma.ir.loop_tree import Tile, TiledLoop


def points_tile(tiled: TiledLoop) -> Tile | None:
    """The tile of the points; None where each worker has one."""
    return next((tile for tile in tiled.tiles if tile.kind is TileKind.STATIC), None)


def points_of(tiled: TiledLoop) -> int:
    """How many points a worker has in a round, as many workers' iterations apart as there are workers; 0 where it is no literal."""
    tile = points_tile(tiled)
    if tile is None:
        return 1
    literal = None if tile.argument is None else tile.argument.literal
    return literal or 0
