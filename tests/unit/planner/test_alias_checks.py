"""Which launches check that arrays share no memory: those where pointers could make them."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan

PROGRAM = """
static double a[100], b[100], rows[8][9];
struct grid {{ double u[100], v[100]; }};
static struct grid whole;
void f(int n, double *p, double named[100], double *restrict alone, struct grid *g) {{
    double local[100], variable[n];
#pragma tilek kernel
    for (int i = 0; i < 8; i++) {}
}}"""


@pytest.mark.parametrize(
    ("body", "checks"),
    [
        ("a[i] = b[i];", False),
        ("a[i] = local[i] + variable[i];", False),
        ("variable[i] = rows[i][2];", False),
        ("a[i] = a[i] * 2;", False),
        ("a[i] = p[i];", True),
        ("p[i] = a[i];", True),
        ("a[i] = named[i];", True),
        ("named[i] = b[i];", True),
        ("a[i] = b[i] + p[i] + named[i];", True),
        ("a[i] = g->u[i];", True),
        ("p[i] = n * i;", False),
    ],
)
def test_variables_alone_are_not_compared(body: str, checks: bool) -> None:
    made = plan(PROGRAM.format(body))
    assert made.assumes_disjoint
    assert made.checks_overlap is checks


ROWS = """void keep(double *);
void f(double **t, double **other, double *p, double ***deep, const int *at) {{
    double local[9], escaping[9];
    keep(escaping);
#pragma tilek kernel
    for (int i = 0; i < 99; i++) {{ {} }}
}}"""


@pytest.mark.parametrize(
    ("body", "apart"),
    [
        ("local[0] = t[i][0]; t[i][1] = local[0];", []),
        ("escaping[0] = t[i][0]; t[i][1] = escaping[0];", ["t"]),
        ("local[0] = p[i]; t[i][1] = local[0];", ["t"]),
        ("t[i][1] = other[i][0];", ["t", "other"]),
    ],
)
def test_rows_are_compared_with_arrays_that_pointers_reach(body: str, apart: list[str]) -> None:
    made = plan(ROWS.format(body))
    assert made.untransformed is None and made.checks_overlap
    assert sorted(array.object.host for array in made.arrays if array.rows_apart) == sorted(apart)


@pytest.mark.parametrize(
    ("body", "distinct"),
    [
        ("t[i][1] = 0;", True),
        ("for (int j = 0; j < 9; j++) t[98 - i][j + 1] += t[98 - i][j + 1];", True),
        ("local[0] = t[i][1];", False),  # nothing writes a row
        ("for (int j = 0; j < i; j++) t[i][j] = 0;", False),  # rows may be as long as what is touched
        ("for (int j = 0; j < 9; j += 2) t[i][j] = 0;", False),
        ("t[2 * i][1] = 0;", False),  # rows between them may not be there
        ("if (i % 3) t[i][1] = 0;", False),
    ],
)
def test_rows_are_compared_with_each_other_where_all_of_them_are_touched(body: str, distinct: bool) -> None:
    made = plan(ROWS.format(body))
    assert made.untransformed is None
    assert any(array.rows_distinct for array in made.arrays) is distinct


@pytest.mark.parametrize(
    ("body", "meeting"),
    [
        ("deep[i][0][1] = p[i];", "rows of 'deep' and elements of 'p'"),
        ("if (at[i]) t[i][1] = p[i];", "rows of 't' and elements of 'p'"),
    ],
)
def test_rows_that_no_launch_can_compare(body: str, meeting: str) -> None:
    made = plan(ROWS.format(body))
    assert (made.untransformed or "").startswith(f"{meeting} may be the same memory")
