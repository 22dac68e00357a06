"""Which rows of a permutable band make register tiles: rows and columns of the elements that a
statement updates again and again.

{ S[i] -> [r, c, k] }, S updating X[f(r, c)]

Sums of which each addition waits for the one before it have tiles of rows alone, { S[i] -> [r, k]
}, S updating X[f(r)].
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.adjacency import Vector, only_move, step_by, strided
from tilepragma.poly.program_model import Access, Statement
from tilepragma.poly.schedule import StatementSchedule, unit


@dataclass(frozen=True)
class RegisterRows:
    """Which rows of a part's band a register tile has: the levels `row` and `column`, along which
    the element moves across and along its array's last dimension; along those `through` it stays.
    Those `outside` move it too, and have one value in a tile. `array` is the array's name. `packed`
    are the accesses, by their places among the statement's, that step through memory in strides
    along a column: what they read of a tile's columns is the same for all of its rows, and can be
    packed. So can what those read that are `crossing`, along a column but from one row of memory to
    another along what runs through: rows that are a power of two apart share few sets of a cache.
    `alike`: where all of these are packed, what else is read is the same for all columns.

    Without a `column` a tile is a few values of the row alone, each with a sum of its own, which
    the same values run through.
    """

    array: str
    row: int
    column: int | None
    through: tuple[int, ...]
    outside: tuple[int, ...]
    packed: tuple[int, ...] = ()
    crossing: tuple[int, ...] = ()
    alike: bool = False

    @property
    def tile(self) -> tuple[int, ...]:
        """The levels of a tile's rows."""
        return (self.row,) if self.column is None else (self.row, self.column)


def register_rows(
    each: StatementSchedule, outer: int, band: tuple[int, ...], dealt: int | None = None
) -> RegisterRows | None:
    """The rows of register tiles of a statement that runs alone, for each value of the first
    `outer` rows, all other loops around it being a permutable band; the row `dealt` to threads
    becomes the tile's only where no other does as well. None where no element is come back to, and
    where neither rows and columns nor rows alone gain anything by it.
    """
    levels = tuple(level for level in range(outer, len(each.rows)) if not each.rows[level].scalar)
    if set(levels) != set(band) or outer + len(levels) != each.statement.depth:
        return None
    if not all(_is_one_iterator(each, level) for level in levels):
        return None
    update = _update(each.statement, {level: each.rows[level].coefficients for level in levels})
    return None if update is None else _rows_and_columns(update, dealt) or _rows_alone(update, dealt)


def comes_back(statement: Statement) -> bool:
    """Whether the statement updates elements again and again, those of a plane or by sums that wait
    for themselves, so that register tiles could be found for it.
    """
    update = _update(statement, {place: unit(statement.depth, place) for place in range(statement.depth)})
    return update is not None and (len(update.moving) > 1 or _rows_alone(update, None) is not None)


@dataclass(frozen=True)
class _Update:
    """What a statement updates again and again: by row, in which `directions` the iterations lie, and how the element `moves`."""

    statement: Statement
    target: Access
    directions: dict[int, Vector]
    moves: dict[int, Vector]

    @property
    def moving(self) -> tuple[int, ...]:
        """The rows along which the element is another one."""
        return tuple(level for level, move in self.moves.items() if any(move))

    @property
    def through(self) -> tuple[int, ...]:
        """The rows along which it stays."""
        return tuple(level for level, move in self.moves.items() if not any(move))

    def shared(self, level: int) -> int:
        """How many elements besides the one that is updated stay the same from one value of the row to the next."""
        others = [access for access in self.statement.accesses if access.relation.dim(isl.dim_type.out)]
        others = [one for one in others if not one.relation.is_equal(self.target.relation)]
        return sum(not any(_move(one, self.statement, self.directions[level]) or (1,)) for one in others)

    def strides(self, level: int) -> tuple[int, ...]:
        """The accesses, by their places, that step through memory in strides along the row."""
        return strided(self.statement, self.directions[level])

    def crossing(self, column: int) -> tuple[int, ...]:
        """The accesses, by their places, that run along memory along the column, and from row to row of it along the one row through."""
        if len(self.through) != 1:
            return ()
        found = []
        for place, access in enumerate(self.statement.accesses):
            along, across = (_move(access, self.statement, self.directions[one]) for one in (column, self.through[0]))
            if along is not None and across is not None and _is_along(along) and any(across[:-1]):
                found.append(place)
        return tuple(found)

    def alike(self, column: int, packed: frozenset[int]) -> bool:
        """Whether all but the element that is updated, and what is packed, is read and stays along the column."""
        others = [access for place, access in enumerate(self.statement.accesses) if place not in packed]
        others = [one for one in others if not one.relation.is_equal(self.target.relation)]
        moves = [
            _move(one, self.statement, self.directions[column]) for one in others if one.relation.dim(isl.dim_type.out)
        ]
        return not any(move.write for move in others) and all(move is not None and not any(move) for move in moves)

    def outside(self, *tile: int) -> tuple[int, ...]:
        """The rows that move the element and are none of the tile's."""
        return tuple(level for level in self.moving if level not in tile)


def _update(statement: Statement, directions: dict[int, Vector]) -> _Update | None:
    """The element that the statement comes back to; None where there is none, or where it is not known how it moves."""
    target = _updated(statement.accesses)
    if target is None:
        return None
    moves: dict[int, Vector] = {}
    for level, direction in directions.items():
        move = _move(target, statement, direction)
        if move is None:
            return None
        moves[level] = move
    found = _Update(statement, target, directions, moves)
    return found if found.through and found.moving else None


def _rows_and_columns(update: _Update, dealt: int | None) -> RegisterRows | None:
    """Tiles of a plane of elements; None where rows have nothing in common that they read, or where
    a column would step through memory in strides and cannot be packed.
    """
    columns = [level for level, move in update.moves.items() if _is_along(move)]
    rows = [level for level, move in update.moves.items() if any(move[:-1])]
    if len(columns) != 1 or not rows:
        return None
    (column,) = columns
    row = max(rows, key=lambda level: (update.shared(level), level != dealt, level))
    if not update.shared(row):
        return None
    outside, packed = update.outside(row, column), update.strides(column)
    if packed and len(update.through) > 1:
        return None
    if not all(_can_be_packed(update, update.statement.accesses[place], (row, *outside)) for place in packed):
        return None
    crossing = tuple(
        place
        for place in update.crossing(column)
        if _can_be_packed(update, update.statement.accesses[place], (row, *outside))
    )
    alike = update.alike(column, frozenset((*packed, *crossing)))
    return RegisterRows(update.target.array, row, column, update.through, outside, packed, crossing, alike)


def _can_be_packed(update: _Update, access: Access, still: tuple[int, ...]) -> bool:
    """Whether all tiles below each other read the same of it: it stays along these rows."""
    if access.array == update.target.array or access.write or not access.exact:
        return False
    steps = [_move(access, update.statement, update.directions[level]) for level in still]
    return all(step is not None and not any(step) for step in steps)


def _rows_alone(update: _Update, dealt: int | None) -> RegisterRows | None:
    """A few sums at a time, where each addition waits for the one before it: those of
    floating-point numbers, in loops that step through memory one by one and that no vectors could
    run across.
    """
    if not update.target.floating or update.strides(update.through[-1]):
        return None
    if not all(update.strides(level) for level in update.moving):
        return None
    row = max(update.moving, key=lambda level: (update.shared(level), level != dealt, level))
    return RegisterRows(update.target.array, row, None, update.through, update.outside(row))


def _is_one_iterator(each: StatementSchedule, level: int) -> bool:
    """Whether the row is one iterator, growing with it."""
    row = each.rows[level]
    return row.constant == 0 and sorted(row.coefficients) == sorted(unit(each.statement.depth, 0))


def _updated(accesses: tuple[Access, ...]) -> Access | None:
    """The element that the statement reads and writes, of known place."""
    writes = [access for access in accesses if access.write]
    if len({write.array for write in writes}) != 1:
        return None
    target, *others = writes
    if not all(one.exact and one.relation.is_equal(target.relation) for one in (target, *others)):
        return None
    read = any(not access.write and access.relation.is_equal(target.relation) for access in accesses)
    return target if read and target.relation.dim(isl.dim_type.out) and target.relation.is_single_valued() else None


def _move(access: Access, statement: Statement, direction: Vector) -> Vector | None:
    """By how much each subscript moves from one iteration to the next along the direction; None where that differs from place to place."""
    return only_move(access.relation, step_by(statement.domain, direction))


def _is_along(move: Vector) -> bool:
    return not any(move[:-1]) and move[-1] == 1
