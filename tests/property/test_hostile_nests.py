"""Random hostile nests (tests/support/hostile_nests.py) under `#pragma tilek kernel` alone: never a
wrong answer on any target.

What a target cannot run is left to the user's loop, so TILEK_STRICT is off. TILEPRAGMA_NESTS says
how many.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.support.hostile_nests import hostile_file
from tests.support.programs import Failure, Suite, Workshop, first_difference
from tests.support.targets import NAMES, TargetEnvironment, target_environment

NESTS = int(os.environ.get("TILEPRAGMA_NESTS", "100")) // 2
FIRST = int(os.environ.get("TILEPRAGMA_FIRST_NEST", "0"))
BATCH = 25
#: The OpenCL compiler takes most of the time.
SAMPLE_EVERY = 4
FLAGS = ("-std=c99", "-O1", "-ffp-contract=off", "-w")


def difference(suite: Suite, name: str, target: TargetEnvironment) -> str | None:
    """What is wrong with a nest on a target, None where nothing is."""
    case = next(case for case in suite.cases.cases if case.name == name)
    try:
        return first_difference(suite.original(case), suite.translated(case, target))
    except Failure as failure:
        return str(failure)


@pytest.mark.parametrize("batch", range(FIRST // BATCH, (FIRST + NESTS) // BATCH))
def test_hostile_nests_compute_what_the_text_computes(workshop: Workshop, shared_scratch: object, batch: int) -> None:
    file = hostile_file(range(batch * BATCH, (batch + 1) * BATCH))
    suite = Suite(Workshop(workshop.folder / "hostile", workshop.cache), file, flags=FLAGS)
    wrong = []
    for name in NAMES:
        target = target_environment(name, workshop.folder)
        if target.absent is not None or (name.startswith("opencl") and batch % SAMPLE_EVERY):
            continue
        lenient = replace(target, variables=(*target.variables, ("TILEK_STRICT", "0")))
        for case in file.cases:
            said = difference(suite, case.name, lenient)
            if said is not None:
                wrong.append(f"{case.name} on {name}: {said}\n{case.text}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:3])
