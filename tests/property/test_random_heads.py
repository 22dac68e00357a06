"""Random heads of loops on every target, against the plain program bit for bit: iterators that
wrap, bounds and steps of other types, counting down.

`make test` takes 40 kernels, `make nightly` 3 000 (TILEPRAGMA_HEADS). Each is a function of its
number. A launch check may send a call to the original loop, which is then said; that a kernel runs
it without a word is a failure too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.support.planning import PlanningWorkshop
from tests.support.programs import Failure, Suite, first_difference
from tests.support.random_heads import HeadCase, case_file, random_head
from tests.support.targets import TargetEnvironment, target_environment

KERNELS = int(os.environ.get("TILEPRAGMA_HEADS", "40"))
FIRST = int(os.environ.get("TILEPRAGMA_FIRST_HEAD", "0"))
BATCH = 20
FLAGS = ("-std=c99", "-O1", "-w", "-Wno-unknown-pragmas")
TARGETS = ("serial", "threads", "opencl", "opencl-gpu", "cuda")
#: One batch of so many runs on devices too, whose compilers take most of the time.
SAMPLE_EVERY = 4
LENIENT = {"TILEK_STRICT": "0", "TILEK_PROFILE": "1"}


@dataclass(frozen=True, eq=False)
class Listening(PlanningWorkshop):
    """Keeps what programs say, by target."""

    heard: dict[str, str] = field(default_factory=dict)

    def run(self, program: Path, target: TargetEnvironment, *arguments: str, **more: str) -> str:
        said = super().run(program, target, *arguments, **more)
        self.heard[target.name] = self.heard.get(target.name, "") + said
        return said


@pytest.mark.parametrize("batch", range(FIRST // BATCH, (FIRST + KERNELS) // BATCH))
def test_heads_mean_what_they_mean_in_c(planning: PlanningWorkshop, shared_scratch: Path, batch: int) -> None:
    heads = [random_head(batch * BATCH + place) for place in range(BATCH)]
    here = Listening(planning.folder / f"heads-{batch}", planning.cache, planning.runtime)
    suite = Suite(here, case_file(tuple(head.case for head in heads)), flags=FLAGS)
    wrong = []
    for name in TARGETS if batch % SAMPLE_EVERY == 0 else TARGETS[:2]:
        target = target_environment(name, shared_scratch)
        lenient = replace(target, variables=tuple({**dict(target.variables), **LENIENT}.items()))
        for head in heads if target.absent is None else ():
            wrong += [
                f"{head.case.title} on {name}: {why}\n{head.case.text}" for why in _faults(suite, here, head, lenient)
            ]
    parallel = sum(plan.untransformed is None for plan in here.plans.values())
    print(f"batch {batch}: {parallel} of {len(here.plans)} kernels are launched")
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong[:10])
    assert parallel > BATCH // 4, "heads that C counts as numbers do are to be launched"


def _faults(suite: Suite, here: Listening, head: HeadCase, target: TargetEnvironment) -> Iterator[str]:
    name = head.case.name
    try:
        said = first_difference(suite.original(head.case), suite.translated(head.case, target))
    except Failure as failure:
        said = str(failure)
    if said is not None:
        yield f"{name}: {said}"
        return
    plan, heard = here.plans.get(name), here.heard[target.name]
    rows = re.findall(rf"^{name} +original +(\d+)", heard, re.MULTILINE)
    silent = f"kernel {name} " not in heard
    if plan is not None and plan.untransformed is None and silent and sum(map(int, rows)) > head.calls - head.running:
        yield f"{name} runs the original loops without a word"
