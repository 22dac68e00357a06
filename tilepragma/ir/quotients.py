"""Guards quotients that run earlier than the user's division: where a launch or loop begins.

    if (d > 0) for (j = 0; j < n / d; j++) a[i + n / d] = …;

The launch computes the trip and the touched part of a even for d = 0. The guarded quotient is then
0, also for divisor -1 and the least dividend, whose quotient does not exist. Many processors trap
on both. The value does not matter, since nothing that runs then uses it.
"""

from __future__ import annotations

from typing import TypeVar

from tilepragma.ir.expressions import Binary, Call, Conditional, Expression, conjunction, integer
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_each
from tilepragma.ir.types import INT, ScalarType, is_integer, is_signed, is_signed_int

T = TypeVar("T")


def with_guarded_quotients(value: T) -> T:
    """`value` with guards at all integer quotients and remainders by a divisor that is no number.

    A guard is `d && (d != -1 || n >= -INT_MAX) ? n / d : 0`, with LONG_MAX for longs, and
    `d ? n / d : 0` for unsigned numbers. Guarded quotients stay.
    """
    return with_each(with_each(value, Conditional, _quotient), Binary, _guarded)


def unguarded(value: Expression) -> Expression:
    """The quotient inside a guard, without inner guards; other expressions unchanged."""
    if not isinstance(value, Conditional):
        return value
    inner: Expression = with_each(value, Conditional, _quotient)
    return value if isinstance(inner, Conditional) else inner


def _quotient(value: Conditional) -> Expression:
    return value.then if isinstance(value.then, Binary) and value == _guarded(value.then) else value


def _guarded(value: Binary) -> Expression:
    if value.operator not in ("/", "%") or not is_integer(value.type) or _is_never_zero(value.right):
        return value
    return Conditional(conjunction(_divides(value)), value, integer(0), value.type)


def _divides(value: Binary) -> tuple[Expression, ...]:
    """The conditions under which the quotient is computed."""
    type_ = value.type
    signed = is_signed_int(type_) and is_signed(value.right.type)
    if not isinstance(type_, ScalarType) or not signed or polynomial(value.left).constant is not None:
        return (value.right,)
    greatest = (1 << (type_.bits - 1)) - 1
    not_minus_one = Binary("!=", value.right, integer(-1), INT)
    return value.right, Binary("||", not_minus_one, Binary(">=", value.left, integer(-greatest, type_), INT), INT)


def _is_never_zero(divisor: Expression) -> bool:
    if isinstance(divisor, Call) and divisor.function == "tilek_maximum":
        return any((polynomial(argument).constant or 0) > 0 for argument in divisor.arguments)
    return bool(polynomial(divisor).constant)
