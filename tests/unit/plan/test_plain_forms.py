"""Functions that number cells, and choices between cells: what is in common stands in subscripts as if it had been written there."""

from __future__ import annotations

import pytest
from source import plan

from tilepragma.ir.dump import plain_text
from tilepragma.ir.expressions import Conditional
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import KernelPlan

AT = "static inline int at(int row, int column, int n) { return row * n + column; }"


def nest(function: str, body: str) -> KernelPlan:
    return plan(f"""
    {function}
    static float twice(float x) {{ return x + x; }}
    void f(int n, float *restrict a, const float *restrict b) {{
    #pragma tilek kernel
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) {{
                {body}
            }}
    }}""")


@pytest.mark.parametrize(
    ("function", "body"),
    [
        (AT, "a[at(i, j, n)] = twice(b[at(i - 1, j, n)]);"),
        (AT, "int k = at(i, j, n); a[k] = b[k - 1];"),
        ("static long at(long i, long j, int n) { return i * n + j; }", "a[at(i, j, n)] = b[at(j, i, n)];"),
        (
            "static int row(int i, int n) { return i * n; } static int at(int i, int j, int n) { return row(i, n) + j; }",
            "a[at(i, j, n)] = b[row(i, n) + j];",
        ),
    ],
    ids=["in subscripts", "in a variable", "of long integers", "beside another"],
)
def test_cells_that_functions_number_are_known(function: str, body: str) -> None:
    found = nest(function, body)
    assert found.as_written is None
    assert {one.name for one in found.kernel.functions} <= {"twice"}


@pytest.mark.parametrize(
    "body",
    ["int k = 0; a[at(i, j, n)] = b[at(i, k++, n)];", "a[at(i, j, n)] = b[at(i, at(0, j, n), n)];"],
    ids=["an argument that does something", "an argument that calls"],
)
def test_calls_are_evaluated_as_often_as_before(body: str) -> None:
    found = nest(AT, body)
    assert [one.name for one in found.kernel.functions] == (["at"] if "++" in body else [])


@pytest.mark.parametrize(
    "body",
    [
        "int k = i * n + j; int up = i > 1 ? k - n : k; a[k] = b[up];",
        "int k = i * n + j; a[k] = b[i == 1 ? k : k - n] + b[j == n - 2 ? k : k + 1];",
    ],
    ids=["in a variable", "in subscripts"],
)
def test_choices_between_cells_leave_rows(body: str) -> None:
    found = nest("", body)
    assert any(text.startswith("'b' is seen as b[][n]") for text in found.storage), found.storage


def test_a_choice_without_anything_in_common_stays() -> None:
    found = nest("", "int k = i > 2 ? j : 0; a[i * n + j] = b[k];")
    assert any(
        isinstance(node, Conditional) and plain_text(node) == "(i > 2 ? j : 0)" for node in walk(found.kernel.body)
    )
