"""The value of a clause's integer expression, which is kept as text, as in `data(a[0:n*n])`."""

from __future__ import annotations

import ast
from collections.abc import Mapping


def clause_value(text: str, numbers: Mapping[str, int]) -> int | None:
    """The value of sums, products and quotients of names and numbers; None for other expressions.

    Python parses these as C does. None also if `numbers` lacks a name.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return None
    return _value(tree.body, numbers)


def _value(node: ast.expr, numbers: Mapping[str, int]) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return numbers.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _value(operand, numbers)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _value(left, numbers), _value(right, numbers)
            return None if first is None or second is None else _binary(operator, first, second)
    return None


def _binary(operator: ast.operator, left: int, right: int) -> int | None:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() | ast.Mod() if right != 0:
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # C rounds towards 0
            return quotient if isinstance(operator, ast.Div) else left - quotient * right
    return None
