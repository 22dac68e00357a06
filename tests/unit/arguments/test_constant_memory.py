"""Which tables of the file device programs hold as constants, and what keeps others arguments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA, OPENCL
from tilepragma.plan.summary import staged_arrays
from tilepragma.planner.plan_text import plan_text
from tilepragma.verify.rules import PlanFault, verify_rules

WEIGHTS = "static const float w[3] = {0.25f, -0.5, 0x1p-2f};"
CONVOLUTION = """
{table}
void f(int n, int m, const float a[n][m], float b[n][m]) {{
#pragma tilek kernel{clauses}
  for (int i = 1; i < n - 1; i++)
    for (int j = 0; j < m; j++) {{
      float sum = 0;
      for (int p = 0; p < 3; p++)
        sum += w[{index}] * a[i + p - 1][j];
      b[i][j] = sum;
    }}
}}"""


def text_of(table: str = WEIGHTS, index: str = "p", clauses: str = "") -> str:
    return CONVOLUTION.format(table=table, index=index, clauses=clauses)


def test_what_all_workers_read_alike_is_no_argument() -> None:
    result = plan(text_of())
    assert [table.host for table in result.constants] == ["w"]
    assert [argument.object.host for argument in result.arrays] == ["a", "b"]
    assert result.constants[0].values == (0.25, -0.5, 0.25)
    assert "table w, by its values" in plan_text(result)


def test_programs_have_the_values() -> None:
    values = "float w[3] = {0.25f, -0.5f, 0.25f};"
    for dialect, space in ((CUDA, "static __constant__ "), (OPENCL, "__constant ")):
        program = device_program(plan(text_of()), dialect).text
        assert space + values in program
        assert "*w" not in program


@pytest.mark.parametrize("index", ["p % 2", "2 - p", "n % 3", "1"])
def test_subscripts_may_be_anything_that_workers_agree_on(index: str) -> None:
    assert plan(text_of(index=index)).constants


ARGUMENTS = {
    "workers read different elements": text_of(index="j % 3"),
    "so do their rows": text_of(index="i % 3"),
    "it may change": text_of("static float w[3] = {1, 2, 3};"),
    "its values are elsewhere": text_of("extern const float w[3];"),
    "its elements are named": text_of("static const float w[3] = {[1] = 2};"),
    "it is a string": text_of('static const char w[4] = "abc";'),
    "an element is no number": text_of("static const float w[3] = {1, 1.0f / 0.0f, 2};"),
    "a clause names it": text_of(clauses=" data(w[0:3])"),
    "it is too large": text_of("static const double w[8193] = {1};"),
}


@pytest.mark.parametrize("text", ARGUMENTS.values(), ids=ARGUMENTS)
def test_other_tables_are_arguments(text: str) -> None:
    result = plan(text)
    assert result.constants == ()
    assert "w" in {argument.object.host for argument in result.arrays}


def test_there_is_room_for_so_many() -> None:
    tables = "static const double w[8192] = {1}, v[2] = {2};"
    result = plan(text_of(tables).replace("sum += ", "sum += v[p % 2] * "))
    assert sorted(table.host for table in (*result.constants, *(array.object for array in result.arrays))) == [
        *("a", "b", "v", "w"),
    ]
    assert len(result.constants) == 1


def test_rows_of_a_known_length_are_subscripts_of_the_table() -> None:
    table = "static const float w[192] = {1, 2};"
    result = plan(text_of(table, "64 * p + 3"))
    assert [each.rows_in for each in result.constants] == [None]


def test_constants_are_not_staged() -> None:
    result = plan(text_of())
    assert {each.object.host for launch in result.device for each in staged_arrays(launch)} <= {"a"}


def test_the_verifier_knows_what_constants_are() -> None:
    result = plan(text_of())
    (table,) = result.constants
    broken = {
        "no table whose elements are known": replace(result, constants=(replace(table, values=(1.0, 2.0)),)),
        "the tables of the program take 24 bytes": replace(result, constants=(table, table)),
        "read different elements": replace(plan(text_of(index="j % 3")), arrays=result.arrays, constants=(table,)),
    }
    for message, wrong in broken.items():
        with pytest.raises(PlanFault, match=message):
            verify_rules(wrong)
