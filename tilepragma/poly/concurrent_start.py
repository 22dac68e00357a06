"""Concurrent start: diamond tiles of two rows of a band (Bondhugula, Bandishti, Pananilath 2014).

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
from tilepragma.poly.bands import Band, BandKind
from tilepragma.poly.dependences import Dependence, within
from tilepragma.poly.lifted_extents import extents_of, lifted
from tilepragma.poly.schedule import Row, affine_map, tied

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
