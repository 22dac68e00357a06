"""C's integers: values of constant expressions, and where C differs from arithmetic.

Plans reason about mathematical integers. But unsigned sums wrap, and conversions cut values off. A
subscript that wraps is beyond any array, so its value does not matter. But a quotient, comparison
or widening of a wrapped value does.
"""

from __future__ import annotations

from tilepragma.base.memoization import once
from tilepragma.ir.evaluation import UNARY, operation
from tilepragma.ir.expressions import Binary, Cast, Conditional, Expression, FloatingLiteral, IntegerLiteral, Unary
from tilepragma.ir.polynomial import Polynomial, collected_parts, polynomial
from tilepragma.ir.types import (
    INT,
    LONG,
    ScalarKind,
    ScalarType,
    Type,
    is_integer,
    is_signed,
    least_and_greatest,
    usual_type,
)


def converted(value: int, type_: ScalarType) -> int:
    """The value after conversion to an integer type (C99 6.3.1.3); signed types wrap."""
    if type_.kind is ScalarKind.BOOLEAN:
        return int(value != 0)
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if type_.signed and value >> (type_.bits - 1) else value


@once
def c_value(value: Expression) -> int | None:
    """The value of an integer constant expression, or None.

    The front end made literals of operands where C and arithmetic differ, so this checks one
    operation.
    """
    if isinstance(value, IntegerLiteral):
        return value.value
    type_ = value.type
    if not is_integer(type_):
        return None
    if isinstance(value, Unary):
        return _unary(value, type_)
    if isinstance(value, Binary):
        return _binary(value, type_)
    if isinstance(value, Cast):
        return _cast(value, type_)
    if isinstance(value, Conditional):
        chosen = _chosen(value)
        return None if chosen is None else converted(chosen, type_)
    return None


def arithmetic_value(value: Expression) -> int | None:
    """The constant by arithmetic on numbers: `c_value` without conversions."""
    if isinstance(value, Unary) and value.operator in ("-", "+"):
        operand = c_value(value.operand)
        return None if operand is None else -operand if value.operator == "-" else operand
    if isinstance(value, Cast):
        return c_value(value.operand)
    if isinstance(value, Binary):
        left, right = c_value(value.left), c_value(value.right)
        return None if left is None or right is None else operation(value.operator, left, right)
    return _chosen(value) if isinstance(value, Conditional) else c_value(value)


def _chosen(value: Conditional) -> int | None:
    test = c_value(value.condition)
    return None if test is None else c_value(value.then if test else value.otherwise)


def _cast(value: Cast, type_: ScalarType) -> int | None:
    if isinstance(value.operand, FloatingLiteral):
        low, high = least_and_greatest(type_)
        if type_.kind is ScalarKind.BOOLEAN:
            return int(value.operand.value != 0)
        return int(value.operand.value) if low - 1 < value.operand.value < high + 1 else None
    operand = c_value(value.operand)
    return None if operand is None else converted(operand, type_)


def _unary(value: Unary, type_: ScalarType) -> int | None:
    operand = c_value(value.operand)
    if operand is None:
        return None
    return converted(int(UNARY[value.operator](operand)), type_)


def _binary(value: Binary, type_: ScalarType) -> int | None:
    operator, left, right = value.operator, c_value(value.left), c_value(value.right)
    if left is None or right is None or not (is_integer(value.left.type) and is_integer(value.right.type)):
        return None
    assert isinstance(value.left.type, ScalarType) and isinstance(value.right.type, ScalarType)
    if operator in ("<<", ">>"):
        if not 0 <= right < type_.bits:
            return None
    elif operator not in ("&&", "||"):
        common = usual_type(value.left.type, value.right.type)
        left, right = converted(left, common), converted(right, common)
    result = operation(operator, left, right)
    return None if result is None else converted(result, type_)


#: Greater factors of unsigned values are those of hash functions, whose products wrap.
_GREATEST_FACTOR = 1 << 10


def never_wraps(value: Polynomial) -> bool:
    """Whether it is a sum of unsigned variables and constants, too small to wrap for any array."""
    sums = all(coefficient == 1 or (not monomial and coefficient >= 0) for monomial, coefficient in value.terms)
    return sums and all(isinstance(atom.type, ScalarType) and not atom.type.signed for atom in value.atoms)


def has_wrapped(value: Expression, wide: Type) -> bool:
    """Whether part of a sum of type `wide` may have wrapped in a narrower unsigned type."""
    type_ = value.type
    narrower = isinstance(type_, ScalarType) and isinstance(wide, ScalarType) and INT.bits <= type_.bits < wide.bits
    if narrower and not is_signed(type_) and not never_wraps(polynomial(value)):
        return True
    return any(has_wrapped(part, type_) for part in collected_parts(value))


def holds(to: Type, value: Expression) -> bool:
    """Whether a variable of type `to` gets the arithmetic value, as far as constants tell.

    Sizes are assumed to be those of arrays. But `int k = 4294967296 * i + 3` is always 3.
    """
    if not isinstance(to, ScalarType) or not isinstance(value.type, ScalarType) or has_wrapped(value, to):
        return False
    terms = polynomial(value).terms
    unsigned = not value.type.signed and INT.bits <= value.type.bits < LONG.bits
    if unsigned and any(monomial and abs(factor) > _GREATEST_FACTOR for monomial, factor in terms):
        return False
    return to.bits >= LONG.bits or all(abs(factor) < 1 << (to.bits - 1) for _, factor in terms)
