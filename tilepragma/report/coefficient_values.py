"""Numbers for a relaxation's coefficients: the user's (`--value w=1.9`), a default factor w."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, Binary, Cast, Expression, FloatingLiteral, Unary
from tilepragma.ir.laurent import LaurentPolynomial
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.patterns.relaxation import Offset, Sweep
from tilepragma.report.size_values import Sizes, value_of


class UnknownValueError(Exception):
    """The user gave no number for `name`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class CoefficientValues:
    """Numbers for names in coefficients: integer sizes, and `given`, by the user's expressions."""

    sizes: Sizes
    given: Mapping[str, float]

    def of(self, value: LaurentPolynomial) -> float:
        """The polynomial's value; not finite where it divides by 0. Raises UnknownValueError."""
        return math.fsum(
            float(factor) * math.prod(_power(self.atom(atom), exponent) for atom, exponent in powers)
            for powers, factor in value.terms
        )

    def atom(self, node: Expression) -> float:
        """An expression's value. Raises UnknownValueError."""
        text = expression_text(node)
        if text in self.given:
            return self.given[text]
        whole = value_of(node, self.sizes)
        if whole is not None:
            return float(whole)
        if isinstance(node, FloatingLiteral):
            return float(node.value)
        if isinstance(node, Cast):
            return self.atom(node.operand)
        if isinstance(node, Unary) and node.operator in ("+", "-"):
            operand = self.atom(node.operand)
            return operand if node.operator == "+" else -operand
        if isinstance(node, Binary) and node.operator in ("+", "-", "*", "/"):
            left, right = self.atom(node.left), self.atom(node.right)
            if node.operator == "/":
                return left * _power(right, -1)
            return {"+": left + right, "-": left - right, "*": left * right}[node.operator]
        raise UnknownValueError(text)


def _power(value: float, exponent: int) -> float:
    return math.inf if value == 0 and exponent < 0 else value**exponent


def best_factor(sweep: Sweep, extents: Sequence[int], values: CoefficientValues) -> Mapping[str, float]:
    """{name: number} of the relaxation factor w, if the coefficients name it without a value.

    The name may stand for w or for a multiple of it. The number is the best factor,

        w = 2 / (1 + sqrt(1 - rho^2)),
        rho = sum over o != 0 of  c_o / w * product over dimensions d of cos(pi o_d / (n_d + 1)),

    for stars of equal coefficients and consistently ordered sweeps (Young), and is near it for
    others. Empty elsewhere.
    """
    if sweep.relaxation is None or len(sweep.relaxation.terms) != 1:
        return {}
    ((powers, factor),) = sweep.relaxation.terms
    if len(powers) != 1 or powers[0][1] != 1 or not isinstance(powers[0][0], Access):
        return {}
    name = expression_text(powers[0][0])
    try:
        values.atom(powers[0][0])
    except UnknownValueError:
        unrelaxed = CoefficientValues(values.sizes, {**values.given, name: float(1 / factor)})
        radius = math.fsum(
            unrelaxed.of(neighbour.coefficient) * _symbol(neighbour.offset, extents)
            for neighbour in sweep.neighbours
            if any(neighbour.offset)
        )
        best = 2 / (1 + math.sqrt(max(1 - radius**2, 0.0)))
        return {name: best / float(factor)}
    return {}


def _symbol(offset: Offset, extents: Sequence[int]) -> float:
    return math.prod(math.cos(math.pi * part / (extent + 1)) for part, extent in zip(offset, extents, strict=True))
