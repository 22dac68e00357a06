"""Guards of points: which tests come first, what is compared with a tile's limits, and what the tile declares."""

from __future__ import annotations

import pytest

from tilepragma.ir.expressions import Binary, DataObject, Expression, Scope, Storage, access_to, integer
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Block, If, Statement, assign
from tilepragma.ir.loop_tree_text import plain_text, statement_text
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom
from tilepragma.ir.types import INDEX, INT, LONG, ScalarType
from tilepragma.schedule.point_guards import PointGuards, ShortNumbers


def scalar(name: str, type_: ScalarType) -> DataObject:
    return DataObject(name, name, type_, Storage.SCALAR, Scope.LOCAL)


STEP, OTHER = scalar("step", INDEX), scalar("other", INDEX)
SIZE = scalar("size", LONG)


def term(object_: DataObject) -> Polynomial:
    return of_atom(access_to(object_))


FRONT, FIRST, EXTENT = term(scalar("front", INDEX)), term(scalar("first", LONG)), term(scalar("n", LONG))


def compared(operator: str, left: Polynomial, right: Polynomial) -> Expression:
    return Binary(operator, expression(left), expression(right), INT)


def guards(*sizes: DataObject, along: ScalarType = INDEX) -> PointGuards:
    return PointGuards(ShortNumbers(Names(set()), sizes), scalar("front", along))


def declared(numbers: ShortNumbers) -> list[str]:
    return [statement_text(each).strip() for each in numbers.declarations]


def test_long_sums_are_declared_once_and_short_ones_not_at_all() -> None:
    numbers = guards().numbers
    assert numbers.short("limit", FRONT + number(3)) == FRONT + number(3)
    assert numbers.declarations == []
    limit = numbers.short("limit", EXTENT - FIRST)
    assert numbers.short("limit", EXTENT - FIRST) == limit
    assert numbers.short("limit", EXTENT - FIRST + number(1)) != limit
    assert declared(numbers) == ["tilek_index limit = n - first;", "tilek_index limit_2 = n + 1l - first;"]


def test_a_size_is_a_short_number_in_its_tile() -> None:
    numbers = guards(SIZE).numbers
    assert plain_text(expression(numbers.short("last", term(SIZE) + FRONT - number(1)))) == "front + size_here - 1"
    assert declared(numbers) == ["tilek_index size_here = size;"]


@pytest.mark.parametrize(
    ("condition", "before", "after", "limit"),
    [
        (compared(">=", FRONT, FIRST), [], ["front >= limit"], "first"),
        (compared(">", FRONT, FIRST), [], ["front >= limit"], "first + 1l"),
        (compared("<=", FIRST + FRONT, EXTENT), [], ["front <= (-limit)"], "first - n"),
        (compared("<", FIRST + FRONT, EXTENT), [], ["front <= (-limit)"], "first + 1l - n"),
        # What the front does not change is on the other side, or first if the front is not in it.
        (compared("<", FRONT + term(STEP), term(OTHER)), [], ["front <= (other - step - 1l)"], None),
        (compared(">", FIRST + term(STEP), EXTENT + term(OTHER)), ["step - other >= limit"], [], "n + 1l - first"),
        (compared(">=", FIRST, EXTENT), ["0l >= limit"], [], "n - first"),
        # A multiple of the front is no range of it.
        (compared("<=", FRONT + FRONT + FIRST, EXTENT), [], ["(-(2l * front)) >= limit"], "first - n"),
        # No sum of short numbers and a limit.
        (compared("!=", FRONT, term(STEP)), [], ["front != step"], None),
        (compared(">=", FRONT * term(STEP), FIRST), [], ["(front * step) >= first"], None),
        (compared(">=", FRONT * EXTENT, FIRST), [], ["(front * n) >= first"], None),
    ],
)
def test_conditions(condition: Expression, before: list[str], after: list[str], limit: str | None) -> None:
    made = guards()
    first, others = made.tests([condition], [STEP, OTHER])
    assert ([plain_text(each) for each in first], [plain_text(each) for each in others]) == (before, after)
    assert declared(made.numbers) == ([] if limit is None else [f"tilek_index limit = {limit};"])


def point(otherwise: Block | None = None) -> Statement:
    condition = Binary("&&", compared(">=", FRONT, FIRST), compared(">", term(STEP), FIRST), INT)
    return If(condition, Block((assign(access_to(OTHER), integer(0)),)), otherwise)


def test_what_the_front_does_not_change_stands_outside() -> None:
    (guarded,) = guards().guarded([point()], [STEP])
    assert statement_text(guarded).splitlines() == [
        "if (step >= limit_2)",
        "  if (front >= limit)",
        "    other = 0;",
    ]


def test_other_points_stay_as_they_are() -> None:
    """Without a condition, with an else, and in fronts whose numbers are not small."""
    plain, chosen = assign(access_to(OTHER), integer(0)), point(Block(()))
    assert guards().guarded([plain, chosen], [STEP]) == (plain, chosen)
    assert guards(along=LONG).guarded([point()], [STEP]) == (point(),)
