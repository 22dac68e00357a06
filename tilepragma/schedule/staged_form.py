"""Staged forms of wavefront launches: gangs keep array tiles in shared memory.

    nest of gangs { declarations; if (the tile has points) { points of the tile } }
-> nest of gangs {
        declarations; those of the array tiles
        if (the tile has points) { fill; points, in the array tiles; store }
        barrier
    }

schedule/wavefront_array_tiles.py decides what array tiles hold, and builds the copies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileClause
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Barrier, Block, Declaration, Function, If, Scratchpad, Statement, TileNest
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import with_blocks
from tilepragma.user_tiles.barrier_placement import insert_barriers
from tilepragma.user_tiles.tile_nests import ChainContext, build_nests


@dataclass(frozen=True)
class ArrayTiles:
    """The array tiles of one launch's tile. `declarations` are numbers that a tile computes once.
    `fills` and `stores` are copy loops, mapped by `clauses`. `local` maps an array element to its
    place in the array tile.
    """

    scratchpads: tuple[Scratchpad, ...]
    declarations: tuple[Declaration, ...]
    fills: tuple[Statement, ...]
    stores: tuple[Statement, ...]
    clauses: Mapping[int, tuple[TileClause, ...]]
    local: Callable[[Access], Access]

    def with_array_tiles(self, statement: Statement) -> Statement:
        """The statement on array tiles. Loops keep their identity, which numbers rely on."""
        inner = with_blocks(statement, lambda block: Block(tuple(map(self.with_array_tiles, block.statements))))
        return inner if inner is not statement else with_accesses(statement, self.local)

    @property
    def body(self) -> Block:
        """What staging adds to a launch."""
        return Block((*self.declarations, *self.fills, *self.stores))


@dataclass(frozen=True)
class StagedForm:
    """An alternative body for a launch, with its scratchpads."""

    body: Block
    scratchpads: tuple[Scratchpad, ...]


def staged_form(
    body: Block,
    array_tiles: ArrayTiles,
    symbols: Mapping[int, str],
    functions: tuple[Function, ...],
    privates: frozenset[DataObject],
) -> StagedForm | None:
    """The launch's staged form; None if it is not one nest. `body` has nests, but no barriers."""
    nest = body.statements[0] if len(body.statements) == 1 else None
    if not isinstance(nest, TileNest):
        return None
    diagnostics = Diagnostics()
    # Each gang computes the numbers of these loops from those of the tile.
    context = ChainContext(array_tiles.clauses, symbols, lambda _: False, {}, diagnostics)
    fills, stores = (build_nests(Block(part), context).statements for part in (array_tiles.fills, array_tiles.stores))
    statements = nest.body.statements
    count = next(
        (place for place, statement in enumerate(statements) if not isinstance(statement, Declaration)), len(statements)
    )
    head, points = statements[:count], statements[count:]
    inner: tuple[Statement, ...]
    if len(points) == 1 and isinstance(points[0], If) and points[0].otherwise is None:
        asked = points[0]
        work = (*fills, *map(array_tiles.with_array_tiles, asked.then.statements), *stores)
        inner = (dataclasses.replace(asked, then=Block(work)),)
    else:
        inner = (*fills, *map(array_tiles.with_array_tiles, points), *stores)
    made = dataclasses.replace(nest, body=Block((*head, *array_tiles.declarations, *inner)))
    (waiting,) = insert_barriers(Block((made,)), functions, privates, diagnostics).statements
    assert isinstance(waiting, TileNest)
    ended = dataclasses.replace(waiting, body=Block((*waiting.body.statements, Barrier())))
    return None if diagnostics.has_errors else StagedForm(Block((ended,)), array_tiles.scratchpads)
