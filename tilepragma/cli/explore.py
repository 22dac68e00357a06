"""`tilepragma tune`: measures versions of kernels within a budget, and records measurements."""

from __future__ import annotations

import argparse
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.base.refusals import RefusalError
from tilepragma.cli.devices import host_devices
from tilepragma.cli.exploration_programs import MadePrograms, fitting, that_matter, unused_sizes, with_numbers
from tilepragma.cli.exploration_results import show, show_lesson
from tilepragma.cli.machines import environment_of, ordering
from tilepragma.cli.progress import measuring_progress
from tilepragma.cli.rebuilt_programs import UserBuild
from tilepragma.cli.report import print_error
from tilepragma.cli.rule_printing import RuleFitter
from tilepragma.cli.tune import TerminatedError, can_keep, ended_by_sigterm, refuse
from tilepragma.cli.tune_options import Points, asked_kernels, listed, target_problem
from tilepragma.driver.texts import calling_program, kernel_digest
from tilepragma.tuning.database import (
    Database,
    KernelKey,
    MeasurementsError,
    Outcome,
    Trial,
    database_path,
    opened,
)
from tilepragma.tuning.exploration import Search, Take
from tilepragma.tuning.fitted_rules import NoRulesError, embedding
from tilepragma.tuning.kernel_tuning import TuningError, profile_key, taken_sizes
from tilepragma.tuning.measuring import FIRST_SECONDS, Bench, LostError, alone, recorded
from tilepragma.tuning.programs import (
    ElsewhereError,
    KernelTimes,
    ProgramError,
    ProgramMissingError,
    has_no_input,
    run,
)
from tilepragma.tuning.size_ranges import sizes_text
from tilepragma.tuning.trial_versions import FAMILIES, Build, builds_of, space_of

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan

_DONE, _NOTHING_TUNED, _WRONG_USAGE, _INTERRUPTED, _TERMINATED = 0, 1, 2, 130, 143
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
#: The command of a build at some sizes, for so many calls, and so many after each fill of the
#: arrays.
Command = Callable[[str, Mapping[str, int], int, int], list[str]]
#: Defaults of the options; the last for kernels without the default versions.
BUDGET, VERSIONS, OTHER_VERSIONS = "60s", "sizes,steps", "counts,unroll"


def usage_problem(options: argparse.Namespace) -> str:
    """What is wrong with the options, in a sentence; empty if nothing is."""
    if options.input == "-":
        return "standard input cannot be tuned: measurements are kept by the source's name, so name a file"
    if options.best is not None:
        return "--best goes with --quick"
    if not _seconds(options.budget or BUDGET):
        return f"--budget {options.budget}: write a time, as in 90s, 10m or 2h"
    for name in listed(options.versions):
        if name not in FAMILIES:
            return f"--versions: there is no family '{name}'; families are {', '.join(FAMILIES)}"
    if wrong := target_problem(options.target):
        return f"--target: {wrong}"
    if options.program and len(listed(options.target)) > 1:
        return "--target: name one target for a program of yours"
    if options.build and not options.program:
        return "--build goes with a program of yours: name that last, as in  -- ./program arguments"
    others = [name for name in listed(options.versions) if name != "sizes"]
    if options.program and others and not options.build:
        return f"--versions: {others[0]} needs the program to be built again: say how, as in  --build 'make CC=tilecc'"
    return ""


def _seconds(budget: str) -> float:
    """The seconds of a time as the user writes it; 0 for other words."""
    match = _BUDGET.fullmatch(budget)
    return float(match[1]) * _UNITS[match[2]] if match else 0.0


@dataclass(frozen=True)
class _Job:
    """The request. `program` is the user's command, empty for made programs, `build` builds it."""

    request: TranslateRequest
    result: TranslateResult
    points: Points
    program: tuple[str, ...]
    build: UserBuild | None
    families: tuple[str, ...]
    others: tuple[str, ...]
    """the families for kernels without versions of `families`; none if the user named families"""
    options: tuple[str, ...]
    folder: Path
    again: bool
    keep: bool

    @property
    def command_line(self) -> str:
        """The user's command, after its build command."""
        words = shlex.join(self.program)
        return words if self.build is None else f"{self.build.command} && {words}"


@dataclass(frozen=True)
class _Subject:
    """What is measured of a kernel on a target: the command of a `build` at some sizes, the
    `points` that fit in memory, and the builds. `embedded` builds are versions in one program, by
    their texts. `first`: the times of a first run.
    """

    target: str
    first: KernelTimes
    command: Command
    points: Points
    builds: Mapping[str, Build]
    embedded: Mapping[str, str]
    keeps_arrays: bool = False
    """most calls of short kernels reuse the arrays of the call before"""


@dataclass(frozen=True)
class _Task:
    """One kernel on one target (empty: the program's default)."""

    plan: KernelPlan
    target: str


@dataclass
class _Budget:
    """Seconds to measure, shared among the remaining `tasks`; later tasks get unused seconds."""

    seconds: float
    tasks: int

    def share(self) -> float:
        """The seconds of the next task."""
        self.tasks -= 1
        return max(self.seconds, 0.0) / (self.tasks + 1)


def explore(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Measure versions of the kernels of a translated source and print the fastest; returns the
    exit status. Raises SizeError for sizes that no kernel has.
    """
    asked = asked_kernels(options.kernel, [*options.sizes, *options.size], request, result)
    if asked is None:
        return _WRONG_USAGE
    plans, points = asked
    if options.program and (wrong := unused_sizes(options.program, points)):
        print_error("tilepragma", wrong)
        return _WRONG_USAGE
    if options.keep and not can_keep(request.source):
        return _NOTHING_TUNED
    targets = listed(options.target) or ("" if options.program else "threads",)
    tasks = [_Task(plan, target) for plan in plans for target in targets]
    has_versions = not options.program or options.build
    families = listed(options.versions or VERSIONS) if has_versions else ("sizes",)
    others = listed(OTHER_VERSIONS) if has_versions and not options.versions else ()
    with tempfile.TemporaryDirectory(prefix="tilepragma-tune-") as folder:
        job = _Job(
            request,
            result,
            points,
            options.program,
            UserBuild(options.build, Path(request.source), Path(folder)) if options.build else None,
            families,
            others,
            request.options,
            Path(folder),
            options.again,
            options.keep,
        )
        return _explored(job, tasks, _Budget(_seconds(options.budget or BUDGET), len(tasks)))


def _explored(job: _Job, tasks: Sequence[_Task], budget: _Budget) -> int:
    """All tasks in turn; returns the exit status."""
    try:
        path = database_path()
        with ended_by_sigterm(), opened(path) as database, alone(path, _print_waiting), _built_again(job.build):
            tuned = [_explore(job, task, budget, database) for task in tasks]
    except MeasurementsError as error:
        print_error("tilepragma", str(error))
        return _NOTHING_TUNED
    except ProgramMissingError as error:
        print_error("tilepragma", f"{job.program[0]} {error}; build it first, with tilecc")
        return _WRONG_USAGE
    except KeyboardInterrupt as reason:
        is_terminated = isinstance(reason, TerminatedError)
        print(
            f"{'terminated' if is_terminated else 'interrupted'}: what was measured is kept; the same "
            f"command goes on from there"
        )
        return _TERMINATED if is_terminated else _INTERRUPTED
    return _DONE if any(tuned) else _NOTHING_TUNED


@contextmanager
def _built_again(build: UserBuild | None) -> Iterator[None]:
    """Afterwards the user's program is rebuilt without trial versions, however the search ended."""
    try:
        yield
    finally:
        if build is not None and build.is_tried:
            try:
                build.as_it_stands()
                print(f"the program is built again as it stands: {build.command}")
            except TuningError as error:
                print_error("tilepragma", f"the program still has versions to try: it {error}; {error.remedy}")


def _print_waiting() -> None:
    print("another tuner is measuring, and two at once would disturb each other: waiting for it to end", flush=True)


def _explore(job: _Job, task: _Task, budget: _Budget, database: Database) -> bool:
    """Explore one kernel on one target; returns whether it succeeded."""
    share = budget.share()
    try:
        succeeded, spent = _explored_kernel(job, task, share, database)
    except (RefusalError, TuningError) as error:
        remedy = (
            error.remedy if isinstance(error, TuningError) else "give a program that calls it: -- ./program arguments"
        )
        function = next(
            kernel.enclosing.function
            for kernel in (job.result.unit.kernels if job.result.unit is not None else ())
            if kernel.name == task.plan.kernel.name
        )
        reason = (
            str(error) if isinstance(error, TuningError) else f"cannot be called: its function '{function}' {error}"
        )
        refuse(task.plan, TuningError(reason, remedy), job.request)
        return False
    budget.seconds -= spent
    return succeeded


def _explored_kernel(job: _Job, task: _Task, budget: float, database: Database) -> tuple[bool, float]:
    """Whether it succeeded, and the spent seconds of the budget. Raises RefusalError and
    TuningError for kernels that cannot be explored.
    """
    plan = task.plan
    if plan.as_written is not None:
        raise TuningError(
            f"runs the original loops, without tiles: {plan.as_written}", "'tilepragma explain' says more"
        )
    subject = _user_subject(job, task) if job.program else _made_subject(job, task)
    first, target, points, builds = subject.first, subject.target, subject.points, subject.builds
    serves = "threads" if first.on_host and target == "opencl" else target
    device: Device | None = job.request.device or ordering(target, serves)
    versions, space = space_of(builds, points, serves, device, "sizes" in job.families)
    title = f"{plan.kernel.name} on {target}"
    if len(versions) < 2 and job.others:
        print(f"{title} has no versions of {', '.join(job.families)}: trying {', '.join(job.others)}")
        return _explored_kernel(replace(job, families=job.others, others=()), task, budget, database)
    if len(versions) < 2:
        raise TuningError(
            f"has nothing to try among the versions {', '.join(job.families)}",
            f"'tilepragma explain' shows its tile sizes; --versions names others"
            f"{', which need --build' if job.program and job.build is None else ''}: {', '.join(FAMILIES)}",
        )
    key = KernelKey(Path(job.request.source).name, plan.kernel.name, kernel_digest(job.result, plan))
    study = database.study(key, environment_of(target, job.options, job.command_line))
    if job.again:
        study.forget(points)
    identity = plan.kernel.name, profile_key(plan), target
    bench = Bench(*identity, versions, points, subject.command, not job.program, subject.keeps_arrays, subject.embedded)
    take = recorded(
        study,
        lambda trial: bench.measure(trial, study),
        bench.check,
        time.monotonic,
        lambda: datetime.now().astimezone().isoformat(timespec="seconds"),
    )
    search = Search(space, budget, take)
    try:
        with _shown_progress(search, title):
            search.run()
    except KeyboardInterrupt:
        show(search, title)
        raise
    except LostError as reason:
        show(search, title)
        print_error(
            "tilepragma", f"{title} cannot be measured any more: its program {reason}; what was measured is kept"
        )
        return False, search.spent
    show(search, title)
    try:
        learner = RuleFitter(job.request, job.result, plan, target, first.on_host, job.families, builds)
        lesson = learner.lesson(study.trials(), _print_refused)
        show_lesson(lesson, job.keep, job.request.source, job.build is not None)
    except NoRulesError as reason:
        print(f"  nothing is kept beside the source: {reason}")
    return bool(search.seconds), search.spent


def _print_refused(text: str, reason: str) -> None:
    print(f"  {text} cannot be a version of the kernel's own program: it {reason}")


def _user_subject(job: _Job, task: _Task) -> _Subject:
    """The user's program, with trial versions if it can be rebuilt. Raises TuningError."""

    def command(_: str, numbers: Mapping[str, int], *__: int) -> list[str]:
        return with_numbers(job.program, numbers)

    plan, numbers = task.plan, next(iter(job.points.values()))
    if job.build is not None:
        job.build.once()
    first = _first_run(command, task, numbers)
    target = task.target or _only_target(first)
    builds: Mapping[str, Build] = {"": Build(b"", {}, plan)}
    embedded: dict[str, str] = {}
    if job.build is not None and job.families != ("sizes",):
        candidates = _builds(job, plan, target)
        embed = embedding(job.request, job.result, plan, _print_refused)
        embeddings = {name: embed(build.version) for name, build in candidates.items() if build.version}
        embedded = {name: embedding_.text for name, embedding_ in embeddings.items() if embedding_ is not None}
        builds = {name: build for name, build in candidates.items() if not name or name in embedded}
    if job.build is not None and embedded:
        job.build.with_versions(plan.kernel.name, list(embedded.values()), not first.on_host)
        first = _first_run(command, task, numbers)
        if _first_run(command, task, numbers, {"TILEK_VERSION": "1"}).versions != (next(iter(embedded.values())),):
            raise TuningError(
                f"has none of the versions to try in its program after '{job.build.command}'",
                "the command must build the program of this source with tilecc, whenever the source has changed",
            )
    taken_sizes(plan, first)
    return _Subject(target, first, command, job.points, builds, embedded)


def _made_subject(job: _Job, task: _Task) -> _Subject:
    """Programs made of the source. Raises RefusalError, TuningError."""
    calling = calling_program(job.result, task.plan)
    points = fitting(task.plan.kernel.name, calling, that_matter(task.plan, calling, job.points))
    if not points:
        raise TuningError("has no sizes that fit in memory", "name smaller ones with --sizes")
    builds = _builds(job, task.plan, task.target)
    folder = Path(tempfile.mkdtemp(prefix=f"{task.plan.kernel.name}-{task.target}-", dir=job.folder))
    programs = MadePrograms(folder, Path(job.request.source), job.options, builds, calling)
    numbers = next(iter(points.values()))
    first = _first_run(programs.command, task, numbers, is_made=True)
    keeps_arrays = programs.may_keep_arrays(task.plan, task.target, numbers, first)
    return _Subject(task.target, first, programs.command, points, builds, {}, keeps_arrays)


def _builds(job: _Job, plan: KernelPlan, target: str) -> dict[str, Build]:
    """The builds to try. Raises TuningError if no family of versions fits the kernel."""
    builds: dict[str, Build] = {}
    refused: dict[str, RefusalError] = {}
    for family in job.families:
        try:
            builds |= builds_of(job.request, job.result, plan, target, (family,), host_devices()[-1].compute_units)
        except RefusalError as error:
            refused[family] = error
    if not builds:
        reason = next(iter(refused.values()))
        raise TuningError(f"has none of these versions: it {reason}", "name other ones with --versions")
    for family, why in refused.items():
        print(f"{plan.kernel.name} on {target} has no versions of {family}: it {why}")
    return builds


def _first_run(
    command: Command,
    task: _Task,
    numbers: Mapping[str, int],
    variables: Mapping[str, str] | None = None,
    is_made: bool = False,
) -> KernelTimes:
    """One run of the unchanged source: whether it runs, and where. Raises TuningError."""
    with measuring_progress() as progress:
        progress.add_task(f"running {task.plan.kernel.name} once as it is", total=None)
        try:
            environment = {**(variables or {}), **({"TILEK_TARGET": task.target} if task.target else {})}
            done = run(command("", numbers, 1, 1), environment, FIRST_SECONDS)
            key = profile_key(task.plan)
            return done.times_on(key, task.target) if task.target else done.kernels[key]
        except ProgramMissingError:
            raise
        except KeyError:
            raise TuningError(
                "was never launched in this run", "give the program arguments with which it gets there"
            ) from None
        except ProgramError as error:
            place = f" at {sizes_text(numbers)}" if numbers else ""
            raise TuningError(f"cannot be measured{place}: its program {error}", _remedy(error, is_made)) from None


def _remedy(error: ProgramError, is_made: bool) -> str:
    if isinstance(error, ElsewhereError):
        return "'tilepragma devices' says what can run here"
    if is_made:
        return "name other --sizes, or give a program that calls it: -- ./program arguments"
    if has_no_input():
        return "see what it says when it is run by itself; standard input must be a file, which each run reads again"
    return "see what it says when it is run by itself"


def _only_target(first: KernelTimes) -> str:
    if len(first.targets) > 1:
        raise TuningError(f"ran on {' and '.join(first.targets)}", "say with --target which one to tune for")
    return first.targets[0]


@contextmanager
def _shown_progress(search: Search, title: str) -> Iterator[None]:
    """A bar of the spent seconds with the current trial; the search runs behind it."""
    with measuring_progress("s") as progress:
        task = progress.add_task(title, total=int(search.budget))
        make: Take = search.take

        def take(trial: Trial) -> Outcome:
            best = search.ordered(trial.sizes)[:1]
            so_far = "".join(
                f"; fastest so far {seconds(search.typical(version, trial.sizes) or 0.0)}" for version in best
            )
            text = f"{title}: {trial.version} at {trial.sizes or 'its sizes'}{so_far}"
            progress.update(task, completed=int(search.spent), description=text)
            return make(trial)

        search.take = take
        try:
            yield
        finally:
            search.take = make
