"""Where C's integers differ from arithmetic: unsigned sums wrap, and conversions cut values off.

Plans reason about mathematical integers. A subscript that wraps is beyond any array, so its value
does not matter. But a quotient, comparison or widening of a wrapped value does.
"""

from __future__ import annotations

from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Polynomial, collected_parts, polynomial
from tilepragma.ir.types import INT, LONG, ScalarType, Type, is_signed

#: Greater factors of unsigned values are those of hash functions, whose products wrap.
_GREATEST_FACTOR = 1 << 10


def never_wraps(value: Polynomial) -> bool:
    """Whether it is a sum of unsigned variables and constants, too small to wrap for any array."""
    return all(
        coefficient == 1 or (not monomial and coefficient >= 0) for monomial, coefficient in value.terms
    ) and all(isinstance(atom.type, ScalarType) and not atom.type.signed for atom in value.atoms)


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
