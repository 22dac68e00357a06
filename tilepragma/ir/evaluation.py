"""Evaluates integer expressions: of plans, for many sizes together, and of clauses.

Many sizes are numpy arrays of 64-bit values. Values are mathematical: like the planner, it assumes
that nothing overflows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tilepragma.ir.expressions import Access, Binary, Call, Callee, Cast, Conditional, Expression, IntegerLiteral, Unary
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.types import LONG, ScalarType

# Loading numpy takes as long as planning a small kernel, and a translation needs only single
# numbers. Callers that have arrays have loaded it.
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: One value, or an array with one for each of several cases; arrays of an expression broadcast.
Values: TypeAlias = "int | npt.NDArray[np.int64]"


class Source(Protocol):
    """Provides values of scalars by name."""

    def get(self, name: str, /) -> Values | None:
        """The values, or None."""


class UncountableError(Exception):
    """A value depends on data, or on an unknown number; the text fits the middle of a sentence."""


class TooManyError(UncountableError):
    """Counting would take too long."""


class Evaluation:
    """Evaluates expressions with these `values` of scalars, by name; each expression once."""

    def __init__(self, values: Source) -> None:
        self.values = values
        self._computed: dict[Expression, Values] = {}

    def value(self, expression: Expression) -> Values:
        """The value of an integer expression. Raises UncountableError."""
        if isinstance(expression, IntegerLiteral):
            return expression.value
        result = self._computed.get(expression)
        if result is None:
            result = self._computed[expression] = self._compute(expression)
        return result

    def holds(self, condition: Expression) -> npt.NDArray[np.bool_]:
        """Where the condition is not 0. Raises UncountableError."""
        import numpy as np

        return np.asarray(self.value(condition) != 0)

    def trips(self, loop: Loop) -> Values:
        """The number of iterations of a loop that ends. Raises UncountableError."""
        lower, upper, step = (self.value(bound) for bound in (loop.lower, loop.upper, loop.step))
        if loop.comparison == "!=":
            return maximum(_floor_quotient(upper - lower, step), 0)
        upward = loop.comparison in ("<", "<=")
        distance = upper - lower if upward else lower - upper
        if len(loop.comparison) == 2:
            distance = distance + 1
        stride = step if upward else -step
        if isinstance(stride, int) and stride == 1:
            return maximum(distance, 0)
        return maximum(_ceiling_quotient(distance, maximum(stride, 1)), 0) * _number(stride > 0)

    def _compute(self, node: Expression) -> Values:
        match node:
            case Access(object=object_, subscripts=(), path=()):
                value = self.values.get(object_.name)
                if value is None:
                    raise UncountableError(f"'{object_.host}' has no known value")
                return value
            case Cast(type=ScalarType(is_integer=True)):
                return self.value(node.operand)
            case Unary():
                return UNARY[node.operator](self.value(node.operand))
            case Binary(operator=operator) if operator in BINARY:
                left = self.value(node.left)
                if operator in ("&&", "||") and isinstance(left, int) and bool(left) == (operator == "||"):
                    return int(left != 0)
                return BINARY[operator](left, self.value(node.right))
            case Conditional():
                condition = self.value(node.condition)
                if isinstance(condition, int):
                    return self.value(node.then if condition else node.otherwise)
                return _select(condition, self.value(node.then), self.value(node.otherwise))
            case Call(callee=Callee.HELPER, function=function) if function in HELPERS:
                left, right = (self.value(argument) for argument in node.arguments)
                return HELPERS[function](left, right)
        raise UncountableError(f"'{expression_text(node)}' depends on data")


def minimum(left: Values, right: Values) -> Values:
    """The lesser of two values."""
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    import numpy as np

    return np.minimum(left, right)


def maximum(left: Values, right: Values) -> Values:
    """The greater of two values."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    import numpy as np

    return np.maximum(left, right)


def _safe(divisor: Values) -> Values:
    """The divisor, in arrays 1 in place of 0: conditions never select such a quotient."""
    if isinstance(divisor, int):
        if divisor == 0:
            raise UncountableError("a divisor is 0")
        return divisor
    import numpy as np

    return np.where(divisor == 0, 1, divisor) if np.any(divisor == 0) else divisor


def _shift(count: Values) -> Values:
    """The count of a shift, if it has a value."""
    if isinstance(count, int) and not 0 <= count < LONG.bits:
        raise UncountableError(f"a shift by {count} has no value")
    return count


def _floor_quotient(left: Values, right: Values) -> Values:
    return left // _safe(right)


def _ceiling_quotient(left: Values, right: Values) -> Values:
    return -(-left // _safe(right))


def _quotient(left: Values, right: Values) -> Values:
    """The quotient rounded towards 0, as C divides."""
    divisor = _safe(right)
    size = maximum(left, -left) // maximum(divisor, -divisor)
    return _select(_number((left < 0) != (divisor < 0)), -size, size)


def _select(condition: Values, then: Values, otherwise: Values) -> Values:
    if isinstance(condition, int):
        return then if condition else otherwise
    import numpy as np

    return np.where(condition != 0, then, otherwise)


def _number(truth: Any) -> Values:
    """C's 0 or 1 of a comparison."""
    if isinstance(truth, bool):
        return int(truth)
    import numpy as np

    return int(truth) if isinstance(truth, np.bool_) else truth.astype(np.int64)


def operation(operator: str, left: int, right: int) -> int | None:
    """The value of an operation on two numbers; None if C has no such operator, or no value."""
    try:
        return int(BINARY[operator](left, right)) if operator in BINARY else None
    except UncountableError:
        return None


def clause_value(text: str, numbers: Mapping[str, int]) -> int | None:
    """The value of a clause's expression, which is kept as text, as in `data(a[0:n*n])`.

    It may have sums, products and quotients of names and numbers, which Python parses as C does.
    None for other expressions, and if `numbers` lacks a name.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return None
    return _clause_value(tree.body, numbers)


def _clause_value(node: ast.expr, numbers: Mapping[str, int]) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return numbers.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _clause_value(operand, numbers)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _CLAUSE_OPERATORS:
            first, second = _clause_value(left, numbers), _clause_value(right, numbers)
            if first is not None and second is not None:
                return operation(_CLAUSE_OPERATORS[type(operator)], first, second)
    return None


_CLAUSE_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}

#: C's operators and the runtime's helpers, by name; ints give ints.
UNARY: dict[str, Callable[[Values], Values]] = {
    "+": lambda value: value,
    "-": lambda value: -value,
    "~": lambda value: -1 - value,
    "!": lambda value: _number(value == 0),
}
BINARY: dict[str, Callable[[Values, Values], Values]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "%": lambda left, right: left - _quotient(left, right) * right,
    "<<": lambda left, right: left << _shift(right),
    ">>": lambda left, right: left >> _shift(right),
    "&": lambda left, right: left & right,
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "<": lambda left, right: _number(left < right),
    "<=": lambda left, right: _number(left <= right),
    ">": lambda left, right: _number(left > right),
    ">=": lambda left, right: _number(left >= right),
    "==": lambda left, right: _number(left == right),
    "!=": lambda left, right: _number(left != right),
    "&&": lambda left, right: _number((left != 0) & (right != 0)),
    "||": lambda left, right: _number((left != 0) | (right != 0)),
}
HELPERS: dict[str, Callable[[Values, Values], Values]] = {
    "tilek_minimum": minimum,
    "tilek_maximum": maximum,
    "tilek_floor_quotient": _floor_quotient,
    "tilek_ceiling_quotient": _ceiling_quotient,
}
