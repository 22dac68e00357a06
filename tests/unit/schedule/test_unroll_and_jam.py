"""Unroll-and-jam of loops that are distributed on cores: where rows stand side by side in loops that wait, and where they must not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import Block, If, Loop
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.traversal import loops_in, walk, with_blocks
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.schedule.default_sizes import JAMMED_ROWS
from tilepragma.verify.proofs import prove

ROWS = """
void f(int m, int n, double a[m][n], double b[m][n], double *restrict s) {{
  double carried;
  int i, j, k;
#pragma tilek kernel
  for (i = 1; i < m; i++) {{ {body} }}
}}"""
WAITS = "for (j = 1; j < n; j++) b[i][j] = a[i][j] / (2 + b[i][j - 1]);"


def jams(found: KernelPlan) -> list[list[str]]:
    """For each launch on cores the iterators that rows are jammed into: of the loops around the innermost ones of four iterations."""
    return [
        [
            loop.iterator.host
            for loop in loops_in(launch.body)
            if any(isinstance(inner, Loop) and trip(inner) == JAMMED_ROWS for inner in loop.body.statements)
        ]
        for launch in found.host_steps
        if isinstance(launch, Launch)
    ]


def trip(loop: Loop) -> int | None:
    """The number of iterations of a loop with `<=`, where it is known."""
    count = polynomial(loop.upper) - polynomial(loop.lower) + number(1)
    return count.constant if loop.comparison == "<=" else None


@pytest.mark.parametrize(
    ("body", "jammed"),
    [
        (WAITS, ["j"]),
        ("b[i][0] = 1; " + WAITS + " for (k = n - 2; k >= 0; k--) b[i][k] += b[i][k + 1];", ["j", "k"]),
        # What a row leaves in a scalar is its own while the row runs in one go.
        ("carried = a[i][0]; b[i][0] = carried * carried; " + WAITS, ["j"]),
        # A loop that carries nothing stays with its row.
        (WAITS + " for (k = 0; k < n; k++) a[i][k] = b[i][k];", ["j"]),
        ("for (k = 1; k < n; k++) for (j = k; j < n; j++) b[i][j] = a[i][j] / (2 + b[i][j - 1]);", ["j"]),
    ],
)
def test_rows_stand_side_by_side_in_loops_that_wait(body: str, jammed: list[str]) -> None:
    result = plan(ROWS.format(body=body))
    assert jams(result) == [jammed]
    assert prove(result) == ()


@pytest.mark.parametrize(
    "body",
    [
        # Nothing waits.
        "for (j = 1; j < n; j++) b[i][j] = a[i][j] / 2;",
        # Rows would lose what the loop hands on.
        "carried = a[i][0]; for (j = 1; j < n; j++) { carried = a[i][j] / (2 + carried); b[i][j] = carried; }",
        # Rows are not of one length.
        "for (j = 1; j < i; j++) b[i][j] = a[i][j] / (2 + b[i][j - 1]);",
        "for (j = 1; j * 1 < 9 && j < n; j++) for (k = 0; k < n; k++) b[i][j] = a[i][k] / (2 + b[i][j - 1]);",
        "for (j = 1; j < n && b[i][j - 1] < 7; j++) b[i][j] = a[i][j] / (2 + b[i][j - 1]);",
    ],
)
def test_no_rows_side_by_side(body: str) -> None:
    result = plan(ROWS.format(body=body))
    assert all(jammed == [] for jammed in jams(result))
    assert prove(result) == ()


def test_a_row_too_many_is_found() -> None:
    result = plan(ROWS.format(body=WAITS))
    (launch,) = result.host_steps
    assert isinstance(launch, Launch)

    def widened(block: Block) -> Block:
        return replace(block, statements=tuple(map(one_more, block.statements)))

    def one_more(statement: object) -> object:
        changed = with_blocks(statement, widened)  # type: ignore[type-var]
        if isinstance(changed, Loop) and trip(changed) == JAMMED_ROWS:
            return replace(changed, upper=expression(polynomial(changed.upper) + number(1)))
        return changed

    wrong = replace(result, host_steps=(replace(launch, body=widened(launch.body)),))
    assert wrong != result
    assert prove(wrong) != ()


def test_what_is_left_over_runs_as_written() -> None:
    (launch,) = plan(ROWS.format(body=WAITS)).host_steps
    assert isinstance(launch, Launch)
    (choice,) = [node for node in walk(launch.body) if isinstance(node, If)]
    assert choice.otherwise is not None
    assert [loop.iterator.host for loop in loops_in(choice.otherwise)] == ["i", "j"]
