"""Which elements neighbouring workers touch at the same time.

The adjacency constraints of ICS'08, section 4.2, speak of every pair of instances. What one
transaction serves is seen from the workers instead: for an access F of a statement and its
innermost space partition pi, where everything but pi is the same:

    { a' - a : a = F(x), a' = F(y), pi(y) = pi(x) + 1, all other rows equal }
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import gcd, lcm

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.poly.affine import whole_number
from tilepragma.poly.linear_independence import orthogonal_complement, rank
from tilepragma.poly.program_model import Statement
from tilepragma.poly.schedule import Matrix, Row

Vector = tuple[int, ...]

#: Workers that run in step.
_WARP = 32
#: Elements of one transaction.
_SECTOR = 8


class Reach(Enum):
    """What neighbouring workers make of one access."""

    COALESCED = "coalesced"
    """neighbours in memory"""
    BROADCAST = "broadcast"
    """the very same element"""
    STRIDED = "strided"
    """elements that lie equally far apart"""
    SCATTERED = "scattered"
    """elements of which no more is known"""


@dataclass(frozen=True)
class Pattern:
    """`moves`: by how much each subscript grows from one worker to the next; none where that is not always the same."""

    reach: Reach
    moves: Vector = ()

    @property
    def transactions(self) -> int:
        """How many transactions serve workers that run in step, elements being of 4 bytes: what does not lie in rows takes one each."""
        if self.reach is Reach.BROADCAST:
            return 1
        apart = 1 if self.reach is Reach.COALESCED else _WARP
        if self.reach is Reach.STRIDED and not any(self.moves[:-1]):
            apart = abs(self.moves[-1])
        return min(_WARP, apart * _WARP // _SECTOR)


BROADCAST = Pattern(Reach.BROADCAST)
COALESCED = Pattern(Reach.COALESCED)
SCATTERED = Pattern(Reach.SCATTERED)


def worker_step(statement: Statement, others: Iterable[Row], place: Row) -> isl.Map | None:
    """{ S[x] -> S[x + d] }, d the least step along which `place` grows and all `others` stay; None where that is no one direction."""
    kept: Matrix = tuple(row.coefficients for row in others if any(row.coefficients))
    if rank(kept) != statement.depth - 1:
        return None
    (direction,) = orthogonal_complement(kept, statement.depth)
    along = sum(a * b for a, b in zip(place.coefficients, direction, strict=True))
    if not along:
        return None
    sign = 1 if along > 0 else -1
    return step_by(statement.domain, tuple(sign * value for value in direction))


def step_by(domain: isl.Set, direction: Vector) -> isl.Map:
    """{ S[i] -> S[i + k direction] }, both in the domain, k being the least for which both may be: loops have steps."""
    steps = [(domain.get_stride(place).to_python(), value) for place, value in enumerate(direction) if value]
    times = lcm(*(step // gcd(step, value) for step, value in steps))
    step = isl.Map.from_multi_aff(_shift(domain.get_space(), tuple(times * value for value in direction)))
    return step.intersect_domain(domain).intersect_range(domain)


def pattern(access: isl.Map, step: isl.Map | None) -> Pattern:
    """What an access { S[i] -> A[a] } makes of the step { S[x] -> S[y] } from a worker to the next; None: nothing is known of it."""
    if not access.range().dim(isl.dim_type.set):
        return BROADCAST
    if step is None:
        return SCATTERED
    found = moves(access, step)
    if found.is_empty():
        return BROADCAST
    vector = _only_vector(found)
    if vector is not None:
        return _of_vector(vector)
    rows = found.project_out(isl.dim_type.set, found.dim(isl.dim_type.set) - 1, 1)
    along = found.project_out(isl.dim_type.set, 0, found.dim(isl.dim_type.set) - 1)
    return COALESCED if stays_within(rows, 0) and stays_within(along, 1) else SCATTERED


def moves(access: isl.Map, step: isl.Map) -> isl.Set:
    """{ a' - a : the element goes from a to a' in the step }"""
    return access.reverse().apply_range(step).apply_range(access).deltas()


def only_move(access: isl.Map, step: isl.Map) -> Vector | None:
    """By how much each subscript grows in every one of the steps; None where that is not always the same, or where there is no step."""
    return _only_vector(moves(access, step))


def is_gentle(access: isl.Map, domain: isl.Set, direction: Vector) -> bool:
    """Whether a step along the direction stays at the element or goes to a neighbour in its row."""
    return pattern(access, step_by(domain, direction)).reach in (Reach.BROADCAST, Reach.COALESCED)


def strided(statement: Statement, direction: Vector) -> tuple[int, ...]:
    """The accesses of a statement, by their places, that step through memory in strides along the direction."""
    known = _strided(statement)
    if direction not in known:
        accesses = enumerate(statement.accesses)
        known[direction] = tuple(
            place for place, one in accesses if not is_gentle(one.relation, statement.domain, direction)
        )
    return known[direction]


@once
def _strided(statement: Statement) -> dict[Vector, tuple[int, ...]]:  # noqa: ARG001
    """What was found of it, by directions: ways to order and tile loops are compared by it again and again."""
    return {}


def stays_within(vectors: isl.Set, most: int) -> bool:
    """Whether every component of every vector lies in -most ... most."""
    for place in range(vectors.dim(isl.dim_type.set)):
        for bound in (vectors.dim_max_val(place), vectors.neg().dim_max_val(place)):
            if not bound.is_int() or bound.to_python() > most:
                return False
    return True


def _of_vector(vector: Vector) -> Pattern:
    if not any(vector):
        return BROADCAST
    return COALESCED if not any(vector[:-1]) and abs(vector[-1]) == 1 else Pattern(Reach.STRIDED, vector)


def _only_vector(vectors: isl.Set) -> Vector | None:
    """The one vector that the set holds, whatever the parameters are; None where there are more, or none."""
    always = vectors.project_out(isl.dim_type.param, 0, vectors.dim(isl.dim_type.param))
    if always.is_empty() or not always.is_singleton():
        return None
    point = always.sample_point()
    dimensions = range(always.dim(isl.dim_type.set))
    return tuple(point.get_coordinate_val(isl.dim_type.set, place).to_python() for place in dimensions)


def _shift(space: isl.Space, by: Vector) -> isl.MultiAff:
    """{ [x] -> [x + by] }"""
    shifted = isl.MultiAff.identity(space.map_from_set())
    for place, value in enumerate(by):
        shifted = shifted.set_aff(place, shifted.get_aff(place).add_constant_val(whole_number(space.get_ctx(), value)))
    return shifted
