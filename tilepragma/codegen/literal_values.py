"""Values of literals, for shorter text where a bound is 0 or a step 1."""

from __future__ import annotations

from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import Expression, IntegerLiteral, Unary


def literal_value(expression: Expression | ClauseExpression | None) -> int | None:
    """The value of an integer literal, signed or not; None for anything else."""
    if isinstance(expression, ClauseExpression):
        return expression.literal
    if isinstance(expression, IntegerLiteral):
        return expression.value
    if isinstance(expression, Unary) and expression.operator in "+-":
        value = literal_value(expression.operand)
        return None if value is None else -value if expression.operator == "-" else value
    return None
