"""Why meshes whose colours a condition tells apart are not split by colour."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.report.relaxation_facts import unsplit_colours

SWEEP = """
void f(int n, int steps, double u[n + 2][n + 2], double v[n + 2][n + 2]) {{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int c = 0; c < 2; c++)
            for (int i = 1; i < n; i++)
                for (int j = 1; j < n; j++)
                    if ({})
                        {};
}}"""
RELAXED = "u[i][j] = 0.25 * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1])"


@pytest.mark.parametrize("condition", ["(i + j) % 2 == c", "c != (i + j) % 2", "((i + j) & 1) == c"])
def test_a_condition_on_the_colour_is_named_once(condition: str) -> None:
    (said,) = unsplit_colours(plan(SWEEP.format(condition, RELAXED)))
    assert "on line 8 skips every other element of 'u'" in said
    assert "sor(redblack) on a sweep without this condition" in said


@pytest.mark.parametrize(
    ("condition", "statement"),
    [("(i + j) % 3 == c", RELAXED), ("j % 2 == c", RELAXED), ("(i + j) % 2 == c", "u[i][j] = v[i][j] + v[i][j-1]")],
    ids=["three colours", "columns", "no relaxation"],
)
def test_nothing_is_said_of_other_conditions(condition: str, statement: str) -> None:
    assert not list(unsplit_colours(plan(SWEEP.format(condition, statement))))
