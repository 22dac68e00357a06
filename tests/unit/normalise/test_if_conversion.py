"""Conditions on data around loops: moved inside where that changes nothing, and only where the nest would run as written."""

from __future__ import annotations

import pytest

from tests.support.plan_kinds import PlanKind, plan_kind
from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import If, Loop
from tilepragma.ir.traversal import walk

SWEEP = "for (int j = 1; j < n; j++) u[i][j] = 0.5 * (u[i - 1][j] + u[i][j - 1]);"


def region(body: str) -> str:
    return (
        "void f(int n, double u[n][n], const int *restrict mask, int *restrict marks, const int *restrict lengths) {\n"
        f"#pragma tilek kernel\nfor (int i = 1; i < n; i++) {{ {body} }}\n}}"
    )


@pytest.mark.parametrize(
    "body",
    [
        f"if (mask[i]) {SWEEP}",
        f"if (mask[i] > 0 && i > 3) {{ {{ {SWEEP} }} }}",
        f"if (mask[i] < 0) continue; {SWEEP}",
    ],
)
def test_sweeps_under_conditions_on_data_run_in_wavefronts(body: str) -> None:
    result = plan(region(body))
    assert plan_kind(result) is PlanKind.WAVEFRONTS
    loop = next(node for node in walk(result.kernel.body) if isinstance(node, Loop) and node.iterator.host == "j")
    assert isinstance(loop.body.statements[0], If)


@pytest.mark.parametrize(
    "body",
    [
        "if (marks[i]) for (int j = 1; j < n; j++) { u[i][j] = 0.5 * (u[i - 1][j] + u[i][j - 1]); marks[i] = 0; }",
        "if (mask[i]) { double d = u[i][0]; for (int j = 1; j < n; j++) u[i][j] = d * (u[i - 1][j] + u[i][j - 1]); }",
        "if (mask[i]) for (int j = 1; j < lengths[i]; j++) u[i][j] = 0.5 * (u[i - 1][j] + u[i][j - 1]);",
        "if (mask[i]) for (int j = 1; j < n / i; j++) u[i][j] = 0.5 * (u[i - 1][j] + u[i][j - 1]);",
        f"if (mask[i]) {SWEEP} else u[i][0] = 1;",
    ],
)
def test_what_the_loop_may_change_or_cannot_evaluate_stays_outside(body: str) -> None:
    result = plan(region(body))
    loop = next(node for node in walk(result.kernel.body) if isinstance(node, Loop) and node.iterator.host == "j")
    assert not isinstance(loop.body.statements[0], If)


def test_a_nest_that_is_parallel_keeps_its_condition_outside() -> None:
    result = plan(region("if (mask[i]) for (int j = 0; j < n; j++) u[i][j] = j;"))
    assert plan_kind(result) is PlanKind.DOALL
    (condition,) = (node for node in walk(result.kernel.body) if isinstance(node, If))
    assert any(isinstance(node, Loop) for node in walk(condition.then))
