"""Tile bounds for symbolic sizes: the points of one tile, and which tiles exist.

Sizes s_k cut a band of rows phi_1, ..., phi_m into the tiles t_k = floor(phi_k / s_k) (thesis
(3.14)). That is not affine for a symbol s_k. But the tile's origin o_k = s_k t_k is one more
parameter, and

    [o, s] -> { S[i] -> [phi(i)] : o_k <= phi_k(i) < o_k + s_k }

is affine: loops over its points are exact, also at borders (`points_of_tile`). Projection
over-approximates the existing tiles (`tile_range`) by tiles without points. `Symbols.parameters`
must define the parameters o_k and s_k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Polynomial, combination, maximum, minimum, number, polynomial
from tilepragma.lower.loop_names import ScheduledStatement, Symbols
from tilepragma.poly.isl_ast import AstReader, helper, short_expression
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit


@dataclass(frozen=True)
class TileRow:
    """A tiled row phi_k: its time dimension `level`, and the names of parameters o_k and s_k."""

    level: int
    origin: str
    size: str


@dataclass(frozen=True)
class Range:
    """lower, ..., upper, both included; empty where lower > upper. Integer expressions."""

    lower: Expression
    upper: Expression


def points_of_tile(
    statements: tuple[ScheduledStatement, ...], rows: tuple[TileRow, ...]
) -> tuple[ScheduledStatement, ...]:
    """{ S[i] -> [t] : o_k <= t_k < o_k + s_k for the rows given }; keeps the order of points."""
    return tuple(replace(each, times=each.times.intersect_range(_box(each.times, rows))) for each in statements)


def at_values(statements: tuple[ScheduledStatement, ...], fixed: Mapping[int, str]) -> tuple[ScheduledStatement, ...]:
    """{ S[i] -> [t] : t_level = p } for parameters p by dimension: one iteration of outer loops."""
    return tuple(replace(each, times=each.times.intersect_range(_fixed(each.times, fixed))) for each in statements)


def sizes_are_positive(context: isl.Context, rows: tuple[TileRow, ...]) -> isl.Set:
    """{ : s_k >= 1 }, a fact for `generate_loops`."""
    sizes = [row.size for row in rows]
    conditions = " and ".join(f"{name} >= 1" for name in sizes) or "true"
    return isl.Set(f"[{', '.join(sizes)}] -> {{ : {conditions} }}", context=context)


def row_range(
    statements: tuple[ScheduledStatement, ...], level: int, symbols: Symbols, context: isl.Set | None = None
) -> Range | None:
    """The least and greatest value of a time dimension over all instances; None without instances.

    The range may be larger, where statements have no common form. Raises OperationLimitError.
    """
    extremes = _extremes(statements, level, symbols, context)
    return None if extremes is None else Range(short_expression(extremes[0]), short_expression(extremes[1]))


def tile_range(
    statements: tuple[ScheduledStatement, ...],
    rows: tuple[TileRow, ...],
    place: int,
    symbols: Symbols,
    context: isl.Set | None = None,
) -> Range | None:
    """floor(min phi_k / s_k), ..., floor(max phi_k / s_k) for the row k at `place`, over the points
    of the tiles given by the rows before it.

    With rows[place:], bounds depend on no other row. None without instances. The range has all
    tiles with points, and may have more. Raises OperationLimitError.
    """
    row = rows[place]
    extremes = _extremes(points_of_tile(statements, rows[:place]), row.level, symbols, context)
    if extremes is None:
        return None
    size = symbols.parameters[row.size]
    return Range(_quotient(extremes[0], size), _quotient(extremes[1], size))


def has_points(
    statements: tuple[ScheduledStatement, ...],
    rows: tuple[TileRow, ...],
    symbols: Symbols,
    context: isl.Set | None = None,
    bounded: tuple[TileRow, ...] = (),
) -> Expression | None:
    """A cheap condition on o and s that is false for tiles without points; None if always true.

    It may be true for a tile without points. Tile numbers of the rows `bounded` are within the
    `tile_range` that depends on no other row. Raises OperationLimitError.
    """
    isl_context = statements[0].times.get_ctx()
    with operation_limit(isl_context, DEFAULT_LIMIT, "finding the tiles that have points"):
        known = sizes_are_positive(isl_context, rows)
        known = known if context is None else known.intersect(context)
        inside = with_points(statements, rows)
        given = known
        for row in bounded:
            row_points = with_points(statements, (row,))
            origin = row_points.find_dim_by_name(isl.dim_type.param, row.origin)
            if origin >= 0:
                given = given.intersect(row_points.drop_constraints_not_involving_dims(isl.dim_type.param, origin, 1))
        inside = inside.gist(given)
        if given.is_subset(inside):
            return None
        condition = isl.AstBuild.from_context(known).expr_from_set(inside)
    return symbol_reader(symbols).condition(condition)


def with_points(statements: tuple[ScheduledStatement, ...], rows: tuple[TileRow, ...]) -> isl.Set:
    """[o, s] -> { : exists S[i] : o_k <= phi_k(i) < o_k + s_k }, or a convex set around it."""
    inside = None
    for each in points_of_tile(statements, rows):
        points = each.times.intersect_domain(each.statement.domain).params().remove_divs()
        inside = points if inside is None else inside.union(points)
    assert inside is not None
    inside = inside.coalesce()
    return isl.Set.from_basic_set(inside.unshifted_simple_hull()) if inside.n_basic_set() > 1 else inside


def symbol_reader(symbols: Symbols) -> AstReader:
    """Reads isl's expressions over parameters."""
    return AstReader({name: polynomial(value) for name, value in symbols.parameters.items()})


def _box(times: isl.Map, rows: tuple[TileRow, ...]) -> isl.Set:
    """[o, s] -> { [t] : o_k <= t_k < o_k + s_k }"""
    names = [f"t{place}" for place in range(times.dim(isl.dim_type.out))]
    parameters = [name for row in rows for name in (row.origin, row.size)]
    conditions = [f"{row.origin} <= t{row.level} < {row.origin} + {row.size}" for row in rows]
    return _set(times, parameters, names, conditions)


def _fixed(times: isl.Map, fixed: Mapping[int, str]) -> isl.Set:
    names = [f"t{place}" for place in range(times.dim(isl.dim_type.out))]
    return _set(times, list(fixed.values()), names, [f"t{level} = {name}" for level, name in fixed.items()])


def _set(times: isl.Map, parameters: list[str], names: list[str], conditions: list[str]) -> isl.Set:
    text = f"[{', '.join(parameters)}] -> {{ [{', '.join(names)}] : {' and '.join(conditions) or 'true'} }}"
    return isl.Set(text, context=times.get_ctx())


def _extremes(
    statements: tuple[ScheduledStatement, ...], level: int, symbols: Symbols, context: isl.Set | None
) -> tuple[Polynomial, Polynomial] | None:
    """The least and greatest value of a dimension of time, over all statements."""
    isl_context = statements[0].times.get_ctx()
    with operation_limit(isl_context, DEFAULT_LIMIT, "finding the bounds of a loop"):
        image_bounds = [_bounds(image, symbols) for image in convex_images(statements, (level,), context)]
    bounds = [pair for pair in image_bounds if pair is not None]
    if not bounds:
        return None
    return minimum(lower for lower, _ in bounds), maximum(upper for _, upper in bounds)


def convex_images(
    statements: tuple[ScheduledStatement, ...], levels: tuple[int, ...], context: isl.Set | None = None
) -> list[isl.BasicSet]:
    """{ [t_l for the levels l] } of all instances, or more: one convex set where that is as
    bounded, else several. Omits what `context` implies.
    """
    images = None
    for each in statements:
        image = each.times.intersect_domain(each.statement.domain).range().reset_tuple_id()
        for level in range(image.dim(isl.dim_type.set) - 1, -1, -1):
            if level not in levels:
                image = image.project_out(isl.dim_type.set, level, 1)
        images = image if images is None else images.union(image)
    assert images is not None
    images = images.remove_divs().coalesce()
    if context is not None:
        images = images.gist_params(context)
    hull = images.simple_hull()
    if images.n_basic_set() > 1 and _bounded(isl.Set.from_basic_set(hull)):
        return [hull]
    return list(images.get_basic_sets())


def _bounded(values: isl.Set) -> bool:
    return all(
        values.dim_has_any_lower_bound(isl.dim_type.set, place)
        and values.dim_has_any_upper_bound(isl.dim_type.set, place)
        for place in range(values.dim(isl.dim_type.set))
    )


@dataclass(frozen=True)
class ConvexRow:
    """coefficients . t + rest >= 0, `rest` over what the parameters stand for."""

    coefficients: tuple[int, ...]
    rest: Polynomial


def convex_rows(piece: isl.BasicSet, symbols: Symbols) -> Iterator[ConvexRow]:
    """The constraints with some t of a set { [t] } without divisions; an equality gives two."""
    for constraint in piece.remove_redundancies().get_constraints():
        coefficients = tuple(
            int(constraint.get_coefficient_val(isl.dim_type.set, place).to_python())
            for place in range(piece.dim(isl.dim_type.set))
        )
        if not any(coefficients):
            continue
        terms = [(int(constraint.get_constant_val().to_python()), number(1))]
        for place in range(piece.dim(isl.dim_type.param)):
            factor = int(constraint.get_coefficient_val(isl.dim_type.param, place).to_python())
            if factor:
                name = str(piece.get_dim_name(isl.dim_type.param, place))
                terms.append((factor, polynomial(symbols.parameters[name])))
        rest = combination(terms)
        yield ConvexRow(coefficients, rest)
        if constraint.is_equality():
            yield ConvexRow(tuple(-coefficient for coefficient in coefficients), -rest)


def _bounds(values: isl.BasicSet, symbols: Symbols) -> tuple[Polynomial, Polynomial] | None:
    """(lower, upper) with { [x] : lower <= x <= upper } the set; None where it is empty."""
    if values.is_empty():
        return None
    lower, upper = [], []
    for row in convex_rows(values, symbols):
        (factor,) = row.coefficients
        if factor > 0:
            lower.append(_divided("tilek_ceiling_quotient", -row.rest, factor))
        else:
            upper.append(_divided("tilek_floor_quotient", row.rest, -factor))
    if not lower or not upper:
        raise ValueError(f"{values} is not bounded")
    return maximum(lower), minimum(upper)


def _divided(function: str, value: Polynomial, by: int) -> Polynomial:
    return value if by == 1 else helper(function, value, number(by))


def _quotient(value: Polynomial, size: Expression) -> Expression:
    """floor(value / size)"""
    return short_expression(value if value == number(0) else helper("tilek_floor_quotient", value, polynomial(size)))
