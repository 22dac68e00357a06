"""Strips of parts that hyperplanes found: where parts take turns on the rows of a matrix, and where they must not."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import PackedPanels
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch
from tilepragma.verify.proofs import prove

PRODUCTS = """
void f(int n, double a[n][n], double *restrict x, double *restrict y, double *restrict s, double *restrict t) {{
#pragma tilek kernel
  {{
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {first};
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {second};
  }}
}}"""
ROW, COLUMN = "s[i] += a[i][j] * x[j]", "t[i] += a[j][i] * y[j]"


def in_strips(found: KernelPlan) -> list[list[bool]]:
    """For each loop over strips, and each launch in it: whether it keeps elements in registers."""
    loops = [step for step in found.host_steps if isinstance(step, HostLoop)]
    assert all("_strip" in loop.loop.iterator.name for loop in loops)
    launches = [[step for step in loop.steps if isinstance(step, Launch)] for loop in loops]
    return [[any(isinstance(node, PackedPanels) for node in walk(one.body)) for one in each] for each in launches]


@pytest.mark.parametrize(("first", "second", "registers"), [(ROW, COLUMN, [True, False]), (COLUMN, ROW, [False, True])])
def test_a_product_and_that_of_the_transposed_matrix_read_it_once(
    first: str, second: str, registers: list[bool]
) -> None:
    found = plan(PRODUCTS.format(first=first, second=second))
    assert in_strips(found) == [registers]
    assert prove(found) == ()
    assert not any(isinstance(step, HostLoop) for step in found.device_steps)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ROW, "t[i] += a[j][i] * s[n - 1 - j]"),  # the first rows of the second wait for the last sums of the first
        (ROW, "t[i] += a[j][i] * s[i]"),  # every row waits for all sums
        (ROW, "t[i] += a[n - 1 - j][i] * y[j]"),  # rows from the last to the first
        (COLUMN, "s[i] += a[j][i] * x[j]"),  # columns of both: no row is read twice
    ],
)
def test_no_strips(first: str, second: str) -> None:
    found = plan(PRODUCTS.format(first=first, second=second))
    assert in_strips(found) == []
    assert prove(found) == ()


def test_a_later_row_may_wait_for_sums_of_its_own_strip() -> None:
    found = plan(PRODUCTS.format(first=ROW, second="t[i] += a[j][i] * s[j]"))
    assert in_strips(found) == [[True, False]]
    assert prove(found) == ()
