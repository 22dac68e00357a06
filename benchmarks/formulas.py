"""Sizes of a case, and arithmetic in them, as tables of cases write both: "N=100 M=90", "2*N*M"."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def sizes_of(text: str) -> dict[str, int]:
    """The numbers of "N=100 M=90"."""
    return {name: int(value) for name, value in (item.split("=") for item in text.split())}


def value_of(formula: str, numbers: Mapping[str, float]) -> float:
    """Raises ValueError where `formula` has something else than numbers, names of `numbers`, and two
    operands of + - * / // **.
    """
    return _value(ast.parse(formula, mode="eval").body, numbers)


def _value(node: ast.expr, numbers: Mapping[str, float]) -> float:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, numbers), _value(node.right, numbers))
    if isinstance(node, ast.Name) and node.id in numbers:
        return numbers[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.value
    raise ValueError(f"no arithmetic in {', '.join(numbers)}: {ast.unparse(node)}")
