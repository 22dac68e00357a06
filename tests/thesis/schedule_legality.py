"""Proofs by isl that a schedule is legal, tilable and balanced, independent of the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from tests.support.band_orders import loop_rows, of
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.schedule import Row, Schedule, affine_map


@dataclass(frozen=True)
class Violation:
    """`pairs` = { S[i] -> T[i'] } of the dependence whose target would not run after its source."""

    dependence: Dependence
    pairs: isl.Map


def violations(schedule: Schedule, dependences: tuple[Dependence, ...]) -> tuple[Violation, ...]:
    """The non-empty P_e with { s -> t : Phi_S(s) >=_lex Phi_T(t) }: the negation of (3.11)."""
    maps = {each.statement.name: each.map for each in schedule}
    return violated_orders(maps, dependences)


def violated_orders(maps: dict[str, isl.Map], dependences: tuple[Dependence, ...]) -> tuple[Violation, ...]:
    """The same for any maps { S[i] -> [time] } by statement name, functions or relations."""
    broken = []
    for dependence in dependences:
        wrong = maps[dependence.ends[0]].lex_ge_map(maps[dependence.ends[1]]).intersect(dependence.relation)
        if not wrong.is_empty():
            broken.append(Violation(dependence, wrong))
    return tuple(broken)


def untilable(schedule: Schedule, dependences: tuple[Dependence, ...]) -> tuple[Violation, ...]:
    """The pairs that a band's rectangular tiles would break, Theorem 3.3.

    The part of P_e that rows before the band do not order, with { phi_T^k(t) - phi_S^k(s) < 0 } for
    a row k of the band: the negation of (3.16).
    """
    broken = []
    for dependence in dependences:
        for level, remaining in _at_band_starts(schedule, dependence):
            wrong = remaining.intersect(_compared(schedule, dependence, level, backwards=True))
            if not wrong.is_empty():
                broken.append(Violation(dependence, wrong))
    return tuple(broken)


def _at_band_starts(schedule: Schedule, dependence: Dependence) -> Iterator[tuple[int, isl.Map]]:
    """Each level with the dependence's pairs that are equal in all rows before its band."""
    tied = at_start = dependence.relation
    band: int | None = None
    source, target = of(schedule, dependence.ends[0]).rows, of(schedule, dependence.ends[1]).rows
    for level, (row, target_row) in enumerate(zip(source, target, strict=True)):
        if row.band is None or row.band != band:
            at_start, band = tied, row.band
        if row.band is not None and row.band == target_row.band:
            yield level, at_start
        tied = tied.intersect(_compared(schedule, dependence, level, backwards=False))
        if tied.is_empty() and row.band is None:
            return


def _compared(schedule: Schedule, dependence: Dependence, level: int, *, backwards: bool) -> isl.Map:
    """{ s -> t : phi_T(t) < phi_S(s) } of one level, or { s -> t : phi_T(t) = phi_S(s) }."""
    source = _row_map(schedule, dependence.ends[0], level)
    target = _row_map(schedule, dependence.ends[1], level)
    return source.lex_gt_map(target) if backwards else source.apply_range(target.reverse())


def _row_map(schedule: Schedule, name: str, level: int) -> isl.Map:
    statement = of(schedule, name)
    rows: tuple[Row, ...] = (statement.rows[level],)
    return affine_map(statement.statement, rows)


def balanced(schedule: Schedule, dependences: tuple[Dependence, ...], k: int = 1) -> bool:
    """Whether (4.1) holds for all self dependences at each statement's k-th hyperplane (from 1,
    without scalars).

    Then all intra-tile wavefronts along it have equally many instances of S (Theorem 4.1). A
    statement with fewer than k hyperplanes fails if it depends on itself.
    """
    return not any(
        violated_orders({each.ends[0]: _hyperplane(schedule, each.ends[0], k)}, (each,))
        for each in dependences
        if each.ends[0] == each.ends[1]
    )


def _hyperplane(schedule: Schedule, name: str, k: int) -> isl.Map:
    statement = of(schedule, name)
    return affine_map(statement.statement, loop_rows(statement)[k - 1 : k])
