"""Random reductions and scans of all pairs of arithmetic types, on every target, against the plain
program bit for bit.

`make test` takes 50 kernels, `make nightly` 2 000 (TILEPRAGMA_REDUCTIONS). Each is a function of
its number.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.planning import PlanningWorkshop
from tests.support.programs import Failure, Suite, first_difference
from tests.support.random_reductions import DEVICE_TYPES, TYPES, case_file, random_reduction
from tests.support.targets import target_environment
from tilepragma.plan.kernel_plan import KernelPlan

KERNELS = int(os.environ.get("TILEPRAGMA_REDUCTIONS", "50"))
FIRST = int(os.environ.get("TILEPRAGMA_FIRST_REDUCTION", "0"))
BATCH = 50
FLAGS = ("-std=c99", "-O1", "-w", "-ffp-contract=off", "-Wno-unknown-pragmas")
TARGETS = ("serial", "threads", "opencl", "opencl-gpu", "cuda")
#: One batch of so many runs on devices too, whose compilers take most of the time.
SAMPLE_EVERY = 4


@pytest.mark.parametrize("batch", range(FIRST // BATCH, (FIRST + KERNELS) // BATCH))
def test_reductions_compute_what_c_computes(planning: PlanningWorkshop, shared_scratch: Path, batch: int) -> None:
    on_devices = batch % SAMPLE_EVERY == 0
    types = DEVICE_TYPES if on_devices else TYPES
    cases = tuple(random_reduction(batch * BATCH + place, types) for place in range(BATCH))
    here = PlanningWorkshop(planning.folder / f"reductions-{batch}", planning.cache, planning.runtime)
    suite = Suite(here, case_file(cases), flags=FLAGS)
    wrong = []
    for name in TARGETS if on_devices else TARGETS[:2]:
        target = target_environment(name, shared_scratch)
        for case in cases if target.absent is None else ():
            try:
                said = first_difference(suite.original(case), suite.translated(case, target))
            except Failure as failure:
                said = str(failure)
            if said is not None:
                wrong.append(f"{case.name} ({case.title}) on {name}: {said}\n{case.text}")
    reduced = sum(
        1 for case in cases if f"case_{case.name}" in here.plans and _reduces(here.plans[f"case_{case.name}"])
    )
    print(f"batch {batch}: {reduced} of {BATCH} reduced")
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:10])
    # A quarter on average, 3 at least in 280 batches.
    assert reduced > 0, "kernels are to be reduced in parallel where C's conversions allow it"


def _reduces(plan: KernelPlan) -> bool:
    return any(launch.reductions for launch in (*plan.host, *plan.device))


def test_every_pair_of_types_comes_in_so_many_kernels() -> None:
    titles = {random_reduction(seed).title.split(",")[0] for seed in range(len(TYPES) ** 2)}
    assert len(titles) == len(TYPES) ** 2
