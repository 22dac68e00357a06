"""Two-level wavefronts: which tiles of a band run in parallel, and which points of a tile.

    Gamma_S  : { S[i] -> [floor(Phi_S(i) / s), Phi_S(i)] }                            thesis (3.14)
    Theta    = (1 1 ... 1; 0 1 ... 0; ...; 0 ... 0 1)                                  thesis (3.17)
    Gamma'_S : { S[i] -> [Theta_T floor(Phi_S(i) / s), Theta_S Phi_S(i)] }             thesis (3.19)

The first component of each half is sequential, all others are parallel: wavefronts of points in a
tile, wavefronts of tiles between tiles. Where one row of the band orders all that a tile must order
(Theorem 4.1), Theta_S is that row alone: the wavefronts are balanced. Rows that carry nothing stay
out of the sum of (3.17), which keeps their parallelism free of synchronisation.
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.program_model import ProgramDependence, ordering
from tilepragma.poly.schedule import Matrix, Row, Schedule, StatementSchedule, affine_map, unit
from tilepragma.poly.strongly_connected import strongly_connected


@dataclass(frozen=True)
class BandWavefronts:
    """The two levels of one band of a schedule.

    `levels`: the rows of the schedule that the band has; `statements`: who has them. `inter` =
    Theta_T, on tile indices; `intra` = Theta_S, on points: m x m, the sequential row first.
    `inter_sequential`: whether that first row carries anything; else all rows are parallel, and no
    synchronisation is needed. `order`: groups of statements that follow each other within one
    wavefront of points (thesis Figure 4.7).
    """

    levels: tuple[int, ...]
    statements: tuple[str, ...]
    inter: Matrix
    intra: Matrix
    inter_sequential: bool
    order: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Edge:
    """The pairs { S[i] -> T[i'] } of a dependence that the rows before the band leave to it."""

    source: str
    target: str
    relation: isl.Map


def wavefront_matrix(rows: int, carrying: tuple[int, ...] | None = None) -> Matrix:
    """Theta of (3.17): the sum of the `carrying` rows (from 0; None: all), then the other rows.

    The sum replaces the unit row of the first carrying row. Without carrying rows, the identity.
    """
    summed = tuple(range(rows)) if carrying is None else carrying
    if not summed:
        return tuple(unit(rows, index) for index in range(rows))
    first = tuple(int(index in summed) for index in range(rows))
    return (first, *(unit(rows, index) for index in range(rows) if index != summed[0]))


def band_wavefronts(schedule: Schedule, dependences: tuple[ProgramDependence, ...]) -> tuple[BandWavefronts, ...]:
    """The wavefronts of each band, for one iteration of the rows before it; outer bands first.

    The schedule is one of Algorithm 4.1 for these dependences: its bands are tilable (Theorem 3.3).
    """
    bands: dict[int, None] = {}
    for each in schedule.statements:
        for row in each.rows:
            if row.band is not None:
                bands.setdefault(row.band)
    return tuple(_wavefronts(schedule, dependences, band) for band in bands)


def _wavefronts(schedule: Schedule, dependences: tuple[ProgramDependence, ...], band: int) -> BandWavefronts:
    members = tuple(each for each in schedule.statements if any(row.band == band for row in each.rows))
    levels = tuple(level for level, row in enumerate(members[0].rows) if row.band == band)
    edges = _within(members, dependences, levels[0])
    carrying = tuple(index for index, level in enumerate(levels) if _ordered_by(members, edges, level))
    along = _balancing(members, edges, levels, carrying)
    inter = wavefront_matrix(len(levels), carrying)
    intra = inter if along is None else wavefront_matrix(len(levels), (along,) if carrying else ())
    tied = _tied(members, edges, tuple(levels[index] for index in carrying) if along is None else (levels[along],))
    return BandWavefronts(
        levels,
        tuple(each.statement.name for each in members),
        inter,
        intra,
        bool(carrying),
        _order(members, tied),
    )


def _within(
    members: tuple[StatementSchedule, ...], dependences: tuple[ProgramDependence, ...], first: int
) -> list[_Edge]:
    """The dependences between members with equal rows before the band."""
    names = {each.statement.name for each in members}
    inside = [
        _Edge(each.source, each.target, each.relation)
        for each in ordering(dependences)
        if each.source in names and each.target in names
    ]
    return _tied(members, inside, tuple(range(first)))


def _tied(members: tuple[StatementSchedule, ...], edges: list[_Edge], levels: tuple[int, ...]) -> list[_Edge]:
    """{ s -> t : the rows of these levels are equal } of each edge that has such pairs."""
    chosen = {each.statement.name: _levels_map(each, levels) for each in members}
    left = []
    for each in edges:
        relation = each.relation.intersect(chosen[each.source].apply_range(chosen[each.target].reverse()))
        if not relation.is_empty():
            left.append(_Edge(each.source, each.target, relation))
    return left


def _ordered_by(members: tuple[StatementSchedule, ...], edges: list[_Edge], level: int) -> bool:
    """Whether the row at this level differs for some pair of an edge."""
    chosen = {each.statement.name: _levels_map(each, (level,)) for each in members}
    return any(
        not each.relation.is_subset(chosen[each.source].apply_range(chosen[each.target].reverse())) for each in edges
    )


def _levels_map(each: StatementSchedule, levels: tuple[int, ...]) -> isl.Map:
    rows: tuple[Row, ...] = tuple(each.rows[level] for level in levels)
    return affine_map(each.statement, rows)


def _balancing(
    members: tuple[StatementSchedule, ...], edges: list[_Edge], levels: tuple[int, ...], carrying: tuple[int, ...]
) -> int | None:
    """The first row of the band that leaves no dependences within its wavefronts, (4.1)."""
    statements = tuple(each.statement for each in members)
    for index in carrying or range(len(levels)):
        tied = [(each.source, each.target) for each in _tied(members, edges, (levels[index],))]
        self_dependent = any(source == target for source, target in tied)
        if not self_dependent and len(strongly_connected(statements, tied)) == len(statements):
            return index
    return None


def _order(members: tuple[StatementSchedule, ...], tied: list[_Edge]) -> tuple[tuple[str, ...], ...]:
    """Statements in groups without dependences inside, by the longest chain of dependences."""
    statements = tuple(each.statement for each in members)
    links = [(each.source, each.target) for each in tied]
    place: dict[str, int] = {}
    for component in strongly_connected(statements, links):
        names = {each.name for each in component}
        before = [place[source] for source, target in links if target in names and source not in names]
        place |= dict.fromkeys(names, 1 + max(before, default=-1))
    return tuple(
        tuple(each.name for each in statements if place[each.name] == number) for number in sorted(set(place.values()))
    )
