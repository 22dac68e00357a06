"""Statements inside a tile of rows, for tiles of any origin and size, and the values that a row takes there.

    [o_l, s_l, ...] -> { S[i] : o_l <= phi_S^l(i) < o_l + s_l for the restricted levels l }

Origins and sizes are parameters, so these sets are affine though an origin s_l t_l is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from tilepragma.ir.expressions import Call, Callee, Expression
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, of_atom, polynomial
from tilepragma.ir.types import LONG
from tilepragma.polyhedral.schedule import StatementSchedule, affine_map


@dataclass(frozen=True)
class Restriction:
    """origin <= phi^level < origin + size; phi^level = origin where `size` is None. Both are of integer type."""

    level: int
    origin: Expression
    size: Expression | None = None

    @property
    def origin_name(self) -> str:
        """The parameter that stands for the origin."""
        return f"origin {self.level}"

    @property
    def size_name(self) -> str:
        """The parameter that stands for the size."""
        return f"size {self.level}"


Restrictions = tuple[Restriction, ...]


@dataclass(frozen=True)
class RowBounds:
    """Every value of the row lies in lower ... upper; where there is no instance, lower > upper need not hold."""

    lower: Polynomial
    upper: Polynomial


def inside(each: StatementSchedule, restrictions: Restrictions) -> isl.Set:
    """[o, s] -> { S[i] in the domain : the rows of i satisfy the restrictions }"""
    rows = affine_map(each.statement, each.rows).intersect_domain(each.statement.domain)
    return rows.intersect_range(_box(rows.get_space().range(), restrictions)).domain()


def parameters_of(restrictions: Restrictions) -> dict[str, Expression]:
    """What the parameters of the sets stand for."""
    found = {}
    for each in restrictions:
        found[each.origin_name] = each.origin
        if each.size is not None:
            found[each.size_name] = each.size
    return found


def sizes_are_positive(context: isl.Context, restrictions: Restrictions) -> isl.Set:
    """[s] -> { : s_l >= 1 }"""
    result = isl.Set.universe(isl.Space.params_alloc(context, 0))
    for each in restrictions:
        if each.size is not None:
            result = result & isl.Set.universe(_parameters(result.get_space(), each.size_name)).lower_bound_val(
                isl.dim_type.param, 0, isl.Val.one(context)
            )
    return result


def row_bounds(
    statements: tuple[StatementSchedule, ...],
    level: int,
    restrictions: Restrictions,
    parameters: Mapping[str, Expression],
) -> RowBounds | None:
    """The least and greatest value of the row at `level` inside the tile; None where it has none.

    { [r] : r = phi_S(i) for an instance S[i] inside }, the least of the least and the greatest of the greatest of its convex
    pieces: between them not every value need have an instance.
    """
    values = {name: polynomial(each) for name, each in {**parameters, **parameters_of(restrictions)}.items()}
    lowers: list[Polynomial] = []
    uppers: list[Polynomial] = []
    for each in statements:
        row = affine_map(each.statement, each.rows[level : level + 1])
        for piece in row.intersect_domain(inside(each, restrictions)).range().coalesce().get_basic_sets():
            found = _piece_bounds(piece.remove_divs(), values)
            if found is None:
                return None
            lowers.append(found.lower)
            uppers.append(found.upper)
    return RowBounds(minimum(lowers), maximum(uppers)) if lowers else None


def floor_quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial:
    """floor(dividend / divisor), for a positive divisor."""
    return _quotient("tilek_floor_quotient", dividend, divisor, 0)


def ceiling_quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial:
    """ceil(dividend / divisor), for a positive divisor."""
    return _quotient("tilek_ceiling_quotient", dividend, divisor, 1)


def _parameters(space: isl.Space, *names: str) -> isl.Space:
    """The space of parameters of these names alone."""
    result = isl.Space.params_alloc(space.get_ctx(), len(names))
    for place, name in enumerate(names):
        result = result.set_dim_name(isl.dim_type.param, place, name)
    return result


def _box(space: isl.Space, restrictions: Restrictions) -> isl.Set:
    """[o, s] -> { [e] : the restrictions hold }"""
    result = isl.Set.universe(space)
    for each in restrictions:
        own = _parameters(space, each.origin_name, each.size_name).add_unnamed_tuple_ui(space.dim(isl.dim_type.set))
        local = isl.LocalSpace.from_space(own)
        row = isl.Aff.var_on_domain(local, isl.dim_type.set, each.level)
        origin = isl.Aff.var_on_domain(local, isl.dim_type.param, 0)
        size = isl.Aff.var_on_domain(local, isl.dim_type.param, 1)
        if each.size is None:
            result = result & row.eq_set(origin).project_out(isl.dim_type.param, 1, 1)
        else:
            result = result & row.ge_set(origin) & row.lt_set(origin.add(size))
    return result


def _piece_bounds(piece: isl.BasicSet, parameters: Mapping[str, Polynomial]) -> RowBounds | None:
    """Of factor * r + rest >= 0: r >= ceil(-rest / factor) for a positive factor, r <= floor(rest / -factor) for a negative one."""
    lowers: list[Polynomial] = []
    uppers: list[Polynomial] = []
    for constraint in piece.get_constraints():
        factor = constraint.get_coefficient_val(isl.dim_type.set, 0).to_python()
        rest = _rest(constraint, parameters) if factor else number(0)
        for sign in (1, -1) if constraint.is_equality() else (1,):
            if sign * factor > 0:
                lowers.append(ceiling_quotient(rest * number(-sign), number(sign * factor)))
            elif sign * factor < 0:
                uppers.append(floor_quotient(rest * number(sign), number(-sign * factor)))
    return RowBounds(maximum(lowers), minimum(uppers)) if lowers and uppers else None


def _rest(constraint: isl.Constraint, parameters: Mapping[str, Polynomial]) -> Polynomial:
    """The constraint's form without its only dimension."""
    result = number(constraint.get_constant_val().to_python())
    for index in range(constraint.get_space().dim(isl.dim_type.param)):
        factor = constraint.get_coefficient_val(isl.dim_type.param, index).to_python()
        if factor:
            name = constraint.get_dim_name(isl.dim_type.param, index) or ""
            result = result + parameters[name] * number(factor)
    return result


def _quotient(function: str, dividend: Polynomial, divisor: Polynomial, up: int) -> Polynomial:
    by, value = divisor.constant, dividend.constant
    if by == 1:
        return dividend
    if by is not None and value is not None:
        return number(-(-value // by) if up else value // by)
    arguments: tuple[Expression, ...] = (expression(dividend), expression(divisor))
    return of_atom(Call(function, Callee.HELPER, arguments, LONG))
