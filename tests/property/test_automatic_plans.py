"""Random affine nests under `#pragma tilek kernel` alone: planned, proven, run, equal to the
original bit for bit.

`make test` takes 100 nests, `make nightly` 2 000 (TILEPRAGMA_NESTS). Each nest is a function of its
number. A failing one is made smaller and printed as C.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.support.plan_kinds import plan_kind
from tests.support.planning import PlanningWorkshop, Setting, settings
from tests.support.programs import Failure, Suite, first_difference
from tests.support.random_nests import Nest, Node, Statement, case_file, minimal, random_nest
from tests.support.targets import TargetEnvironment, target_environment

NESTS = int(os.environ.get("TILEPRAGMA_NESTS", "100"))
FIRST = int(os.environ.get("TILEPRAGMA_FIRST_NEST", "0"))
BATCH = 25
#: One batch of so many runs on OpenCL too, whose compiler takes most of the time.
SAMPLE_EVERY = 4
FLAGS = ("-std=c99", "-O1", "-ffp-contract=off", "-Wno-unknown-pragmas")


def difference(suite: Suite, nest: Nest, target: TargetEnvironment) -> str | None:
    """What is wrong with a nest on a target, None where nothing is."""
    try:
        return first_difference(suite.original(nest.case), suite.translated(nest.case, target))
    except Failure as failure:
        return str(failure)


def as_small_as_it_fails(planning: PlanningWorkshop, nest: Nest, setting: Setting) -> str:
    """The failing nest as a report: C text, where it fails, how."""

    def wrong(candidate: Nest) -> str | None:
        folder = planning.folder / f"smaller-{nest.seed}"
        for path in folder.glob("**/*.c"):
            path.unlink()
        workshop = PlanningWorkshop(folder, planning.cache, planning.runtime)
        return difference(Suite(workshop, case_file((candidate,)), flags=FLAGS), candidate, setting.target)

    if wrong(nest) is None:
        return f"nest {nest.seed} on {setting.label} fails among others only:\n{nest.text}"
    least = minimal(nest, lambda candidate: wrong(candidate) is not None)
    return f"nest {nest.seed} on {setting.label}: {wrong(least)}\n{least.text}"


@pytest.mark.parametrize("batch", range(FIRST // BATCH, (FIRST + NESTS) // BATCH))
def test_automatic_plans_compute_what_the_text_computes(
    planning: PlanningWorkshop, shared_scratch: Path, batch: int
) -> None:
    nests = tuple(random_nest(seed) for seed in range(batch * BATCH, (batch + 1) * BATCH))
    here = PlanningWorkshop(planning.folder / str(batch), planning.cache, planning.runtime)
    suite = Suite(here, case_file(nests), flags=FLAGS)
    wrong = []
    for nest in nests:  # serial builds all, and fills in the plans
        serial = Setting(target_environment("serial", shared_scratch), "serial")
        said = difference(suite, nest, serial.target)
        if said is not None:
            wrong.append((nest, serial))
    plans = [here.plans[f"nest_{nest.seed}"] for nest in nests if f"nest_{nest.seed}" in here.plans]
    accelerators = ("cuda", "opencl", "opencl-gpu") if batch % SAMPLE_EVERY == 0 else ("cuda",)
    for setting in settings(shared_scratch, accelerators, plans)[1:]:
        for nest in nests:
            if not any(nest is seen for seen, _ in wrong) and difference(suite, nest, setting.target) is not None:
                wrong.append((nest, setting))
    kinds = Counter(plan_kind(plan).value for plan in plans)
    print(f"batch {batch}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    reports = [as_small_as_it_fails(here, nest, setting) for nest, setting in wrong[:3]]
    assert not wrong, f"{len(wrong)} of {len(nests)} nests: {[nest.seed for nest, _ in wrong]}\n" + "\n".join(reports)


def statements_of(body: tuple[Node, ...]) -> list[Statement]:
    return [each for node in body for each in ([node] if isinstance(node, Statement) else statements_of(node.body))]


def test_nests_are_made_as_small_as_they_fail() -> None:
    nests = map(random_nest, range(100))
    nest = next(nest for nest in nests if len({each.text for each in statements_of(nest.body)}) >= 4)
    assert nest == random_nest(nest.seed)
    guilty = statements_of(nest.body)[-1]
    least = minimal(nest, lambda candidate: guilty.text in candidate.text)
    assert statements_of(least.body) == [guilty]
    assert len(least.text) < len(nest.text)
