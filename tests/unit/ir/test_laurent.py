"""Laurent polynomials of C expressions: what is collected, what is divided, and how it is written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.support.scops import kernel_of
from tilepragma.ir.expressions import Assignment
from tilepragma.ir.laurent import LaurentPolynomial, TooLongError, laurent_polynomial, number_text
from tilepragma.ir.polynomial import of_atom
from tilepragma.ir.traversal import walk


def value(text: str) -> LaurentPolynomial:
    """The polynomial of an expression in the doubles a, b, c and the ints i, k."""
    kernel = kernel_of(
        "double a, double b, double c, int i, int k, double x[4]", f"for (int t = 0; t < 4; t++)\nx[t] = {text};"
    )
    (assignment,) = (node for node in walk(kernel.body) if isinstance(node, Assignment))
    return laurent_polynomial(assignment.value, lambda atom: LaurentPolynomial(of_atom(atom)))


@pytest.mark.parametrize(
    ("written", "collected"),
    [
        ("(1 - a)*b + a*0.25*(b + 3*c)", "b + 0.75*a*c - 0.75*a*b"),
        ("a - a", "0"),
        ("(a + b)*(a - b)", "a*a - b*b"),
        ("(a + b)/9.0", "1/9*a + 1/9*b"),
        ("1/4*a", "0"),
        ("7/2*a", "3*a"),
        ("(i/2)*a", "a*(i / 2)"),
        ("a/b/b*b", "a/b"),
        ("a/(b + c)", "a/(b + c)"),
        ("a/(2*b)", "0.5*a/b"),
        ("-(float)a + 2.5f*a", "1.5*a"),
        ("x[1]*a*2", "2*a*x[1]"),
        ("0x10*a", "16*a"),
        ("0x1p-2*a", "0.25*a"),
        ("a*(k ? b : c)", "a*(k ? b : c)"),
    ],
)
def test_what_is_collected(written: str, collected: str) -> None:
    assert value(written).text == collected


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [
        ("0.25*a", "a", "0.25"),
        ("0.25 - 0.25*a", "1 - a", "0.25"),
        ("a*b - c*a", "a", "b - c"),
        ("b", "a", "b/a"),
        ("a*a - 1", "a - 1", "1 + a"),
        ("b", "1 - a", None),
        ("a", "0", None),
        ("0", "a", "0"),
    ],
)
def test_quotients(dividend: str, divisor: str, quotient: str | None) -> None:
    """Up to as many terms as the dividend has: those of coefficients by a factor."""
    result = value(dividend).quotient(value(divisor))
    assert (None if result is None else result.text) == quotient


def test_sums_are_in_lowest_terms() -> None:
    assert value("a/(2*b) + a/(3*b) + (b*b)/(b*6)").denominator == value("6*b").numerator
    assert value("(a*b + b*c)/b - a") == value("c")
    assert value("a/b - a/b").denominator == value("1").numerator


def test_products_that_nobody_writes() -> None:
    power = "*".join(["(a + b + c + i + k + x[0] + x[1])"] * 8)
    with pytest.raises(TooLongError):
        value(power)


@pytest.mark.parametrize(
    ("number", "text"),
    [(Fraction(3), "3"), (Fraction(1, 8), "0.125"), (Fraction(2, 7), "2/7"), (Fraction(1, 7001), "0.000142836737609")],
)
def test_numbers(number: Fraction, text: str) -> None:
    assert number_text(number) == text
