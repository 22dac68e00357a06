"""Laurent polynomials over the reals: floating-point expressions with collected coefficients.

    p = integer polynomial / single term

An atom is no sum, product or quotient of single terms: a variable, an array element, a call, a
divisor that is a sum. Expressions count as real numbers. Equal polynomials may differ by rounding,
so they never serve to emit code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import lcm
from operator import or_

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import text_key
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import Access, Binary, Cast, Expression, FloatingLiteral, IntegerLiteral, Unary
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import Polynomial, by_term, combination, common_term, divide, number
from tilepragma.ir.types import ScalarType

#: Atoms with their exponents, none of them 0, in a fixed order; empty for the constant term.
Powers = tuple[tuple[Expression, int], ...]

_MOST_TERMS = 1024
#: Numbers with greater denominators are shown as decimals.
_GREATEST_DENOMINATOR = 1000


class TooLongError(Exception):
    """A sum or product has more terms than any stencil."""


@dataclass(frozen=True)
class LaurentPolynomial:
    """`numerator / denominator` in lowest terms; the denominator is a single positive term."""

    numerator: Polynomial = number(0)
    denominator: Polynomial = number(1)

    @property
    def constant(self) -> Fraction | None:
        """The value if the polynomial is a number, else None."""
        above, below = self.numerator.constant, self.denominator.constant
        return None if above is None or below is None else Fraction(above, below)

    @property
    def terms(self) -> tuple[tuple[Powers, Fraction], ...]:
        """The terms by degree, each with the powers of its atoms and its number."""
        ((below, divisor),) = self.denominator.terms
        terms = []
        for monomial, coefficient in sorted(self.numerator.terms, key=lambda term: len(term[0])):
            exponents = Counter(monomial)
            exponents.subtract(below)
            powers = sorted(exponents.items(), key=lambda power: text_key(power[0]))
            terms.append((tuple(power for power in powers if power[1]), Fraction(coefficient, divisor)))
        return tuple(terms)

    @property
    def atoms(self) -> tuple[Expression, ...]:
        """All atoms that occur, once each, in the order of the terms."""
        return tuple(dict.fromkeys(atom for powers, _ in self.terms for atom, _ in powers))

    def __add__(self, other: LaurentPolynomial) -> LaurentPolynomial:
        """Raises TooLongError."""
        return _total((self, other))

    def __neg__(self) -> LaurentPolynomial:
        return LaurentPolynomial(-self.numerator, self.denominator)

    def __sub__(self, other: LaurentPolynomial) -> LaurentPolynomial:
        return self + -other

    def __mul__(self, other: LaurentPolynomial) -> LaurentPolynomial:
        """Raises TooLongError."""
        if len(self.numerator.terms) * len(other.numerator.terms) > _MOST_TERMS:
            raise TooLongError
        return fraction(self.numerator * other.numerator, self.denominator * other.denominator)

    def inverse(self) -> LaurentPolynomial | None:
        """1 / self if self is a single term, else None."""
        return fraction(self.denominator, self.numerator) if len(self.numerator.terms) == 1 else None

    def quotient(self, divisor: LaurentPolynomial) -> LaurentPolynomial | None:
        """q with self = q * divisor; None if a remainder is left, or the divisor is 0."""
        if not divisor.numerator.terms:
            return None
        # Without a common factor, the divisor divides an integer polynomial into one (Gauss).
        factor = common_term(divisor.numerator.terms)
        quotient, rest = divide(self.numerator, by_term(divisor.numerator, factor))
        if rest.terms:
            return None
        return fraction(quotient * divisor.denominator, self.denominator * Polynomial((factor,)))

    @property
    def text(self) -> str:
        """The polynomial as a user writes it: `1 - w`, `0.25*w`, `1/9`, `-h2*f[i][j]`, `w/h2`."""
        parts = [_term_text(powers, value) for powers, value in sorted(self.terms, key=_shown)]
        return " + ".join(parts).replace("+ -", "- ") or "0"


class NotPolynomialError(Exception):
    """`atom_of` refuses a part as an atom; `range` is its place, the message names it."""

    def __init__(self, message: str, range_: SourceRange) -> None:
        super().__init__(message)
        self.range = range_


def laurent_polynomial(expression: Expression, atom_of: Callable[[Expression], LaurentPolynomial]) -> LaurentPolynomial:
    """`expression` with collected terms. Raises TooLongError, or NotPolynomialError of `atom_of`.

    `atom_of` gives the value of a part that is no sum, product or quotient: an atom, or a known
    value. Conversions to floating types are skipped; quotients of integers are atoms.
    """
    if isinstance(expression, IntegerLiteral):
        return LaurentPolynomial(number(expression.value))
    if isinstance(expression, FloatingLiteral):
        return LaurentPolynomial(*map(number, _decimal(expression).as_integer_ratio()))
    if isinstance(expression, Unary) and expression.operator in ("+", "-"):
        operand = laurent_polynomial(expression.operand, atom_of)
        return operand if expression.operator == "+" else -operand
    if isinstance(expression, Cast) and isinstance(expression.type, ScalarType) and expression.type.is_floating:
        return laurent_polynomial(expression.operand, atom_of)
    if isinstance(expression, Binary) and expression.operator in ("+", "-", "*", "/"):
        if expression.operator in ("+", "-"):
            return _sum(expression, atom_of)
        left = laurent_polynomial(expression.left, atom_of)
        right = laurent_polynomial(expression.right, atom_of)
        if expression.operator == "*":
            return left * right
        if not isinstance(expression.type, ScalarType) or expression.type.is_integer:
            if left.constant is not None and right.constant:
                return LaurentPolynomial(number(int(left.constant / right.constant)))  # `1 / 4` is 0 in C
            return atom_of(expression)
        # A divisor without an inverse is a sum, which atom_of may refuse for its parts.
        inverse = right.inverse() or atom_of(expression.right).inverse()
        return left * inverse if inverse is not None else atom_of(expression)
    return atom_of(expression)


def _sum(expression: Binary, atom_of: Callable[[Expression], LaurentPolynomial]) -> LaurentPolynomial:
    """A chain of sums and differences, collected once: term by term would take quadratic time."""
    first: Expression = expression
    added: list[tuple[str, Expression]] = []
    while isinstance(first, Binary) and first.operator in ("+", "-"):
        added.append((first.operator, first.right))
        first = first.left
    if len(added) > _MOST_TERMS:
        raise TooLongError
    parts = [laurent_polynomial(first, atom_of)]
    for operator, value in reversed(added):
        part = laurent_polynomial(value, atom_of)
        parts.append(part if operator == "+" else -part)
    return _total(parts)


def _decimal(literal: FloatingLiteral) -> Fraction:
    """The user's decimal number (0.1 is a tenth); the value itself for other spellings."""
    try:
        return Fraction(literal.spelling.rstrip("fFlL"))
    except ValueError:
        return Fraction(literal.value)


def fraction(numerator: Polynomial, denominator: Polynomial) -> LaurentPolynomial:
    """The quotient by a single term, in lowest terms."""
    monomial, factor = common_term((*denominator.terms, *numerator.terms))
    shared = monomial, factor if denominator.terms[0][1] > 0 else -factor
    return LaurentPolynomial(by_term(numerator, shared), by_term(denominator, shared))


def _total(values: Sequence[LaurentPolynomial]) -> LaurentPolynomial:
    """The sum, over the least common denominator. Raises TooLongError."""
    if sum(len(value.numerator.terms) for value in values) > _MOST_TERMS:
        raise TooLongError
    below = [value.denominator.terms[0] for value in values]
    atoms = reduce(or_, (Counter(monomial) for monomial, _ in below)).elements()
    common = Polynomial(((tuple(sorted(atoms, key=text_key)), lcm(*(factor for _, factor in below))),))
    parts = (value.numerator * by_term(common, term) for value, term in zip(values, below, strict=True))
    return fraction(combination((1, part) for part in parts), common)


def _shown(term: tuple[Powers, Fraction]) -> tuple[bool, int, list[str]]:
    """The order of terms in texts: positive ones first, numbers, variables, elements."""
    powers, value = term
    return value < 0, len(powers), [_atom_text(atom) for atom in _written(powers)]


def _written(powers: Powers) -> list[Expression]:
    """Atoms in the order in which users write them: variables before elements and calls."""
    plain = (isinstance(atom, Access) and not atom.subscripts for atom, _ in powers)
    ordered = sorted(zip(plain, powers, strict=True), key=lambda pair: (not pair[0], _atom_text(pair[1][0])))
    return [power[0] for _, power in ordered]


def _term_text(powers: Powers, value: Fraction) -> str:
    exponents = dict(powers)
    above = [(atom, exponents[atom]) for atom in _written(powers) if exponents[atom] > 0]
    below = [(atom, -exponents[atom]) for atom in _written(powers) if exponents[atom] < 0]
    factors = [_atom_text(atom) for atom, exponent in above for _ in range(exponent)]
    size = abs(value)
    if size != 1 or not factors:
        factors.insert(0, number_text(size))
    sign = "-" if value < 0 else ""
    divisors = "".join(f"/{_atom_text(atom)}" for atom, exponent in below for _ in range(exponent))
    return f"{sign}{'*'.join(factors)}{divisors}"


def number_text(value: Fraction) -> str:
    """`3`, `0.25`, `1/9`; the nearest decimals for longer numbers."""
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    if rest != 1 and value.denominator <= _GREATEST_DENOMINATOR:
        return str(value)
    return f"{float(value):.12g}"


def _atom_text(atom: Expression) -> str:
    text = expression_text(atom)
    return f"({text})" if isinstance(atom, (Binary, Unary)) else text
