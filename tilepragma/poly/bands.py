"""Bands: the parallel parts of a program, each with its rows of Algorithm 4.1.

    Phi_S : { S[i] -> [outer rows, rows of the part] }

Statements in a dependence cycle stay together; others are distributed, and fused again where that
costs no parallelism. In a part's outermost band, rows that carry nothing (Theorem 3.2) run in
parallel without synchronisation; two rows that carry something make wavefronts of tiles ((3.17), as
the band is permutable). A band of one carrying row is a sequential loop, whose body is distributed
again, with the dependences that the row does not satisfy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.dependences import Dependences, alike_at_first, within
from tilepragma.poly.hyperplanes import Rows, tiling_hyperplanes
from tilepragma.poly.register_bands import RegisterRows, register_rows
from tilepragma.poly.schedule import Schedule, StatementSchedule, affine_map, carries, rank, tied
from tilepragma.poly.scop import Statements
from tilepragma.poly.strongly_connected import strongly_connected

SHORT_TRIP = 8
"""A row with at most so many values, for all parameters, is not worth running in parallel."""

OPERATIONS = 2_000_000
"""isl's limit for one search: searches are many, and hard groups may split."""


class BandKind(Enum):
    """How the instances of a part run."""

    DOALL = "doall"
    WAVEFRONT = "wavefront"
    SERIAL = "serial"


@dataclass(frozen=True)
class Band:
    """Statements that one launch runs, for each value of the first `outer` rows.

    `band`: the levels of the outermost band; `carrying`: those that carry a dependence which the
    outer rows do not. DOALL: the `free` levels run in parallel; WAVEFRONT: tiles of the `carrying`
    levels; SERIAL: in order. `alone`: the parts that could run in sequence instead, if some of them
    would keep elements in registers.
    """

    kind: BandKind
    statements: Schedule
    outer: int
    band: tuple[int, ...]
    carrying: tuple[int, ...]
    alone: tuple[Band, ...] = ()

    @property
    def free(self) -> tuple[int, ...]:
        """The levels of the band that carry no dependence."""
        return tuple(level for level in self.band if level not in self.carrying)

    @property
    def parallel(self) -> tuple[int, ...]:
        """The free levels that are worth running in parallel."""
        around = tuple(range(self.outer))
        return tuple(level for level in self.free if _worth_running_parallel(self.statements, around, level))


@dataclass(frozen=True)
class OuterLoop:
    """A sequential loop over the last row of `statements`; `parts` run in order for each value."""

    statements: Schedule
    parts: tuple[Band | OuterLoop, ...]

    @property
    def level(self) -> int:
        """The level of the row."""
        return len(self.statements[0].rows) - 1


def parts_in(parts: tuple[Band | OuterLoop, ...]) -> Iterator[Band]:
    """All parts, in the order of execution."""
    for each in parts:
        if isinstance(each, Band):
            yield each
        else:
            yield from parts_in(each.parts)


def parallel_parts(statements: Statements, dependences: Dependences) -> tuple[Band | OuterLoop, ...]:
    """The statements in parts that run in sequence. Raises OperationLimitError."""
    return _parts(statements, dependences, {each.name: () for each in statements}, 0)


def _parts(group: Statements, pending: Dependences, before: Rows, outer: int) -> tuple[Band | OuterLoop, ...]:
    """The group's parts, for each value of the rows `before`: strongly connected components, fused
    with earlier ones while all stays as parallel.
    """
    parts: list[Band] = []
    for component in strongly_connected(group, [each.ends for each in pending]):
        part = _part(component, pending, before, outer)
        last = parts[-1] if parts else None
        if last is not None and last.kind is BandKind.DOALL and part.kind is BandKind.DOALL:
            earlier = {each.statement.name for each in last.statements}
            names = {each.name for each in component}
            joint = _part(tuple(each for each in group if each.name in earlier | names), pending, before, outer)
            # Only where the component uses results of the part before it can fusion pay.
            linked = any(each.ends[0] in earlier and each.ends[1] in names for each in pending)
            if linked and _as_parallel(joint, last, part):
                alone = (*(last.alone or (last,)), part)
                keeps = any(registers_of(each) is not None for each in alone)
                parts[-1] = replace(joint, alone=alone if keeps else ())
                continue
        parts.append(part)
    return tuple(below for part in parts for below in _below(part, pending))


def _part(group: Statements, pending: Dependences, before: Rows, outer: int) -> Band:
    """The group as one part, with its rows of Algorithm 4.1."""
    inside = within(pending, {each.name for each in group})
    statements = _without_constant_rows(tiling_hyperplanes(group, inside, before, OPERATIONS), outer)
    band = _outermost_band(statements, outer)
    carrying = tuple(level for level in band if carries(statements, inside, level))
    kind, around = BandKind.SERIAL, tuple(range(outer))
    if any(level not in carrying and _worth_running_parallel(statements, around, level) for level in band):
        kind = BandKind.DOALL
    elif _moves_apart(statements, around, carrying):
        kind = BandKind.WAVEFRONT
    return Band(kind, statements, outer, band, carrying)


def _as_parallel(joint: Band, *alone: Band) -> bool:
    return joint.kind is BandKind.DOALL and all(len(joint.parallel) >= len(each.parallel) for each in alone)


def _below(part: Band, pending: Dependences) -> tuple[Band | OuterLoop, ...]:
    """The part, or a row of it stepped through where there is something parallel below that."""
    group = tuple(each.statement for each in part.statements)
    if part.kind is not BandKind.SERIAL or not part.band or not _moves_on(part.statements, part.outer):
        return (part,)
    # Searches number bands from 0; rows of sequential loops have negative numbers.
    stepped = {
        each.statement.name: (*each.rows[: part.outer], replace(each.rows[part.outer], band=-1 - part.outer))
        for each in part.statements
    }
    inside = within(pending, stepped)
    parts = _parts(group, tied(part.statements, inside, (part.outer,)), stepped, part.outer + 1)
    if all(each.kind is BandKind.SERIAL for each in parts_in(parts)):
        return (part,)
    return (OuterLoop(tuple(StatementSchedule(each, stepped[each.name]) for each in group), parts),)


def registers_of(part: Band, distributed: int | None = None) -> RegisterRows | None:
    """The rows of the part's register tiles, with one `distributed` row; None without tiles."""
    if len(part.statements) != 1:
        return None
    return register_rows(part.statements[0], part.outer, part.band, distributed)


def _without_constant_rows(statements: Schedule, outer: int) -> Schedule:
    """The statements without equal scalar rows, before the first loop and at the end."""
    rows = {each.statement.name: list(each.rows) for each in statements}
    for place in (outer, -1):
        while all(place < len(each) and len(each) > outer for each in rows.values()):
            values = {each[place] for each in rows.values()}
            if any(not row.scalar for row in values) or len({row.constant for row in values}) > 1:
                break
            for each in rows.values():
                del each[place]
    return tuple(replace(each, rows=tuple(rows[each.statement.name])) for each in statements)


def _outermost_band(statements: Schedule, outer: int) -> tuple[int, ...]:
    """The levels after the outer rows that form one band; empty at a scalar row."""
    rows = statements[0].rows
    number = rows[outer].band if outer < len(rows) else None
    levels = []
    for level in range(outer, len(rows)):
        if number is None or any(each.rows[level].band != number for each in statements):
            break
        levels.append(level)
    return tuple(levels)


def _moves_on(statements: Schedule, level: int) -> bool:
    """Whether the row at this level is independent of the rows before it for some statement.

    A failed search keeps the textual order, with rows of sequential loops: another loop over them
    would never end.
    """
    matrices = [tuple(row.coefficients for row in each.rows[: level + 1]) for each in statements]
    return any(rank(matrix) > rank(matrix[:level]) for matrix in matrices)


def _moves_apart(statements: Schedule, around: tuple[int, ...], levels: tuple[int, ...]) -> bool:
    """Whether one row takes more than a few values while another is fixed; not t and t + 1."""
    moving = [level for level in levels if _worth_running_parallel(statements, around, level)]
    return any(_worth_running_parallel(statements, (*around, moving[0]), level) for level in moving[1:])


def _worth_running_parallel(statements: Schedule, around: tuple[int, ...], level: int) -> bool:
    """Whether the row takes more than a few values, in the deepest statements, per outer point."""
    deepest = max(each.statement.depth for each in statements)
    return all(
        any(each.rows[level].coefficients) and not _is_short(each, around, level)
        for each in statements
        if each.statement.depth == deepest
    )


def _is_short(each: StatementSchedule, around: tuple[int, ...], level: int) -> bool:
    """Whether { phi(i') - phi(i) : i, i' in the domain, equal around } stays below SHORT_TRIP."""
    rows = tuple(each.rows[row_level] for row_level in (*around, level))
    points = affine_map(each.statement, rows).intersect_domain(each.statement.domain).range()
    pairs = alike_at_first(isl.Map.from_domain_and_range(points, points), len(around))
    spread = pairs.deltas().project_out(isl.dim_type.set, 0, len(around))
    spread = spread.project_out(isl.dim_type.param, 0, spread.dim(isl.dim_type.param))
    greatest = spread.dim_max_val(0)
    return bool(greatest.is_int()) and greatest.to_python() < SHORT_TRIP
