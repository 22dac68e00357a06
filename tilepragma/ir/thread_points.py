"""Thread coarsening: a worker's points are a static tile between a loop's gangs and workers."""

from __future__ import annotations

from tilepragma.ir.directives import TileKind
from tilepragma.ir.loop_tree import Tile, TiledLoop


def points_tile(tiled: TiledLoop) -> Tile | None:
    """The tile of the points; None if each worker has one point."""
    return next((tile for tile in tiled.tiles if tile.kind is TileKind.STATIC), None)


def points_of(tiled: TiledLoop) -> int:
    """The points of a worker, apart by the number of workers; 0 if the count is no literal."""
    tile = points_tile(tiled)
    if tile is None:
        return 1
    literal = None if tile.argument is None else tile.argument.literal
    return literal or 0
