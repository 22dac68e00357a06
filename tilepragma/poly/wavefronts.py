"""Two-level wavefronts: which tiles of a band run in parallel, and which points of a tile.

    Gamma_S  : { S[i] -> [floor(Phi_S(i) / s), Phi_S(i)] }                            thesis (3.14)
    Theta    = (1 1 ... 1; 0 1 ... 0; ...; 0 ... 0 1)                                  thesis (3.17)
    Gamma'_S : { S[i] -> [Theta_T floor(Phi_S(i) / s), Theta_S Phi_S(i)] }             thesis (3.19)

The first component of each half is sequential, all others are parallel: wavefronts of points in a
tile, wavefronts of tiles between tiles. Where one row of the band orders all that a tile must order
(Theorem 4.1), Theta_S is that row alone: the wavefronts are balanced. Rows that carry nothing stay
out of the sum of (3.17), which keeps their parallelism free of synchronisation.

A sequential loop over e_1, Theta_S phi's first component, writes the points of a tile:

    { S[i] -> [outer rows, e_1, rows of the part] }

Points of one e_1 run in parallel, in groups of statements with barriers between (Figure 4.7).

Concurrent start: diamond tiles of two rows of a band (Bondhugula, Bandishti, Pananilath 2014).

    f             a row that is one loop of the program, whose end ends the domain: time
    h             another row of the band
    h' = c f - h  with the least c >= 1, and with constants, for which h' is legal too, (3.16):
                  h'_T(t) - h'_S(s) >= 0                                 for all (s, t) in P_e

The band with h' instead of f is permutable as before, and h + h' = c f is parallel to time: all
tiles of h and h' on one wavefront t_h + t_h' start at the same time step, and none waits for a
border of the domain. Skewed tiles of f and h start with one tile and grow by one a wavefront. No
such row exists where instances of one time step depend on each other (Gauss-Seidel): a pair (s, t)
with f(t) = f(s) would have h'(t) - h'(s) = -(h(t) - h(s)).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.adjacency import Cost, by_transactions, transactions
from tilepragma.poly.bands import Band, BandKind
from tilepragma.poly.dependences import Dependence, Dependences, within
from tilepragma.poly.hyperplanes import extents_of, lifted
from tilepragma.poly.schedule import Row, Schedule, StatementSchedule, affine_map, carries, tied
from tilepragma.poly.strongly_connected import strongly_connected


@dataclass(frozen=True)
class BandWavefronts:
    """The two levels of one band of a schedule.

    `levels`: the rows of the schedule that the band has; `statements`: the names of those with
    these rows. `carrying`: the members of the band, from 0, whose sum on tile indices is Theta_T's
    sequential row; the others are parallel. Without any, all are parallel, with no synchronisation.
    `summed`: the same of Theta_S, on points. `order`: groups of statements that follow each other
    within one wavefront of points (thesis Figure 4.7).
    """

    levels: tuple[int, ...]
    statements: tuple[str, ...]
    carrying: tuple[int, ...]
    summed: tuple[int, ...]
    order: tuple[tuple[str, ...], ...]


def band_wavefronts(schedule: Schedule, dependences: Dependences) -> tuple[BandWavefronts, ...]:
    """The wavefronts of each band, for one iteration of the rows before it; outer bands first.

    The schedule is one of Algorithm 4.1 for these dependences: its bands are tilable (Theorem 3.3).
    """
    bands = dict.fromkeys(row.band for each in schedule for row in each.rows if row.band is not None)
    return tuple(_wavefronts(schedule, dependences, band) for band in bands)


def _wavefronts(schedule: Schedule, dependences: Dependences, band: int) -> BandWavefronts:
    members = tuple(each for each in schedule if any(row.band == band for row in each.rows))
    levels = tuple(level for level, row in enumerate(members[0].rows) if row.band == band)
    names = tuple(each.statement.name for each in members)
    edges = tied(members, within(dependences, names), range(levels[0]))
    carrying = tuple(index for index, level in enumerate(levels) if carries(members, edges, level))
    along = _balancing(members, edges, levels, carrying)
    summed = carrying if along is None else (along,)
    order = _order(members, tied(members, edges, [levels[index] for index in summed]))
    return BandWavefronts(levels, names, carrying, summed if carrying else (), order)


def _balancing(members: Schedule, edges: Dependences, levels: tuple[int, ...], carrying: tuple[int, ...]) -> int | None:
    """The first row of the band that leaves no dependences within its wavefronts, (4.1)."""
    statements = tuple(each.statement for each in members)
    for index in carrying or range(len(levels)):
        links = [each.ends for each in tied(members, edges, (levels[index],))]
        self_dependent = any(source == target for source, target in links)
        if not self_dependent and len(strongly_connected(statements, links)) == len(statements):
            return index
    return None


def _order(members: Schedule, left: Dependences) -> tuple[tuple[str, ...], ...]:
    """Statements in groups without dependences inside, by the longest chain of dependences."""
    statements = tuple(each.statement for each in members)
    links = [each.ends for each in left]
    place: dict[str, int] = {}
    for component in strongly_connected(statements, links):
        names = {each.name for each in component}
        before = [place[source] for source, target in links if target in names and source not in names]
        place |= dict.fromkeys(names, 1 + max(before, default=-1))
    numbers = sorted(set(place.values()))
    return tuple(tuple(each.name for each in statements if place[each.name] == number) for number in numbers)


@dataclass(frozen=True)
class IntraTile:
    """`part` with e_1 as the row at level `outer`, so that its own rows are one level deeper.

    `summed`: the levels, so numbered, of the rows whose sum e_1 is; empty where e_1 is a row that
    tiles do not have. `parallel`: the parallel levels, with neighbours in memory along the last.
    `groups`: names of statements that may run in parallel; groups run in sequence.
    """

    part: Band
    summed: tuple[int, ...]
    parallel: tuple[int, ...]
    groups: tuple[tuple[str, ...], ...]

    @property
    def level(self) -> int:
        """The level of e_1."""
        return self.part.outer

    def of_group(self, names: tuple[str, ...]) -> Band:
        """The part with only these statements."""
        return replace(self.part, statements=tuple(e for e in self.part.statements if e.statement.name in names))


def intra_tile(part: Band, dependences: Dependences, private: frozenset[str] = frozenset()) -> IntraTile:
    """The intra-tile wavefronts of the part's band; `private` objects are not in global memory."""
    names = {each.statement.name for each in part.statements}
    wavefronts = band_wavefronts(part.statements, within(dependences, names))
    wavefront = next(each for each in wavefronts if each.levels == part.band)
    levels = tuple(part.band[member] for member in wavefront.summed) or part.band[:1]
    stepped = tuple(replace(each, rows=_with_sum(each, part.outer, levels)) for each in part.statements)
    summed = tuple(level + 1 for level in levels)
    band = tuple(level + 1 for level in part.band)
    parallel = _parallel_levels(stepped, band, summed, private)
    shifted = replace(part, statements=stepped, band=band, carrying=tuple(level + 1 for level in part.carrying))
    return IntraTile(shifted, summed, parallel, wavefront.order)


def concurrent_tile(
    start: ConcurrentStart, dependences: Dependences, private: frozenset[str] = frozenset()
) -> IntraTile | None:
    """The same for concurrent start: e_1 is f, which h' replaces; None where points then wait."""
    tile = intra_tile(start.skewed, dependences, private)
    replaced = start.pair[0]
    if tile.summed != (replaced + 1,):
        return None
    statements = tuple(
        replace(each, rows=(*each.rows[: replaced + 1], started.rows[replaced], *each.rows[replaced + 2 :]))
        for each, started in zip(tile.part.statements, start.part.statements, strict=True)
    )
    return replace(tile, part=replace(tile.part, statements=statements), summed=())


def _parallel_levels(
    stepped: Schedule, band: tuple[int, ...], summed: tuple[int, ...], private: frozenset[str]
) -> tuple[int, ...]:
    """The parallel members: all but one of those in e_1's sum, which the others determine. Leaves
    out the one without which neighbours' accesses take the fewest transactions; the last of equals,
    along which a worker then walks: it has the longest rows, and ends that other rows do not move.
    """
    best: tuple[int, ...] = ()
    least: Cost | None = None
    for left_out in reversed(summed or band[:1]):
        parallel = tuple(level for level in band if level != left_out)
        fixed = tuple(level for level in range(len(stepped[0].rows)) if level not in band or level in parallel)
        ordered = by_transactions(stepped, parallel, fixed, private)
        cost = transactions(stepped, ordered[-1], fixed, private) if ordered else ()
        if least is None or cost < least:
            best, least = ordered, cost
    return best


def _with_sum(each: StatementSchedule, outer: int, levels: tuple[int, ...]) -> tuple[Row, ...]:
    """The rows with e_1, the sum of the rows at these levels, after the outer ones."""
    rows = [each.rows[level] for level in levels]
    coefficients = tuple(map(sum, zip(*(row.coefficients for row in rows), strict=True)))
    total = Row(coefficients, sum(row.constant for row in rows), rows[0].band)
    return (*each.rows[:outer], total, *each.rows[outer:])


GREATEST_FACTOR = 64
"""The greatest factor of skewing: a stencil of order 4 in two half steps has c = 16."""


@dataclass(frozen=True)
class ConcurrentStart:
    """`part` is `skewed` with h' instead of f; `pair`: the levels of h' and h, whose tiles of equal
    sum start concurrently; `factor` is c.
    """

    part: Band
    skewed: Band
    pair: tuple[int, int]
    factor: int


def concurrent_start(part: Band, dependences: Iterable[Dependence], along: int | None = None) -> ConcurrentStart | None:
    """The part with concurrent start, if any; keeps the row `along`, which vectors take."""
    if part.kind is not BandKind.WAVEFRONT:
        return None
    extents = extents_of(each.statement for each in part.statements)
    # { S[s] -> T[t] in P_e : outer rows equal } for each pair of the part's statements
    between: dict[tuple[str, str], isl.Map] = {}
    names = {each.statement.name for each in part.statements}
    for each in tied(part.statements, within(dependences, names), range(part.outer)):
        between[each.ends] = between[each.ends].union(each.relation) if each.ends in between else each.relation
    inside = tuple((ends, lifted(relation, extents)) for ends, relation in between.items())
    others = sorted(part.carrying, key=lambda level: level == along)
    for time in part.carrying:
        if time == along or not all(each.rows[time].is_iterator for each in part.statements):
            continue
        for space in others:
            if space != time and (opposite := _opposite(part, inside, time, space)) is not None:
                return opposite
    return None


def _opposite(
    part: Band, inside: tuple[tuple[tuple[str, str], isl.Map], ...], time: int, space: int
) -> ConcurrentStart | None:
    """The part with h' for the rows f at `time` and h at `space`; None without such a row."""
    # { S[i] -> [f(i), h(i)] } without constants
    linear = {
        each.statement.name: affine_map(
            each.statement, tuple(replace(each.rows[level], constant=0) for level in (time, space))
        )
        for each in part.statements
    }
    edges = tuple((ends, _differences(ends, relation, linear)) for ends, relation in inside)
    for factor in range(1, GREATEST_FACTOR + 1):
        least = [_least(differences, factor) for _, differences in edges]
        bounds = [(*ends, -low) for (ends, _), low in zip(edges, least, strict=True) if low is not None]
        if len(bounds) < len(edges):
            continue
        constants = least_constants(linear, bounds)
        if constants is not None:
            return ConcurrentStart(_replaced(part, time, space, factor, constants), part, (time, space), factor)
    return None


def _differences(ends: tuple[str, str], relation: isl.Map, linear: Mapping[str, isl.Map]) -> isl.Set:
    """{ [f(t) - f(s), h(t) - h(s)] : (s, t) in P_e } for all parameters, without constants."""
    values = relation.apply_domain(linear[ends[0]]).apply_range(linear[ends[1]]).deltas()
    return values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param)).coalesce()


def _least(differences: isl.Set, factor: int) -> int | None:
    """The least value of factor * (f(t) - f(s)) - (h(t) - h(s)); None if unbounded."""
    aff = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(differences.get_space()))
    aff = aff.set_coefficient_val(isl.dim_type.in_, 0, factor).set_coefficient_val(isl.dim_type.in_, 1, -1)
    least = differences.min_val(aff)
    return int(least.to_python()) if least.is_int() else None


def least_constants(names: Iterable[str], bounds: Iterable[tuple[str, str, int]]) -> dict[str, int] | None:
    """The least constants c_S >= 0 with c_T - c_S >= b for all (S, T, b); None without any."""
    constants = dict.fromkeys(names, 0)
    edges = tuple(bounds)
    for _ in range(len(constants) + 1):
        changed = False
        for source, target, least in edges:
            if constants[source] + least > constants[target]:
                constants[target] = constants[source] + least
                changed = True
        if not changed:
            return constants
    return None


def _replaced(part: Band, time: int, space: int, factor: int, constants: Mapping[str, int]) -> Band:
    """The part with h' = factor * f - h and these constants at the level `time`."""
    statements = []
    for each in part.statements:
        rows = list(each.rows)
        step, row = rows[time], rows[space]
        coefficients = tuple(factor * a - b for a, b in zip(step.coefficients, row.coefficients, strict=True))
        rows[time] = Row(coefficients, constants[each.statement.name], step.band)
        statements.append(replace(each, rows=tuple(rows)))
    return replace(part, statements=tuple(statements))
