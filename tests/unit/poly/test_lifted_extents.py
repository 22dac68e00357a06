"""Relations that end at numbers, seen as ending at parameters."""

from __future__ import annotations

import islpy as isl
import pytest

from tests.support.stencil_programs import scop_statement
from tilepragma.poly.hyperplanes import extents_of, lifted, names_of
from tilepragma.poly.scop import ScopStatement


def statement(domain: str) -> ScopStatement:
    result = isl.Set(domain)
    iterators = "ij"[: result.dim(isl.dim_type.set)]
    return scop_statement("S", result, iterators, (0,) * (1 + len(iterators)), ())


@pytest.mark.parametrize(
    ("domain", "numbers"),
    [
        ("{ S[i, j] : 0 <= i < 2000 and 1 <= j < 1999 }", (2000,)),
        ("{ S[i, j] : 0 <= i < 2000 and 0 <= j < 100 }", (100, 2000)),
        ("{ S[i, j] : -1999 <= i <= 0 and 0 <= j < 12 }", (2000,)),
        ("[n] -> { S[i, j] : 0 <= i < n and 0 <= j < 9 }", ()),
        ("[n] -> { S[i] : 0 <= i < n and i < 5000000000 }", (5000000000,)),
    ],
)
def test_extents_are_the_numbers_below_which_long_loops_end(domain: str, numbers: tuple[int, ...]) -> None:
    assert extents_of([statement(domain)]) == numbers


@pytest.mark.parametrize(
    "relation",
    [
        "{ S[i] -> T[j] : j = i + 1 and 0 <= i < 1999 }",
        "{ S[i] -> T[j] : i + j <= 3997 and j >= i and i >= 0 }",
        "{ S[i] -> T[j] : i = 1999 and 0 <= j < 2000 and exists e : j = 2e }",
        "[n] -> { S[i] -> T[j] : i = j and -2000 < i <= 0 and i < n; S[i] -> T[j] : j = i + 3 and 0 <= i < 100 }",
        "{ S[i] -> T[j] : j = i + 1 and 0 <= i < 4999999999 }",
    ],
)
def test_at_its_numbers_a_lifted_relation_is_the_one_given(relation: str) -> None:
    extents = (100, 2000, 5000000000)
    given = isl.Map(relation)
    result = lifted(given, extents)
    assert result.involves_dims(isl.dim_type.param, given.dim(isl.dim_type.param), len(extents))
    for name, number in zip(names_of(extents), extents, strict=True):
        place = result.find_dim_by_name(isl.dim_type.param, name)
        value = isl.Val.read_from_str(result.get_ctx(), str(number))
        result = result.fix_val(isl.dim_type.param, place, value).project_out(isl.dim_type.param, place, 1)
    assert result.is_equal(given)


def test_distances_stay_numbers() -> None:
    given = isl.Map("{ S[i] -> S[j] : j = i + 4 and 0 <= i < 1996 }")
    result = lifted(given, (2000,))
    assert result.deltas().reset_tuple_id().project_out(isl.dim_type.param, 0, 1).is_equal(isl.Set("{ [4] }"))
