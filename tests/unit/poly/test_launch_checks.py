"""Which tests of launches are decided at translation: those that hold for all values of their parameters, and those for none."""

from __future__ import annotations

import islpy as isl
import pytest

from tests.support.scops import references, scop
from tilepragma.ir.expressions import Binary, Call, Callee, DataObject, Expression, Scope, Storage, access_to, integer
from tilepragma.ir.types import INT, LONG, ScalarKind, ScalarType
from tilepragma.poly.launch_checks import can_hold, undecided

UNSIGNED = ScalarType(ScalarKind.INTEGER, 32, False, "unsigned int")


def scalar(name: str, type_: ScalarType = INT) -> Expression:
    return access_to(DataObject(name, name, type_, Storage.SCALAR, Scope.EXTERNAL))


N, M, U = scalar("n"), scalar("m"), scalar("u", UNSIGNED)


def plus(value: Expression, number: int) -> Expression:
    return Binary("+", value, integer(number), LONG)


def at_least(value: Expression, least: Expression) -> Expression:
    return Binary(">=", value, least, INT)


def quotient(value: Expression, by: Expression) -> Expression:
    positive = Call("tilek_maximum", Callee.HELPER, (by, integer(1)), LONG)
    return Binary("/", value, positive, LONG)


@pytest.mark.parametrize(
    ("checks", "holds"),
    [
        ([at_least(quotient(N, plus(N, 1)), integer(1))], False),
        ([at_least(quotient(N, plus(N, -1)), integer(1))], True),
        ([at_least(quotient(N, plus(N, 5)), integer(2))], False),
        ([at_least(quotient(N, M), integer(2))], True),
        ([at_least(quotient(N, M), integer(1)), at_least(M, plus(N, 1)), at_least(M, integer(1))], False),
        ([at_least(integer(0), integer(4))], False),
        ([at_least(N, plus(M, 1)), at_least(M, N)], False),
        ([at_least(N, M), at_least(M, N)], True),
        ([at_least(N, integer(2**31, LONG))], False),
    ],
)
def test_checks_that_hold_for_no_values_are_told(checks: list[Expression], holds: bool) -> None:
    assert can_hold(checks) is holds


def test_checks_that_hold_for_all_values_are_left_out() -> None:
    of_type = Binary(">", scalar("k", LONG), integer(-5), INT)
    always = [at_least(plus(N, 1), N), at_least(integer(3), integer(3)), at_least(N, integer(-(2**31), LONG))]
    assert undecided((*always, at_least(N, M), of_type)) == (at_least(N, M), of_type)


def test_a_diagonal_is_no_length_of_rows() -> None:
    made = scop(
        "int n, int w, double *a",
        """
        for (int i = 0; i < w; i++) {
            for (int j = 0; j < i; j++) a[i*n + j] = a[i*n + j] / a[j*(n + 1)];
            a[i*(n + 1)] = 1;
        }
        """,
    )
    assert can_hold(made.assumptions)
    assert {reference.relation.dim(isl.dim_type.out) for reference in references(made, "a")} == {2}
