"""Random affine nests under `#pragma tilek kernel` alone: planned, proven, run, equal to the original bit for bit.

`make test` takes 100 nests, `make nightly` 2 000 (TILEPRAGMA_NESTS). Each nest is a function of its number. A failing one is made
smaller and printed as C.
"""

from __future__ import annotations

import os
import re
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.disorder import LAST_FIRST, disorderly_runtime
from tests.support.programs import (
    BUILD_SECONDS,
    COMPILER,
    Failure,
    Suite,
    Workshop,
    first_difference,
    run_command,
    tool_environment,
)
from tests.support.random_nests import Nest, case_file, minimal, random_nest
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.cli.runtime_library import compile_flags
from tilepragma.driver import TranslateRequest, translate
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import plan_kind

NESTS = int(os.environ.get("TILEPRAGMA_NESTS", "100"))
FIRST = int(os.environ.get("TILEPRAGMA_FIRST_NEST", "0"))
BATCH = 25
#: One batch of so many runs on OpenCL too, whose compiler takes most of the time.
SAMPLE_EVERY = 4
SUPPORT = Path(__file__).resolve().parents[1] / "support"
FLAGS = ("-std=c99", "-O1", "-ffp-contract=off", "-Wno-unknown-pragmas")


Variables = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PlanningWorkshop(Workshop):
    """Translates in this process, so that the plans can be looked at; `plans` are by the name of the kernel. Programs are linked with
    `runtime`.
    """

    runtime: tuple[str, ...] = ()
    plans: dict[str, KernelPlan] = field(default_factory=dict)

    def build_translated(self, source: Path, flags: tuple[str, ...] = FLAGS, *options: str) -> Path:
        include = f"-I{SUPPORT}"
        try:
            result = translate(TranslateRequest(str(source), options=(*flags, include)))
        except Exception as fault:  # whatever it is, it is this nest's failure, which is then made smaller
            raise Failure(("translate", str(source)), 3, traceback.format_exc()) from fault
        if result.output is None:
            raise Failure(("translate", str(source)), 1, "\n".join(item.message for item in result.diagnostics))
        self.plans.update({plan.kernel.name: plan for plan in result.plans})
        translated = source.with_suffix(".tk.c")
        translated.write_bytes(result.output)
        program = source.with_suffix(".translated")
        files = ("-o", str(program), str(translated), *self.runtime)
        command = (COMPILER, *flags, include, *compile_flags(), *files)
        run_command(command, tool_environment(self.cache), source.parent, BUILD_SECONDS)
        return program


@pytest.fixture(scope="module")
def planning(workshop: Workshop) -> PlanningWorkshop:
    folder = workshop.folder / "random_nests"
    return PlanningWorkshop(folder, workshop.cache, disorderly_runtime(folder / "runtime"))


@dataclass(frozen=True)
class Setting:
    """A target and more variables under which nests run."""

    target: TargetEnvironment
    label: str


def settings(scratch: Path, batch: int, plans: list[KernelPlan]) -> list[Setting]:
    """serial first; threads, once in order and once last instance first; CUDA likewise, and OpenCL for a sample, with one program for all
    sizes. Odd tile sizes too where plans have any.
    """
    names = sorted({size.object.host for plan in plans for size in plan.sizes})
    odd = ",".join(f"{name}={3 + 2 * (place % 3)}" for place, name in enumerate(names))
    sample = ("opencl", "cuda") if batch % SAMPLE_EVERY == 0 else ("cuda",)
    variants: list[tuple[str, str, Variables]] = [("serial", "", ()), ("threads", "", ())]
    variants += [("threads", "last first", LAST_FIRST)]
    variants += [(name, "", (("TILEK_SPECIALIZE", "0"), *LAST_FIRST)) for name in sample]
    if odd:
        variants += [(name, f"{label} {odd}", (*more, ("TILEK_SIZES", odd))) for name, label, more in variants]
    targets = {name: target_environment(name, scratch) for name in ("serial", "threads", *sample)}
    return [
        Setting(varied(targets[name], label, more), f"{name} {label}".strip())
        for name, label, more in variants
        if targets[name].absent is None
    ]


def varied(target: TargetEnvironment, label: str, more: Variables) -> TargetEnvironment:
    """A target with more variables, under a name that a file may have."""
    name = re.sub(r"\W+", "-", f"{target.name} {label}".strip())
    return TargetEnvironment(name, (*target.variables, *more))


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
    for setting in settings(shared_scratch, batch, plans)[1:]:
        for nest in nests:
            if not any(nest is seen for seen, _ in wrong) and difference(suite, nest, setting.target) is not None:
                wrong.append((nest, setting))
    kinds = Counter(plan_kind(plan).value for plan in plans)
    print(f"batch {batch}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    reports = [as_small_as_it_fails(here, nest, setting) for nest, setting in wrong[:3]]
    assert not wrong, f"{len(wrong)} of {len(nests)} nests: {[nest.seed for nest, _ in wrong]}\n" + "\n".join(reports)


def test_nests_are_made_as_small_as_they_fail() -> None:
    nest = random_nest(3)
    assert nest == random_nest(3)
    least = minimal(nest, lambda candidate: "T[j]" in candidate.text)
    assert "T[j]" in least.text
    assert least.text.count("for (") == 3
    assert "Y[" not in least.text
