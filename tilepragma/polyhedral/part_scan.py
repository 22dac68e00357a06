"""Loops over the points of a part that some tile holds, for tiles of any origin and size.

    [o_l, s_l, ...] -> { S[i] -> [order of i] : i is inside the tile }

`order` is any in which what depends on each other inside a tile stays in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilepragma.polyhedral.parallel_parts import Part
from tilepragma.polyhedral.program import Program
from tilepragma.polyhedral.row_tiles import Restrictions, inside, parameters_of, sizes_are_positive
from tilepragma.polyhedral.scanning import Scanned, ScannedStatement, Symbols, scan
from tilepragma.polyhedral.schedule import Row, affine_map
from tilepragma.polyhedral.scop import Scop

Order = Mapping[str, tuple[Row, ...]]
"""For each statement the rows in whose lexicographic order its points run; as many for each."""


@dataclass(frozen=True)
class PartCode:
    """What loops over parts are made of: the Scop and its Program."""

    scop: Scop
    program: Program

    def points(
        self, part: Part, order: Order, restrictions: Restrictions, first_index: int, taken: frozenset[str]
    ) -> Scanned:
        """Loops over the points of the part that satisfy the restrictions; no new iterator is called one of `taken`.

        Raises OperationLimitError.
        """
        by_name = {each.name: each for each in self.scop.statements}
        scanned = []
        for each in part.statements:
            name = each.statement.name
            times = affine_map(each.statement, order[name]).intersect_domain(inside(each, restrictions))
            scanned.append(ScannedStatement(by_name[name], self.program.in_the_scop(name, times)))
        symbols = Symbols({**self.scop.parameters, **parameters_of(restrictions)}, taken)
        return scan(tuple(scanned), symbols, first_index, sizes_are_positive(self.scop.context, restrictions))
