"""Register bands: which rows of a permutable band make register tiles, rows and columns of elements
that a statement updates repeatedly.

    { S[i] -> [r, c, k] }   S updates X[f(r, c)]
    { S[i] -> [r, k] }      S updates X[f(r)]: sums with a serial chain of additions have rows alone
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.adjacency import Vector, only_move, step_along, strided
from tilepragma.poly.schedule import StatementSchedule, unit
from tilepragma.poly.scop import Reference, ScopStatement


@dataclass(frozen=True)
class RegisterRows:
    """The rows of a part's band in a register tile.

    The element moves across the array along `row` and along its last dimension with `column`; it
    stays along `through`; it moves along `outside`, which has one value in a tile. `array` is the
    array's name. `packed`: the statement's accesses, by place, that are strided along a column; all
    rows of a tile read the same elements, which can be packed. So can `crossing` ones, which run
    along a column but move from memory row to row with `through`: rows a power of two apart share
    few cache sets. `alike`: with all these packed, other reads are equal in all columns.

    Without a `column`, a tile is a few values of the row, each with a sum over the same `through`.
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
    each: StatementSchedule, outer: int, band: tuple[int, ...], distributed: int | None = None
) -> RegisterRows | None:
    """The register-tile rows of a statement that runs alone, for each value of the first `outer`
    rows; all other loops form a permutable band. Prefers rows other than the `distributed` one.
    None without repeated updates, or where tiles gain nothing.
    """
    levels = tuple(level for level in range(outer, len(each.rows)) if not each.rows[level].scalar)
    if set(levels) != set(band) or outer + len(levels) != each.statement.depth:
        return None
    if not all(each.rows[level].is_iterator and not each.rows[level].constant for level in levels):
        return None
    update = _update(each.statement, {level: each.rows[level].coefficients for level in levels})
    return None if update is None else _rows_and_columns(update, distributed) or _rows_alone(update, distributed)


def updates_repeatedly(statement: ScopStatement) -> bool:
    """Whether the statement updates elements repeatedly, a plane's or by serial sums, so that it
    may have register tiles.
    """
    update = _update(statement, {place: unit(statement.depth, place) for place in range(statement.depth)})
    return update is not None and (len(update.moving) > 1 or _rows_alone(update, None) is not None)


@dataclass(frozen=True)
class _Update:
    """A repeated update: the `directions` of iterations, by row, and how the element `moves`."""

    statement: ScopStatement
    target: Reference
    directions: dict[int, Vector]
    moves: dict[int, Vector]

    @property
    def moving(self) -> tuple[int, ...]:
        """The rows along which the element changes."""
        return tuple(level for level, move in self.moves.items() if any(move))

    @property
    def through(self) -> tuple[int, ...]:
        """The rows along which the element stays."""
        return tuple(level for level, move in self.moves.items() if not any(move))

    def shared(self, level: int) -> int:
        """The number of other accesses that stay along the row."""
        others = [access for access in self.statement.references if access.relation.dim(isl.dim_type.out)]
        others = [access for access in others if not access.relation.is_equal(self.target.relation)]
        return sum(not any(_move(access, self.statement, self.directions[level]) or (1,)) for access in others)

    def strides(self, level: int) -> tuple[int, ...]:
        """The accesses, by place, that are strided along the row."""
        return strided(self.statement, self.directions[level])

    def crossing(self, column: int) -> tuple[int, ...]:
        """The accesses, by place, along memory in the column, across memory rows in `through`."""
        if len(self.through) != 1:
            return ()
        places = []
        for place, access in enumerate(self.statement.references):
            along, across = (
                _move(access, self.statement, self.directions[direction]) for direction in (column, self.through[0])
            )
            if along is not None and across is not None and _is_along(along) and any(across[:-1]):
                places.append(place)
        return tuple(places)

    def alike(self, column: int, packed: frozenset[int]) -> bool:
        """Whether all but the updated element and packed accesses are constant along the column."""
        others = [access for place, access in enumerate(self.statement.references) if place not in packed]
        others = [access for access in others if not access.relation.is_equal(self.target.relation)]
        elements = (access for access in others if access.relation.dim(isl.dim_type.out))
        moves = [_move(access, self.statement, self.directions[column]) for access in elements]
        return not any(move.writes for move in others) and all(move is not None and not any(move) for move in moves)

    def outside(self, *tile: int) -> tuple[int, ...]:
        """The rows outside the tile that move the element."""
        return tuple(level for level in self.moving if level not in tile)


def _update(statement: ScopStatement, directions: dict[int, Vector]) -> _Update | None:
    """The statement's repeated update; None without one, or where its moves are unknown."""
    target = _updated(statement.references)
    if target is None:
        return None
    moves: dict[int, Vector] = {}
    for level, direction in directions.items():
        move = _move(target, statement, direction)
        if move is None:
            return None
        moves[level] = move
    update = _Update(statement, target, directions, moves)
    return update if update.through and update.moving else None


def _rows_and_columns(update: _Update, distributed: int | None) -> RegisterRows | None:
    """Tiles of a plane of elements; None where rows share no reads or packing is impossible."""
    columns = [level for level, move in update.moves.items() if _is_along(move)]
    rows = [level for level, move in update.moves.items() if any(move[:-1])]
    if len(columns) != 1 or not rows:
        return None
    (column,) = columns
    row = max(rows, key=lambda level: (update.shared(level), level != distributed, level))
    if not update.shared(row):
        return None
    outside, packed = update.outside(row, column), update.strides(column)
    if packed and len(update.through) > 1:
        return None
    if not all(_can_be_packed(update, place, (row, *outside)) for place in packed):
        return None
    crossing = tuple(place for place in update.crossing(column) if _can_be_packed(update, place, (row, *outside)))
    alike = update.alike(column, frozenset((*packed, *crossing)))
    return RegisterRows(update.target.object.name, row, column, update.through, outside, packed, crossing, alike)


def _can_be_packed(update: _Update, place: int, still: tuple[int, ...]) -> bool:
    """Whether tiles below each other read the same elements: the access stays along these rows."""
    access = update.statement.references[place]
    if access.object == update.target.object or access.writes or not access.certain:
        return False
    steps = [_move(access, update.statement, update.directions[level]) for level in still]
    return all(step is not None and not any(step) for step in steps)


def _rows_alone(update: _Update, distributed: int | None) -> RegisterRows | None:
    """A few serial floating-point sums at a time, in unit-stride loops that no vectors cross."""
    if not update.target.is_floating or update.strides(update.through[-1]):
        return None
    if not all(update.strides(level) for level in update.moving):
        return None
    row = max(update.moving, key=lambda level: (update.shared(level), level != distributed, level))
    return RegisterRows(update.target.object.name, row, None, update.through, update.outside(row))


def _updated(accesses: tuple[Reference, ...]) -> Reference | None:
    """The element that the statement reads and writes, of known place."""
    writes = [access for access in accesses if access.writes]
    if len({write.object.name for write in writes}) != 1:
        return None
    target, *others = writes
    if not all(write.certain and write.relation.is_equal(target.relation) for write in (target, *others)):
        return None
    read = any(not access.writes and access.relation.is_equal(target.relation) for access in accesses)
    return target if read and target.relation.dim(isl.dim_type.out) and target.relation.is_single_valued() else None


def _move(access: Reference, statement: ScopStatement, direction: Vector) -> Vector | None:
    """The constant growth of each subscript along the direction; None where it varies."""
    return only_move(access.relation, step_along(statement, direction))


def _is_along(move: Vector) -> bool:
    return not any(move[:-1]) and move[-1] == 1
