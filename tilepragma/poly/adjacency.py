"""Which elements neighbouring workers touch at the same time.

The adjacency constraints of ICS'08, section 4.2, speak of every pair of instances. What one
transaction serves is seen from the workers instead: for an access F of a statement and its
innermost space partition pi, where everything but pi is the same:

    { a' - a : a = F(x), a' = F(y), pi(y) = pi(x) + 1, all other rows equal }

Algorithm 1 of ICS'08 chooses the parallel row for neighbouring workers. Its loop over subsets G of
the accesses is unnecessary for few legal placements: each row satisfies the adjacency constraints
for one greatest G, so that `by_transactions` compares the rows by the transactions of their
accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from math import gcd, lcm

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.poly.affine import whole_number
from tilepragma.poly.schedule import Matrix, Row, StatementSchedule, orthogonal_complement, rank, signed
from tilepragma.poly.scop import ScopStatement

Vector = tuple[int, ...]
Cost = tuple[int, ...]

#: Workers that run in step.
_WARP = 32
#: Elements of one transaction.
_SECTOR = 8


class Reach(Enum):
    """How neighbouring workers use memory in one access."""

    COALESCED = "coalesced"
    """neighbours in memory"""
    BROADCAST = "broadcast"
    """the very same element"""
    STRIDED = "strided"
    """elements at equal distances"""
    SCATTERED = "scattered"
    """elements at unknown distances"""


@dataclass(frozen=True)
class Pattern:
    """`moves`: the growth of each subscript from one worker to the next; none where that varies."""

    reach: Reach
    moves: Vector = ()

    @property
    def transactions(self) -> int:
        """The transactions of a warp for 4-byte elements: one a worker where they lie far apart."""
        if self.reach is Reach.BROADCAST:
            return 1
        stride = 1 if self.reach is Reach.COALESCED else _WARP
        if self.reach is Reach.STRIDED and not any(self.moves[:-1]):
            stride = abs(self.moves[-1])
        return min(_WARP, stride * _WARP // _SECTOR)


BROADCAST = Pattern(Reach.BROADCAST)
COALESCED = Pattern(Reach.COALESCED)
SCATTERED = Pattern(Reach.SCATTERED)


def worker_step(statement: ScopStatement, others: Iterable[Row], row: Row) -> isl.Map | None:
    """{ S[x] -> S[x + d] }, the least step d along the row that keeps `others`, or None."""
    direction = direction_along(statement, others, row)
    return None if direction is None else step_along(statement, direction)


def direction_along(statement: ScopStatement, others: Iterable[Row], row: Row) -> Vector | None:
    """The least step d with row . d > 0 that keeps `others`; None without one."""
    kept: Matrix = tuple(other.coefficients for other in others if any(other.coefficients))
    if rank(kept) != statement.depth - 1:
        return None
    (direction,) = orthogonal_complement(kept, statement.depth)
    along = sum(a * b for a, b in zip(row.coefficients, direction, strict=True))
    return direction if along > 0 else tuple(-value for value in direction) if along < 0 else None


def step_along(statement: ScopStatement, direction: Vector) -> isl.Map:
    """The statement's step by `direction`, in iterators that grow in the order of execution."""
    return step_by(statement.domain, signed(statement, direction))


def step_by(domain: isl.Set, direction: Vector) -> isl.Map:
    """{ S[i] -> S[i + k direction] } in the domain, for the least k that the loops' steps allow."""
    steps = [(domain.get_stride(place).to_python(), value) for place, value in enumerate(direction) if value]
    times = lcm(*(step // gcd(step, value) for step, value in steps))
    step = isl.Map.from_multi_aff(_shift(domain.get_space(), tuple(times * value for value in direction)))
    return step.intersect_domain(domain).intersect_range(domain)


def pattern(access: isl.Map, step: isl.Map | None) -> Pattern:
    """How an access { S[i] -> A[a] } moves with the step { S[x] -> S[y] } to the next worker."""
    if not access.range().dim(isl.dim_type.set):
        return BROADCAST
    if step is None:
        return SCATTERED
    moved = moves(access, step)
    if moved.is_empty():
        return BROADCAST
    vector = _only_vector(moved)
    if vector is not None:
        if not any(vector):
            return BROADCAST
        return COALESCED if not any(vector[:-1]) and abs(vector[-1]) == 1 else Pattern(Reach.STRIDED, vector)
    rows = moved.project_out(isl.dim_type.set, moved.dim(isl.dim_type.set) - 1, 1)
    along = moved.project_out(isl.dim_type.set, 0, moved.dim(isl.dim_type.set) - 1)
    return COALESCED if stays_within(rows, 0) and stays_within(along, 1) else SCATTERED


def moves(access: isl.Map, step: isl.Map) -> isl.Set:
    """{ a' - a : the element goes from a to a' in the step }"""
    return access.reverse().apply_range(step).apply_range(access).deltas()


def only_move(access: isl.Map, step: isl.Map) -> Vector | None:
    """The growth of each subscript in every step; None where that varies, or without any step."""
    return _only_vector(moves(access, step))


def strided(statement: ScopStatement, direction: Vector) -> tuple[int, ...]:
    """The places of references that move through memory in strides along the direction: a step
    neither keeps the element nor moves to a neighbour in its row.
    """
    memo = _strided(statement)
    if direction not in memo:
        step = step_along(statement, direction)
        memo[direction] = tuple(
            place
            for place, reference in enumerate(statement.references)
            if pattern(reference.relation, step).reach not in (Reach.BROADCAST, Reach.COALESCED)
        )
    return memo[direction]


@once
def _strided(statement: ScopStatement) -> dict[Vector, tuple[int, ...]]:  # noqa: ARG001
    """A memo by direction: comparing loop orders and tiles asks again and again."""
    return {}


def stays_within(vectors: isl.Set, most: int) -> bool:
    """Whether all components of all vectors lie in -most ... most."""
    for place in range(vectors.dim(isl.dim_type.set)):
        for bound in (vectors.dim_max_val(place), vectors.neg().dim_max_val(place)):
            if not bound.is_int() or bound.to_python() > most:
                return False
    return True


def _only_vector(vectors: isl.Set) -> Vector | None:
    """The only vector of the set, for all parameters; None for several, or none."""
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


def by_transactions(
    statements: Sequence[StatementSchedule], levels: Iterable[int], fixed: Iterable[int], private: frozenset[str]
) -> tuple[int, ...]:
    """The levels, last the one along which workers' accesses take the fewest transactions; a stable
    sort.

    `fixed`: the levels that stay between neighbouring workers, except the one in question.
    `private` objects are not in global memory.
    """
    kept = tuple(fixed)
    return tuple(sorted(levels, key=lambda level: transactions(statements, level, kept, private), reverse=True))


def transactions(
    statements: Sequence[StatementSchedule], level: int, fixed: Sequence[int], private: frozenset[str]
) -> Cost:
    """Transactions of 32 workers, of the deepest statements first, which run most often."""
    counted = [0] * (1 + max((each.statement.depth for each in statements), default=0))
    for each in statements:
        others = tuple(row for place in fixed if place != level and not (row := each.rows[place]).scalar)
        step = worker_step(each.statement, others, each.rows[level])
        for reference in each.statement.references:
            if reference.object.name not in private:
                counted[each.statement.depth] += pattern(reference.relation, step).transactions
    return tuple(reversed(counted))
