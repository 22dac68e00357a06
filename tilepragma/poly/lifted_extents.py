"""Extents that are numbers in the program text, seen as parameters while a schedule is sought.

    { S[i] -> T[i'] : i' = i + 1, 0 <= i < 1999 }   lies in   [p] -> { S[i] -> T[i'] : i' = i + 1, 0 <= i < p - 1 }      at p = 2000

Over a domain that ends at a number every distance is bounded, so that the bounding function of
Algorithm 4.1 weighs that number, and rows with factors as great as an extent are legal (`2000 i +
j`): the integer programs grow hard and their answers useless. What is legal for all values of p is
so for the one it has. Nothing that is found rests on a number being recognised: a constraint that
is left alone is right too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.program_model import Statement

LEAST_EXTENT = 24
"""Ends of loops nearer to 0 stay numbers: their loops are short, and offsets of subscripts are as great."""
_SLACK = 8
"""How far a number may lie from the end of a loop, as 1998 from 2000, to be seen as that end and a distance from it."""
_MOST_TIMES = 4
"""i + j ends at two extents less a little, t + i + j at three."""

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


@dataclass(frozen=True)
class Extents:
    """Numbers below which loops end, one for each group of neighbours, in ascending order; the k-th is the parameter `names[k]`."""

    numbers: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """No parameter of a Scop has such a name, which C has no room for."""
        return tuple(f"extent {number}" for number in self.numbers)

    def nearest(self, number: int) -> tuple[int, int] | None:
        """(k, m) with |number| about m times the k-th extent, m with its sign; None where none is near."""
        size = abs(number)
        if size < LEAST_EXTENT - _SLACK:
            return None
        near = [
            (times, abs(size - times * extent), place)
            for times in range(1, _MOST_TIMES + 1)
            for place, extent in enumerate(self.numbers)
            if abs(size - times * extent) <= _SLACK * times
        ]
        if not near:
            return None
        times, _, place = min(near)
        return place, times if number > 0 else -times


def extents_of(statements: Iterable[Statement]) -> Extents:
    """The numbers below which domains end, whatever the parameters are: of neighbours the greatest,
    so that distances are less than it, as those of a loop that ends at a parameter are less than
    that.
    """
    ends = sorted({end + 1 for each in statements for end in _ends(each.domain) if end >= LEAST_EXTENT}, reverse=True)
    groups: list[int] = []
    for end in ends:
        if not groups or groups[-1] - end > _SLACK:
            groups.append(end)
    return Extents(tuple(reversed(groups)))


def lifted(relation: isl.Map, extents: Extents) -> isl.Map:
    """The relation with a parameter in the place of each number near an extent: a map that is the
    one given where these parameters have their values.
    """
    if not extents.numbers:
        return relation
    first = relation.dim(_PARAM)
    relation = relation.add_dims(_PARAM, len(extents.numbers))
    for place, name in enumerate(extents.names):
        relation = relation.set_dim_name(_PARAM, first + place, name)
    result = isl.Map.empty(relation.get_space())
    for piece in relation.get_basic_maps():
        result = result.union(isl.Map.from_basic_map(_lifted_piece(piece, extents, first)))
    return result.coalesce()


def _ends(domain: isl.Set) -> Iterator[int]:
    for place in range(domain.dim(_SET)):
        for end in (domain.dim_max_val(place), domain.dim_min_val(place)):
            if end.is_int():
                yield abs(end.to_python())


def _lifted_piece(piece: isl.BasicMap, extents: Extents, first: int) -> isl.BasicMap:
    pairs = piece.wrap()
    result = isl.BasicSet.universe(pairs.get_space())
    for constraint in pairs.get_constraints():
        aff = constraint.get_aff()
        found = extents.nearest(aff.get_constant_val().to_python())
        if found is not None:
            place, times = found
            aff = aff.set_coefficient_val(_PARAM, first + place, times)
            # Numbers may be beyond 64 bits.
            aff = aff.add_constant_val(isl.Val.read_from_str(aff.get_ctx(), str(-times * extents.numbers[place])))
        make = isl.Constraint.equality_from_aff if constraint.is_equality() else isl.Constraint.inequality_from_aff
        result = result.add_constraint(make(aff))
    return result.unwrap()
