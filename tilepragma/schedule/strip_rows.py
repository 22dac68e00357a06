"""Strips of parts that run one after another and stream through the same array: they take turns on
some blocks of rows at a time.

    for blocks of i, for j: P;  for blocks of j, for i: Q
    becomes
    for (strip) { for blocks of i in strip, for j: P;  for blocks of j, for i in strip: Q; }

What the first part read of a strip is in the cache for the others (schedule/strip_mining.py does so
with the user's own loops).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, integer
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number
from tilepragma.lower.band_loops import Around, BandLoops, Bounds, base_name, floor_quotient, term
from tilepragma.schedule.tree import DraftLoop

if TYPE_CHECKING:
    from tilepragma.poly.band_strips import BandStrip

STRIP_BLOCKS = 8
"""Blocks of the first part in a strip: as many threads find work in it, and its rows stay in the cache that the cores share."""


class StripLoop(DraftLoop):
    """A host's loop over strips."""


@dataclass(frozen=True)
class RowStrip:
    """The strip that `iterator` counts: blocks [iterator * STRIP_BLOCKS, (iterator + 1) *
    STRIP_BLOCKS) of the row's values, each of `size`.
    """

    iterator: DataObject
    size: DataObject

    @property
    def _first_block(self) -> Polynomial:
        return term(self.iterator) * number(STRIP_BLOCKS)

    def blocks(self, every: Bounds) -> Bounds:
        """The blocks of the strip."""
        first = self._first_block
        lower = first if every.lower == number(0) else maximum((every.lower, first))
        return Bounds(lower, minimum((every.upper, first + number(STRIP_BLOCKS - 1))))

    def around(self, loops: BandLoops, row: BandStrip) -> Around:
        """What stands around a part whose row in the strip is not dealt to threads. Raises OperationLimitError."""
        from tilepragma.lower.band_ast import TileConstraint

        origin, extent = self._first_block * term(self.size), term(self.size) * number(STRIP_BLOCKS)
        own = TileConstraint(row.level, expression(origin), expression(extent))
        return Around((own,), loops.code.known_tile(row.part.statements, (), own))


def strip_loop(loops: BandLoops, row: BandStrip, size: DataObject) -> tuple[Loop, RowStrip]:
    """The host's loop over the strips of a row in blocks of this size. Raises UnboundedRowError, OperationLimitError."""
    every = loops.tile_range(row.part.statements, row.level, size, ())
    iterator = loops.names.scalar(f"{base_name(row.part.statements, row.level)}_strip")
    lower, upper = (floor_quotient(bound, integer(STRIP_BLOCKS)) for bound in (every.lower, every.upper))
    return loops.loop(iterator, lower, upper), RowStrip(iterator, size)
