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


@pytest.mark.parametrize(
    ("body", "meeting"),
    [
        ("local[0] = t[i][0]; t[i][1] = local[0];", None),
        ("escaping[0] = t[i][0]; t[i][1] = escaping[0];", "rows of 't' and elements of 'escaping'"),
        ("local[0] = p[i]; t[i][1] = local[0];", "rows of 't' and elements of 'p'"),
        ("t[i][1] = other[i][0];", "rows of 'other' and rows of 't'"),
    ],
)
def test_arrays_that_no_pointer_reaches_are_apart_from_rows(body: str, meeting: str | None) -> None:
    made = plan(
        f"""void keep(double *);
void f(double **t, double **other, double *p) {{
    double local[9], escaping[9];
    keep(escaping);
#pragma tilek kernel
    for (int i = 0; i < 99; i++) {{ {body} }}
}}"""
    )
    assert (
        (made.untransformed or "").startswith(f"{meeting} may be the same memory")
        if meeting
        else not made.untransformed
    )
