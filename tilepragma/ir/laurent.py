"""Laurent polynomials over the reals: floating-point expressions with collected coefficients.

    p = sum over terms of  number * product of atom^exponent

Numbers are exact fractions, exponents integers other than 0. An atom is no sum, product or quotient
of single terms: a variable, an array element, a call, a divisor that is a sum. Expressions count as
real numbers. Equal polynomials may differ by rounding, so they never serve to emit code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import TextKey, text_key
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import Access, Binary, Cast, Expression, FloatingLiteral, IntegerLiteral, Unary
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.types import ScalarType

#: A product of powers of atoms, in a fixed order; empty for the constant term.
Powers = tuple[tuple[Expression, int], ...]

_MOST_TERMS = 1024
#: Numbers with greater denominators are shown as decimals.
_GREATEST_DENOMINATOR = 1000


class TooLongError(Exception):
    """A sum or product has more terms than any stencil."""


@dataclass(frozen=True)
class LaurentPolynomial:
    """A sum of `number * powers`; the terms are sorted, unique and nonzero."""

    terms: tuple[tuple[Powers, Fraction], ...] = ()

    @property
    def constant(self) -> Fraction | None:
        """The value if the polynomial is a number, else None."""
        if not self.terms:
            return Fraction(0)
        powers, number = self.terms[0]
        return number if len(self.terms) == 1 and not powers else None

    @property
    def atoms(self) -> tuple[Expression, ...]:
        """All atoms that occur, once each, in the order of the terms."""
        return tuple(dict.fromkeys(atom for powers, _ in self.terms for atom, _ in powers))

    def __add__(self, other: LaurentPolynomial) -> LaurentPolynomial:
        """Raises TooLongError."""
        if len(self.terms) + len(other.terms) > _MOST_TERMS:
            raise TooLongError
        return _collect((*self.terms, *other.terms))

    def __neg__(self) -> LaurentPolynomial:
        return LaurentPolynomial(tuple((powers, -value) for powers, value in self.terms))

    def __sub__(self, other: LaurentPolynomial) -> LaurentPolynomial:
        return self + -other

    def __mul__(self, other: LaurentPolynomial) -> LaurentPolynomial:
        """Raises TooLongError."""
        if len(self.terms) * len(other.terms) > _MOST_TERMS:
            raise TooLongError
        return _collect((_product(a, b), x * y) for a, x in self.terms for b, y in other.terms)

    def inverse(self) -> LaurentPolynomial | None:
        """1 / self if self is a single term, else None."""
        if len(self.terms) != 1:
            return None
        ((powers, value),) = self.terms
        return LaurentPolynomial(((tuple((atom, -exponent) for atom, exponent in powers), 1 / value),))

    def quotient(self, divisor: LaurentPolynomial) -> LaurentPolynomial | None:
        """q with self = q * divisor; None if a remainder is left, or the divisor is 0."""
        if not divisor.terms:
            return None
        lead = LaurentPolynomial((_leading(divisor),)).inverse()
        assert lead is not None
        rest, quotient = self, LaurentPolynomial()
        for _ in range(len(self.terms)):
            if not rest.terms:
                break
            step = LaurentPolynomial((_leading(rest),)) * lead
            rest, quotient = rest - step * divisor, quotient + step
        return None if rest.terms else quotient

    def split(self, chosen: Callable[[Expression], bool]) -> tuple[LaurentPolynomial, LaurentPolynomial]:
        """(p, q) with self = p + q: the terms with a chosen atom, and those without."""
        marked = tuple(term for term in self.terms if any(chosen(atom) for atom, _ in term[0]))
        return LaurentPolynomial(marked), LaurentPolynomial(tuple(term for term in self.terms if term not in marked))

    @property
    def text(self) -> str:
        """The polynomial as a user writes it: `1 - w`, `0.25*w`, `1/9`, `-h2*f[i][j]`, `w/h2`."""
        parts = [_term_text(powers, value) for powers, value in sorted(self.terms, key=_shown)]
        return " + ".join(parts).replace("+ -", "- ") or "0"


def number(value: Fraction | int) -> LaurentPolynomial:
    """The constant polynomial."""
    return LaurentPolynomial((((), Fraction(value)),) if value else ())


def of_atom(atom: Expression, exponent: int = 1) -> LaurentPolynomial:
    """The polynomial that is one atom, or a power of it."""
    return LaurentPolynomial(((((atom, exponent),), Fraction(1)),))


class NotPolynomialError(Exception):
    """`atom_of` refuses a part as an atom; `range` is its place, the message names it."""

    def __init__(self, message: str, range_: SourceRange) -> None:
        super().__init__(message)
        self.range = range_


def laurent_polynomial(expression: Expression, atom_of: Callable[[Expression], LaurentPolynomial]) -> LaurentPolynomial:
    """`expression` with collected terms. Raises TooLongError, or NotPolynomialError of `atom_of`.

    `atom_of` gives the value of a part that is no sum, product or quotient: `of_atom` of it, or a
    known value. Conversions to floating types are skipped; quotients of integers are atoms.
    """
    if isinstance(expression, IntegerLiteral):
        return number(expression.value)
    if isinstance(expression, FloatingLiteral):
        return number(_decimal(expression))
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
                return number(int(left.constant / right.constant))  # `1 / 4` is 0 in C
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
    terms = list(laurent_polynomial(first, atom_of).terms)
    for operator, value in reversed(added):
        term = laurent_polynomial(value, atom_of)
        terms += (term if operator == "+" else -term).terms
        if len(terms) > _MOST_TERMS:
            raise TooLongError
    return _collect(terms)


def _decimal(literal: FloatingLiteral) -> Fraction:
    """The user's decimal number (0.1 is a tenth); the value itself for other spellings."""
    try:
        return Fraction(literal.spelling.rstrip("fFlL"))
    except ValueError:
        return Fraction(literal.value)


def _product(left: Powers, right: Powers) -> Powers:
    exponents = dict(left)
    for atom, exponent in right:
        exponents[atom] = exponents.get(atom, 0) + exponent
    kept = [(atom, exponent) for atom, exponent in exponents.items() if exponent]
    return tuple(sorted(kept, key=lambda power: text_key(power[0])))


def _collect(terms: Iterable[tuple[Powers, Fraction]]) -> LaurentPolynomial:
    sums: dict[Powers, Fraction] = {}
    for powers, value in terms:
        sums[powers] = sums.get(powers, Fraction(0)) + value
    kept = [(powers, value) for powers, value in sums.items() if value]
    return LaurentPolynomial(tuple(sorted(kept, key=lambda term: _order(term[0]))))


def _order(powers: Powers) -> tuple[int, list[tuple[TextKey, int]]]:
    """A monomial order: by degree, then by the atoms."""
    return sum(exponent for _, exponent in powers), [(text_key(atom), exponent) for atom, exponent in powers]


def _leading(value: LaurentPolynomial) -> tuple[Powers, Fraction]:
    return max(value.terms, key=lambda term: _order(term[0]))


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
