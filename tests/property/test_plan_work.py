"""The work of plans of random affine nests, counted from their bounds, against their steps run point by point."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.plan_runs import run_steps
from tests.support.random_nests import random_nest
from tests.support.source_plans import plans
from tests.support.work_checks import check_launch
from tilepragma.cost.launch_work import plan_work
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError

NESTS, BATCH = 60, 12
SCALARS = {"n": 6, "m": 15}


@pytest.mark.parametrize("batch", range(NESTS // BATCH))
def test_counts_are_those_of_the_steps(batch: int) -> None:
    counted = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        (plan,) = plans(random_nest(seed).text)
        generator = np.random.default_rng(seed)
        sizes = {size.object.name: generator.integers(1, 6, 2) for size in plan.sizes}
        for target, steps in ((Target.THREADS, plan.host_steps), (Target.CUDA, plan.device_steps)):
            try:
                work = plan_work(plan, SCALARS, sizes, target, entries=1000)
            except UncountableError as reason:
                assert str(reason)
                continue
            counted += 1
            for case in range(work[0].cases):
                numbers = {**SCALARS, **{name: int(value[case]) for name, value in sizes.items()}}
                runs = run_steps(steps, numbers)
                for launch in work:
                    check_launch(launch, case, [run for run in runs if run.name == launch.name])
    assert counted > BATCH
