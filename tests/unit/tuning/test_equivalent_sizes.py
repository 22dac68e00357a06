"""Tile sizes that make the same launches: from which one on they hold all that they divide."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.source_plans import plan
from tests.unit.cost.test_launch_work import CASES, planned
from tilepragma.cost.launch_work import plan_work
from tilepragma.ir.directives import Target
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.tuning.trial_versions import whole_sizes

SUMS = """
void f(int r, int p, double A[r][p], double B[p][p], double C[r][p]) {
#pragma tilek kernel
  for (int i = 0; i < r; i++)
    for (int j = 0; j < p; j++)
      for (int k = 0; k < p; k++) C[i][j] += A[i][k] * B[k][j];
}"""


def whole(found: KernelPlan, scalars: dict[str, int]) -> tuple[int | None, ...]:
    return whole_sizes(found.host_steps, found.sizes, scalars)


def test_rows_of_a_product_are_held_by_a_block_of_as_many() -> None:
    """However many columns there are: the largest of the kernel's numbers says nothing."""
    result = plan(SUMS)
    assert len(result.sizes) == 1
    assert whole(result, {"r": 10, "p": 40}) == (10,)
    assert whole(result, {"r": 100, "p": 40}) == (100,)


def test_no_rows_are_held_by_any_size() -> None:
    """The last row is -1: its quotient is the same from 1 on, but one more is asked for what is negative."""
    assert whole(plan(SUMS), {"r": 0, "p": 40}) == (2,)


def test_what_has_no_number_is_not_known() -> None:
    assert whole(plan(SUMS), {"p": 40}) == (None,)


@pytest.mark.parametrize("name", ["sor 1-d", "jacobi 2-d diamond", "lu"])
def test_tiles_that_others_depend_on_are_not_known(name: str) -> None:
    """Where tiles begin in one row depends on the iterator, or the size, of another."""
    assert None in whole(planned(name), CASES[name][2])


@pytest.mark.parametrize("name", CASES)
def test_from_there_on_launches_are_the_same(name: str) -> None:
    """Of those that are known: as many launches, of the same trips, at any larger size."""
    found, scalars = planned(name), CASES[name][2]
    for size, limit in zip(found.sizes, whole(found, scalars), strict=True):
        if limit is None:
            continue
        work = plan_work(found, scalars, {size.object.name: np.array([limit, limit + 1, 7 * limit])}, Target.THREADS)
        for launch in work:
            assert len(set(launch.launches.tolist())) == 1
            assert len(set(launch.tiles().tolist())) == 1
