"""Which objects a leaf may have for itself: what it reads of them it has written before.

{ P[i, k] -> A[a] : the part P of the leaf S[i] reads A[a], and no part before it in S[i] has written A[a] } is empty.
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.looptree import Function
from tilepragma.polyhedral.scop import AccessKind, Scop, ScopStatement


def private_objects(scop: Scop, functions: tuple[Function, ...] = ()) -> frozenset[DataObject]:
    """Objects that every leaf which touches them has for itself: no value of theirs goes from one instance to another.

    Dependences over them are false: with a copy for each instance there are none. (What is read of them after the region is
    another matter.) The Scop is one of movable leaves. The caller limits isl's operations.
    """
    users: dict[DataObject, list[ScopStatement]] = {}
    for statement in scop.statements:
        for object_ in dict.fromkeys(one.object for one in statement.references):
            users.setdefault(object_, []).append(statement)
    written = {one.object for statement in scop.statements for one in statement.references if one.writes}
    return frozenset(
        object_ for object_ in written if all(writes_first(one, object_, functions) for one in users[object_])
    )


def writes_first(statement: ScopStatement, object_: DataObject, functions: tuple[Function, ...] = ()) -> bool:
    """Whether the leaf reads of the object only what it has surely written before, in the same instance."""
    if object_.volatile:
        return False
    if object_.storage is Storage.SCALAR and exposed_read(statement.node, object_, functions) is None:
        return True
    return all(
        _unwritten(statement, part, one.relation, object_).is_empty()
        for part in statement.parts
        for one in part.references
        if one.object == object_ and one.kind is AccessKind.READ
    )


def _unwritten(statement: ScopStatement, part: ScopStatement, read: isl.Map, object_: DataObject) -> isl.Map:
    """{ P[i, k] -> A[a] } of what is read without having been written before in the same instance."""
    for before in statement.parts:
        earlier = part.schedule.lex_gt_map(before.schedule).intersect(_same_instance(statement, part, before))
        earlier = earlier.intersect_domain(part.domain)
        for one in before.references:
            if one.object == object_ and one.kind is AccessKind.MUST_WRITE:
                read = read.subtract(earlier.apply_range(one.relation))
    return read


def _same_instance(statement: ScopStatement, part: ScopStatement, before: ScopStatement) -> isl.Map:
    """{ P[i, k] -> Q[i', k'] : i = i' }"""
    space = part.domain.get_space().map_from_domain_and_range(before.domain.get_space())
    return reduce(
        lambda same, place: same.equate(isl.dim_type.in_, place, isl.dim_type.out, place),
        range(len(statement.loops)),
        isl.Map.universe(space),
    )
