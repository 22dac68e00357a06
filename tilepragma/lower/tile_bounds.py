"""Tile bounds for symbolic sizes: the points of one tile, the tiles that exist, their wavefronts,
and what is known inside them.

Sizes s_k cut a band of rows phi_1, ..., phi_m into the tiles t_k = floor(phi_k / s_k) (thesis
(3.14)). That is not affine for a symbol s_k. But the tile's origin o_k = s_k t_k is one more
parameter, and

    [o, s] -> { S[i] -> [phi(i)] : o_k <= phi_k(i) < o_k + s_k }

is affine: loops over its points are exact, also at borders (`points_of_tile`). Projection
over-approximates the existing tiles (`tile_range`) by tiles without points. `Symbols.parameters`
must define the parameters `origin_of(k)` and `size_of(k)`, k being the row's time dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Polynomial, combination, maximum, minimum, number, polynomial
from tilepragma.lower.ast_generation import ScheduledStatement, Symbols
from tilepragma.poly.extents import Bounds
from tilepragma.poly.footprints import has_bounds
from tilepragma.poly.isl_ast import helper, reader_of, short_expression
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit


def origin_of(level: int) -> str:
    """isl's parameter o for tiles of a time dimension; no user's identifier begins like it."""
    return f"tilek_origin{level}"


def size_of(level: int) -> str:
    """isl's parameter s for tiles of a time dimension."""
    return f"tilek_size{level}"


def points_of_tile(statements: tuple[ScheduledStatement, ...], levels: Sequence[int]) -> tuple[ScheduledStatement, ...]:
    """{ S[i] -> [t] : o_k <= t_k < o_k + s_k for the levels given }; keeps the order of points."""
    parameters = [name for level in levels for name in (origin_of(level), size_of(level))]
    conditions = [f"{origin_of(level)} <= t{level} < {origin_of(level)} + {size_of(level)}" for level in levels]
    return _at_times(statements, parameters, conditions)


def at_values(statements: tuple[ScheduledStatement, ...], fixed: Mapping[int, str]) -> tuple[ScheduledStatement, ...]:
    """{ S[i] -> [t] : t_level = p } for parameters p by dimension: one iteration of outer loops."""
    return _at_times(statements, fixed.values(), [f"t{level} = {name}" for level, name in fixed.items()])


def _at_times(
    statements: tuple[ScheduledStatement, ...], parameters: Iterable[str], conditions: Iterable[str]
) -> tuple[ScheduledStatement, ...]:
    times = statements[0].times
    names = ", ".join(f"t{place}" for place in range(times.dim(isl.dim_type.out)))
    text = f"[{', '.join(parameters)}] -> {{ [{names}] : {' and '.join(conditions) or 'true'} }}"
    wanted = isl.Set(text, context=times.get_ctx())
    return tuple(replace(each, times=each.times.intersect_range(wanted)) for each in statements)


def sizes_are_positive(context: isl.Context, levels: Iterable[int]) -> isl.Set:
    """{ : s_k >= 1 }, a fact for `generate_loops`."""
    sizes = [size_of(level) for level in levels]
    conditions = " and ".join(f"{name} >= 1" for name in sizes) or "true"
    return isl.Set(f"[{', '.join(sizes)}] -> {{ : {conditions} }}", context=context)


def row_range(
    statements: tuple[ScheduledStatement, ...], level: int, symbols: Symbols, context: isl.Set | None = None
) -> Bounds | None:
    """The least and greatest value of a time dimension over all instances; None without instances.

    The range may be larger, where statements have no common form. Raises OperationLimitError.
    """
    isl_context = statements[0].times.get_ctx()
    with operation_limit(isl_context, DEFAULT_LIMIT, "finding the bounds of a loop"):
        image_bounds = [_bounds(image, symbols) for image in convex_images(statements, (level,), context)]
    bounds = [span for span in image_bounds if span is not None]
    if not bounds:
        return None
    return _plain(minimum(span.low for span in bounds), maximum(span.high for span in bounds))


def tile_range(statements: tuple[ScheduledStatement, ...], level: int, symbols: Symbols) -> Bounds | None:
    """floor(min phi / s), ..., floor(max phi / s) for the row phi at a time dimension; None without
    instances. The range has all tiles with points, and may have more. Raises OperationLimitError.
    """
    rows = row_range(statements, level, symbols)
    if rows is None:
        return None
    size = polynomial(symbols.parameters[size_of(level)])
    first, last = (
        value if value == number(0) else helper("tilek_floor_quotient", value, size) for value in (rows.low, rows.high)
    )
    return _plain(first, last)


def _plain(least: Polynomial, greatest: Polynomial) -> Bounds:
    """The span, without suffixes of small numbers."""
    return Bounds(polynomial(short_expression(least)), polynomial(short_expression(greatest)))


def has_points(
    statements: tuple[ScheduledStatement, ...],
    levels: Sequence[int],
    symbols: Symbols,
    context: isl.Set | None = None,
    bounded: Iterable[int] = (),
) -> Expression | None:
    """A cheap condition on o and s that is false for tiles without points; None if always true.

    It may be true for a tile without points. Tile numbers of the rows `bounded` are within the
    `tile_range` that depends on no other row. Raises OperationLimitError.
    """
    isl_context = statements[0].times.get_ctx()
    with operation_limit(isl_context, DEFAULT_LIMIT, "finding the tiles that have points"):
        known = sizes_are_positive(isl_context, levels)
        known = known if context is None else known.intersect(context)
        inside = with_points(statements, levels)
        given = known
        for level in bounded:
            given = given.intersect(known_of_tile(statements, level))
        inside = inside.gist(given)
        if given.is_subset(inside):
            return None
        condition = isl.AstBuild.from_context(known).expr_from_set(inside)
    return reader_of(symbols.parameters).condition(condition)


def with_points(statements: tuple[ScheduledStatement, ...], levels: Sequence[int]) -> isl.Set:
    """[o, s] -> { : exists S[i] : o_k <= phi_k(i) < o_k + s_k }, or a convex set around it."""
    tiles = points_of_tile(statements, levels)
    points = (each.times.intersect_domain(each.statement.domain).params().remove_divs() for each in tiles)
    inside = reduce(isl.Set.union, points).coalesce()
    return isl.Set.from_basic_set(inside.unshifted_simple_hull()) if inside.n_basic_set() > 1 else inside


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
    if images.n_basic_set() > 1 and has_bounds(isl.Set.from_basic_set(hull)):
        return [hull]
    return list(images.get_basic_sets())


_ConvexRow = tuple[tuple[int, ...], Polynomial]
"""coefficients . t + rest >= 0, `rest` over what the parameters stand for."""


def _convex_rows(piece: isl.BasicSet, symbols: Symbols) -> Iterator[_ConvexRow]:
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
        yield coefficients, rest
        if constraint.is_equality():
            yield tuple(-coefficient for coefficient in coefficients), -rest


def _bounds(values: isl.BasicSet, symbols: Symbols) -> Bounds | None:
    """(least, greatest) with { [x] : least <= x <= greatest } the set; None where it is empty."""
    if values.is_empty():
        return None
    lower, upper = [], []
    for (factor,), rest in _convex_rows(values, symbols):
        if factor > 0:
            lower.append(_divided("tilek_ceiling_quotient", -rest, factor))
        else:
            upper.append(_divided("tilek_floor_quotient", rest, -factor))
    if not lower or not upper:
        raise ValueError(f"{values} is not bounded")
    return Bounds(maximum(lower), minimum(upper))


def _divided(function: str, value: Polynomial, by: int) -> Polynomial:
    return value if by == 1 else helper(function, value, number(by))


# -- wavefronts of tiles: w = t_1 + ... + t_m over the levels given (thesis (3.17))
#
# Each constraint a . phi + c >= 0 of the instances holds for some point of each tile with points,
# so
#
#     sum of a_k s_k t_k + sum over a_k > 0 of a_k (s_k - 1) + c >= 0
#
# holds for the tile's numbers t. On a wavefront the last row's number is w minus the others. After
# substitution, constraints on two rows bound each other number by w, with products of sizes as
# coefficients. The last row is usually the longest, so that the bounds of the others leave a small
# box. With two rows and a convex image, no tile without points remains.


def wavefront_range(
    statements: tuple[ScheduledStatement, ...], levels: tuple[int, ...], symbols: Symbols
) -> Bounds | None:
    """All wavefronts w; None without instances. Raises OperationLimitError.

    Constraints a . (phi_1 + ... + phi_m) + c >= 0 bound w too, for tiles of one size s:
    s w <= phi_1 + ... + phi_m <= s w + m (s - 1). For diamond tiles the sum is time, which the
    single rows do not bound tightly.
    """
    tiles = [tile_range(statements, level, symbols) for level in levels]
    lower, upper = number(0), number(0)
    for span in tiles:
        if span is None:
            return None
        lower, upper = lower + span.low, upper + span.high
    lowers, uppers = [lower], [upper]
    sizes = {symbols.parameters[size_of(level)] for level in levels}
    if len(sizes) == 1 and len(levels) > 1:
        size, count = polynomial(sizes.pop()), number(len(levels))
        for coefficients, rest in _joint_rows(statements, levels, symbols, "finding the wavefronts of tiles"):
            factor = coefficients[0]
            if any(coefficient != factor for coefficient in coefficients):
                continue
            divisor = number(abs(factor)) * size
            if factor > 0:
                within = rest + number(factor) * count * (size - number(1))
                lowers.append(helper("tilek_ceiling_quotient", -within, divisor))
            else:
                uppers.append(helper("tilek_floor_quotient", rest, divisor))
    return _plain(maximum(lowers), minimum(uppers))


def wavefront_tiles(
    statements: tuple[ScheduledStatement, ...], levels: tuple[int, ...], wave: Polynomial, symbols: Symbols
) -> tuple[Bounds, ...] | None:
    """The tile numbers of all rows but the last on the wavefront, for any numbers of the others;
    there may be tiles without points. None without instances. Raises OperationLimitError.
    """
    tiles = [span for level in levels if (span := tile_range(statements, level, symbols)) is not None]
    if len(tiles) < len(levels):
        return None
    *others, whole = tiles
    spans = []
    for place, span in enumerate(others):
        rest_lower, rest_upper = number(0), number(0)
        for other in (*others[:place], *others[place + 1 :]):
            rest_lower, rest_upper = rest_lower + other.low, rest_upper + other.high
        lower = [span.low, wave - rest_upper - whole.high]
        upper = [span.high, wave - rest_lower - whole.low]
        pair = (levels[-1], levels[place])
        derived_size, placed_size = (polynomial(symbols.parameters[size_of(level)]) for level in pair)
        for coefficients, rest in _joint_rows(statements, pair, symbols, "finding the tiles of a wavefront"):
            # derived * phi_d + placed * phi_p + rest >= 0; coefficients are in the order of levels
            derived, placed = coefficients if pair[0] < pair[1] else coefficients[::-1]
            if derived * placed >= 0:
                continue  # the sign of t_p's coefficient depends on the sizes
            # placed s_p t_p + derived s_d (wave - others - t_p) + offsets within tiles + rest >= 0
            within = rest
            for factor, size in ((derived, derived_size), (placed, placed_size)):
                if factor > 0:
                    within = within + number(factor) * (size - number(1))
            within = within + number(derived) * derived_size * (wave - (rest_lower if derived > 0 else rest_upper))
            divisor = number(abs(placed)) * placed_size + number(abs(derived)) * derived_size
            if derived < 0:
                lower.append(helper("tilek_ceiling_quotient", -within, divisor))
            else:
                upper.append(helper("tilek_floor_quotient", within, divisor))
        spans.append(_plain(maximum(lower), minimum(upper)))
    return tuple(spans)


def _joint_rows(
    statements: tuple[ScheduledStatement, ...], levels: tuple[int, ...], symbols: Symbols, work: str
) -> tuple[_ConvexRow, ...]:
    """The constraints on these dimensions of time, if one convex set gives them."""
    with operation_limit(statements[0].times.get_ctx(), DEFAULT_LIMIT, work):
        pieces = convex_images(statements, levels)
        return tuple(_convex_rows(pieces[0], symbols)) if len(pieces) == 1 else ()


# -- what is known inside loops: facts that inner conditions need not test
#
#     [o, s, p, ...] -> { : o <= p < o + s, least value of a row <= p, ... }
#
# The text around implies each fact: the bounds of the loop over p, a condition on the tile. Facts
# hold for all values of the other parameters, also where no instance runs.


def nothing_known(context: isl.Context) -> isl.Set:
    """{ : } without a fact."""
    return isl.Set.universe(isl.Space.params_alloc(context, 0))


def known_of_tile(statements: tuple[ScheduledStatement, ...], level: int) -> isl.Set:
    """Facts of the origin and size of a tile in its `tile_range`."""
    points = with_points(statements, (level,))
    origin = points.find_dim_by_name(isl.dim_type.param, origin_of(level))
    if origin < 0:
        return nothing_known(points.get_ctx())
    return points.drop_constraints_not_involving_dims(isl.dim_type.param, origin, 1)


def known_in_tiles(context: isl.Context, levels: Sequence[int], value: str) -> isl.Set:
    """[o, s, p] -> { : sum of o_k <= p <= sum of (o_k + s_k - 1) }"""
    names = [value, *(name for level in levels for name in (origin_of(level), size_of(level)))]
    first = " + ".join(map(origin_of, levels))
    last = " + ".join(f"{origin_of(level)} + {size_of(level)} - 1" for level in levels)
    return isl.Set(f"[{', '.join(names)}] -> {{ : {first} <= {value} <= {last} }}", context=context)


def known_of_sum(statements: tuple[ScheduledStatement, ...], levels: Iterable[int], value: str) -> isl.Set:
    """[p] -> { : sum of the least values of the rows at `levels` <= p <= sum of their greatest },
    as in `row_range`. No fact where the bounds are not linear.
    """
    total: isl.Set | None = None
    for level in levels:
        row = _row_values(statements, level)
        if row is None:
            return nothing_known(statements[0].times.get_ctx())
        total = row if total is None else _sum(total, row)
    assert total is not None
    place = total.dim(isl.dim_type.param)
    named = total.move_dims(isl.dim_type.param, place, isl.dim_type.set, 0, 1)
    return named.set_dim_name(isl.dim_type.param, place, value).params()


def _row_values(statements: tuple[ScheduledStatement, ...], level: int) -> isl.Set | None:
    """{ [t_level] } by its constraints on t_level alone; None unless one convex set gives them."""
    images = convex_images(statements, (level,))
    if len(images) != 1:
        return None
    values = isl.Set.from_basic_set(images[0].remove_redundancies())
    return values.drop_constraints_not_involving_dims(isl.dim_type.set, 0, 1)


def _sum(first: isl.Set, second: isl.Set) -> isl.Set:
    """{ [x + y] : x in first, y in second }, also where both are empty."""
    added = isl.Map("{ [x, y] -> [x + y] }", context=first.get_ctx())
    sums = first.flat_product(second).apply(added).remove_divs()
    return sums.drop_constraints_not_involving_dims(isl.dim_type.set, 0, 1)
