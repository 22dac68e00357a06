"""Quotients at launch are 0 where the divisor is."""

from __future__ import annotations

import pytest

from tilepragma.ir.dump import plain_text
from tilepragma.ir.expressions import Binary, Call, Callee, Expression, integer, local_scalar
from tilepragma.ir.quotients import unguarded, with_guarded_quotients
from tilepragma.ir.types import DOUBLE, INT, LONG

N, D = local_scalar("n", INT), local_scalar("d", INT)


def test_each_quotient_by_a_variable_is_guarded() -> None:
    inner = Binary("%", N, D, INT)
    assert plain_text(with_guarded_quotients(inner)) == "(d ? n % d : 0)"
    outer = Binary("/", inner, D, INT)
    assert plain_text(with_guarded_quotients(Binary("+", outer, N, INT))) == "(d ? (d ? n % d : 0) / d : 0) + n"
    assert [unguarded(with_guarded_quotients(one)) for one in (inner, outer)] == [inner, outer]


@pytest.mark.parametrize(
    "value",
    [
        Binary("/", N, integer(3), INT),
        Binary("/", N, Call("tilek_maximum", Callee.HELPER, (D, integer(1)), LONG), LONG),
        Binary("/", local_scalar("x", DOUBLE), local_scalar("y", DOUBLE), DOUBLE),
        Binary("-", N, D, INT),
    ],
    ids=["by a number", "by no less than 1", "of reals", "a difference"],
)
def test_what_cannot_fail_stays(value: Expression) -> None:
    assert with_guarded_quotients(value) == value
    assert unguarded(value) == value
