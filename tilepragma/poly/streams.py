"""Streams: arrays whose accesses each read another element, so that only neighbours share lines."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from tilepragma.ir.expressions import DataObject
from tilepragma.poly.scop import AccessKind, ScopStatement


def streams(statements: Iterable[ScopStatement], loop: int) -> dict[DataObject, isl.Map]:
    """{ [o, i] -> A[a] }: the arrays that the deepest statements stream in iteration i of this
    loop, o being the outer loops; by the first of several reads.
    """
    inside = tuple(statements)
    deepest = max((len(each.loops) for each in inside), default=0)
    streamed: dict[DataObject, isl.Map] = {}
    for each in inside:
        place = next((depth for depth, loop_ in enumerate(each.loops) if loop_.index == loop), None)
        if len(each.loops) < deepest or place is None or place + 1 == deepest:
            continue
        for reference in each.references:
            if reference.kind is AccessKind.READ and reference.exact and reference.relation.is_injective():
                inner = reference.relation.project_out(isl.dim_type.in_, place + 1, deepest - place - 1)
                streamed.setdefault(reference.object, inner.reset_tuple_id(isl.dim_type.in_))
    return streamed


def has_shared(parts: Iterable[dict[DataObject, isl.Map]]) -> bool:
    """Whether all parts stream the same elements of an array in each iteration."""
    first, *others = parts
    return any(
        all(array in streamed and streamed[array].is_equal(relation) for streamed in others)
        for array, relation in first.items()
    )
