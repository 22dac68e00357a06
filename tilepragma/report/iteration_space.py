"""A nest's iteration space at small sizes, point by point, for pictures.

It has the instances { S[i] }, the pairs of each dependence polyhedron P_e, and for every instance
its tile floor(Phi_S(i) / s) of thesis (3.14) and the tile's wavefront of (3.17), for the plan's
hyperplanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import mul

import islpy as isl

from tilepragma.base.deferred_signals import signals_held_back
from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.schedule import Row
from tilepragma.poly.scop import ScopStatement, step_of
from tilepragma.report.nest_analysis import NestAnalysis, at_sizes, parameter_names

#: By the number of loops: the desired iterations of a loop, the most for a user's sizes, and the
#: extent of tiles.
TARGET_ITERATIONS = {1: 16, 2: 9, 3: 6}
MOST_ITERATIONS = {1: 40, 2: 16, 3: 8}
TILE_EXTENT = {1: 4, 2: 4, 3: 3}
MOST_DIMENSIONS = 3
#: Each statement's hyperplanes phi_k, in textual order. Tiles of equal sums run in parallel.
Tiles = tuple[tuple[Row, ...], ...]
_MOST_INSTANCES = 1600
_MOST_PAIRS = 6000


class NotDrawableError(Exception):
    """Why a nest has no picture; a clause for the user."""


@dataclass(frozen=True)
class SpaceStatement:
    """A statement: the user's iterators of its drawn loops with the step of each (signed)."""

    iterators: tuple[str, ...]
    steps: tuple[int, ...]
    loops: tuple[int, ...]
    """the indices of its loops, which identify shared loops"""


@dataclass(frozen=True)
class Instance:
    """S[point]: `statement` is an index, `tile` may be (), `wavefront` is its number from 0."""

    statement: int
    point: tuple[int, ...]
    tile: tuple[int, ...]
    wavefront: int


@dataclass(frozen=True)
class Pair:
    """One pair of a dependence: instance indices, kind, and sink - source if both have the same
    loops. Not `certain` if it depends on data, or if accesses are not known exactly.
    """

    kind: str
    source: int
    sink: int
    distance: tuple[int, ...] | None
    certain: bool


@dataclass(frozen=True)
class IterationSpace:
    """`instances` are in the order of execution. `sizes` are the parameters' values; `cut`: loops
    were shortened to fit.

    Nests of more than three loops keep `depth` = 3, and `fixed` has the values of the inner ones.
    `rows` are the hyperplanes that tile each statement, as coefficients, empty without tiles;
    `extent` is the tiles' size along each.
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


def iteration_space(analysis: NestAnalysis, wanted: Mapping[str, int], tiles: Tiles = ()) -> IterationSpace:
    """The nest at sizes of at most a dozen iterations a loop; `wanted` are the user's, if small.
    Raises NotDrawableError for nests without instances or bounds, or too hard for isl.
    """
    depth = min(max((len(statement.loops) for statement in analysis.statements), default=0), MOST_DIMENSIONS)
    if depth == 0:
        raise NotDrawableError("it has no statements")
    try:
        with operation_limit(analysis.scop.context, DEFAULT_LIMIT, "drawing"):
            return _space(analysis, wanted, depth, tiles)
    except OperationLimitError:
        raise NotDrawableError("the engine reached its limit of operations") from None


def _space(analysis: NestAnalysis, wanted: Mapping[str, int], depth: int, tiles: Tiles) -> IterationSpace:
    sizes = _sizes(analysis, wanted, depth)
    domains = [at_sizes(statement.domain, sizes.get) for statement in analysis.statements]
    domains, cut = _truncated(analysis, domains, depth)
    domains, fixed = _sliced(analysis, domains)
    points: list[tuple[int, tuple[int, ...]]] = []
    for number, domain in enumerate(domains):
        if not domain.is_bounded():
            raise NotDrawableError("one of its loops has no bounds that are affine")
        loops = analysis.statements[number].loops
        points += [(number, point) for point in _points(domain, len(loops), _MOST_INSTANCES, "iterations")]
    if not points:
        raise NotDrawableError("it has no iterations at small sizes")
    if len(points) > _MOST_INSTANCES:
        raise NotDrawableError("it has too many iterations even at small sizes")
    points.sort(key=lambda point: _execution_key(analysis.statements[point[0]], point[1]))
    index = {point: place for place, point in enumerate(points)}
    pairs: dict[Pair, None] = {}
    for value in analysis.values:
        for pair in _pairs(analysis, value, domains, sizes, index):
            pairs.setdefault(pair)
    instances = _tiled(points, tiles, TILE_EXTENT[depth])
    return IterationSpace(
        depth,
        tuple(map(_statement, analysis.statements)),
        tuple(replace(instance, point=instance.point[:MOST_DIMENSIONS]) for instance in instances),
        tuple(pairs),
        sizes,
        cut,
        fixed,
        tuple(tuple(row.coefficients[:MOST_DIMENSIONS] for row in hyperplanes) for hyperplanes in tiles),
        TILE_EXTENT[depth],
    )


def _statement(statement: ScopStatement) -> SpaceStatement:
    loops = statement.loops[:MOST_DIMENSIONS]
    return SpaceStatement(
        tuple(loop.iterator.host for loop in loops),
        tuple(step_of(loop) or (-1 if loop.decreasing else 1) for loop in loops),
        tuple(loop.index for loop in loops),
    )


# -- sizes


def _sizes(analysis: NestAnalysis, wanted: Mapping[str, int], depth: int) -> dict[str, int]:
    """A value for each parameter: the user's if loops stay small, one for all others."""
    names = parameter_names(analysis)
    given = {name: value for name, value in wanted.items() if name in names}
    for fixed in (given, {}):
        choices = []
        for value in range(2, 3 * TARGET_ITERATIONS[depth] + 4):
            extents = _extents(analysis, {name: fixed.get(name, value) for name in names})
            if extents is not None:
                # The distance of the loops from the desired number of iterations.
                choices.append((sum((extent - TARGET_ITERATIONS[depth]) ** 2 for extent in extents), value))
        if choices:
            _, best = min(choices)
            values = {name: fixed.get(name, best) for name in names}
            if fixed is not given or max(_extents(analysis, values) or (0,)) <= MOST_ITERATIONS[depth] or not given:
                return values
    raise NotDrawableError("its bounds are not affine, or it has no iterations at small sizes")


def _extents(analysis: NestAnalysis, sizes: Mapping[str, int]) -> list[int] | None:
    """The number of iterations that each statement's loops span; None: empty or unbounded."""
    extents = []
    for statement in analysis.statements:
        domain = at_sizes(statement.domain, sizes.get)
        if domain.is_empty():
            return None
        for place, loop in enumerate(statement.loops):
            bounds = _range(domain, place)
            if bounds is None:
                return None
            extents.append((bounds[1] - bounds[0]) // abs(step_of(loop) or 1) + 1)
    return extents


def _range(domain: isl.Set, place: int) -> tuple[int, int] | None:
    least, most = domain.dim_min_val(place), domain.dim_max_val(place)
    return (int(least.to_python()), int(most.to_python())) if least.is_int() and most.is_int() else None


def _truncated(analysis: NestAnalysis, domains: list[isl.Set], depth: int) -> tuple[list[isl.Set], bool]:
    """The first iterations of loops that are long at all parameters."""
    cut = False
    result = []
    for statement, domain in zip(analysis.statements, domains, strict=True):
        for place, loop in enumerate(statement.loops):
            spans = [
                _range(peer_domain, place)
                for peer, peer_domain in zip(analysis.statements, domains, strict=True)
                if len(peer.loops) > place and not peer_domain.is_empty()
            ]
            ranges = [span for span in spans if span is not None]
            if not ranges:
                raise NotDrawableError(f"the loop over '{loop.iterator.host}' has no bounds that are affine")
            least, most = min(low for low, _ in ranges), max(high for _, high in ranges)
            span = MOST_ITERATIONS[depth] * abs(step_of(loop) or 1)
            if most - least < span:
                continue
            cut = True
            end = isl.Val(most - span + 1 if loop.decreasing else least + span - 1, context=domain.get_ctx())
            cut_off = domain.lower_bound_val if loop.decreasing else domain.upper_bound_val
            domain = cut_off(isl.dim_type.set, place, end)
        result.append(domain)
    return result, cut


def _sliced(analysis: NestAnalysis, domains: list[isl.Set]) -> tuple[list[isl.Set], dict[str, int]]:
    """Fix loops beyond the third at the middle of their range, equal for all statements."""
    fixed: dict[str, int] = {}
    result = []
    for statement, domain in zip(analysis.statements, domains, strict=True):
        for place, loop in enumerate(statement.loops[MOST_DIMENSIONS:], MOST_DIMENSIONS):
            name = loop.iterator.host
            if domain.is_empty():
                break
            slice_ = _at(domain, place, fixed[name]) if name in fixed else None
            if slice_ is None or slice_.is_empty():
                ends = _range(domain, place)
                assert ends is not None, "truncated loops have bounds"
                half = isl.Val((ends[0] + ends[1]) // 2, context=domain.get_ctx())
                upper_half = domain.lower_bound_val(isl.dim_type.set, place, half)
                value = int(upper_half.dim_min_val(place).to_python())
                fixed.setdefault(name, value)
                slice_ = _at(domain, place, value)
            domain = slice_
        result.append(domain)
    return result, fixed


def _at(domain: isl.Set, place: int, value: int) -> isl.Set:
    """{ i in domain : i_place = value }"""
    return domain.fix_val(isl.dim_type.set, place, isl.Val(value, context=domain.get_ctx()))


# -- points and pairs


def _points(domain: isl.Set, dimensions: int, most: int, points_name: str) -> list[tuple[int, ...]]:
    """The points of a bounded set, in order. Raises NotDrawableError for more than `most`."""
    count = domain.project_out_all_params().count_val()
    if not count.is_int() or count.to_python() > most:
        raise NotDrawableError(f"it has too many {points_name} even at small sizes")
    points: list[tuple[int, ...]] = []

    def add(point: isl.Point) -> None:
        values = (point.get_coordinate_val(isl.dim_type.set, place) for place in range(dimensions))
        points.append(tuple(int(value.to_python()) for value in values))

    with signals_held_back():
        domain.foreach_point(add)
    return sorted(points)


def _execution_key(statement: ScopStatement, point: tuple[int, ...]) -> tuple[int, ...]:
    """The image of the Scop's schedule, [c_0, ±i_1, c_1, …, 0, …]."""
    key = []
    for place in range(statement.schedule.dim(isl.dim_type.out)):
        level, odd = divmod(place, 2)
        if odd and level < len(point):
            key.append(-point[level] if statement.loops[level].decreasing else point[level])
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
    names = [statement.name for statement in analysis.statements]
    source, sink = names.index(dependence.source_statement.name), names.index(dependence.sink_statement.name)
    relation = dependence.relation.intersect_domain(domains[source]).intersect_range(domains[sink])
    pairs = at_sizes(relation.wrap(), sizes.get)
    if pairs.is_empty():
        return
    first, second = len(dependence.source_statement.loops), len(dependence.sink_statement.loops)
    alike = len(dependence.loops) == first == second
    steps = [step_of(loop) or 1 for loop in dependence.loops]
    for both in _points(pairs, first + second, _MOST_PAIRS, "dependences"):
        start, end = both[:first], both[first:]
        distance = tuple((b - a) // step for a, b, step in zip(start, end, steps, strict=True)) if alike else None
        shown = distance[:MOST_DIMENSIONS] if distance is not None else None
        yield Pair(dependence.kind.value, index[source, start], index[sink, end], shown, dependence.exact)


# -- tiles and wavefronts


def _tiled(points: list[tuple[int, tuple[int, ...]]], tiles: Tiles, extent: int) -> tuple[Instance, ...]:
    """Every instance with its tile, and wavefronts numbered from 0; just one without tiles."""
    if not tiles:
        return tuple(Instance(number, point, (), 0) for number, point in points)
    point_tiles = [
        tuple((sum(map(mul, row.coefficients, point)) + row.constant) // extent for row in tiles[number])
        for number, point in points
    ]
    waves = {wave: place for place, wave in enumerate(sorted({sum(tile) for tile in point_tiles}))}
    numbered = zip(points, point_tiles, strict=True)
    return tuple(Instance(number, point, tile, waves[sum(tile)]) for (number, point), tile in numbered)
