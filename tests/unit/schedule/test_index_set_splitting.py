"""Loops split where accesses meet: which, at what value, and what becomes of the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import FloatingRules, Loop, Statement
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.plan.kernel_plan import KernelPlan, launches_in
from tilepragma.schedule.candidate import Region
from tilepragma.schedule.index_set_splitting import with_split_loops
from tilepragma.verify.proofs import prove

FLOYD = (
    "int n, int d[n][n]",
    "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    " if (d[i][k] + d[k][j] < d[i][j]) d[i][j] = d[i][k] + d[k][j];",
)


def planned(parameters: str, body: str) -> KernelPlan:
    return plan(f"void f({parameters}) {{\n#pragma tilek kernel\n{{ {body} }}\n}}")


def region(parameters: str, body: str) -> Region:
    kernel = planned(parameters, body).kernel
    statements, written = kernel.body.statements, written_objects(kernel)
    return Region(kernel, statements, written, frozenset(), frozenset(), FloatingRules(contract=False, fast=False))


def headers(statements: tuple[Statement, ...]) -> list[str]:
    """Each loop as `i: lower < upper`, outermost first, in textual order."""
    return [
        f"{loop.iterator.host}: {plain_text(loop.lower)} {loop.comparison} {plain_text(loop.upper)}"
        for statement in statements
        for loop in loops_in(statement)
    ]


def split(parameters: str, body: str) -> tuple[Statement, ...] | None:
    result = with_split_loops(region(parameters, body))
    return None if result is None else result[0].statements


@pytest.mark.parametrize(
    ("parameters", "body", "loops"),
    [
        (
            "int n, double a[n][n]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] += a[j][i];",
            ["i: 0 < n", "j: 0 < i", "j: i <= i", "j: i + 1 < n"],
        ),
        (
            "int n, double a[n][n]",
            "for (int k = 0; k < n; k++) for (int j = k; j < n; j++) a[k][j] = a[k][j] / a[k][k];",
            ["k: 0 < n", "j: k <= k", "j: k + 1 < n"],
        ),
        (
            "int n, double *a",
            "for (int k = 0; k < n; k++) for (int j = 0; j <= n; j++) a[j + 1] -= a[k + 1];",
            ["k: 0 < n", "j: 0 < k", "j: k <= k", "j: k + 1 <= n"],
        ),
        (
            "int n, double *a",
            "for (int k = 1; k < n; k++) for (int j = 0; j < n; j++) a[n - j] -= a[k];",
            ["k: 1 < n", "j: 0 < n - k", "j: n - k <= n - k", "j: n + 1 - k < n"],
        ),
    ],
)
def test_loops_are_taken_apart_where_an_element_is_met_in_each_run(
    parameters: str, body: str, loops: list[str]
) -> None:
    result = split(parameters, body)
    assert result is not None
    assert headers(result) == loops


@pytest.mark.parametrize(
    ("parameters", "body", "kinds"),
    [
        ("int n, double *a", "for (int i = 0; i < n; i++) a[i] = a[0] + 1;", ["If", "Loop"]),
        (
            "int n, int m, double a[n][m]",
            "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) a[i][j] -= a[0][j];",
            ["If", "Loop"],
        ),
        (
            "int n, double a[n][n]",
            "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) a[i][j] -= a[0][j];",
            ["Loop", "Loop"],
        ),
    ],
    ids=["outermost", "of its own length", "entered by all"],
)
def test_a_value_is_asked_for_where_a_loop_may_run_no_iteration(parameters: str, body: str, kinds: list[str]) -> None:
    result = split(parameters, body)
    assert result is not None
    inner = result[0].body.statements if isinstance(result[0], Loop) and len(result) == 1 else result
    assert [type(each).__name__ for each in inner] == kinds


def test_all_but_the_first_element_are_made_of_it_at_once() -> None:
    made = planned("int n, double *a", "for (int i = 0; i < n; i++) a[i] = a[0] + 1;")
    assert made.untransformed is None
    assert [bool(launch.axes) for launch in launches_in(made.device_steps)] == [False, True]
    assert prove(made) == ()


def test_a_value_that_may_lie_outside_is_asked_for() -> None:
    result = split("int n, int p, double *a", "for (int i = 0; i < n; i++) a[i] -= a[p];")
    assert result is not None
    assert [type(each).__name__ for each in result] == ["Loop", "If", "Loop"]
    assert headers(result) == ["i: 0 < min(p, n)", "i: p <= p", "i: max(p + 1, 0) < n"]


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("int n, double *a", "for (int i = 1; i < n; i++) a[i] += a[i - 1];"),
        ("int n, double *a", "for (int i = 1; i < n; i++) a[i] += a[0];"),
        ("int n, double *a, int *at", "for (int i = 0; i < n; i++) a[i] += a[at[i]];"),
        ("int n, double *a, double *b", "for (int i = 0; i < n; i++) a[i] += b[5];"),
        ("int n, double *a", "for (int i = 0; i < n; i++) a[i] += a[2] + a[7];"),
        ("int n, double *a", "for (int i = n - 1; i >= 0; i--) a[i] += a[3];"),
        ("int n, double *a", "for (int i = 0; i < n; i += 2) a[i] += a[4];"),
        ("int n, double *a", "for (int i = 0; i < n; i++) { a[i] += a[3]; if (a[i] > 1) break; }"),
    ],
    ids=["neighbour", "never met", "unknown", "other array", "two values", "down", "steps", "left early"],
)
def test_other_loops_stay_whole(parameters: str, body: str) -> None:
    assert split(parameters, body) is None


def test_parts_are_nodes_of_their_own_with_numbers_of_their_own() -> None:
    result = split(*FLOYD)
    assert result is not None
    loops = [loop for statement in result for loop in loops_in(statement)]
    assert len(loops) == len({loop.index for loop in loops}) == 1 + 3 + 9
    nodes = [id(node) for statement in result for node in walk(statement) if isinstance(node, Statement)]
    assert len(nodes) == len(set(nodes))


def test_explain_can_say_where() -> None:
    places = planned(*FLOYD).split
    assert places == tuple(f"the loop over {each}, line 3, at k, which its other iterations read" for each in "ij")
    assert planned("int n, double *a", "for (int i = 0; i < n; i++) a[i] = i;").split == ()


def test_all_of_a_step_but_the_pivot_runs_at_once() -> None:
    result = planned(*FLOYD)
    assert result.untransformed is None
    axes = [launch.axes for launch in launches_in(result.host_steps)]
    assert [bool(each) for each in axes] == [True, True, False, True, True]
    across = [len(launch.axes) for launch in launches_in(result.device_steps)]
    assert across.count(0) == 1
    assert len(across) == 9
    assert prove(result) == ()


def test_the_order_of_the_parts_is_held_by_the_proof() -> None:
    result = planned(*FLOYD)
    (outer,) = result.host_steps
    first, *others = outer.steps  # type: ignore[union-attr]
    turned = replace(outer, steps=(*others, first))
    assert prove(replace(result, host_steps=(turned,)))
    missing = replace(outer, steps=tuple(others))
    assert prove(replace(result, host_steps=(missing,)))


def test_what_is_parallel_as_it_stands_is_not_taken_apart() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = b[j] * 2;"
    result = planned("int n, int m, double a[n][m], const double *b", body)
    assert len(launches_in(result.device_steps)) == 1
    assert not any(isinstance(node, Loop) and node.comparison == "<=" for node in walk(result.device[0].body))
