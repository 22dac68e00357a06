"""The adjacency constraints of ICS'08, section 4.2: under which schedules neighbouring workers
touch neighbours at the same time.

    F(x) + (0, ..., 0, 1) = F(y)   =>   theta(x) = theta(y)          (1), time schedule adjacency
                                   =>   pi(y) = pi(x) + 1            (2), space partition adjacency

for an access F of a statement, its time schedule theta and its innermost space partition pi.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from tilepragma.poly.schedule import Row, affine_map
from tilepragma.poly.scop import Reference, ScopStatement


def adjacent(access: isl.Map, domain: isl.Set) -> isl.Map:
    """{ S[x] -> S[y] : F(x) + (0, ..., 0, 1) = F(y) }, for an access { S[i] -> A[a] } of at least one subscript."""
    reached = access.intersect_domain(domain)
    space = reached.range().get_space()
    return reached.apply_range(isl.Map.from_multi_aff(_next(space))).apply_range(reached.reverse())


def at_one_time(pairs: isl.Map, times: isl.Map) -> bool:
    """(1) for the adjacent `pairs` { S[x] -> S[y] } and theta = { S[i] -> [t] }."""
    return bool(pairs.is_subset(times.apply_range(times.reverse())))


def by_next_worker(pairs: isl.Map, place: isl.Map) -> bool:
    """(2) for the adjacent `pairs` { S[x] -> S[y] } and pi = { S[i] -> [p] }."""
    step = isl.Map.from_multi_aff(_next(place.range().get_space()))
    return bool(pairs.is_subset(place.apply_range(step).apply_range(place.reverse())))


def is_coalesced(access: Reference, statement: ScopStatement, times: Sequence[Row], place: Row) -> bool:
    """(1) and (2) for one access, which has a subscript: theta = `times`, pi = `place`."""
    pairs = adjacent(access.relation, statement.domain)
    return at_one_time(pairs, affine_map(statement, tuple(times))) and by_next_worker(
        pairs, affine_map(statement, (place,))
    )


def _next(space: isl.Space) -> isl.MultiAff:
    """{ [..., x] -> [..., x + 1] }"""
    last = space.dim(isl.dim_type.set) - 1
    same = isl.MultiAff.identity(space.map_from_set())
    return same.set_aff(last, same.get_aff(last).add_constant_val(1))
