"""The intra-tile schedule: in which order the points of a tile run.

Each order that keeps dependences is legal: the program's, and all permutations of a band's rows. We
choose the order whose innermost loop has the fewest strided accesses, so that compilers can
vectorise it and caches use whole lines; among equals, the program's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.adjacency import Vector, direction_along, moves, stays_within, step_along, strided
from tilepragma.poly.bands import Band
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.register_bands import updates_repeatedly
from tilepragma.poly.schedule import Row, StatementSchedule, original_schedule, unit
from tilepragma.poly.scop import Scop, ScopStatement

Order = Mapping[str, tuple[Row, ...]]
"""The rows in whose lexicographic order each statement's points run; equally many for each."""


@dataclass(frozen=True, order=True)
class InnermostCost:
    """The cost of innermost loops, lexicographically: strided accesses, statements that depend on
    their neighbours, and statements that reload elements which could stay in registers.
    """

    strides: int = 0
    waiting: int = 0
    reloading: int = 0

    def __add__(self, added: InnermostCost) -> InnermostCost:
        return InnermostCost(
            self.strides + added.strides, self.waiting + added.waiting, self.reloading + added.reloading
        )


@dataclass(frozen=True)
class IntraTileSchedule:
    """`order`, and the band member of its innermost loop.

    `along`: the level of a member whose loop vectors can take; `chained`: of one whose iterations
    depend on each other; `repeating`: of one whose iterations access the same elements, as time
    steps do. `cost`: the cost of the deepest statements.
    """

    order: Order
    along: int | None = None
    chained: int | None = None
    repeating: int | None = None
    cost: InnermostCost = InnermostCost()


def row_order(part: Band) -> Order:
    """The part's rows below the outer loops, in order."""
    return {each.statement.name: each.rows[part.outer :] for each in part.statements}


def original_order(part: Band) -> Order:
    """The program's order, { S[i] -> [p0, i1, p1, ..., in, pn] }."""
    kept = original_schedule(tuple(each.statement for each in part.statements))
    return {each.statement.name: each.rows for each in kept}


def intra_tile_order(part: Band, dependences: Iterable[Dependence]) -> IntraTileSchedule:
    """The intra-tile schedule for tiles along any rows."""
    leading = _deepest(part)
    depth = max((each.statement.depth for each in leading), default=0)
    if not depth:
        return IntraTileSchedule(original_order(part))
    moved = [each.statement for each in leading]
    inside = [each for each in dependences if each.ends[0] == each.ends[1]]
    as_written = [unit(depth, depth - 1)] * len(leading)
    # The levels that may come last: a permutable band's, and rows that carry no dependence.
    last = part.band if _ends_with_band(part) else part.free
    levels = {level: [_direction(schedule, level) for schedule in leading] for level in last}
    innermost = next((level for level, directions in levels.items() if directions == as_written), None)
    best, order = _innermost_cost(moved, inside, as_written), original_order(part)
    for level, possible in levels.items():
        directions = [direction for direction in possible if direction is not None]
        if len(directions) == len(leading) and (cost := _innermost_cost(moved, inside, directions)) < best:
            best, innermost = cost, level
            order = {each.statement.name: _with_last(part, each, level) for each in part.statements}
    waits = best.waiting > 0
    repeating = next((level for level in part.band if _repeats(leading, level)), None)
    return IntraTileSchedule(order, None if waits else innermost, innermost if waits else None, repeating, best)


def cost_as_written(scop: Scop, dependences: Iterable[Dependence]) -> InnermostCost:
    """The steps along the innermost loops of the deepest statements, in the program's order."""
    depth = max((each.depth for each in scop.statements), default=0)
    deepest = [each for each in scop.statements if each.depth == depth]
    if not depth:
        return InnermostCost()
    inside = [each for each in dependences if each.ends[0] == each.ends[1]]
    return _innermost_cost(deepest, inside, [unit(depth, depth - 1)] * len(deepest))


def by_strides(part: Band, levels: Iterable[int]) -> tuple[int, ...]:
    """The levels, last the one along which the deepest statements have the fewest strides."""

    def strides(level: int) -> int:
        directions = [(each, _direction(each, level)) for each in _deepest(part)]
        return sum(
            len(each.statement.references if direction is None else strided(each.statement, direction))
            for each, direction in directions
        )

    return tuple(sorted(levels, key=strides, reverse=True))


def _repeats(leading: list[StatementSchedule], level: int) -> bool:
    """Whether the row is one iterator of each statement that no subscript contains."""
    for each in leading:
        if not each.rows[level].is_iterator:
            return False
        step = step_along(each.statement, each.rows[level].coefficients)
        if not all(stays_within(moves(access.relation, step), 0) for access in each.statement.references):
            return False
    return True


def _deepest(part: Band) -> list[StatementSchedule]:
    deepest = max((each.statement.depth for each in part.statements), default=0)
    return [each for each in part.statements if each.statement.depth == deepest]


def _ends_with_band(part: Band) -> bool:
    """Whether only scalar rows come after the part's band."""
    last = part.band[-1] if part.band else part.outer
    return all(row.scalar for each in part.statements for row in each.rows[last + 1 :])


def _with_last(part: Band, each: StatementSchedule, level: int) -> tuple[Row, ...]:
    """The rows with this one last, or last in the band where only scalar rows follow the band."""
    end = part.band[-1] + 1 if _ends_with_band(part) else len(each.rows)
    others = (row for place, row in enumerate(each.rows) if part.outer <= place < end and place != level)
    return (*others, each.rows[level], *each.rows[end:])


def _direction(each: StatementSchedule, level: int) -> Vector | None:
    """The least step d with phi^level . d > 0 that keeps all other rows; None without one."""
    return direction_along(each.statement, (*each.rows[:level], *each.rows[level + 1 :]), each.rows[level])


def _innermost_cost(leading: list[ScopStatement], inside: list[Dependence], directions: list[Vector]) -> InnermostCost:
    """The steps of these statements along these directions."""
    strides = waiting = reloading = 0
    for each, direction in zip(leading, directions, strict=True):
        strides += len(strided(each, direction))
        along_itself = (dependence for dependence in inside if dependence.ends[0] == each.name)
        waiting += any(_is_chained(dependence, each, direction) for dependence in along_itself)
        reloading += updates_repeatedly(each)
    return InnermostCost(strides, waiting, reloading)


def _is_chained(dependence: Dependence, statement: ScopStatement, direction: Vector) -> bool:
    """Whether instances depend on { S[i] -> S[i + direction] } throughout, not only on a line."""
    pairs = dependence.relation & step_along(statement, direction)
    # Pairs on a line alone have more equations than the statement's points.
    of_pairs, of_domain = (
        sum(each.is_equality() for each in points.affine_hull().get_constraints())
        for points in (pairs.domain(), statement.domain)
    )
    return not pairs.is_empty() and of_pairs <= of_domain
