"""In which order the points of a tile run one after another.

Any order does that keeps what depends on each other: the program's own, and every permutation of the rows of a band.
"""

from __future__ import annotations

from tilepragma.polyhedral.parallel_parts import Part
from tilepragma.polyhedral.part_scan import Order
from tilepragma.polyhedral.schedule import original_schedule


def original_order(part: Part) -> Order:
    """The program's own order, { S[i] -> [p0, i1, p1, ..., in, pn] }."""
    kept = original_schedule(tuple(each.statement for each in part.statements))
    return {each.statement.name: each.rows for each in kept.statements}


def row_order(part: Part) -> Order:
    """The order of the part's rows, those of the outer loops left out."""
    return {each.statement.name: each.rows[part.outer :] for each in part.statements}
