"""Integer polynomials over atoms: collected subscripts and loop bounds, and their way back to C.

An atom is an expression that is no sum or product: a scalar, such as an iterator, a quotient, a
call. If two values differ by a constant, `p - q` *is* that constant, which compares bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from math import gcd
from operator import and_

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import TextKey, text_key
from tilepragma.ir.expressions import (
    Access,
    Binary,
    Call,
    Callee,
    Cast,
    Conditional,
    Expression,
    IntegerLiteral,
    Unary,
    integer,
)
from tilepragma.ir.types import INT, LONG, ScalarKind, ScalarType, is_integer

#: A product of atoms, in a fixed order; empty for the constant term.
Monomial = tuple[Expression, ...]
#: A product with its coefficient.
Term = tuple[Monomial, int]

#: Division takes at most so many steps, or one for each term.
_MOST_STEPS = 64


@dataclass(frozen=True)
class Polynomial:
    """A sum of `coefficient * monomial`; the terms are sorted, unique and nonzero."""

    terms: tuple[Term, ...]

    @property
    def constant(self) -> int | None:
        """The value if the polynomial is a number, else None."""
        if not self.terms:
            return 0
        (monomial, coefficient) = self.terms[0]
        return coefficient if len(self.terms) == 1 and not monomial else None

    @property
    def constant_term(self) -> int:
        """The term without atoms, which is the first."""
        return self.terms[0][1] if self.terms and not self.terms[0][0] else 0

    @property
    def atoms(self) -> frozenset[Expression]:
        """All atoms that occur."""
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)

    def __add__(self, other: Polynomial) -> Polynomial:
        return _collect([*self.terms, *other.terms])

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple((monomial, -coefficient) for monomial, coefficient in self.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _collect(
            (tuple(sorted(a + b, key=text_key) if a and b else a + b), x * y)
            for a, x in self.terms
            for b, y in other.terms
        )

    def split(self, atom: Expression) -> tuple[Polynomial, Polynomial] | None:
        """(coefficient, rest) with self = coefficient * atom + rest; None if it is not linear."""
        coefficient, rest = [], []
        for monomial, factor in self.terms:
            if monomial.count(atom) > 1:
                return None
            if atom in monomial:
                coefficient.append((tuple(a for a in monomial if a != atom), factor))
            else:
                rest.append((monomial, factor))
        return _collect(coefficient), _collect(rest)

    def substitute(self, atom: Expression, value: Polynomial) -> Polynomial:
        """self with `value` in place of `atom`, in which it must be linear."""
        parts = self.split(atom)
        if parts is None:
            raise ValueError("the polynomial is not linear in the atom")
        return parts[0] * value + parts[1]


def number(value: int) -> Polynomial:
    """The constant polynomial."""
    return Polynomial((((), value),) if value else ())


def of_atom(atom: Expression) -> Polynomial:
    """The polynomial that is one atom."""
    return Polynomial((((atom,), 1),))


def polynomial(expression: Expression) -> Polynomial:
    """`expression` with collected terms; parts that are no sum or product of integers become atoms.

    Casts that widen, or go to 64 bits (where sizes and addresses wrap alike), are skipped. Values
    are mathematical, as the language leaves signed overflow undefined.
    """
    if isinstance(expression, IntegerLiteral):
        return number(expression.value)
    if isinstance(expression, Unary) and expression.operator in ("+", "-"):
        operand = polynomial(expression.operand)
        return operand if expression.operator == "+" else -operand
    if isinstance(expression, Cast) and keeps_value(expression):
        return polynomial(expression.operand)
    if isinstance(expression, Binary) and is_integer(expression.type):
        if expression.operator in ("+", "-"):
            return _sum(expression)
        if expression.operator == "*":
            return polynomial(expression.left) * polynomial(expression.right)
    return of_atom(expression)


def _sum(value: Expression) -> Polynomial:
    """A chain of sums and differences, collected once: term by term would take quadratic time."""
    terms: list[Term] = []
    while isinstance(value, Binary) and value.operator in ("+", "-") and is_integer(value.type):
        right = polynomial(value.right)
        terms += (right if value.operator == "+" else -right).terms
        value = value.left
    return _collect([*polynomial(value).terms, *terms])


def collected_parts(value: Expression) -> tuple[Expression, ...]:
    """The parts in which `polynomial` looks for terms; none for a number or an atom."""
    if (isinstance(value, Unary) and value.operator in ("+", "-")) or (isinstance(value, Cast) and keeps_value(value)):
        return (value.operand,)
    if isinstance(value, Binary) and is_integer(value.type) and value.operator in ("+", "-", "*"):
        return (value.left, value.right)
    return ()


def combination(parts: Iterable[tuple[int, Polynomial]]) -> Polynomial:
    """The sum of factor * polynomial over (factor, polynomial)."""
    terms = ((monomial, factor * number_) for factor, value in parts for monomial, number_ in value.terms)
    return _collect(terms)


def divide(value: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """(q, r) with value = q * by + r; no term of r is a multiple of the leading term of `by`."""
    lead, factor = _leading(by)
    quotient = number(0)
    for _ in range(max(_MOST_STEPS, len(value.terms))):
        multiples = ((monomial, number_ // factor) for monomial, number_ in value.terms if number_ % factor == 0)
        rests = ((_over(monomial, lead), coefficient) for monomial, coefficient in multiples)
        step = next(((rest, coefficient) for rest, coefficient in rests if rest is not None), None)
        if step is None:
            break
        term = Polynomial((step,))
        quotient = quotient + term
        value = value - term * by
    return quotient, value


def _leading(value: Polynomial) -> Term:
    """The term of the greatest degree, by the atoms' texts where several have it."""
    return max(value.terms, key=lambda term: (len(term[0]), repr(term[0])))


def common_term(terms: Sequence[Term]) -> Term:
    """The greatest term that divides all of these."""
    product = reduce(and_, (Counter(monomial) for monomial, _ in terms))
    return tuple(product.elements()), gcd(*(coefficient for _, coefficient in terms))


def primitive(value: Polynomial) -> tuple[Polynomial, int]:
    """(p, c) with value = ±c * p, p's leading term positive and its coefficients coprime."""
    content = common_term(value.terms)[1]
    return by_term(value, ((), content if _leading(value)[1] > 0 else -content)), content


def by_term(value: Polynomial, divisor: Term) -> Polynomial:
    """The quotient by a term that divides all terms."""
    lead, factor = divisor
    return _collect((_over(monomial, lead) or (), coefficient // factor) for monomial, coefficient in value.terms)


def _over(monomial: Monomial, lead: Monomial) -> Monomial | None:
    rest = list(monomial)
    for atom in lead:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def minimum(values: Iterable[Polynomial]) -> Polynomial:
    """The least value: a number or one of the values if that is known, else a helper's call."""
    return _extreme(values, "tilek_minimum", -1)


def maximum(values: Iterable[Polynomial]) -> Polynomial:
    """The greatest value, as `minimum`."""
    return _extreme(values, "tilek_maximum", 1)


def expression(value: Polynomial, type_: ScalarType = LONG) -> Expression:
    """C for the polynomial in a type that holds all parts of the sum; positive terms come first."""
    result: Expression | None = None
    for monomial, coefficient in sorted(value.terms, key=lambda term: (term[1] < 0, not term[0])):
        term = _product(monomial, abs(coefficient), type_)
        if result is None:
            result = term if coefficient > 0 else Unary("-", term, type_)
        else:
            result = Binary("+" if coefficient > 0 else "-", result, term, type_)
    return result if result is not None else integer(0, type_)


def not_negative(value: Polynomial) -> Expression:
    """C for `value >= 0`, without differences: `n >= 3` for n - 3."""
    left = Polynomial(tuple((monomial, factor) for monomial, factor in value.terms if factor > 0))
    return Binary(">=", expression(left), expression(left - value), INT)


def select(condition: Expression | None, value: Polynomial, otherwise: Polynomial) -> Polynomial:
    """`condition ? value : otherwise`; `value` if the condition is None."""
    if condition is None or value == otherwise:
        return value
    return of_atom(Conditional(condition, expression(value), expression(otherwise), LONG))


def _product(monomial: Monomial, coefficient: int, type_: ScalarType) -> Expression:
    result: Expression | None = integer(coefficient, type_) if coefficient != 1 or not monomial else None
    for atom in monomial:
        factor = atom if getattr(atom, "type", None) == type_ else Cast(type_, atom)
        result = factor if result is None else Binary("*", result, factor, type_)
    assert result is not None
    return result


def _extreme(values: Iterable[Polynomial], function: str, sign: int) -> Polynomial:
    kept: list[Polynomial] = []
    for value in values:
        for place, candidate in enumerate(kept):
            difference = (value - candidate).constant
            if difference is not None:
                kept[place] = value if difference * sign > 0 else candidate
                break
        else:
            kept.append(value)
    result = kept[0]
    for value in kept[1:]:
        result = of_atom(Call(function, Callee.HELPER, (expression(result), expression(value)), LONG))
    return result


def _collect(terms: Iterable[Term]) -> Polynomial:
    """The sum of terms in any order, of which several may have one product."""
    sums: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        sums[monomial] = sums.get(monomial, 0) + coefficient
    constant = sums.pop((), 0)
    kept = [(monomial, coefficient) for monomial, coefficient in sums.items() if coefficient]
    if len(kept) > 1:
        kept.sort(key=_place)
    return Polynomial(((((), constant),) if constant else ()) + tuple(kept))


def _place(term: Term) -> list[tuple[bool, TextKey | None]]:
    """The sort key of a product: its atoms' texts. A longer product goes before its prefix."""
    return [*((False, text_key(atom)) for atom in term[0]), (True, None)]


def keeps_value(cast: Cast) -> bool:
    """Whether the cast widens without making a negative value a great one, or goes to 64 bits."""
    to, source = cast.type, cast.operand.type
    if not isinstance(to, ScalarType) or not isinstance(source, ScalarType):
        return False
    if to.kind is not ScalarKind.INTEGER or not source.is_integer:
        return False
    if to.bits == 64 or to.signed == source.signed:
        return to.bits >= source.bits
    return to.signed and to.bits > source.bits


def is_scalar(value: Expression) -> bool:
    """Whether `value` is a plain scalar variable."""
    return isinstance(value, Access) and not value.subscripts and not value.path
