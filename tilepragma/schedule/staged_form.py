"""Launches whose gangs keep the boxes that their tiles touch in memory of their own: the staged
forms of launches of wavefronts.

    nest of gangs { declarations; if (the tile has points) { points of the tile } }
 -> nest of gangs { declarations; those of the boxes; if (the tile has points) { fill; points, in the boxes; store } barrier }

What boxes hold, and how they are filled and stored, is `schedule/wavefront_array_tiles.py`'s.
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
    """Boxes of arrays for the tile of one launch. `declarations` are numbers that a tile has once;
    `fills` and `stores` copy elements to the boxes and back, by loops of which `clauses` has the
    tiles; `local` gives the element of a box for that of an array.
    """

    scratchpads: tuple[Scratchpad, ...]
    declarations: tuple[Declaration, ...]
    fills: tuple[Statement, ...]
    stores: tuple[Statement, ...]
    clauses: Mapping[int, tuple[TileClause, ...]]
    local: Callable[[Access], Access]

    def with_array_tiles(self, statement: Statement) -> Statement:
        """The statement with boxes in place of arrays. The loops of a nest keep their identity, which their numbers hang on."""
        inner = with_blocks(statement, lambda block: Block(tuple(map(self.with_array_tiles, block.statements))))
        return inner if inner is not statement else with_accesses(statement, self.local)

    @property
    def body(self) -> Block:
        """What it adds to a launch."""
        return Block((*self.declarations, *self.fills, *self.stores))


@dataclass(frozen=True)
class StagedForm:
    """A body that a launch may run in place of its own, with its scratchpads."""

    body: Block
    scratchpads: tuple[Scratchpad, ...]


def staged_form(
    body: Block,
    array_tiles: ArrayTiles,
    symbols: Mapping[int, str],
    functions: tuple[Function, ...],
    privates: frozenset[DataObject],
) -> StagedForm | None:
    """The launch's staged form; `body` has its nests built, and no barriers. None where it is not one nest."""
    nest = body.statements[0] if len(body.statements) == 1 else None
    if not isinstance(nest, TileNest):
        return None
    diagnostics = Diagnostics()
    # The numbers of these loops follow from those of the tile: each gang computes them.
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
