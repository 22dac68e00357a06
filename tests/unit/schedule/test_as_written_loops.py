"""Strategy S1: the user's loops kept, sequential ones on the host around launches. Trees are written as `for t [launch(i j) one]`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import FloatingRules, Loop, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step
from tilepragma.planner.candidate_search import choose
from tilepragma.poly.intra_tile_schedule import InnermostCost
from tilepragma.schedule.as_written import as_written
from tilepragma.schedule.candidate import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.verify.proofs import prove


@pytest.fixture(autouse=True)
def _structure_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilepragma.planner.candidate_search.STRATEGIES", (as_written,))


def tree(steps: tuple[Step, ...]) -> str:
    """Launches as `launch(…)` with the iterators that are distributed, `one` where nothing is; loops and conditions of the host around."""
    return " ".join(_step(step) for step in steps)


def _step(step: Step) -> str:
    if isinstance(step, HostLoop):
        return f"for {step.loop.iterator.host} [{tree(step.steps)}]"
    if isinstance(step, HostCondition):
        return f"if [{tree(step.steps)}]"
    return f"launch({' '.join(distributed_iterators(step))})" if step.axes else "one"


def distributed_iterators(launch: Launch) -> list[str]:
    nests = [node for node in walk(launch.body) if isinstance(node, TileNest)]
    return [
        tiled.loop.iterator.host for nest in nests for tiled in nest.loops if any(tile.axis for tile in tiled.tiles)
    ]


def region(parameters: str, body: str) -> KernelPlan:
    return plan(f"void f({parameters}) {{\n#pragma tilek kernel\n{{ {body} }}\n}}")


JACOBI = """for (int t = 0; t < steps; t++) {
  for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
  for (int i = 1; i < n - 1; i++) a[i] = b[i];
}"""


@pytest.mark.parametrize(
    ("parameters", "body", "host", "device"),
    [
        ("int steps, int n, double *a, double *b", JACOBI, "for t [launch(i) launch(i)]", None),
        (
            "int n, double a[n][n]",
            "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) a[i][j] += a[i - 1][j];",
            "launch(j)",
            None,
        ),
        (
            "int n, double a[n][n]",
            "for (int i = 1; i < n; i++) for (int j = 0; j < i; j++) a[i][j] += a[i - 1][j];",
            "for i [launch(j)]",
            None,
        ),
        (
            "int n, double c[n][n], double a[n][n], double b[n][n]",
            "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) c[i][j] *= 2;"
            " for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) c[i][j] += a[i][k] * b[k][j]; }",
            "launch(i)",
            "launch(i j) launch(i j)",
        ),
        (
            "int n, double *q, double *s, double a[n][n]",
            "for (int i = 0; i < n; i++) { q[i] = 0; for (int j = 0; j < n; j++) { s[j] += a[i][j]; q[i] += a[i][j]; } }",
            "for i_strip [launch(i_block) launch(j)]",
            "launch(i) launch(j)",
        ),
        (
            "int n, double *a, double b[n][n]",
            "for (int i = 1; i < n; i++) { a[i] = a[i - 1] * 2; for (int j = 0; j < n; j++) b[i][j] = b[i - 1][j] + a[i]; }",
            "one launch(j)",
            None,
        ),
        (
            "int n, double a[n][n], double *b, double *d",
            "for (int i = 1; i < n; i++) { d[i] = b[i]; b[i] = 2; for (int j = 1; j < n; j++) a[i][j] = a[i][j - 1] + d[i - 1]; }",
            "launch(i) launch(i_block)",
            "launch(i) launch(i)",
        ),
        (
            "int steps, int n, int m, double *a",
            "for (int t = 0; t < steps; t++) { if (m > 3) for (int i = 0; i < n; i++) a[i] = a[i] * 2 + t;"
            " else for (int i = 0; i < n - 1; i++) a[i] = t; a[0] = a[n - 1]; }",
            "for t [if [launch(i)] if [launch(i)] one]",
            None,
        ),
        (
            "int steps, int n, double *a, double *b",
            "for (int t = 0; t < steps; t++) { const int end = n - t; for (int i = 1; i < end; i++) b[i] = a[i - 1];"
            " for (int i = 1; i < end; i++) a[i] = b[i]; }",
            "for t [launch(i) launch(i)]",
            None,
        ),
        (
            "int n, double *a, double *sum",
            "double s, x; s = 0; for (int i = 0; i < n; i++) s += a[i]; x = s * s;"
            " for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) sum[i] = a[j] + x;",
            "one launch(i_block)",
            "one launch(i)",
        ),
    ],
)
def test_what_becomes_of_the_users_loops(parameters: str, body: str, host: str, device: str | None) -> None:
    result = region(parameters, body)
    assert result.untransformed is None, result.untransformed
    assert (tree(result.host_steps), tree(result.device_steps)) == (host, device or host)


@pytest.mark.parametrize(
    ("parameters", "body", "reason"),
    [
        (
            "int n, double *a",
            "for (int i = 1; i < n; i++) a[i] = a[i - 1];",
            "the loop over 'i' carries a flow dependence of 'a'",
        ),
        (
            "int n, const double *a, double *out",
            "double s = 0; for (int i = 0; i < n; i++) s += a[i]; out[0] = s;",
            "reduction(+: s) would allow any",
        ),
        (
            "int n, double *a, int *to",
            "for (int t = 0; t < to[0]; t++) for (int i = 1; i < n; i++) { to[t] = i; a[i] = a[i - 1] + a[0]; }",
            "cannot be counted (its upper bound changes",
        ),
        (
            "int n, int m, unsigned *a",
            "unsigned s = 1; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { s = s * 5 + 1; a[i] += s; }",
            "the loop over 'i' hands 's' on from iteration to iteration",
        ),
        ("int n, double ***a, double *b", "for (int i = 0; i < n; i++) a[i][0][0] = b[i];", "may be the same memory"),
    ],
)
def test_what_is_left_as_written_and_why(parameters: str, body: str, reason: str) -> None:
    result = region(parameters, body)
    assert result.untransformed is not None
    assert reason in result.untransformed
    assert result.rejected


def test_uses_of_a_private_number_stay_in_one_launch() -> None:
    result = plan(
        """
        double f(int n, const double *a, double *b) {
          double t, last = 0;
        #pragma tilek kernel private(t)
          for (int i = 0; i < n; i++) { t = a[i]; last = t; b[i] = t + last; }
          return last;
        }"""
    )
    assert (
        result.untransformed
        == "'last' is read after the loop over 'i', and its order tells which iteration writes it last"
    )


def test_host_loops_have_iterators_of_their_own_whose_values_launches_get() -> None:
    result = plan(
        """
        int f(int steps, int n, double *a) {
          int t, i;
        #pragma tilek kernel
          for (t = 0; t < steps; t++)
            for (i = 0; i < n - t; i++) a[i] = a[i] + t * a[n];
          return t;
        }"""
    )
    assert tree(result.host_steps) == "for t [launch(i)]"
    (step,) = result.host_steps
    assert isinstance(step, HostLoop)
    (launch,) = result.host
    assert launch.values == (step.loop.iterator,)
    assert [value.iterator.name for value in result.final_values] == ["t"]


def test_loops_that_were_distributed_have_indices_of_their_own() -> None:
    result = region(
        "int n, double c[n][n]",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) c[i][j] *= 2; for (int j = 0; j < n; j++) c[i][j] += 1; }",
    )
    indices = [tiled.loop.index for launch in result.device for tiled in launch.loops]
    assert tree(result.device_steps) == "launch(i j) launch(i j)"
    assert len(set(indices)) == len(indices) == 4
    plain = {node.index for launch in result.host for node in walk(launch.body) if isinstance(node, Loop)}
    assert not plain & (set(indices) - plain)


@pytest.mark.parametrize(
    ("type_", "update", "operator"),
    [
        ("int", "s += a[i] > 0", "+"),
        ("unsigned", "s ^= (unsigned)a[i]", "^"),
        ("double", "s = fmax(s, fabs(a[i]))", "fmax"),
        ("int", "if ((int)a[i] < s) s = (int)a[i]", "min"),
    ],
)
def test_updates_whose_order_cannot_matter_are_reduced(type_: str, update: str, operator: str) -> None:
    result = plan(
        f"""
        #include <math.h>
        {type_} f(int n, const double *a) {{
          {type_} s = 0;
        #pragma tilek kernel data(a[0:n])
          for (int i = 0; i < n; i++) {{ {update}; }}
          return s;
        }}"""
    )
    (launch,) = result.host
    assert [(reduction.object.name, reduction.operator) for reduction in launch.reductions] == [("s", operator)]


def test_scalars_pass_between_launches_by_address_and_are_private_where_each_iteration_assigns_them() -> None:
    result = region(
        "int n, double *a, double *b, double x",
        "double s; s = x * 2; for (int i = 0; i < n; i++) { x = a[i] * s; b[i] = x + 1; }",
    )
    assert tree(result.host_steps) == "one launch(i)"
    first, second = result.host
    assert [object_.name for object_ in second.privates] == ["x"]
    assert "s" in [argument.object.name for argument in result.arrays]
    assert "s" not in [object_.name for object_ in result.scalars]
    assert not first.privates


def _answer(
    parallel: int, sequential: int, name: str, launched: int | None = None, strides: int | None = None
) -> ScheduleCandidate:
    depths = Depths(parallel, sequential, parallel if launched is None else launched)
    return ScheduleCandidate(
        name, (), (), (), depths=depths, innermost_cost=None if strides is None else InnermostCost(strides, 0)
    )


@pytest.mark.parametrize(
    ("answers", "taken"),
    [
        ((_answer(2, 1, "first"), _answer(3, 0, "second")), "first"),
        ((_answer(2, 2, "first"), _answer(2, 1, "second")), "second"),
        ((_answer(2, 2, "first"), Refusal("no")), "first"),
        ((_answer(1, 1, "first"), Refusal("no")), None),
        ((_answer(2, 2, "first", 1), Refusal("no")), None),
        ((_answer(2, 3, "first"), Refusal("no")), None),
        ((_answer(2, 0, "objected"), _answer(1, 0, "second")), "second"),
        ((_answer(3, 0, "first", strides=2), _answer(3, 0, "second", strides=1)), "second"),
        ((_answer(3, 0, "first", strides=2), _answer(3, 0, "second", strides=2)), "first"),
        ((_answer(3, 0, "first", strides=2), _answer(3, 0, "second")), "first"),
        ((_answer(3, 0, "first", strides=2), _answer(3, 3, "second", strides=0)), "first"),
        ((_answer(3, 0, "first", strides=2), _answer(3, 0, "objected", strides=0)), "first"),
        ((replace(_answer(3, 0, "objected"), fallback=lambda: _answer(3, 0, "fallback")),), "fallback"),
        (
            (replace(_answer(3, 0, "objected"), fallback=lambda: _answer(3, 3, "fallback")), _answer(3, 0, "next")),
            "next",
        ),
        ((replace(_answer(3, 0, "split"), fallback=lambda: _answer(3, 0, "fallback")),), "split"),
    ],
)
def test_the_first_answer_that_leaves_nothing_big_sequential_is_taken(
    answers: tuple[ScheduleCandidate | Refusal, ...], taken: str | None
) -> None:
    kernel = region("int n, double *a", "for (int i = 0; i < n; i++) a[i] = 1;").kernel
    seen = Region(kernel, (), frozenset(), frozenset(), frozenset(), FloatingRules(contract=False, fast=False))
    strategies = tuple(lambda _, answer=answer: answer for answer in answers)
    choice = choose(seen, lambda answer: "no" if answer.strategy == "objected" else None, strategies)
    assert (choice.taken.strategy if choice.taken is not None else None) == taken
    assert choice.rejected or taken in ("first", "split")


def test_a_sum_that_the_user_lets_go_is_reduced_inside_host_loops_too() -> None:
    result = plan(
        """
        void f(int steps, int n, double *a, double *out) {
          double s;
        #pragma tilek kernel reduction(+: s)
          for (int t = 0; t < steps; t++) {
            s = 0;
            for (int i = 0; i < n; i++) s += a[i];
            out[t] = s;
            for (int i = 0; i < n; i++) a[i] = a[i] - s;
          }
        }"""
    )
    assert tree(result.host_steps) == "for t [one launch(i) one launch(i)]"
    assert [[reduction.object.name for reduction in launch.reductions] for launch in result.host] == [[], ["s"], [], []]


ATAX = """
void f(int m, int n, double a[m][n], double *restrict x, double *restrict y, double *restrict t) {{
#pragma tilek kernel
  for (int i = 0; i < m; i++) {{
    t[i] = 0;
    for (int j = 0; j < n; j++) t[i] += {first} * x[j];
    for (int j = 0; j < n; j++) y[j] += {second} * t[i];
  }}
}}"""


@pytest.mark.parametrize(
    ("first", "second", "strips"),
    [
        ("a[i][j]", "a[i][j]", True),
        ("a[i][j]", "a[j][i]", False),  # a row and a column
        ("a[i][j]", "x[j]", False),  # vectors stay in the cache anyway
    ],
)
def test_parts_that_stream_through_the_same_array_take_turns(first: str, second: str, strips: bool) -> None:
    result = plan(ATAX.format(first=first, second=second))
    loops = [step for step in result.host_steps if isinstance(step, HostLoop)]
    assert [loop.loop.iterator.name for loop in loops] == (["i_strip"] if strips else [])
    assert not any(isinstance(step, HostLoop) for step in result.device_steps)
    assert prove(result) == ()
