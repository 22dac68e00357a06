"""`device(all)`: which launches several devices share, by which rows, and why others are not shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.source_plans import plan, plans
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.plan.kernel_plan import Division, KernelPlan
from tilepragma.report.launch_facts import division_rows
from tilepragma.verify.rules import wrong_divisions

TWO = "int n, int m, int steps, float a[n][m], float b[n][m]"
ROWS = "for (int i = 1; i < n - 1; i++) for (int j = 0; j < m; j++)"
STEP = "for (int t = 0; t < steps; t++)"


def source(body: str, parameters: str, clauses: str = "") -> str:
    return f"void g({parameters}) {{\n#pragma tilek kernel device(all) {clauses}\n{{ {body} }}\n}}"


def divided(body: str, parameters: str = TWO, clauses: str = "") -> list[str]:
    return [row.removeprefix("launch ") for row in division_rows(plan(source(body, parameters, clauses)))]


def undivided(body: str, parameters: str = TWO, clauses: str = "") -> str:
    """The reason, which a warning says too."""
    diagnostics = Diagnostics()
    (made,) = plans(source(body, parameters, clauses), diagnostics)
    assert not made.divisions
    assert [item.message for item in diagnostics if item.severity.value == "warning"] == [
        f"the kernel runs on one device, in spite of device(all): {made.undivided}"
    ]
    return made.undivided


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        (f"{ROWS} b[i][j] = a[i - 1][j] + a[i + 1][j];", "reads a in rows i - 1 to i + 1, writes b in row i"),
        (
            f"{ROWS} b[n - 1 - i][j] = a[2][j] + a[m][j];",
            "reads a in row 2, reads a in row m, writes b in row n - i - 1",
        ),
        (f"{ROWS} b[i][j] = a[j][i];", "reads any row of a, writes b in row i"),
        (
            "for (int i = n - 2; i > 0; i -= 2) for (int j = 0; j < m; j++) b[2 * i + 1][j] = a[i][j];",
            "reads a in row n - (2 * i_index) - 2, writes b in row (2 * n) - (4 * i_index) - 3",
        ),
        (
            f"{ROWS} {{ int k = i + 1; b[k][j] += a[k - 3][j]; }}",
            "reads a in row i - 2, writes b in row i + 1, reads b in row i + 1",
        ),
    ],
)
def test_rows_of_an_iteration(body: str, rows: str) -> None:
    (found,) = divided(body)
    assert found.split(": ", 1)[1] == rows


def test_a_launch_of_few_rows_runs_whole_on_one_of_them() -> None:
    result = divided(
        f"{STEP} {{ for (int j = 0; j < m; j++) a[n - 1][j] = a[n - 2][j] + t; {ROWS} b[i][j] = a[i][j]; {ROWS} a[i][j] = b[i][j] * 2; }}"
    )
    assert result[0] == "g_nest1 on one of several: reads a in row n - 2, writes a in row n - 1"
    assert all(" on several, blocks of i: " in each for each in result[1:])


@pytest.mark.parametrize(
    ("body", "parameters", "clauses", "reason"),
    [
        (
            "for (int i = 0; i < n; i++) a[x[i]] = 1;",
            "int n, int *x, float *a",
            "independent data(x[0:n], a[0:n])",
            "launch g writes 'a' in rows that are not those of the loop over 'i'",
        ),
        (
            "for (int i = 0; i < n; i++) { a[i][0] = 1; a[i + 1][1] = 2; }",
            TWO,
            "independent",
            "launch g writes 'a' in rows that are not those of the loop over 'i'",
        ),
        (
            "for (int i = 0; i < n; i++) s += a[i];",
            "int n, float a[n], float s",
            "reduction(+: s)",
            "launch g reduces 's', whose order would be another on several devices",
        ),
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] += 1;",
            "int n, float **a",
            "data(a[0:n][0:n])",
            "the rows of 'a' lie apart",
        ),
        (
            f"{STEP} for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) a[i][j] = a[i - 1][j] + a[i][j - 1];",
            TWO,
            "",
            "launch g is not one nest with a loop over gangs around all of it",
        ),
        (
            f"{STEP} {{ {ROWS} b[i][j] = a[j][i]; {ROWS} a[i][j] = b[i][j]; }}",
            TWO,
            "",
            "launch g_nest1 may read any row of 'a', which other devices write in each round of the host's loop",
        ),
        ("for (int i = 1; i < n; i++) a[i][0] = a[i / 2][0];", TWO, "", "it has no launches for devices"),
    ],
)
def test_why_launches_are_not_divided(body: str, parameters: str, clauses: str, reason: str) -> None:
    assert undivided(body, parameters, clauses) == reason


def test_addresses_reach_neighbours() -> None:
    text = source(
        "for (int i = 2; i < n - 2; i++) b[i] = around(&a[i]);", "int n, const float *restrict a, float *restrict b"
    )
    (row,) = division_rows(plan("static float around(const float *v) { return v[-2] + v[2]; }\n" + text))
    assert row.endswith("reads any row of a, writes b in row i")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda one: replace(one, uses=one.uses[1:]), "the division of launch g leaves out what it does to 'a'"),
        (lambda one: replace(one, uses=one.uses[:1]), "the division of launch g leaves out what it does to 'b'"),
        (lambda one: with_writes(one, scale=0), "two iterations of launch g may write one row of 'b'"),
        (lambda one: with_writes(one, greatest=1), "two iterations of launch g may write one row of 'b'"),
        (lambda one: with_writes(one, least=None), "launch g may write any row of 'b' on several devices"),
        (
            lambda one: replace(one, loop=replace(one.loop, symbol="x")),
            "launch g is divided along a loop that is not its own",
        ),
    ],
)
def test_wrong_divisions_are_found_out(change: Callable[[Division], Division], fault: str) -> None:
    made = plan(source(f"{ROWS} b[i][j] = a[i][j];", TWO))
    assert not list(wrong_divisions(made))
    assert list(wrong_divisions(replace(made, divisions=tuple(map(change, made.divisions))))) == [fault]
    assert list(wrong_divisions(replace(made, divisions=made.divisions * 2))) == ["there are 2 divisions of 1 launches"]


def with_writes(division: Division, **changes: Any) -> Division:
    return replace(division, uses=tuple(replace(use, **changes) if use.writes else use for use in division.uses))


def test_only_where_it_is_asked_for() -> None:
    made: KernelPlan = plan(source(f"{ROWS} b[i][j] = a[i][j];", TWO).replace("device(all)", "device(0)"))
    assert not made.divisions
    assert not made.undivided


def test_a_variable_of_that_name_is_a_number() -> None:
    """In parentheses, as any expression."""
    made = plan(source(f"{ROWS} b[i][j] = a[i][j];", TWO + ", int all").replace("device(all)", "device((all))"))
    assert made.kernel.directive.device is not None
    assert not made.divisions
