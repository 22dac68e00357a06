"""In which order the points of a tile run one after another.

Any order does that keeps what depends on each other: the program's own, and every permutation of the rows of a band. The one is
taken whose innermost loop steps through memory in fewest strides, so that compilers can vectorise it and lines of the
cache are used up; among equals the program's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import islpy as isl

from tilepragma.polyhedral.linear_independence import orthogonal_complement, rank
from tilepragma.polyhedral.model import Access, Dependence, Statement
from tilepragma.polyhedral.parallel_parts import Part
from tilepragma.polyhedral.part_scan import Order
from tilepragma.polyhedral.schedule import Matrix, Row, StatementSchedule, original_schedule, unit

Vector = tuple[int, ...]


@dataclass(frozen=True)
class PointOrder:
    """`order`, and the level of the part's row that its innermost loop runs along, where that is known."""

    order: Order
    innermost: int | None


def row_order(part: Part) -> Order:
    """The order of the part's rows, those of the outer loops left out."""
    return {each.statement.name: each.rows[part.outer :] for each in part.statements}


def original_order(part: Part) -> Order:
    """The program's own order, { S[i] -> [p0, i1, p1, ..., in, pn] }."""
    kept = original_schedule(tuple(each.statement for each in part.statements))
    return {each.statement.name: each.rows for each in kept.statements}


def point_order(part: Part, dependences: Iterable[Dependence]) -> PointOrder:
    """The order for the points of one tile, whatever rows the tile is cut along."""
    leading = _deepest(part)
    own = PointOrder(original_order(part), None)
    deepest = max((each.statement.depth for each in leading), default=0)
    if not deepest:
        return own
    inside = [each for each in dependences if each.source == each.target]
    costs = [(_cost(leading, inside, [unit(deepest, deepest - 1)] * len(leading)), own)]
    for level in part.band if _ends_with_band(part) else ():
        directions = [_direction(each, level) for each in leading]
        if all(direction is not None for direction in directions):
            order = {each.statement.name: _with_last(part, each, level) for each in part.statements}
            found = [direction for direction in directions if direction is not None]
            costs.append((_cost(leading, inside, found), PointOrder(order, level)))
    return min(costs, key=lambda pair: pair[0])[1]


def by_strides(part: Part, levels: Iterable[int]) -> tuple[int, ...]:
    """The levels, the one last along which the deepest statements step through memory in fewest strides."""

    def strides(level: int) -> int:
        directions = [(each, _direction(each, level)) for each in _deepest(part)]
        return sum(
            direction is None or not _is_gentle(access, each.statement, direction)
            for each, direction in directions
            for access in each.statement.accesses
        )

    return tuple(sorted(levels, key=strides, reverse=True))


def _deepest(part: Part) -> list[StatementSchedule]:
    deepest = max((each.statement.depth for each in part.statements), default=0)
    return [each for each in part.statements if each.statement.depth == deepest]


def _ends_with_band(part: Part) -> bool:
    """Whether nothing but scalar rows comes after the part's band."""
    last = part.band[-1] if part.band else part.outer
    return all(row.scalar for each in part.statements for row in each.rows[last + 1 :])


def _with_last(part: Part, each: StatementSchedule, level: int) -> tuple[Row, ...]:
    others = tuple(each.rows[one] for one in part.band if one != level)
    return (*others, each.rows[level], *each.rows[part.band[-1] + 1 :])


def _direction(each: StatementSchedule, level: int) -> Vector | None:
    """The least step d with phi^level . d > 0 along which all other rows stay: the innermost loop's, if there is one."""
    others: Matrix = tuple(row.coefficients for at, row in enumerate(each.rows) if at != level and not row.scalar)
    if rank(others) != each.statement.depth - 1:
        return None
    (direction,) = orthogonal_complement(others, each.statement.depth)
    along = sum(a * b for a, b in zip(each.rows[level].coefficients, direction, strict=True))
    return direction if along > 0 else tuple(-value for value in direction) if along < 0 else None


def _cost(leading: list[StatementSchedule], inside: list[Dependence], directions: list[Vector]) -> tuple[int, int]:
    """(accesses with strides, statements that wait for their own neighbour) along the directions of the deepest statements."""
    strides = waiting = 0
    for each, direction in zip(leading, directions, strict=True):
        strides += sum(not _is_gentle(access, each.statement, direction) for access in each.statement.accesses)
        waiting += any(_moves_along(one, direction) for one in inside if one.source == each.statement.name)
    return strides, waiting


def _is_gentle(access: Access, statement: Statement, direction: Vector) -> bool:
    """Whether a step along the direction stays at the element or goes to a neighbour in its row."""
    step = _step(statement, direction)
    moved = access.relation.reverse().apply_range(step).apply_range(access.relation)
    moves = moved.deltas()
    rank_ = moves.dim(isl.dim_type.set)
    if moves.is_empty() or not rank_:
        return True
    last = rank_ - 1
    rest = moves.project_out(isl.dim_type.set, last, 1)
    return _is_at_most(rest, 0) and _is_at_most(moves.project_out(isl.dim_type.set, 0, last), 1)


def _is_at_most(moves: isl.Set, most: int) -> bool:
    """Whether every component of every vector lies in -most ... most."""
    for place in range(moves.dim(isl.dim_type.set)):
        for bound in (moves.dim_max_val(place), moves.neg().dim_max_val(place)):
            if not bound.is_int() or bound.to_python() > most:
                return False
    return True


def _moves_along(dependence: Dependence, direction: Vector) -> bool:
    """Whether { d = i' - i : d parallel to the direction } is not empty for a statement's dependence on itself."""
    deltas = dependence.relation.deltas()
    for vector in orthogonal_complement((direction,), len(direction)):
        aff = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(deltas.get_space()))
        for place, factor in enumerate(vector):
            aff = aff.set_coefficient_val(isl.dim_type.in_, place, factor)
        deltas = deltas & isl.Set.from_basic_set(aff.zero_basic_set())
    return not deltas.is_empty()


def _step(statement: Statement, direction: Vector) -> isl.Map:
    """{ S[i] -> S[i + direction] }"""
    space = statement.domain.get_space()
    local = isl.LocalSpace.from_space(space)
    affs = isl.AffList.alloc(statement.domain.get_ctx(), len(direction))
    for place, value in enumerate(direction):
        affs = affs.add(isl.Aff.var_on_domain(local, isl.dim_type.set, place).add_constant_val(value))
    return isl.Map.from_multi_aff(isl.MultiAff.from_aff_list(space.map_from_set(), affs))
