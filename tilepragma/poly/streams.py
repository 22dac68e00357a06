"""Arrays that loops stream through: every access reads an element of its own, so that nothing but what follows can use the cache."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from tilepragma.ir.expressions import DataObject
from tilepragma.poly.scop import AccessKind, ScopStatement


def streams(statements: Iterable[ScopStatement], loop: int) -> dict[DataObject, isl.Map]:
    """{ [o, i] -> A[a] }: what the deepest of the statements stream through in iteration i of the
    loop of this index, o being the loops around it. Of an array that is read in several ways the
    first counts.
    """
    inside = tuple(statements)
    deepest = max((len(each.loops) for each in inside), default=0)
    found: dict[DataObject, isl.Map] = {}
    for each in inside:
        place = next((at for at, one in enumerate(each.loops) if one.index == loop), None)
        if len(each.loops) < deepest or place is None or place + 1 == deepest:
            continue
        for reference in each.references:
            if reference.kind is AccessKind.READ and reference.exact and reference.relation.is_injective():
                inner = reference.relation.project_out(isl.dim_type.in_, place + 1, deepest - place - 1)
                found.setdefault(reference.object, inner.reset_tuple_id(isl.dim_type.in_))
    return found


def has_shared(parts: Iterable[dict[DataObject, isl.Map]]) -> bool:
    """Whether all parts stream through the same elements of an array in each iteration."""
    first, *others = parts
    return any(
        all(array in other and other[array].is_equal(relation) for other in others) for array, relation in first.items()
    )
