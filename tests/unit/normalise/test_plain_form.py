"""Functions that number cells, and choices between cells: what is in common stands in subscripts as if it had been written there."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import Conditional
from tilepragma.ir.loop_tree import Declarator
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG
from tilepragma.plan.kernel_plan import KernelPlan

AT = "static inline int at(int row, int column, int n) { return row * n + column; }"


def nest(function: str, body: str) -> KernelPlan:
    return plan(f"""
    {function}
    static float twice(float x) {{ return x + x; }}
    void f(int n, int d, unsigned u, float *restrict a, const float *restrict b) {{
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
    result = nest(function, body)
    assert result.untransformed is None
    assert {function.name for function in result.kernel.functions} <= {"twice"}


@pytest.mark.parametrize(
    "body",
    ["int k = 0; a[at(i, j, n)] = b[at(i, k++, n)];", "a[at(i, j, n)] = b[at(i, at(0, j, n), n)];"],
    ids=["an argument that does something", "an argument that calls"],
)
def test_calls_are_evaluated_as_often_as_before(body: str) -> None:
    result = nest(AT, body)
    assert [function.name for function in result.kernel.functions] == (["at"] if "++" in body else [])


@pytest.mark.parametrize(
    "body",
    [
        "int k = i * n + j; int up = i > 1 ? k - n : k; a[k] = b[up];",
        "int k = i * n + j; a[k] = b[i == 1 ? k : k - n] + b[j == n - 2 ? k : k + 1];",
    ],
    ids=["in a variable", "in subscripts"],
)
def test_choices_between_cells_leave_rows(body: str) -> None:
    result = nest("", body)
    assert any(text.startswith("'b' is seen as b[][n]") for text in result.storage), result.storage


def test_a_choice_without_anything_in_common_stays() -> None:
    result = nest("", "int k = i > 2 ? j : 0; a[i * n + j] = b[k];")
    assert any(
        isinstance(node, Conditional) and plain_text(node) == "(i > 2 ? j : 0)" for node in walk(result.kernel.body)
    )


@pytest.mark.parametrize(
    ("body", "choice"),
    [
        ("int k = i * n + j; int up = d > 0 ? k + n / d : k; a[k] = b[up];", "(d > 0 ? n / d : 0)"),
        ("long k = i * n + j; long up = d ? k + (long)(u - 1u) : k; a[k] = b[up];", "(d ? k + (u - 1u) : k)"),
        ("int k = i * n + j; int up = d ? k - j++ : k; a[k] = b[up];", "(d ? k - (j++) : k)"),
        (
            "int k = i * n + j; int up = d ? k + j - n : k + j; a[k] = b[up + 0 * abs(d ? i + j - n : i + j)];",
            "(d ? i + j - n : i + j)",
        ),
    ],
    ids=[
        "division by zero",
        "unsigned numbers that wrap",
        "what does something",
        "sums whose parts may not fit in an int",
    ],
)
def test_what_one_side_alone_evaluates_stays_there(body: str, choice: str) -> None:
    result = nest("", body)
    assert choice in [plain_text(node) for node in walk(result.kernel.body) if isinstance(node, Conditional)]


def test_longer_sums_are_computed_in_long() -> None:
    result = nest("", "int k = d ? i * n - d + j : i * n + j; a[i * n + j] = b[k];")
    (value,) = [node.initializer for node in walk(result.kernel.body) if isinstance(node, Declarator)]
    assert not isinstance(value, tuple) and value is not None and value.type == LONG
    assert plain_text(value) == "(d * (d ? -1 : 0)) + (i * n) + j"
