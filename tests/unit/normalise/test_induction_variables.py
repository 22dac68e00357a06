"""Integers that alternate from one round of a loop to the next, or grow: loops run in parallel as if each iteration computed them."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.normalise.induction_variables import remaining_periodic_integers
from tilepragma.plan.kernel_plan import KernelPlan


def rows(
    start: str, change: str, begin: str = "s", after: str = "", header: str = "for (i = 1; i < n; i++)"
) -> KernelPlan:
    """Rows of which each steps over the elements whose colour is its own."""
    return plan(f"""
    int f(int n, int colour, double u[n + 2][n + 2]) {{
        int i, j, s = colour;
    #pragma tilek kernel
        {{
        {start}
        {header} {{
            for (j = {begin}; j < n; j += 2)
                u[i][j] = 0.25 * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]);
            {change}
        }}
        }}
        {after}
        return 0;
    }}""")


def distributed_loops(found: KernelPlan) -> int:
    """The loops that are distributed over gangs and workers, on devices."""
    return 0 if found.untransformed is not None else len(found.device[0].axes) // 2


@pytest.mark.parametrize(
    ("start", "change", "begin"),
    [
        ("s = 1;", "s = 3 - s;", "s"),
        ("s = 0;", "s = 1 - s;", "1 + s"),
        ("s = 0;", "s = !s;", "1 + s"),
        ("s = 1;", "s ^= 3;", "s"),
        ("s = 0;", "s = (s + 1) % 2;", "1 + s"),
        ("int r = 2; s = r - 1;", "s = 3 - s;", "s"),
    ],
)
def test_rows_begin_where_their_numbers_say(start: str, change: str, begin: str) -> None:
    assert distributed_loops(rows(start, change, begin)) == 2


def test_the_first_value_may_come_from_outside() -> None:
    assert distributed_loops(rows("", "s = 3 - s;")) > 0


@pytest.mark.parametrize(
    "header", ["for (i = n - 1; i > 0; i--)", "for (i = 1; i < n; i += 3)"], ids=["backward", "in steps of 3"]
)
def test_rounds_are_counted_whatever_the_loop_counts(header: str) -> None:
    result = rows("s = 1;", "s = 3 - s;", header=header)
    # Of three rows apart no two are neighbours; of neighbours, what was before the first row
    # decides.
    assert distributed_loops(result) > 0


def test_colours_in_a_loop_change_where_rows_begin() -> None:
    result = plan("""
    void f(int n, double **restrict u, double omega) {
        int p, i, j, row, first = 1;
    #pragma tilek kernel
        for (p = 0; p < 2; p++) {
            row = first;
            for (i = 1; i < n; i++) {
                for (j = row; j < n; j += 2)
                    u[i][j] += omega * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1] - 4 * u[i][j]);
                row = 3 - row;
            }
            first = 3 - first;
        }
    }""")
    assert distributed_loops(result) == 1
    # Where the first row begins is a number of the launch; nobody tells the planner which.
    assert {"row", "first"} & {object_.name for object_ in result.kernel.objects} == {"first"}


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("s = 3 - s;", "return s;"),
        ("if (u[i][0] > 0) s = 3 - s;", ""),
        ("s = i - s;", ""),
        ("s = 2 * s % 5;", ""),
        ("if (u[i][0] > 9) break; s = 3 - s;", ""),
    ],
    ids=["read after the region", "in some rounds", "by more than itself", "of four values", "not in all rounds"],
)
def test_what_does_not_alternate_in_sight_stays(change: str, after: str) -> None:
    result = rows("s = 1;", change, after=after)
    assert "s" in {object_.name for object_ in result.kernel.objects}


def test_why_one_stays_is_said_where_it_changes() -> None:
    (note,) = remaining_periodic_integers(rows("s = 1;", "s = 3 - s;", after="return s;").kernel)
    assert "its value may be read after the kernel; let a variable of the region's own begin with it" in note.message
    assert note.range.start.line == 10
    assert distributed_loops(rows("int row = s;", "row = 3 - row;", begin="row", after="return s;")) > 0
    (note,) = remaining_periodic_integers(rows("s = 1;", "if (u[i][0] > 9) s = 3 - s;").kernel)
    assert "not all of them change it; write what it is in terms of 'i'" in note.message


def test_nothing_is_said_of_sums() -> None:
    assert not list(remaining_periodic_integers(rows("s = 1;", "s = s + 2;").kernel))


def linear(body: str, before: str = "int k = 0;", after: str = "") -> KernelPlan:
    """A kernel in which `k` grows."""
    return plan(f"""
    int f(int n, int m, int first, double *restrict a, const double *restrict b, const int *restrict c) {{
        int i, j;
        {before}
    #pragma tilek kernel
        {body}
        {after}
        return 0;
    }}""")


@pytest.mark.parametrize(
    "body",
    [
        "for (i = 0; i < n; i++) { a[k] = b[i]; k++; }",
        "for (i = n; i > 0; i--) { k += 3; a[k] = b[i]; k -= 1; }",
        "{ k = first; for (i = 0; i < n; i++) { a[k] = b[i]; k = k + 2; } }",
        "for (i = 0; i < m; i++) for (j = 0; j < n; j++) { a[k] = b[j]; ++k; }",
        "for (i = 0; i < m; i++) for (j = 0; j < n; j++) a[k++] = b[j];",
        "{ int l = n; for (i = 0; i < n; i++) { const float x = b[--l]; a[k++] = x * x; } }",
        "for (i = 0; i < m; i++) { for (j = 1; j <= n; j++) { a[k] = b[j]; k = 1 + k; } a[k] = 0; k++; }",
        "for (i = 0; i < m; i++) { int k2 = i * n; for (j = 0; j < n; j++) { a[k2] = b[j]; k2++; } }",
    ],
)
def test_growing_integers_are_sums_of_iterators(body: str) -> None:
    assert linear(body).untransformed is None


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("for (i = 0; i < n; i++) { a[k] = b[i]; k++; }", "return k;"),
        ("for (i = 0; i < n; i++) { a[k] = b[i]; if (b[i] > 0) k++; }", ""),
        ("for (i = 0; i < n; i++) { a[k] = b[i]; k += c[i]; }", ""),
        ("for (i = 0; i < n; i++) { a[k] = b[i]; k += i; }", ""),
        ("for (i = 0; i < n; i++) { a[k] = b[i]; k *= 2; }", ""),
        ("for (i = 0; i < n; i++) a[i] = b[i] > 0 ? b[k++] : 0;", ""),
        ("for (i = 0; i < n; i++) a[i] = b[k] + (b[i] > 0 && c[k++]);", ""),
        ("for (i = 0; i < n; i++) { a[i] = k < 7u; k--; }", ""),
        ("for (i = 0; i < n; i++) { if (b[i] < 0) continue; a[k] = b[i]; k++; }", ""),
        ("for (i = 0; i < n; i++) for (j = 0; j < i; j++) { a[k] = b[j]; k++; }", ""),
    ],
    ids=[
        "read afterwards",
        "not always",
        "by data",
        "by more each time",
        "by a factor",
        "in a choice",
        "perhaps",
        "beside unsigned ones",
        "not in all",
        "triangle",
    ],
)
def test_what_does_not_grow_by_the_same_stays(body: str, after: str) -> None:
    assert "k" in {object_.name for object_ in linear(body, after=after).kernel.objects}
