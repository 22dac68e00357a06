"""What `explain` says of launches is what they do: its words against the instance maps read from the plans' loops."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.support.cases import CaseFile, read_cases
from tests.support.explained_plans import disagreements, overlapping
from tests.support.paper_kernels import PAPER_KERNELS, PaperKernel, all_tilings
from tests.support.plan_text import plan_of
from tests.support.random_nests import case_file, random_nest
from tests.support.random_reductions import case_file as reduction_file
from tests.support.random_reductions import random_reduction
from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.plan.kernel_plan import KernelPlan, with_launches
from tilepragma.plan.space_time import SpaceTimeMap
from tilepragma.report.facts import kernel_facts
from tilepragma.report.launch_facts import LaunchGroup, LaunchLine, launch_groups
from tilepragma.report.nest_analysis import LoopKind, loop_facts
from tilepragma.report.size_values import Sizes
from tilepragma.report.source_text import SourceText

ROOT = Path(__file__).resolve().parents[3]
SUPPORT = ROOT / "tests" / "support"
SAMPLES = sorted(path for path in (ROOT / "samples").glob("*/*.c") if "#pragma tilek kernel" in path.read_text())
CASES = sorted((ROOT / "tests" / "run" / "cases").glob("*.c"))
#: All cases rather than some of the files that take long, which is a minute more.
EVERY_CASE = os.environ.get("TILEPRAGMA_EVERY_CASE") == "1"
#: Of files that take long to translate, one case in so many.
ONE_IN = {
    "algebra": 3, "corners": 4, "flattened": 6, "hostile": 4, "idioms": 3, "products": 4,
    "relaxations": 4, "staging": 3, "stencils": 4, "steps": 2, "storage": 3, "strategies": 2, "structure": 3,
    "traps": 3,
}  # fmt: skip
NESTS, REDUCTIONS = range(12), range(12)


@cache
def plans(text: str, path: Path) -> tuple[KernelPlan, ...]:
    """The plans of a program with their sizes."""
    options = ("-std=gnu99", "-w", f"-I{path.parent}", f"-I{SUPPORT}")
    result = translate(TranslateRequest(str(path), text=text.encode(), options=options, last="choose_sizes"))
    assert result.plans, [item.message for item in result.diagnostics]
    return result.plans


def groups(plan: KernelPlan) -> tuple[LaunchGroup, ...]:
    """What `explain` says of the plan's launches."""
    return launch_groups(plan, Sizes())


def misnamed_loops(plan: KernelPlan) -> list[str]:
    """The loops with dependences that are called DOACROSS but run in order, or sequential but overlap."""
    nests = kernel_facts(plan, SourceText(), Sizes()).nests
    loops = [facts for nest in nests if nest.analysis is not None for facts in loop_facts(nest.analysis)]
    overlapped = overlapping(plan)
    results = []
    for facts in loops:
        true = LoopKind.DOACROSS if facts.loop.header in overlapped else LoopKind.SEQUENTIAL
        if facts.carried and facts.kind is not true:
            place = f"{facts.loop.iterator.host}, line {facts.loop.header.start.line}"
            results.append(f"the loop over {place}, is {true.value}, not {facts.kind.value}")
    return results


def check(text: str, path: Path) -> None:
    for plan in plans(text, path):
        assert all(launch.schedule for launch in (*plan.host, *plan.device))
    result = {
        plan.kernel.name: [*disagreements(plan, groups(plan)), *misnamed_loops(plan)] for plan in plans(text, path)
    }
    assert not any(result.values()), {name: said for name, said in result.items() if said}


def program(file: CaseFile) -> str:
    return file.program(file.cases[:: 1 if EVERY_CASE else ONE_IN.get(Path(file.path).stem, 1)])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    check(path.read_text(), path)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_run_cases(path: Path) -> None:
    check(program(read_cases(path)), path)


@pytest.mark.parametrize(
    "file",
    [case_file(tuple(map(random_nest, NESTS))), reduction_file(tuple(map(random_reduction, REDUCTIONS)))],
    ids=["nests", "reductions"],
)
def test_random_nests(file: CaseFile) -> None:
    check(program(file), SUPPORT / "t.c")


@pytest.mark.parametrize("kernel", PAPER_KERNELS, ids=lambda kernel: kernel.name)
def test_kernels_of_the_paper(kernel: PaperKernel) -> None:
    """With some of the paper's tilings."""
    check(program(kernel.case_file(all_tilings()[::9])), SUPPORT / "t.c")


# -- the check itself: each of these is untrue

Change = Callable[[LaunchLine], LaunchLine | None]


def sample(name: str) -> KernelPlan:
    path = ROOT / "samples" / name / f"{name}.c"
    return plans(path.read_text(), path)[0]


def changed(told: tuple[LaunchGroup, ...], change: Change) -> tuple[LaunchGroup, ...]:
    """The groups with other lines; None leaves a line out."""
    made = tuple(replace(each, lines=tuple(filter(None, map(change, each.lines)))) for each in told)
    assert made != told, "nothing to change"
    return made


def words(pattern: str, other: str) -> Change:
    """Other words in the lines below a line."""
    return lambda line: replace(line, below=tuple(re.sub(pattern, other, text) for text in line.below))


def remarks(pattern: str, other: str) -> Change:
    return lambda line: replace(line, remarks=tuple(re.sub(pattern, other, text) for text in line.remarks))


def what(pattern: str, other: str) -> Change:
    return lambda line: replace(line, what=re.sub(pattern, other, line.what))


def loops(pattern: str, other: str) -> Change:
    return lambda line: replace(line, loops=tuple((name, re.sub(pattern, other, how)) for name, how in line.loops))


UNTRUE = [
    pytest.param("heat3d", words(r"\((t), (2\*t \+ i)", r"(\2, \1"), "is not in the tiles said", id="rows-swapped"),
    pytest.param("heat3d", words(r"2\*t \+ k\b", "2*t + k + 1"), "is not in the tiles said", id="offset"),
    pytest.param("heat3d", words(r"t1 \+ t2 in parallel, t3, t4", "t1 + t2 + t3 in parallel, t4"), "is not in the tiles said", id="summed"),
    pytest.param("heat3d", words(r"line 13", "line 14"), "is not in the tiles said", id="line"),
    pytest.param("heat3d", lambda line: None if "nest2" in line.what else line, "is not told", id="launch-dropped"),
    pytest.param("heat3d", what(r"launch diffuse_nest1", "launch diffuse_nest2"), "is launch diffuse_nest1", id="launch-renamed"),
    pytest.param("heat3d", what(r"t < steps", "t < steps - 1"), "runs outside of", id="bound"),
    pytest.param("heat3d", what(r"t < steps\)", "t < steps) twice"), "is no loop of the host", id="loop"),
    pytest.param("heat3d", loops("threads", "in order"), "has other loops", id="mapping"),
    pytest.param("heat3d", loops("gangs 2", "gangs 1"), "has other loops", id="dimension"),
    pytest.param("heat3d", lambda line: replace(line, loops=line.loops[::-1]), "has other loops", id="loops-swapped"),
    pytest.param("heat3d", lambda line: replace(line, below=()), "lines of hyperplanes", id="no-hyperplanes"),
    pytest.param("doitgen", remarks(r"stages (\w+)\[", r"stages other["), "stages", id="staged-array"),
    pytest.param("doitgen", remarks(r" : (\d+)\]", r" : 1\1]"), "stages", id="staged-box"),
    pytest.param("doitgen", remarks(r"stages .*", ""), "stages", id="staging-dropped"),
    pytest.param("gauss_seidel", words(r"part of A ", "part of B "), "keeps other arrays", id="scratchpad"),
    pytest.param("gauss_seidel", words(r"memory, \d+ of", "memory, 8 of"), "bytes", id="scratchpad-bytes"),
    pytest.param("lu", remarks(r".* in registers", ""), "panels", id="registers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "complaint"), UNTRUE)
def test_untrue_words_are_found(name: str, change: Change, complaint: str) -> None:
    plan = sample(name)
    result = disagreements(plan, changed(groups(plan), change))
    assert any(complaint in text for text in result), result


def with_schedules(plan: KernelPlan, change: Callable[[SpaceTimeMap], SpaceTimeMap]) -> KernelPlan:
    """The plan with other words on when and where its launches on cores run what."""
    steps = with_launches(plan.host_steps, lambda launch: replace(launch, schedule=tuple(map(change, launch.schedule))))
    assert steps != plan.host_steps, "nothing to change"
    return replace(plan, host_steps=steps)


def test_schedules_that_the_loops_do_not_follow_are_found() -> None:
    """The report reads the schedule: with two hyperplanes swapped there it says what no loop does."""

    def swapped(schedule: SpaceTimeMap) -> SpaceTimeMap:
        sums = [replace(each, hyperplanes=each.hyperplanes[::-1]) for each in schedule.time]
        return replace(schedule, time=tuple(sums))

    wrong = with_schedules(sample("lu"), swapped)
    assert any("is not in the tiles said" in text for text in disagreements(wrong, groups(wrong)))


def test_loops_that_do_not_overlap_as_said_are_found() -> None:
    """The report reads what the launches overlap: without that it calls a loop sequential that is not."""
    wrong = with_schedules(sample("heat3d"), lambda schedule: replace(schedule, time=(), place=()))
    assert "the loop over t, line 9, is DOACROSS, not sequential" in misnamed_loops(wrong)


def test_iterations_that_wait_are_found_where_they_are_said_to_run_at_once() -> None:
    plan = plan_of(
        """
        void seidel(int n, double a[n])
        {
        #pragma tilek kernel
            for (int i = 1; i < n; i++)
                a[i] = a[i - 1] + 1;
        }
        void plan(int n, double a[n])
        {
        #pragma tilek kernel
            for (int x = 1; x < n; x++) {
                const int i = x;
                a[i] = a[i - 1] + 1;
            }
        }
        """
    )
    assert disagreements(plan, groups(plan)) == ["launch launch1 has threads that wait for each other: lines 6 and 6"]


@pytest.mark.parametrize("name", ["doitgen", "gauss_seidel", "heat3d"])
def test_the_text_has_these_words(name: str) -> None:
    path = ROOT / "samples" / name / f"{name}.c"
    reports = kernel_reports(translate(TranslateRequest(str(path), last="choose_sizes")))
    text = " ".join(explain(reports).split())
    for line in (line for facts in reports for group in facts.launches for line in group.lines):
        parts = [line.what, *(f"{name}: {how}" for name, how in line.loops), *line.remarks, *line.below]
        assert all(part in text for part in parts), line
    assert [facts.launches for facts in reports] == [groups(plan) for plan in plans(path.read_text(), path)]


def test_there_are_enough_kernels() -> None:
    texts = [program(read_cases(path)) for path in CASES]
    assert sum(text.count("#pragma tilek kernel") for text in texts) >= 60
