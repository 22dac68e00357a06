"""Where a program is parallel: its statements in parts, each with the rows that Algorithm 4.1 finds
for it.

    Phi_S : { S[i] -> [outer rows, rows of the part] }

Statements that depend on each other in a circle stay together, others are taken apart, and put
together again where that costs no parallelism. Of a part's outermost band, rows that carry nothing
(Theorem 3.2) run at once without synchronisation; two rows that carry something make wavefronts of
tiles ((3.17), the band being permutable); a band of one carrying row is stepped through, and what
is below it is taken apart anew, with the dependences that the row leaves tied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.hyperplanes import COMMUNICATION_MINIMAL, HyperplaneOptions, tiling_hyperplanes
from tilepragma.poly.linear_independence import rank
from tilepragma.poly.program_model import Dependence, Statement, ordering
from tilepragma.poly.register_bands import RegisterRows, register_rows
from tilepragma.poly.schedule import Row, StatementSchedule, affine_map
from tilepragma.poly.strongly_connected import strongly_connected

SHORT_TRIP = 8
"""A row of at most so many values, whatever the parameters are, is not worth running at once."""

SEARCH = replace(COMMUNICATION_MINIMAL, operations=2_000_000)
"""Least communication, each search given up early: many are made, and a group that is too hard may fall into easier ones."""

Rows = Mapping[str, tuple[Row, ...]]


class BandKind(Enum):
    """How the instances of a part run."""

    DOALL = "doall"
    WAVEFRONT = "wavefront"
    SERIAL = "serial"


@dataclass(frozen=True)
class Part:
    """Statements that one launch runs, for each value of the first `outer` rows.

    `band`: the levels of its outermost band, `carrying` those of them that carry a dependence which
    the outer rows leave tied. DOALL: the levels `free` run at once; WAVEFRONT: tiles of the levels
    `carrying`; SERIAL: in order. `alone`: the parts that could run one after another in its place,
    where some of them would keep elements in registers.
    """

    kind: BandKind
    statements: tuple[StatementSchedule, ...]
    outer: int
    band: tuple[int, ...]
    carrying: tuple[int, ...]
    alone: tuple[Part, ...] = ()

    @property
    def free(self) -> tuple[int, ...]:
        """The levels of the band that carry nothing."""
        return tuple(level for level in self.band if level not in self.carrying)

    @property
    def at_once(self) -> tuple[int, ...]:
        """Of these, the levels that are worth running at once."""
        around = tuple(range(self.outer))
        return tuple(level for level in self.free if _worth_running_at_once(self.statements, around, level))


@dataclass(frozen=True)
class OuterLoop:
    """The last row of `statements` is stepped through in order, and `parts` run one after another for each of its values."""

    statements: tuple[StatementSchedule, ...]
    parts: tuple[Part | OuterLoop, ...]

    @property
    def level(self) -> int:
        """The level of the row."""
        return len(self.statements[0].rows) - 1


def parts_in(parts: tuple[Part | OuterLoop, ...]) -> Iterator[Part]:
    """All parts, in the order of execution."""
    for each in parts:
        if isinstance(each, Part):
            yield each
        else:
            yield from parts_in(each.parts)


def parallel_parts(
    statements: tuple[Statement, ...],
    dependences: tuple[Dependence, ...],
    options: HyperplaneOptions = SEARCH,
) -> tuple[Part | OuterLoop, ...]:
    """The statements in parts that run one after another. Raises OperationLimitError."""
    none: Rows = {each.name: () for each in statements}
    return _Decision(options).parts(statements, ordering(dependences), none, 0)


@dataclass(frozen=True)
class _Decision:
    options: HyperplaneOptions

    def parts(
        self, group: tuple[Statement, ...], pending: tuple[Dependence, ...], before: Rows, outer: int
    ) -> tuple[Part | OuterLoop, ...]:
        """The group's parts, for each value of the rows `before`."""
        result: list[Part | OuterLoop] = []
        for piece in self._pieces(group, pending, before, outer):
            result += self._below(piece, pending)
        return tuple(result)

    def _pieces(
        self, group: tuple[Statement, ...], pending: tuple[Dependence, ...], before: Rows, outer: int
    ) -> list[Part]:
        """Strongly connected components, each with those before it as long as all of it stays as parallel."""
        pieces: list[Part] = []
        for component in strongly_connected(group, [(each.source, each.target) for each in pending]):
            piece = self._part(component, pending, before, outer)
            last = pieces[-1] if pieces else None
            if last is not None and last.kind is BandKind.DOALL and piece.kind is BandKind.DOALL:
                members = tuple(each.statement for each in last.statements) + component
                joint = self._part(_in_order(group, members), pending, before, outer)
                if _linked(last, component, pending) and _as_parallel(joint, last, piece):
                    alone = (*(last.alone or (last,)), piece)
                    pieces[-1] = replace(joint, alone=alone if any(map(_keeps_elements, alone)) else ())
                    continue
            pieces.append(piece)
        return pieces

    def _part(self, group: tuple[Statement, ...], pending: tuple[Dependence, ...], before: Rows, outer: int) -> Part:
        """The group as one part, with the rows that Algorithm 4.1 finds."""
        inside = _inside(group, pending)
        schedule = tiling_hyperplanes(group, inside, self.options, before)
        statements = _without_constant_rows(schedule.statements, outer)
        band = _outermost_band(statements, outer)
        carrying = tuple(level for level in band if _carries(statements, inside, level))
        kind, around = BandKind.SERIAL, tuple(range(outer))
        if any(level not in carrying and _worth_running_at_once(statements, around, level) for level in band):
            kind = BandKind.DOALL
        elif _moves_apart(statements, around, carrying):
            kind = BandKind.WAVEFRONT
        return Part(kind, statements, outer, band, carrying)

    def _below(self, part: Part, pending: tuple[Dependence, ...]) -> tuple[Part | OuterLoop, ...]:
        """The part, or a row of it stepped through where there is something parallel below that."""
        group = tuple(each.statement for each in part.statements)
        if part.kind is not BandKind.SERIAL or not part.band or not _moves_on(part.statements, part.outer):
            return (part,)
        # Searches number their bands from 0: rows that are stepped through have numbers of their
        # own.
        stepped = {
            each.statement.name: (*each.rows[: part.outer], replace(each.rows[part.outer], band=-1 - part.outer))
            for each in part.statements
        }
        tied = _tied(part.statements, _inside(group, pending), part.outer)
        parts = self.parts(group, tied, stepped, part.outer + 1)
        if all(each.kind is BandKind.SERIAL for each in parts_in(parts)):
            return (part,)
        return (OuterLoop(tuple(StatementSchedule(each, stepped[each.name]) for each in group), parts),)


def registers_of(part: Part, dealt: int | None = None) -> RegisterRows | None:
    """The rows of the part's register tiles, one row being `dealt` to threads; None where it has none."""
    if len(part.statements) != 1:
        return None
    return register_rows(part.statements[0], part.outer, part.band, dealt)


def _keeps_elements(part: Part) -> bool:
    return registers_of(part) is not None


def _in_order(group: tuple[Statement, ...], members: tuple[Statement, ...]) -> tuple[Statement, ...]:
    names = {each.name for each in members}
    return tuple(each for each in group if each.name in names)


def _inside(group: tuple[Statement, ...], pending: tuple[Dependence, ...]) -> tuple[Dependence, ...]:
    names = {each.name for each in group}
    return tuple(each for each in pending if each.source in names and each.target in names)


def _linked(last: Part, component: tuple[Statement, ...], pending: tuple[Dependence, ...]) -> bool:
    """Whether the component uses what the part before it computes: only then is there something to gain together."""
    earlier = {each.statement.name for each in last.statements}
    return any(each.source in earlier and each.target in {one.name for one in component} for each in pending)


def _as_parallel(joint: Part, *alone: Part) -> bool:
    return joint.kind is BandKind.DOALL and all(len(joint.at_once) >= len(each.at_once) for each in alone)


def _without_constant_rows(statements: tuple[StatementSchedule, ...], outer: int) -> tuple[StatementSchedule, ...]:
    """Scalar rows that are the same for all order nothing; those before the first loop are left out, and all at the end."""
    rows = {each.statement.name: list(each.rows) for each in statements}
    for at in (outer, -1):
        while all(at < len(each) and len(each) > outer for each in rows.values()):
            values = {each[at] for each in rows.values()}
            if any(not row.scalar for row in values) or len({row.constant for row in values}) > 1:
                break
            for each in rows.values():
                del each[at]
    return tuple(replace(each, rows=tuple(rows[each.statement.name])) for each in statements)


def _outermost_band(statements: tuple[StatementSchedule, ...], outer: int) -> tuple[int, ...]:
    """The levels right after the outer rows that are one band of all statements; none where a scalar row stands there."""
    rows = statements[0].rows
    number = rows[outer].band if outer < len(rows) else None
    levels = []
    for level in range(outer, len(rows)):
        if number is None or any(each.rows[level].band != number for each in statements):
            break
        levels.append(level)
    return tuple(levels)


def _tied(
    statements: tuple[StatementSchedule, ...], pending: tuple[Dependence, ...], level: int
) -> tuple[Dependence, ...]:
    """Of each dependence the pairs { s -> t : phi_T(t) = phi_S(s) } of the row at this level, where there are any."""
    maps = _row_maps(statements, level)
    left = []
    for each in pending:
        relation = each.relation.intersect(maps[each.source].apply_range(maps[each.target].reverse()))
        if not relation.is_empty():
            left.append(replace(each, relation=relation.coalesce()))
    return tuple(left)


def _moves_on(statements: tuple[StatementSchedule, ...], level: int) -> bool:
    """Whether the row at this level takes any of the statements further than the rows before it do.

    What a search gave up on stays in the order of its text, rows that were stepped through already
    included: to step through them again would go on for ever.
    """
    matrices = [tuple(row.coefficients for row in each.rows[: level + 1]) for each in statements]
    return any(rank(matrix) > rank(matrix[:level]) for matrix in matrices)


def _carries(statements: tuple[StatementSchedule, ...], pending: tuple[Dependence, ...], level: int) -> bool:
    """Whether { s -> t in P_e : phi_T(t) != phi_S(s) } is not empty for some dependence and the row at this level."""
    maps = _row_maps(statements, level)
    return any(
        not each.relation.is_subset(maps[each.source].apply_range(maps[each.target].reverse())) for each in pending
    )


def _row_maps(statements: tuple[StatementSchedule, ...], level: int) -> dict[str, isl.Map]:
    return {each.statement.name: affine_map(each.statement, each.rows[level : level + 1]) for each in statements}


def _moves_apart(statements: tuple[StatementSchedule, ...], around: tuple[int, ...], levels: tuple[int, ...]) -> bool:
    """Whether one of the rows at these levels moves over more than a few values while another stays: t and t + c do not, of c < 2."""
    moving = [level for level in levels if _worth_running_at_once(statements, around, level)]
    return any(_worth_running_at_once(statements, (*around, moving[0]), level) for level in moving[1:])


def _worth_running_at_once(statements: tuple[StatementSchedule, ...], around: tuple[int, ...], level: int) -> bool:
    """Whether the row at this level moves the deepest statements, over more than a few values for each point of the rows around."""
    deepest = max(each.statement.depth for each in statements)
    return all(
        any(each.rows[level].coefficients) and not _is_short(each, around, level)
        for each in statements
        if each.statement.depth == deepest
    )


def _is_short(each: StatementSchedule, around: tuple[int, ...], level: int) -> bool:
    """Whether { phi(i') - phi(i) : i, i' in the domain, at the same point around } is below SHORT_TRIP for all parameters."""
    rows = tuple(each.rows[one] for one in (*around, level))
    points = affine_map(each.statement, rows).intersect_domain(each.statement.domain).range()
    pairs = isl.Map.from_domain_and_range(points, points)
    for index in range(len(around)):
        pairs = pairs.equate(isl.dim_type.in_, index, isl.dim_type.out, index)
    spread = pairs.deltas().project_out(isl.dim_type.set, 0, len(around))
    spread = spread.project_out(isl.dim_type.param, 0, spread.dim(isl.dim_type.param))
    greatest = spread.dim_max_val(0)
    return bool(greatest.is_int()) and greatest.to_python() < SHORT_TRIP
