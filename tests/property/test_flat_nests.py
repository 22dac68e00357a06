"""Random affine nests over arrays of one dimension, rows being as long as a number or n says: equal to the original bit for bit."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tests.property.test_automatic_plans import FLAGS, difference
from tests.support.planning import PlanningWorkshop, settings
from tests.support.programs import Suite
from tests.support.random_nests import case_file, random_nest
from tests.support.targets import target_environment
from tilepragma.plan.kernel_plan import KernelPlan

NESTS = int(os.environ.get("TILEPRAGMA_FLAT_NESTS", "6"))
FIRST = int(os.environ.get("TILEPRAGMA_FIRST_NEST", "0"))


def is_seen_by_rows(plan: KernelPlan) -> bool:
    return any(object_.rows_in is not None for object_ in plan.kernel.objects)


def test_flat_nests_compute_what_their_text_computes(planning: PlanningWorkshop, shared_scratch: Path) -> None:
    nests = tuple(replace(random_nest(seed), flat=True) for seed in range(FIRST, FIRST + NESTS))
    here = PlanningWorkshop(planning.folder / "flat", planning.cache, planning.runtime)
    suite = Suite(here, case_file(nests), flags=FLAGS)
    serial = target_environment("serial", shared_scratch)  # builds all, and fills in the plans
    wrong = [(nest.seed, "serial") for nest in nests if difference(suite, nest, serial) is not None]
    for setting in settings(shared_scratch, ("cuda",), here.plans.values())[1:]:
        wrong += [(nest.seed, setting.label) for nest in nests if difference(suite, nest, setting.target) is not None]
    assert not wrong
    seen = [plan for plan in here.plans.values() if is_seen_by_rows(plan)]
    assert 3 * len(seen) >= NESTS, f"only {len(seen)} of {NESTS} nests keep to their rows"
