"""The least and the greatest value of a row of a schedule, as C.

    { [t_0, ..., t_{k-1}, r] : t = outer rows of i, r = phi_S(i) for an instance S[i] }

Bounds are those of the convex pieces, the least of the least and the greatest of the greatest: between them every instance has
its value, but not every value need have an instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from tilepragma.ir.expressions import Call, Callee, Expression
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, of_atom
from tilepragma.ir.types import LONG
from tilepragma.polyhedral.schedule import StatementSchedule, affine_map


@dataclass(frozen=True)
class RowBounds:
    """Every value of the row lies in lower ... upper; where there is no instance, lower > upper need not hold."""

    lower: Polynomial
    upper: Polynomial


def row_bounds(
    statements: tuple[StatementSchedule, ...],
    outer: int,
    level: int,
    around: tuple[Polynomial, ...],
    parameters: Mapping[str, Polynomial],
) -> RowBounds | None:
    """The bounds of the row at `level`, for given values `around` of the first `outer` rows. None where it has none."""
    lowers: list[Polynomial] = []
    uppers: list[Polynomial] = []
    for each in statements:
        rows = affine_map(each.statement, (*each.rows[:outer], each.rows[level]))
        values = rows.intersect_domain(each.statement.domain).range().coalesce()
        for piece in values.get_basic_sets():
            found = _piece_bounds(piece.remove_divs(), around, parameters)
            if found is None:
                return None
            lowers.append(found.lower)
            uppers.append(found.upper)
    return RowBounds(minimum(lowers), maximum(uppers)) if lowers else None


def _piece_bounds(
    piece: isl.BasicSet, around: tuple[Polynomial, ...], parameters: Mapping[str, Polynomial]
) -> RowBounds | None:
    """Of factor * r + rest >= 0: r >= ceil(-rest / factor) for a positive factor, r <= floor(rest / -factor) for a negative one."""
    lowers: list[Polynomial] = []
    uppers: list[Polynomial] = []
    for constraint in piece.get_constraints():
        factor = constraint.get_coefficient_val(isl.dim_type.set, len(around)).to_python()
        if not factor:
            continue
        rest = _rest(constraint, around, parameters)
        signs = (1, -1) if constraint.is_equality() else (1,)
        for sign in signs:
            if sign * factor > 0:
                lowers.append(ceiling_quotient(rest * number(-sign), number(sign * factor)))
            else:
                uppers.append(floor_quotient(rest * number(sign), number(-sign * factor)))
    return RowBounds(maximum(lowers), minimum(uppers)) if lowers and uppers else None


def _rest(
    constraint: isl.Constraint, around: tuple[Polynomial, ...], parameters: Mapping[str, Polynomial]
) -> Polynomial:
    """The constraint's form without its last dimension."""
    result = number(constraint.get_constant_val().to_python())
    for index, value in enumerate(around):
        result = result + value * number(constraint.get_coefficient_val(isl.dim_type.set, index).to_python())
    for index in range(constraint.get_space().dim(isl.dim_type.param)):
        factor = constraint.get_coefficient_val(isl.dim_type.param, index).to_python()
        if factor:
            name = constraint.get_dim_name(isl.dim_type.param, index)
            result = result + parameters[name] * number(factor)
    return result


def floor_quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial:
    """floor(dividend / divisor), for a positive divisor."""
    return _quotient("tilek_floor_quotient", dividend, divisor, 0)


def ceiling_quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial:
    """ceil(dividend / divisor), for a positive divisor."""
    return _quotient("tilek_ceiling_quotient", dividend, divisor, 1)


def _quotient(function: str, dividend: Polynomial, divisor: Polynomial, up: int) -> Polynomial:
    by, value = divisor.constant, dividend.constant
    if by == 1:
        return dividend
    if by is not None and value is not None:
        return number(-(-value // by) if up else value // by)
    arguments: tuple[Expression, ...] = (expression(dividend), expression(divisor))
    return of_atom(Call(function, Callee.HELPER, arguments, LONG))
