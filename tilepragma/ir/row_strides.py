"""Strides of delinearised arrays: elements of the user's array between rows."""

from __future__ import annotations

from tilepragma.ir.expressions import DataObject
from tilepragma.ir.polynomial import Polynomial, number, polynomial

#: Elements of the shortest row. Shorter ones (the colours of a pixel) stay in one dimension, as one
#: memory transaction serves them.
LEAST_ROW = 16


def row_strides(object_: DataObject) -> tuple[Polynomial, ...]:
    """The elements of the user's array that each subscript of a delinearised array counts."""
    strides = [number(1)]
    for length in reversed(object_.lengths[1:]):
        assert length is not None, "rows have a length"
        strides.insert(0, strides[0] * polynomial(length))
    return tuple(strides)
