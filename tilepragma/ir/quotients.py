"""Quotients that are evaluated before it is known whether the user's program divides at all: where
a launch begins, or around a loop.

    if (d > 0) for (j = 0; j < n / d; j++) a[i + n / d] = …;        what is touched of a, and the trip of the loop, are computed even where d is 0

There they are 0 where the divisor is, and where it is -1 and the dividend the least number of its
type, whose quotient the type does not have (both trap on many processors). What their value is does
not matter: nothing that runs then asks for it.
"""

from __future__ import annotations

from typing import TypeVar

from tilepragma.ir.expressions import Binary, Call, Conditional, Expression, conjunction, integer
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_each
from tilepragma.ir.types import INT, ScalarType, is_signed, is_signed_int

T = TypeVar("T")


def with_guarded_quotients(value: T) -> T:
    """The same with `d && (d != -1 || n >= -INT_MAX) ? n / d : 0` (LONG_MAX for longs, `d ? n / d :
    0` where numbers have no sign) in the place of quotients and remainders of integers whose
    divisor is no number. What is guarded already stays as it is.
    """
    return with_each(with_each(value, Conditional, _quotient), Binary, _guarded)


def unguarded(value: Expression) -> Expression:
    """The quotient of such a choice, and of such in it; any other expression as it is."""
    if not isinstance(value, Conditional):
        return value
    inner: Expression = with_each(value, Conditional, _quotient)
    return value if isinstance(inner, Conditional) else inner


def _quotient(value: Conditional) -> Expression:
    return value.then if isinstance(value.then, Binary) and value == _guarded(value.then) else value


def _guarded(value: Binary) -> Expression:
    integers = isinstance(value.type, ScalarType) and value.type.is_integer
    if value.operator not in ("/", "%") or not integers or _is_never_zero(value.right):
        return value
    return Conditional(conjunction(_divides(value)), value, integer(0), value.type)


def _divides(value: Binary) -> tuple[Expression, ...]:
    """What has to hold where the quotient is computed."""
    type_ = value.type
    signed = is_signed_int(type_) and is_signed(value.right.type)
    if not isinstance(type_, ScalarType) or not signed or polynomial(value.left).constant is not None:
        return (value.right,)
    greatest = (1 << (type_.bits - 1)) - 1
    other = Binary("!=", value.right, integer(-1), INT)
    return value.right, Binary("||", other, Binary(">=", value.left, integer(-greatest, type_), INT), INT)


def _is_never_zero(divisor: Expression) -> bool:
    if isinstance(divisor, Call) and divisor.function == "tilek_maximum":
        return any((polynomial(argument).constant or 0) > 0 for argument in divisor.arguments)
    return bool(polynomial(divisor).constant)
