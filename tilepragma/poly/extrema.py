"""Comparisons with minima, maxima and quotients, as conjunctions of affine ones where possible:

    x <= min_k floor(e_k / s_k)    iff    s_k x <= e_k for all k
    x >= max_k ceil(e_k / s_k)     iff    s_k x >= e_k for all k

As functions, such bounds and their sets have pieces; as conjunctions, bounds of tiles give one
convex set.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Binary, Call, Callee, Cast, Expression, Unary
from tilepragma.ir.polynomial import keeps_value
from tilepragma.poly.affine import Frame, affine, condition, constant_value


@dataclass(frozen=True)
class Quotient:
    """{ [i] -> [dividend(i) / divisor] } before rounding; the divisor is positive."""

    dividend: isl.PwAff
    divisor: int


def satisfying(expression: Expression, frame: Frame) -> isl.Set:
    """{ [i] : expression(i) != 0 }. Raises NotAffineError."""
    if isinstance(expression, Binary) and expression.operator == "&&":
        return satisfying(expression.left, frame).intersect(satisfying(expression.right, frame))
    if isinstance(expression, Binary) and expression.operator in _FLIPPED:
        plain = condition(expression, frame)
        if plain.n_basic_set() > 1:
            left, right = (affine(side, frame) for side in (expression.left, expression.right))
            if left.n_piece() == 1:
                return compared(left, expression.operator, expression.right, frame)
            if right.n_piece() == 1:
                return compared(right, _FLIPPED[expression.operator], expression.left, frame)
        return plain
    return condition(expression, frame)


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(value: isl.PwAff, operator: str, bound: Expression, frame: Frame) -> isl.Set:
    """{ [i] : value(i) operator bound(i) }, for one of < <= > >=. Raises NotAffineError."""
    parts = least(bound, frame) if operator in ("<", "<=") else greatest(bound, frame)
    return bounded(value, operator, parts, frame)


def bounded(value: isl.PwAff, operator: str, parts: tuple[Quotient, ...], frame: Frame) -> isl.Set:
    """{ [i] : value(i) operator each part }, all over the frame's space."""
    return reduce(isl.Set.intersect, (_compared(value, operator, part, frame) for part in parts)).coalesce()


def _compared(value: isl.PwAff, operator: str, part: Quotient, frame: Frame) -> isl.Set:
    divisor = frame.number(part.divisor)
    scaled = value if part.divisor == 1 else value.mul(divisor)
    if operator == "<":
        return scaled.add(divisor).le_set(part.dividend)
    if operator == ">":
        return scaled.sub(divisor).ge_set(part.dividend)
    return scaled.le_set(part.dividend) if operator == "<=" else scaled.ge_set(part.dividend)


def least(expression: Expression, frame: Frame) -> tuple[Quotient, ...]:
    """Quotients whose minimum, each rounded down, is the expression. Raises NotAffineError."""
    return _parts(expression, frame, 1)


def greatest(expression: Expression, frame: Frame) -> tuple[Quotient, ...]:
    """Quotients whose maximum, each rounded up, is the expression. Raises NotAffineError."""
    return _parts(expression, frame, -1)


def _parts(expression: Expression, frame: Frame, sign: int) -> tuple[Quotient, ...]:
    """`sign`: 1 for the minimum of floor quotients, -1 for the maximum of ceiling quotients."""
    parts = _split(expression, frame, sign)
    return parts if parts is not None else (Quotient(affine(expression, frame), 1),)


def _split(expression: Expression, frame: Frame, sign: int) -> tuple[Quotient, ...] | None:
    """The parts of an expression that is not affine; None without such parts."""
    if isinstance(expression, Cast) and keeps_value(expression):
        return _parts(expression.operand, frame, sign)
    if isinstance(expression, Unary) and expression.operator == "-":
        return _negated(_parts(expression.operand, frame, -sign))
    if isinstance(expression, Binary) and expression.operator in ("+", "-"):
        left = _parts(expression.left, frame, sign)
        if expression.operator == "+":
            return _sums(left, _parts(expression.right, frame, sign), frame)
        return _sums(left, _negated(_parts(expression.right, frame, -sign)), frame)
    if isinstance(expression, Call) and expression.callee is Callee.HELPER:
        return _call(expression, frame, sign)
    return None


def _call(call: Call, frame: Frame, sign: int) -> tuple[Quotient, ...] | None:
    first, second = call.arguments
    if call.function == ("tilek_minimum" if sign > 0 else "tilek_maximum"):
        return (*_parts(first, frame, sign), *_parts(second, frame, sign))
    if call.function not in ("tilek_floor_quotient", "tilek_ceiling_quotient"):
        return None
    divisor, parts = constant_value(second, frame), _parts(first, frame, sign)
    if divisor is None or divisor <= 0:
        return None
    if call.function == ("tilek_floor_quotient" if sign > 0 else "tilek_ceiling_quotient"):
        return tuple(Quotient(part.dividend, part.divisor * divisor) for part in parts)
    # The opposite rounding: floor(e / d) = ceil((e - d + 1) / d).
    up = frame.number(sign * (divisor - 1))
    return tuple(Quotient(part.dividend.add(up), divisor) for part in parts) if _all_whole(parts) else None


def _negated(parts: tuple[Quotient, ...]) -> tuple[Quotient, ...]:
    return tuple(Quotient(part.dividend.neg(), part.divisor) for part in parts)


def _sums(left: tuple[Quotient, ...], right: tuple[Quotient, ...], frame: Frame) -> tuple[Quotient, ...] | None:
    """floor(e / s) + f = floor((e + s f) / s); two quotients have no such sum."""
    return tuple(_each_sum(left, right, frame)) if _all_whole(left) or _all_whole(right) else None


def _each_sum(left: tuple[Quotient, ...], right: tuple[Quotient, ...], frame: Frame) -> Iterator[Quotient]:
    for first in left:
        for second in right:
            divisor = first.divisor * second.divisor
            scaled = [part.dividend.mul(frame.number(divisor // part.divisor)) for part in (first, second)]
            yield Quotient(scaled[0].add(scaled[1]), divisor)


def _all_whole(parts: tuple[Quotient, ...]) -> bool:
    return all(part.divisor == 1 for part in parts)
