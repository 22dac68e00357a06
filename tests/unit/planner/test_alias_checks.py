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
    assert made.apart
    assert made.checks_overlap is checks
