"""Arrays of one dimension that are seen by rows: how many elements of the user's array lie between rows."""

from __future__ import annotations

from tilepragma.ir.expressions import DataObject
from tilepragma.ir.polynomial import Polynomial, number, polynomial

#: Elements of the shortest row: what one transaction of memory serves is better left in one
#: dimension (the colours of a pixel).
LEAST_ROW = 16


def row_strides(object_: DataObject) -> tuple[Polynomial, ...]:
    """How many elements of the user's array each subscript of an array that is seen by rows counts, the last one 1."""
    strides = [number(1)]
    for length in reversed(object_.lengths[1:]):
        assert length is not None, "rows have a length"
        strides.insert(0, strides[0] * polynomial(length))
    return tuple(strides)
