"""The elements of an array's rows by places and lanes: element P q + r is at place r, 0 <= r < P,
of lane q.

{ A[i, x] -> [i, r, q] : x = P q + r and 0 <= r < P }
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import DataObject
from tilepragma.lower.copy_loops import CellSet
from tilepragma.poly.footprints import shadows
from tilepragma.poly.scop import Scop
from tilepragma.storage.deinterleaving_maps import accessed_elements


def lane_cells(scop: Scop, object_: DataObject, side: int, *, written: bool) -> CellSet | None:
    """{ [i, r, q] } of touched (or `written`) elements, boxed if rows are alike; or None."""
    parts = [part for part in accessed_elements(scop, object_, written=written) if not part.is_empty()]
    if not parts:
        return None
    # Rows in a contiguous user array may end in a shorter last row.
    box = shadows(parts) if object_.rows_in is None else reduce(isl.Set.union, parts).coalesce()
    rank = box.dim(isl.dim_type.set)
    rows = "".join(f"i{place}, " for place in range(rank - 1))
    split = isl.Map(f"{{ [{rows}x] -> [{rows}r, q] : x = {side} * q + r and 0 <= r < {side} }}", context=box.get_ctx())
    return box.reset_tuple_id().apply(split.align_params(box.get_space()))


def in_order_of_rows(cells: CellSet) -> CellSet:
    """{ [i, q, r] : [i, r, q] in cells }, in the memory order of the array's rows."""
    rank = cells.dim(isl.dim_type.set)
    rows = "".join(f"i{place}, " for place in range(rank - 2))
    turned = isl.Map(f"{{ [{rows}r, q] -> [{rows}q, r] }}", context=cells.get_ctx())
    return cells.apply(turned)
