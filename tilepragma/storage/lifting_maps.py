"""The elements of rows of an array by places and lanes: element P q + r of a row has place r, 0 <=
r < P, of lane q.

{ A[i, x] -> [i, r, q] : x = P q + r and 0 <= r < P }
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import DataObject
from tilepragma.lower.copy_loops import CellSet
from tilepragma.poly.footprints import shadows
from tilepragma.poly.scop import AccessKind, Scop


def lane_cells(scop: Scop, object_: DataObject, side: int, *, written: bool) -> CellSet | None:
    """{ [i, r, q] } of what is touched, or `written` alone, and of the box around it where the
    array has all of that; None where that is not known exactly, or is nothing.
    """
    found = [reference for each in scop.statements for reference in each.references if reference.object == object_]
    if not all(one.exact for one in found) or any(one.kind is AccessKind.MAY_WRITE for one in found):
        return None
    parts = [one.relation.range() for one in found if one.writes or not written]
    parts = [part for part in parts if not part.is_empty()]
    if not parts:
        return None
    # Of rows that a program has for itself, the last may be shorter.
    box = shadows(parts) if object_.rows_in is None else reduce(isl.Set.union, parts).coalesce()
    rank = box.dim(isl.dim_type.set)
    rows = "".join(f"i{place}, " for place in range(rank - 1))
    split = isl.Map(f"{{ [{rows}x] -> [{rows}r, q] : x = {side} * q + r and 0 <= r < {side} }}", context=box.get_ctx())
    return box.reset_tuple_id().apply(split.align_params(box.get_space()))


def in_order_of_rows(cells: CellSet) -> CellSet:
    """{ [i, q, r] : [i, r, q] in cells }, which goes through a row of the array as it lies in memory."""
    rank = cells.dim(isl.dim_type.set)
    rows = "".join(f"i{place}, " for place in range(rank - 2))
    turned = isl.Map(f"{{ [{rows}r, q] -> [{rows}q, r] }}", context=cells.get_ctx())
    return cells.apply(turned)
