"""Values of expressions for the user's sizes."""

from __future__ import annotations

import pytest

from tilepragma.ir.expressions import (
    Access,
    Binary,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    integer,
)
from tilepragma.ir.types import DOUBLE, INT
from tilepragma.report.model_problem import CoefficientValues
from tilepragma.report.size_values import Sizes, value_of

N = access_to(DataObject("grid_n", "grid->n", INT, Storage.SCALAR, Scope.EXTERNAL))
ROWS = Access(DataObject("rows", "rows", INT, Storage.CONTIGUOUS, Scope.EXTERNAL, (None,)), (N,), (), INT)
SIZES = Sizes({"grid->n": 7})
HALF = Binary("/", Cast(DOUBLE, N), integer(2), DOUBLE)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Binary("*", N, integer(3), INT), 21),
        (Binary("/", N, integer(0), INT), None),
        (Binary("<<", N, integer(-1), INT), None),
        (Conditional(N, integer(1), Binary("/", N, integer(0), INT), INT), 1),
        (Conditional(N, ROWS, integer(1), INT), None),
        (HALF, None),
    ],
)
def test_integers_have_the_value_that_c_gives_them(expression: Expression, value: int | None) -> None:
    assert value_of(expression, SIZES) == value
    assert value_of(N, Sizes()) is None


def test_quotients_of_coefficients_are_not_those_of_integers() -> None:
    divisor = Binary("+", integer(1), HALF, DOUBLE)
    assert CoefficientValues(SIZES, {}).atom(divisor) == 4.5
