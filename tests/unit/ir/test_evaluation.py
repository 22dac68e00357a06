"""Integer expressions over arrays of values, against the same in Python's integers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.support.interpreter import Interpreter
from tilepragma.ir.evaluation import Evaluation, UncountableError, clause_value
from tilepragma.ir.expressions import (
    Access,
    Binary,
    Call,
    Callee,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Scope,
    Storage,
    Unary,
    access_to,
    integer,
)
from tilepragma.ir.loop_tree import Block, Loop
from tilepragma.ir.types import INT, LONG
from tilepragma.user_tiles.chain_checks import trip_count

A, B = (DataObject(name, name, LONG, Storage.SCALAR, Scope.LOCAL) for name in "ab")
LEFT, RIGHT = access_to(A), access_to(B)
OPERATORS = ["+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "&&", "||"]
HELPERS = ["minimum", "maximum", "floor_quotient", "ceiling_quotient"]
PAIRS = np.array(list(itertools.product(range(-7, 8), range(-4, 5))))


def values(expression: Expression, pairs: np.ndarray) -> list[int]:
    result = Evaluation({"a": pairs[:, 0], "b": pairs[:, 1]}).value(expression)
    return [int(each) for each in np.broadcast_to(result, (len(pairs),))]


def expected(expression: Expression, pairs: np.ndarray) -> list[int]:
    return [Interpreter({"a": int(a), "b": int(b)}).value(expression) for a, b in pairs]


@pytest.mark.parametrize("operator", [*OPERATORS, "/", "%"])
def test_operators_are_those_of_c(operator: str) -> None:
    pairs = PAIRS[PAIRS[:, 1] != 0] if operator in "/%" else PAIRS
    node = Binary(operator, LEFT, RIGHT, LONG)
    assert values(node, pairs) == expected(node, pairs)
    one = Evaluation({"a": -7, "b": 2}).value(node)
    assert isinstance(one, int)
    assert one == Interpreter({"a": -7, "b": 2}).value(node)


@pytest.mark.parametrize("operator", ["+", "-", "!", "~"])
def test_unary_operators(operator: str) -> None:
    node = Unary(operator, LEFT, LONG)
    assert values(node, PAIRS) == expected(node, PAIRS)


@pytest.mark.parametrize("helper", HELPERS)
def test_helpers_are_those_of_the_runtime(helper: str) -> None:
    pairs = PAIRS[PAIRS[:, 1] > 0]
    node = Call(f"tilek_{helper}", Callee.HELPER, (LEFT, RIGHT), LONG)
    assert values(node, pairs) == expected(node, pairs)


def test_division_by_zero_is_not_looked_at_where_a_condition_leaves_it_out() -> None:
    quotient = Binary("/", LEFT, RIGHT, LONG)
    node = Conditional(Binary("!=", RIGHT, integer(0), INT), quotient, integer(9), LONG)
    assert values(Cast(INT, node), PAIRS) == expected(node, PAIRS)
    assert Evaluation({"a": 5, "b": 0}).value(node) == 9
    without = Binary("&&", RIGHT, quotient, INT)
    assert Evaluation({"a": 5, "b": 0}).value(without) == 0
    for operator, count in (("/", 0), ("%", 0), ("<<", -1), (">>", 64)):
        with pytest.raises(UncountableError):
            Evaluation({"a": 5, "b": count}).value(Binary(operator, LEFT, RIGHT, LONG))


@pytest.mark.parametrize("comparison", ["<", "<=", ">", ">=", "!="])
@pytest.mark.parametrize("step", [1, -1, 3, -2])
def test_trips(comparison: str, step: int) -> None:
    loop = Loop(0, A, True, LEFT, comparison, RIGHT, integer(step), step < 0, Block(()), None)
    ends = [pair for pair in PAIRS if trip_count(int(pair[0]), int(pair[1]), step, comparison) >= 0]
    assert ends
    pairs = np.array(ends)
    result = Evaluation({"a": pairs[:, 0], "b": pairs[:, 1]}).trips(loop)
    assert list(result) == [trip_count(int(a), int(b), step, comparison) for a, b in pairs]


def test_what_depends_on_data_is_said() -> None:
    array = DataObject("x", "x", INT, Storage.CONTIGUOUS, Scope.EXTERNAL, (None,))
    with pytest.raises(UncountableError, match=r"'x\[a\]' depends on data"):
        Evaluation({"a": 1}).value(Binary("+", Access(array, (LEFT,), (), INT), LEFT, LONG))
    with pytest.raises(UncountableError, match="'b' has no known value"):
        Evaluation({"a": 1}).value(Binary("+", LEFT, RIGHT, LONG))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n*n", 49),
        (" (n + 1) * 2 - -m ", 13),
        ("m / 2", -1),
        ("m % 2", -1),
        ("n / (m + 3)", None),
        ("n * other", None),
        ("cells(n)", None),
        ("n <", None),
    ],
)
def test_expressions_of_clauses(text: str, value: int | None) -> None:
    assert clause_value(text, {"n": 7, "m": -3}) == value
