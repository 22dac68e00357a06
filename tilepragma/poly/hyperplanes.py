"""Hyperplanes of thesis Algorithm 4.1: rows of Phi_S : { S[i] -> [phi_S^1(i), ..., phi_S^m(i)] }.

Each row is a lexicographic minimum (hyperplane_search.py) under legality (3.16), a bounding
function, linear independence of earlier rows and, for the k-th row, the balance of intra-tile
wavefronts (4.1). Consecutive rows under the same dependences form a band and may be tiled together
(Theorem 3.3). Without a further row, the search drops dependences that the band satisfies and
begins a new band. If that fails, a scalar dimension orders the strongly connected components of
the rest (fission). If that fails too, the textual order stays, with a note: the result is always
legal.

The search treats numeric ends of loops as parameters (lifted_extents.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import field, replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.hyperplane_row import Edge, RowProblem, SolvedRow, find_row
from tilepragma.poly.lifted_extents import extents_of, lifted
from tilepragma.poly.linear_independence import rank
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.program_model import ProgramDependence, ProgramStatement, ordering
from tilepragma.poly.schedule import (
    Matrix,
    Row,
    Schedule,
    StatementSchedule,
    affine_map,
    original_schedule,
    padded,
)
from tilepragma.poly.strongly_connected import strongly_connected, weakly_connected

Rows = Mapping[str, tuple[Row, ...]]


@dataclass(frozen=True)
class HyperplaneOptions:
    """`balanced_row`: the k of (4.1), counted from 1; None for least communication alone (thesis
    section 4.2.1). `operations`: isl's limit, beyond which the textual order stays.
    """

    balanced_row: int | None = 1
    operations: int = DEFAULT_LIMIT


COMMUNICATION_MINIMAL = HyperplaneOptions(balanced_row=None)


def tiling_hyperplanes(
    statements: tuple[ProgramStatement, ...],
    dependences: tuple[ProgramDependence, ...],
    options: HyperplaneOptions = HyperplaneOptions(),  # noqa: B008 - frozen
    before: Rows | None = None,
) -> Schedule:
    """Algorithm 4.1: a legal schedule of all statements, in bands that may be tiled.

    Input dependences are ignored. At isl's operation limit the order of the text is kept. `before`
    are rows that every statement has already, with as many for each; the dependences are then those
    that these leave tied, and the rows found come after them.
    """
    if not statements:
        return Schedule(())
    context = statements[0].domain.get_ctx()
    try:
        with operation_limit(context, options.operations, "searching for tiling hyperplanes"):
            return _Search(statements, ordering(dependences), options).schedule(before or {})
    except OperationLimitError:
        kept = original_schedule(statements)
        whole = tuple(
            StatementSchedule(each.statement, (before or {}).get(each.statement.name, ()) + each.rows)
            for each in kept.statements
        )
        return Schedule(whole)


@dataclass
class _Search:
    """One run of Algorithm 4.1."""

    statements: tuple[ProgramStatement, ...]
    dependences: tuple[ProgramDependence, ...]
    options: HyperplaneOptions
    bands: Iterator[int] = field(default_factory=itertools.count)

    def schedule(self, before: Rows) -> Schedule:
        """The whole program's schedule, whose first rows are `before`."""
        extents = extents_of(self.statements)
        aligned = _aligned(tuple(lifted(each.relation, extents) for each in self.dependences))
        pending = tuple(
            Edge(each.source, each.target, relation) for each, relation in zip(self.dependences, aligned, strict=True)
        )
        first: Rows = {each.name: before.get(each.name, ()) for each in self.statements}
        rows = self._separate(self.statements, pending, first)
        scheduled = tuple(StatementSchedule(each, rows[each.name]) for each in self.statements)
        return Schedule(padded(scheduled))

    def _separate(self, group: tuple[ProgramStatement, ...], pending: tuple[Edge, ...], rows: Rows) -> Rows:
        """The schedule with nests in textual order that share neither a loop nor a dependence."""
        links = [each.ends for each in pending]
        links += [(a.name, b.name) for a, b in itertools.pairwise(group) if a.shared_loops(b)]
        return self._in_sequence(weakly_connected(group, links), pending, rows)

    def _in_sequence(self, groups: list[tuple[ProgramStatement, ...]], pending: tuple[Edge, ...], rows: Rows) -> Rows:
        """Each group's rows, after a scalar dimension that orders several groups."""
        result: dict[str, tuple[Row, ...]] = {}
        for order, group in enumerate(groups):
            names = {each.name for each in group}
            inside = tuple(each for each in pending if set(each.ends) <= names)
            group_rows = {name: rows[name] for name in names}
            if len(groups) > 1:
                group_rows = {each.name: (*rows[each.name], Row((0,) * each.depth, order, None)) for each in group}
            result |= self._band(group, inside, group_rows)
        return result

    def _band(self, group: tuple[ProgramStatement, ...], pending: tuple[Edge, ...], rows: Rows) -> Rows:
        """One band of permutable rows for the group, and all rows below it."""
        problem = self._problem(group, pending, rows)
        band = next(self.bands)
        left = pending
        found_any = False
        while not _finished(group, rows):
            row = self._row(replace(problem, rows=_hyperplanes(group, rows)))
            if row is None:
                break
            found_any = True
            rows = {name: (*rows[name], replace(each, band=band)) for name, each in row.items()}
            left = _still_tied(group, left, row)
        if _finished(group, rows) and not left:
            return rows
        if found_any:
            return self._band(group, left, rows)
        return self._fission(group, left, rows)

    def _problem(self, group: tuple[ProgramStatement, ...], pending: tuple[Edge, ...], rows: Rows) -> RowProblem:
        parameters = pending[0].relation.dim(isl.dim_type.param) if pending else 0
        return RowProblem(group, _hyperplanes(group, rows), pending, parameters, group[0].domain.get_ctx())

    def _row(self, problem: RowProblem) -> dict[str, Row] | None:
        """The next row of each statement; (4.1) is given up where it cannot hold."""
        level = 1 + max(len(rows) for rows in problem.rows.values())
        solution = self._balanced(problem) if level == self.options.balanced_row else find_row(problem)
        if solution is None and level == self.options.balanced_row:
            solution = find_row(problem)
        if solution is None:
            return None
        return {name: Row(each.coefficients, each.constant, 0) for name, each in solution.items()}

    def _balanced(self, problem: RowProblem) -> dict[str, SolvedRow] | None:
        """A row with (4.1) for self dependences. Where statements of one wavefront still form a
        dependence cycle, dependences against the textual order get distance 1 too, which breaks it.
        """
        self_edges = [index for index, each in enumerate(problem.edges) if each.source == each.target]
        solution = find_row(problem, frozenset(self_edges))
        if solution is None or not _circular(problem, solution):
            return solution
        place = {each.name: order for order, each in enumerate(sorted(problem.statements, key=lambda s: s.position))}
        backwards = [index for index, each in enumerate(problem.edges) if place[each.target] <= place[each.source]]
        return find_row(problem, frozenset(backwards))

    def _fission(self, group: tuple[ProgramStatement, ...], pending: tuple[Edge, ...], rows: Rows) -> Rows:
        """Algorithm 4.1, step 12: a scalar dimension orders strongly connected components; adjacent
        ones with a common hyperplane stay fused.
        """
        components = strongly_connected(group, [each.ends for each in pending])
        if len(components) == 1:
            return self._as_written(group, rows)
        merged = [components[0]]
        for component in components[1:]:
            joint = merged[-1] + component
            if self._fusible(joint, pending, rows):
                merged[-1] = joint
            else:
                merged.append(component)
        return self._in_sequence(merged, pending, rows)

    def _fusible(self, group: tuple[ProgramStatement, ...], pending: tuple[Edge, ...], rows: Rows) -> bool:
        names = {each.name for each in group}
        inside = tuple(each for each in pending if set(each.ends) <= names)
        if _finished(group, rows):
            return not inside
        return self._row(self._problem(group, inside, rows)) is not None

    def _as_written(self, group: tuple[ProgramStatement, ...], rows: Rows) -> Rows:
        """What is left unordered is ordered as in the text: legal, since every dependence runs
        forward there.
        """
        kept = original_schedule(group, self.bands)
        return {each.statement.name: rows[each.statement.name] + each.rows for each in kept.statements}


def _aligned(relations: tuple[isl.Map, ...]) -> tuple[isl.Map, ...]:
    """The relations with the same parameters in the same order."""
    if not relations:
        return ()
    space = relations[0].get_space().params()
    for relation in relations[1:]:
        space = space.align_params(relation.get_space().params())
    return tuple(relation.align_params(space) for relation in relations)


def _hyperplanes(group: tuple[ProgramStatement, ...], rows: Rows) -> dict[str, Matrix]:
    """H_S of each statement: its linearly independent rows."""
    result: dict[str, Matrix] = {}
    for each in group:
        chosen: list[tuple[int, ...]] = []
        for row in rows[each.name]:
            if rank((*chosen, row.coefficients)) > len(chosen):
                chosen.append(row.coefficients)
        result[each.name] = tuple(chosen)
    return result


def _finished(group: tuple[ProgramStatement, ...], rows: Rows) -> bool:
    """Whether H_S has full rank for all of the group."""
    hyperplanes = _hyperplanes(group, rows)
    return all(len(hyperplanes[each.name]) == each.depth for each in group)


def _still_tied(
    group: tuple[ProgramStatement, ...], pending: tuple[Edge, ...], row: Mapping[str, Row]
) -> tuple[Edge, ...]:
    """The pairs { s -> t : phi_T(t) = phi_S(s) } of each dependence (Algorithm 4.1, step 14)."""
    maps = {each.name: affine_map(each, (row[each.name],)) for each in group}
    left = []
    for each in pending:
        source, target = each.ends
        tied = each.relation.intersect(maps[source].apply_range(maps[target].reverse()))
        if not tied.is_empty():
            left.append(replace(each, relation=tied.align_params(each.relation.get_space().params())))
    return tuple(left)


def _circular(problem: RowProblem, solution: Mapping[str, SolvedRow]) -> bool:
    """Whether statements of one wavefront { i : phi_S(i) = c } have a dependence cycle."""
    row = {name: Row(each.coefficients, each.constant, 0) for name, each in solution.items()}
    tied = [each.ends for each in _still_tied(problem.statements, problem.edges, row)]
    self_dependent = any(source == target for source, target in tied)
    return self_dependent or len(strongly_connected(problem.statements, tied)) < len(problem.statements)
