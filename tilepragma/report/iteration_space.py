"""A nest's iteration space at small sizes, point by point, in plain numbers: what pictures are
drawn from.

Instances { S[i] }, the pairs of each dependence polyhedron P_e, and of every instance its tile
floor(Phi_S(i) / s) of thesis (3.14) and the wavefront of (3.17) that the tile belongs to, for the
rows that a plan has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.deferred_signals import signals_held_back
from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.extraction import step_of
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.schedule import Row
from tilepragma.poly.scop import ScopStatement
from tilepragma.report.nest_analysis import NestAnalysis, at_sizes, parameter_names

#: By the number of loops: iterations a loop aimed at, the most that a user's sizes may give, and
#: the extent of tiles.
TARGET_ITERATIONS = {1: 16, 2: 9, 3: 6}
MOST_ITERATIONS = {1: 40, 2: 16, 3: 8}
TILE_EXTENT = {1: 4, 2: 4, 3: 3}
MOST_DIMENSIONS = 3
_MOST_INSTANCES = 1600
_MOST_PAIRS = 6000


class NotDrawableError(Exception):
    """Why a nest has no picture; a clause for the user."""


@dataclass(frozen=True)
class SpaceStatement:
    """A statement: the user's iterators of its drawn loops with the step of each (signed)."""

    name: str
    iterators: tuple[str, ...]
    steps: tuple[int, ...]
    loops: tuple[int, ...]
    """the indices of its loops, so that shared ones can be told"""


@dataclass(frozen=True)
class Instance:
    """S[at]: `statement` is an index. `tile` is its tile, () where there are none, `wavefront` the number of the tile's wavefront from 0."""

    statement: int
    at: tuple[int, ...]
    tile: tuple[int, ...]
    wavefront: int


@dataclass(frozen=True)
class Pair:
    """One pair of a dependence: indices of instances, the kind's name, and sink - source where both
    have the same loops.

    Not `certain` where it may be absent: it hangs on data, or its accesses are not known exactly.
    """

    kind: str
    source: int
    sink: int
    distance: tuple[int, ...] | None
    certain: bool


@dataclass(frozen=True)
class IterationSpace:
    """`instances` are in the order of execution. `sizes` are the parameters' values; `cut` where
    loops were cut short to fit. Of nests of more than three loops `depth` = 3 are left, and `fixed`
    says where the inner ones stand still.

    `rows` are the hyperplanes by which each statement is tiled, as coefficients, none where there
    are no tiles; `extent` is the tiles' size along each.
    """

    depth: int
    statements: tuple[SpaceStatement, ...]
    instances: tuple[Instance, ...]
    pairs: tuple[Pair, ...]
    sizes: Mapping[str, int]
    cut: bool
    fixed: Mapping[str, int]
    rows: tuple[tuple[tuple[int, ...], ...], ...]
    extent: int


@dataclass(frozen=True)
class DrawnTiles:
    """Of each statement, in textual order, the rows phi_k in the user's iterators; tiles floor(phi_k / size) of equal sums run at once."""

    rows: tuple[tuple[Row, ...], ...]


def iteration_space(
    analysis: NestAnalysis, wanted: Mapping[str, int], tiles: DrawnTiles | None = None
) -> IterationSpace:
    """The nest at sizes of at most a dozen iterations a loop; `wanted` are the user's numbers,
    taken where they are small.

    Raises NotDrawableError for nests without instances or bounds, or too hard for isl.
    """
    depth = min(max((len(each.loops) for each in analysis.statements), default=0), MOST_DIMENSIONS)
    if depth == 0:
        raise NotDrawableError("it has no statements")
    try:
        with operation_limit(analysis.scop.context, DEFAULT_LIMIT, "drawing"):
            return _space(analysis, wanted, depth, tiles)
    except OperationLimitError:
        raise NotDrawableError("the engine reached its limit of operations") from None


def _space(analysis: NestAnalysis, wanted: Mapping[str, int], depth: int, tiles: DrawnTiles | None) -> IterationSpace:
    sizes = _sizes(analysis, wanted, depth)
    domains, cut = _scratchpaded(analysis, [at_sizes(each.domain, sizes.get) for each in analysis.statements], depth)
    domains, fixed = _sliced(analysis, domains)
    found = [
        (number, at)
        for number, domain in enumerate(domains)
        for at in _points(domain, len(analysis.statements[number].loops))
    ]
    if not found:
        raise NotDrawableError("it has no iterations at small sizes")
    if len(found) > _MOST_INSTANCES:
        raise NotDrawableError("it has too many iterations even at small sizes")
    found.sort(key=lambda one: _execution_key(analysis.statements[one[0]], one[1]))
    index = {one: place for place, one in enumerate(found)}
    pairs: dict[Pair, None] = {}
    for value in analysis.values:
        for pair in _pairs(analysis, value, domains, sizes, index):
            pairs.setdefault(pair)
    instances = _tiled(found, tiles, TILE_EXTENT[depth])
    rows = () if tiles is None else tiles.rows
    return IterationSpace(
        depth,
        tuple(_statement(each) for each in analysis.statements),
        tuple(replace(instance, at=instance.at[:MOST_DIMENSIONS]) for instance in instances),
        tuple(pairs),
        sizes,
        cut,
        fixed,
        tuple(tuple(row.coefficients[:MOST_DIMENSIONS] for row in own) for own in rows),
        TILE_EXTENT[depth],
    )


def _statement(each: ScopStatement) -> SpaceStatement:
    loops = each.loops[:MOST_DIMENSIONS]
    return SpaceStatement(
        each.name,
        tuple(loop.iterator.host for loop in loops),
        tuple(step_of(loop) or (-1 if loop.decreasing else 1) for loop in loops),
        tuple(loop.index for loop in loops),
    )


# -- sizes


def _sizes(analysis: NestAnalysis, wanted: Mapping[str, int], depth: int) -> dict[str, int]:
    """A value for every parameter: the user's if the loops stay small with them, one small number for all others."""
    names = parameter_names(analysis)
    given = {name: value for name, value in wanted.items() if name in names}
    for fixed in (given, {}):
        choices = [
            (cost, value)
            for value in range(2, 3 * TARGET_ITERATIONS[depth] + 4)
            if (cost := _cost(analysis, {name: fixed.get(name, value) for name in names}, depth)) is not None
        ]
        if choices:
            _, best = min(choices)
            found = {name: fixed.get(name, best) for name in names}
            if fixed is not given or _largest(analysis, found) <= MOST_ITERATIONS[depth] or not given:
                return found
    raise NotDrawableError("its bounds are not affine, or it has no iterations at small sizes")


def _cost(analysis: NestAnalysis, sizes: Mapping[str, int], depth: int) -> int | None:
    """How far the loops are from the number of iterations aimed at; None where there are none."""
    extents = _extents(analysis, sizes)
    if extents is None:
        return None
    return sum((extent - TARGET_ITERATIONS[depth]) ** 2 for extent in extents)


def _largest(analysis: NestAnalysis, sizes: Mapping[str, int]) -> int:
    return max(_extents(analysis, sizes) or (0,))


def _extents(analysis: NestAnalysis, sizes: Mapping[str, int]) -> list[int] | None:
    """How many iterations each loop of each statement spans; None where one is empty or without bounds."""
    extents = []
    for each in analysis.statements:
        domain = at_sizes(each.domain, sizes.get)
        if domain.is_empty():
            return None
        for place, loop in enumerate(each.loops):
            bounds = _range(domain, place)
            if bounds is None:
                return None
            extents.append((bounds[1] - bounds[0]) // abs(step_of(loop) or 1) + 1)
    return extents


def _range(domain: isl.Set, place: int) -> tuple[int, int] | None:
    least, most = domain.dim_min_val(place), domain.dim_max_val(place)
    return (int(least.to_python()), int(most.to_python())) if least.is_int() and most.is_int() else None


def _scratchpaded(analysis: NestAnalysis, domains: list[isl.Set], depth: int) -> tuple[list[isl.Set], bool]:
    """The first iterations of loops that are long whatever the parameters are."""
    cut = False
    result = []
    for each, domain in zip(analysis.statements, domains, strict=True):
        for place, loop in enumerate(each.loops):
            same = [
                _range(other, place)
                for statement, other in zip(analysis.statements, domains, strict=True)
                if len(statement.loops) > place and not other.is_empty()
            ]
            ranges = [one for one in same if one is not None]
            if not ranges:
                raise NotDrawableError(f"the loop over '{loop.iterator.host}' has no bounds that are affine")
            least, most = min(low for low, _ in ranges), max(high for _, high in ranges)
            span = MOST_ITERATIONS[depth] * abs(step_of(loop) or 1)
            if most - least < span:
                continue
            cut = True
            context = domain.get_ctx()
            if loop.decreasing:
                domain = domain.lower_bound_val(isl.dim_type.set, place, isl.Val(most - span + 1, context=context))
            else:
                domain = domain.upper_bound_val(isl.dim_type.set, place, isl.Val(least + span - 1, context=context))
        result.append(domain)
    return result, cut


def _sliced(analysis: NestAnalysis, domains: list[isl.Set]) -> tuple[list[isl.Set], dict[str, int]]:
    """Loops beyond the third stand still in the middle of their range, at the same iteration for all statements that have it."""
    fixed: dict[str, int] = {}
    result = []
    for each, domain in zip(analysis.statements, domains, strict=True):
        for place, loop in enumerate(each.loops[MOST_DIMENSIONS:], MOST_DIMENSIONS):
            name = loop.iterator.host
            if domain.is_empty():
                break
            known = _at(domain, place, fixed[name]) if name in fixed else None
            if known is None or known.is_empty():
                ends = _range(domain, place)
                assert ends is not None, "scratchpads have bounds"
                least = domain.lower_bound_val(
                    isl.dim_type.set, place, isl.Val((ends[0] + ends[1]) // 2, context=domain.get_ctx())
                )
                value = int(least.dim_min_val(place).to_python())
                fixed.setdefault(name, value)
                known = _at(domain, place, value)
            domain = known
        result.append(domain)
    return result, fixed


def _at(domain: isl.Set, place: int, value: int) -> isl.Set:
    """{ i in domain : i_place = value }"""
    return domain.fix_val(isl.dim_type.set, place, isl.Val(value, context=domain.get_ctx()))


# -- points and pairs


def _points(domain: isl.Set, depth: int) -> list[tuple[int, ...]]:
    if not domain.is_bounded():
        raise NotDrawableError("one of its loops has no bounds that are affine")
    count = domain.project_out_all_params().count_val()
    if not count.is_int() or count.to_python() > _MOST_INSTANCES:
        raise NotDrawableError("it has too many iterations even at small sizes")
    found: list[tuple[int, ...]] = []
    with signals_held_back():
        domain.foreach_point(lambda point: found.append(_coordinates(point, depth)))
    return sorted(found)


def _coordinates(point: isl.Point, count: int) -> tuple[int, ...]:
    return tuple(int(point.get_coordinate_val(isl.dim_type.set, place).to_python()) for place in range(count))


def _execution_key(statement: ScopStatement, at: tuple[int, ...]) -> tuple[int, ...]:
    """The image of the Scop's schedule, [c_0, ±i_1, c_1, …, 0, …]."""
    key = []
    for place in range(statement.schedule.dim(isl.dim_type.out)):
        level, odd = divmod(place, 2)
        if odd and level < len(at):
            key.append(-at[level] if statement.loops[level].decreasing else at[level])
        else:
            key.append(int(statement.schedule.plain_get_val_if_fixed(isl.dim_type.out, place).to_python()))
    return tuple(key)


def _pairs(
    analysis: NestAnalysis,
    dependence: Dependence,
    domains: list[isl.Set],
    sizes: Mapping[str, int],
    index: Mapping[tuple[int, tuple[int, ...]], int],
) -> Iterable[Pair]:
    names = [each.name for each in analysis.statements]
    source, sink = names.index(dependence.source_statement.name), names.index(dependence.sink_statement.name)
    relation = dependence.relation.intersect_domain(domains[source]).intersect_range(domains[sink])
    pairs = at_sizes(relation.wrap(), sizes.get)
    if pairs.is_empty():
        return
    count = pairs.project_out_all_params().count_val()
    if not count.is_int() or count.to_python() > _MOST_PAIRS:
        raise NotDrawableError("it has too many dependences even at small sizes")
    first, second = len(dependence.source_statement.loops), len(dependence.sink_statement.loops)
    found: list[tuple[int, ...]] = []
    with signals_held_back():
        pairs.foreach_point(lambda point: found.append(_coordinates(point, first + second)))
    alike = len(dependence.loops) == first == second
    steps = [step_of(loop) or 1 for loop in dependence.loops]
    for both in sorted(found):
        one, other = both[:first], both[first:]
        distance = tuple((b - a) // step for a, b, step in zip(one, other, steps, strict=True)) if alike else None
        shown = distance[:MOST_DIMENSIONS] if distance is not None else None
        yield Pair(dependence.kind.value, index[source, one], index[sink, other], shown, dependence.exact)


# -- tiles and wavefronts


def _tiled(found: list[tuple[int, tuple[int, ...]]], tiles: DrawnTiles | None, extent: int) -> tuple[Instance, ...]:
    """Every instance with its tile, and wavefronts numbered from 0; all in one where there are no tiles."""
    if tiles is None:
        return tuple(Instance(number, at, (), 0) for number, at in found)
    own = [
        tuple((_dot(row.coefficients, at) + row.constant) // extent for row in tiles.rows[number])
        for number, at in found
    ]
    waves = {wave: place for place, wave in enumerate(sorted({sum(tile) for tile in own}))}
    return tuple(Instance(number, at, tile, waves[sum(tile)]) for (number, at), tile in zip(found, own, strict=True))


def _dot(row: tuple[int, ...], values: tuple[int, ...]) -> int:
    return sum(factor * value for factor, value in zip(row, values, strict=True))
