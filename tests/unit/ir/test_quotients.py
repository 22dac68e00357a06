"""Quotients at launch are 0 where the divisor is, and where their type does not have them."""

from __future__ import annotations

import pytest

from tilepragma.ir.expressions import Binary, Call, Callee, Expression, integer, local_scalar
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.quotients import unguarded, with_guarded_quotients
from tilepragma.ir.types import DOUBLE, INT, LONG, ScalarKind, ScalarType

N, D = local_scalar("n", INT), local_scalar("d", INT)


UNSIGNED = ScalarType(ScalarKind.INTEGER, 32, False, "unsigned int")


def test_each_quotient_by_a_variable_is_guarded() -> None:
    inner = Binary("%", N, D, INT)
    guarded = "(d && ((d != -1) || (n >= -2147483647)) ? n % d : 0)"
    assert plain_text(with_guarded_quotients(inner)) == guarded
    assert plain_text(with_guarded_quotients(Binary("+", inner, N, INT))) == f"{guarded} + n"
    outer = Binary("/", inner, D, INT)
    for each in (inner, outer):
        assert unguarded(with_guarded_quotients(each)) == each
        assert with_guarded_quotients(with_guarded_quotients(each)) == with_guarded_quotients(each)


@pytest.mark.parametrize(
    "value",
    [
        Binary("/", N, local_scalar("d", UNSIGNED), UNSIGNED),
        Binary("/", N, local_scalar("d", UNSIGNED), LONG),
        Binary("/", integer(100), D, INT),
    ],
    ids=["without a sign", "by what has no sign", "of a number"],
)
def test_what_has_every_quotient_but_by_0(value: Binary) -> None:
    assert plain_text(with_guarded_quotients(value)) == f"(d ? {plain_text(value)} : 0)"


def test_longs_have_their_own_least_number() -> None:
    value = with_guarded_quotients(Binary("/", local_scalar("n", LONG), local_scalar("d", LONG), LONG))
    assert plain_text(value) == "(d && ((d != -1) || (n >= -9223372036854775807)) ? n / d : 0)"


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
