"""Arrays that the region only reads, at places that data say: `x[col[k]]`, tables, rows of sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.ir.accesses import Use
from tilepragma.ir.expressions import DataObject, Scope, Storage


def lacking_restrict(object_: DataObject, uses: Sequence[Use]) -> tuple[DataObject, ...] | None:
    """What has to be declared restrict before nothing has to be known of the elements that are read
    of an array, since nothing that the region writes is among them: nothing of arrays for which
    that is so. None where the array is no such.

    `uses` are all of the region. Since no section can be compared with others at launch, the user's
    word must tell what is written apart: the array is restrict, and each that is written is
    restrict too, or declared with its length, so that it is not made from the other pointer, which
    C allows (C99 6.7.3.1). Variables that are written are no pointers.
    """
    if object_.storage is not Storage.CONTIGUOUS or object_.scope is not Scope.EXTERNAL:
        return None
    own = [use for use in uses if use.object == object_]
    if any(use.writes or len(use.subscripts) != object_.rank for use in own):
        return None
    written = dict.fromkeys(use.object for use in uses if use.writes)
    if any(one.storage is Storage.ROWS for one in written):
        return None
    pointers = (one for one in written if None in one.lengths)
    return tuple(pointer for pointer in (object_, *pointers) if not pointer.restrict)
