"""Lifted extents: numeric extents become parameters while the search looks for a schedule.

    { S[i] -> T[i'] : i' = i + 1, 0 <= i < 1999 }   lies, at p = 2000, in
    [p] -> { S[i] -> T[i'] : i' = i + 1, 0 <= i < p - 1 }

Over a domain with a numeric end all distances are bounded. Then the bounding function of Algorithm
4.1 weighs that number, and rows with factors as great as an extent are legal (`2000 i + j`): the
integer programs become hard and their answers useless. A row that is legal for all p is legal for
this one. Soundness needs no number to be recognised: a constraint that stays is right too.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from tilepragma.poly.affine import whole_number
from tilepragma.poly.scop import ScopStatement

LEAST_EXTENT = 24
"""Smaller ends of loops stay numbers: such loops are short, and subscripts have such offsets."""
_SLACK = 8
"""The greatest distance of a number from the end of a loop to be lifted, as 1998 from 2000."""
_MOST_TIMES = 4
"""i + j ends slightly below two extents, t + i + j below three."""

_PARAM = isl.dim_type.param


Extents = tuple[int, ...]
"""Ends of loops, one for each group of close numbers, ascending."""


def names_of(extents: Extents) -> tuple[str, ...]:
    """The parameters' names, which no parameter of a Scop has."""
    return tuple(f"extent {number}" for number in extents)


def _nearest(extents: Extents, number: int) -> tuple[int, int] | None:
    """(k, m) with |number| near m times the k-th extent, m signed; None if none is near."""
    size = abs(number)
    if size < LEAST_EXTENT - _SLACK:
        return None
    near = [
        (times, abs(size - times * extent), place)
        for times in range(1, _MOST_TIMES + 1)
        for place, extent in enumerate(extents)
        if abs(size - times * extent) <= _SLACK * times
    ]
    if not near:
        return None
    times, _, place = min(near)
    return place, times if number > 0 else -times


def extents_of(statements: Iterable[ScopStatement]) -> Extents:
    """The numeric ends of domains, for all parameters; of close numbers the greatest, so that
    distances stay below it, as those of a loop with a symbolic end do.
    """
    domains = [(each.domain, place) for each in statements for place in range(each.depth)]
    values = [end(place) for domain, place in domains for end in (domain.dim_max_val, domain.dim_min_val)]
    numbers = {abs(value.to_python()) for value in values if value.is_int()}
    ends = sorted((number + 1 for number in numbers if number >= LEAST_EXTENT), reverse=True)
    groups: list[int] = []
    for end in ends:
        if not groups or groups[-1] - end > _SLACK:
            groups.append(end)
    return tuple(reversed(groups))


def lifted(relation: isl.Map, extents: Extents) -> isl.Map:
    """The relation with parameters for numbers near extents; equal to the given one where these
    parameters have their values.
    """
    if not extents:
        return relation
    first = relation.dim(_PARAM)
    relation = relation.add_dims(_PARAM, len(extents))
    for place, name in enumerate(names_of(extents)):
        relation = relation.set_dim_name(_PARAM, first + place, name)
    result = isl.Map.empty(relation.get_space())
    for piece in relation.get_basic_maps():
        result = result.union(isl.Map.from_basic_map(_lifted_piece(piece, extents, first)))
    return result.coalesce()


def _lifted_piece(piece: isl.BasicMap, extents: Extents, first: int) -> isl.BasicMap:
    pairs = piece.wrap()
    result = isl.BasicSet.universe(pairs.get_space())
    for constraint in pairs.get_constraints():
        aff = constraint.get_aff()
        nearest = _nearest(extents, aff.get_constant_val().to_python())
        if nearest is not None:
            place, times = nearest
            aff = aff.set_coefficient_val(_PARAM, first + place, times)
            aff = aff.add_constant_val(whole_number(aff.get_ctx(), -times * extents[place]))
        make = isl.Constraint.equality_from_aff if constraint.is_equality() else isl.Constraint.inequality_from_aff
        result = result.add_constraint(make(aff))
    return result.unwrap()
