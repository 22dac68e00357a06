"""Strip-mining of bands that stream the same array in sequence: they alternate on blocks of rows.

    for blocks of i, for j: P;  for blocks of j, for i: Q
-> for (strip) { for blocks of i in strip, for j: P;  for blocks of j, for i in strip: Q; }

The others then find in the cache what the first band read of a strip. (schedule/strip_mining.py
does so with the user's own loops.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, integer
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number
from tilepragma.lower.band_loops import Around, BandLoops, Bounds, base_name, floor_quotient, term
from tilepragma.schedule.tree import HostLoopNode

if TYPE_CHECKING:
    from tilepragma.poly.band_fusion import MappedBand

STRIP_BLOCKS = 8
"""Blocks of the first band in a strip: one for each of 8 threads, and they stay in the shared
cache.
"""


class StripLoop(HostLoopNode):
    """A host loop over strips."""


@dataclass(frozen=True)
class RowStrip:
    """Strip `iterator`: STRIP_BLOCKS blocks of the row, each of `size` values."""

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

    def around(self, loops: BandLoops, row: MappedBand) -> Around:
        """The context of a band whose strip row is not mapped. Raises OperationLimitError."""
        from tilepragma.lower.band_ast import TileConstraint

        origin, extent = self._first_block * term(self.size), term(self.size) * number(STRIP_BLOCKS)
        strip = TileConstraint(row.level, expression(origin), expression(extent))
        return Around((strip,), loops.code.known_tile(row.part.statements, (), strip))


def strip_loop(loops: BandLoops, row: MappedBand, size: DataObject) -> tuple[Loop, RowStrip]:
    """The host loop over strips of a row. Raises UnboundedRowError, OperationLimitError."""
    every = loops.tile_range(row.part.statements, row.level, size, ())
    iterator = loops.names.scalar(f"{base_name(row.part.statements, row.level)}_strip")
    lower, upper = (floor_quotient(bound, integer(STRIP_BLOCKS)) for bound in (every.lower, every.upper))
    return loops.loop(iterator, lower, upper), RowStrip(iterator, size)
