"""Which rows of a permutable band make register tiles: rows and columns of the elements that a statement updates again and again.

{ S[i] -> [r, c, k] }, S updating X[f(r, c)]
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from tilepragma.polyhedral.adjacency import Vector, is_gentle, only_move, step_by
from tilepragma.polyhedral.model import Access, Statement
from tilepragma.polyhedral.schedule import StatementSchedule, unit


@dataclass(frozen=True)
class RegisterRows:
    """Which rows of a part's band a register tile has: the levels `row` and `column`, along which the element moves across and along
    its array's last dimension; along those `through` it stays. Those `outside` move it too, and have one value in a tile.
    `array` is the array's name. `packed` are the accesses, by their places among the statement's, that step through memory in strides along
    a column: what they read of a tile's columns is the same for all of its rows, and can be packed.
    """

    array: str
    row: int
    column: int
    through: tuple[int, ...]
    outside: tuple[int, ...]
    packed: tuple[int, ...] = ()


def register_rows(
    each: StatementSchedule, outer: int, band: tuple[int, ...], dealt: int | None = None
) -> RegisterRows | None:
    """The rows of register tiles of a statement that runs alone, for each value of the first `outer` rows, all other loops around it being
    a permutable band; the row `dealt` to threads becomes the tile's only where no other does as well. None where no element is come back
    to, where rows have nothing in common that they read, or where a column would step through memory in strides and cannot be packed.
    """
    statement = each.statement
    levels = tuple(level for level in range(outer, len(each.rows)) if not each.rows[level].scalar)
    if set(levels) != set(band) or outer + len(levels) != statement.depth:
        return None
    if not all(_is_one_iterator(each, level) for level in levels):
        return None
    target = _updated(statement.accesses)
    if target is None:
        return None
    moves = {level: _move(target, statement, each.rows[level].coefficients) for level in levels}
    if any(move is None for move in moves.values()):
        return None
    through = tuple(level for level in levels if not any(moves[level] or ()))
    columns = [level for level in levels if _is_along(moves[level])]
    rows = [level for level in levels if any((moves[level] or ())[:-1])]
    if not through or len(columns) != 1 or not rows:
        return None
    (column,) = columns
    shared = {level: _still(statement, target, each.rows[level].coefficients) for level in rows}
    row = max(rows, key=lambda level: (shared[level], level != dealt, level))
    if not shared[row]:
        return None
    outside = tuple(level for level in levels if level not in (*through, row, column))
    packed = tuple(
        place
        for place, access in enumerate(statement.accesses)
        if not is_gentle(access.relation, statement.domain, each.rows[column].coefficients)
    )
    still = (row, *outside)
    if packed and len(through) > 1:
        return None
    for place in packed:
        access = statement.accesses[place]
        steps = [_move(access, statement, each.rows[level].coefficients) for level in still]
        if (
            access.array == target.array
            or access.write
            or not access.exact
            or any(step is None or any(step) for step in steps)
        ):
            return None
    return RegisterRows(target.array, row, column, through, outside, packed)


def comes_back(statement: Statement) -> bool:
    """Whether the statement updates the elements of a plane again and again, so that register tiles could be found for it."""
    target = _updated(statement.accesses)
    if target is None or statement.depth < 3:
        return False
    moves = [_move(target, statement, unit(statement.depth, place)) for place in range(statement.depth)]
    return None not in moves and sum(any(move or ()) for move in moves) in range(2, statement.depth)


def _is_one_iterator(each: StatementSchedule, level: int) -> bool:
    """Whether the row is one iterator, growing with it."""
    row = each.rows[level]
    return row.constant == 0 and sorted(row.coefficients) == sorted(unit(each.statement.depth, 0))


def _updated(accesses: tuple[Access, ...]) -> Access | None:
    """The element that the statement reads and writes, of known place."""
    writes = [one for one in accesses if one.write]
    if len({one.array for one in writes}) != 1:
        return None
    target, *others = writes
    if not all(one.exact and one.relation.is_equal(target.relation) for one in (target, *others)):
        return None
    read = any(not one.write and one.relation.is_equal(target.relation) for one in accesses)
    return target if read and target.relation.dim(isl.dim_type.out) and target.relation.is_single_valued() else None


def _move(access: Access, statement: Statement, direction: Vector) -> Vector | None:
    """By how much each subscript moves from one iteration to the next along the direction; None where that differs from place to place."""
    return only_move(access.relation, step_by(statement.domain, direction))


def _still(statement: Statement, target: Access, direction: Vector) -> int:
    """How many elements besides the one that is updated stay the same in a step along the direction."""
    others = [one for one in statement.accesses if one.relation.dim(isl.dim_type.out)]
    others = [one for one in others if not one.relation.is_equal(target.relation)]
    return sum(not any(_move(one, statement, direction) or (1,)) for one in others)


def _is_along(move: Vector | None) -> bool:
    return bool(move) and move is not None and not any(move[:-1]) and move[-1] == 1
