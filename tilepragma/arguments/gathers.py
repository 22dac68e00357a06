"""Gathers: reads at places that data decide, as `x[col[k]]` in tables and sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.ir.accesses import Use
from tilepragma.ir.expressions import DataObject, Scope, Storage


def lacking_restrict(object_: DataObject, uses: Sequence[Use]) -> tuple[DataObject, ...] | None:
    """The objects that the user must declare restrict before a gather needs no extent; None where
    the array is not gathered in that way.

    `uses` has all uses of the region. No section can be compared with others at launch, so the
    user's word must separate the array from all written objects: the array is restrict, and each
    written array is restrict too, or declared with its length. Otherwise C allows that one pointer
    is based on the other (C99 6.7.3.1). Written variables are no pointers.
    """
    if object_.storage is not Storage.CONTIGUOUS or object_.scope is not Scope.EXTERNAL:
        return None
    reads = [use for use in uses if use.object == object_]
    if any(use.writes or len(use.subscripts) != object_.rank for use in reads):
        return None
    written = dict.fromkeys(use.object for use in uses if use.writes)
    if any(object_.storage is Storage.ROWS for object_ in written):
        return None
    pointers = (object_ for object_ in written if None in object_.lengths)
    return tuple(pointer for pointer in (object_, *pointers) if not pointer.restrict)
