"""Guards of tile nests: whether one holds somewhere in a tile, and everywhere, by brute force."""

from __future__ import annotations

import itertools

import pytest

from tilepragma.ir.evaluation import Evaluation
from tilepragma.ir.expressions import Binary, Cast, Expression, conjunction, integer, local_scalar
from tilepragma.ir.guards import comparisons, holds_everywhere, holds_somewhere, slack
from tilepragma.ir.types import INT, LONG, ScalarKind, ScalarType

UNSIGNED = ScalarType(ScalarKind.INTEGER, 32, False, "unsigned int")

ROW, COLUMN = local_scalar("i", INT), local_scalar("j", INT)


def binary(left: Expression, operator: str, right: Expression) -> Binary:
    return Binary(operator, left, right, INT)


GUARDS = (
    binary(COLUMN, "<=", ROW),
    binary(COLUMN, ">", ROW),
    binary(binary(ROW, "+", COLUMN), ">=", integer(5)),
    binary(binary(COLUMN, "-", integer(2)), "<", binary(integer(2), "*", ROW)),
    binary(ROW, "<=", binary(COLUMN, "+", binary(ROW, "-", integer(3)))),
)


@pytest.mark.parametrize("guard", GUARDS)
def test_corners_tell_of_the_whole_tile(guard: Binary) -> None:
    for i, j, height, width in itertools.product(range(-1, 6, 2), range(-1, 6, 2), (1, 3), (1, 4)):
        ends = {ROW.object: (integer(i), integer(i + height - 1)), COLUMN.object: (integer(j), integer(j + width - 1))}
        points = itertools.product(range(i, i + height), range(j, j + width))
        held = [bool(Evaluation({"i": y, "j": x}).value(guard)) for y, x in points]
        assert bool(Evaluation({}).value(holds_somewhere(guard, ends))) == any(held)
        assert bool(Evaluation({}).value(holds_everywhere(guard, ends))) == all(held)


def test_a_conjunction_holds_everywhere_where_each_part_does() -> None:
    guard = conjunction(GUARDS[:2])
    assert list(comparisons(guard)) == list(GUARDS[:2])
    ends = {ROW.object: (integer(0), integer(3)), COLUMN.object: (integer(2), integer(2))}
    # Each holds at some point, though no point has both.
    assert Evaluation({}).value(holds_somewhere(guard, ends)) and not Evaluation({}).value(
        holds_everywhere(guard, ends)
    )


def test_slack_is_0_at_the_last_point() -> None:
    for guard in GUARDS:
        for i, j in itertools.product(range(-3, 4), repeat=2):
            numbers = Evaluation({"i": i, "j": j})
            left, right = numbers.value(guard.left), numbers.value(guard.right)
            gap = right - left if guard.operator in ("<", "<=") else left - right
            value = slack(guard)
            expected = gap - (guard.operator in ("<", ">"))
            total = sum(
                factor * (1 if not monomial else numbers.value(monomial[0])) for monomial, factor in value.terms
            )
            assert total == expected and (total >= 0) == bool(numbers.value(guard))


def test_differences_of_unsigned_values_are_no_guards() -> None:
    """They wrap around: `i - j <= 5u` is wrong where i < j."""
    row, column = local_scalar("i", UNSIGNED), local_scalar("j", UNSIGNED)
    difference = Binary("-", row, column, UNSIGNED)
    for wrong in (binary(difference, "<=", integer(5)), binary(Cast(LONG, difference), "<=", integer(5))):
        with pytest.raises(ValueError, match="no conjunction"):
            list(comparisons(wrong))
    assert list(comparisons(binary(column, "<=", row))) == [binary(column, "<=", row)]


@pytest.mark.parametrize("guard", [ROW, binary(ROW, "==", COLUMN), Binary("||", *GUARDS[:2], INT)])
def test_other_conditions_are_no_guards(guard: Expression) -> None:
    with pytest.raises(ValueError, match="no conjunction"):
        list(comparisons(guard))
