"""`tilepragma tune`: measures versions of kernels within a budget, and records measurements."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.files import write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.base.refusals import CommandError, RefusalError
from tilepragma.cli.command_options import Points, asked_kernels, listed, targets_of
from tilepragma.cli.devices import environment_of, host_devices, machine_of, ordering
from tilepragma.cli.exploration_programs import (
    MadePrograms,
    UserBuild,
    check_sizes_used,
    fitting,
    that_matter,
    with_numbers,
)
from tilepragma.cli.output import measuring_progress, new_table, print_error, print_table
from tilepragma.cli.tune import can_keep, ended_by_user, keep_beside, refuse
from tilepragma.driver.texts import as_written, calling_program, kernel_digest
from tilepragma.report.facts import size_rules
from tilepragma.tuning.database import (
    Database,
    KernelKey,
    Outcome,
    SharingError,
    Trial,
    database_path,
    lines_of,
    measurements_of,
    opened,
    opened_to_read,
)
from tilepragma.tuning.decisions import ENOUGH
from tilepragma.tuning.exploration import Search, Take
from tilepragma.tuning.fitted_rules import FittedRules, NoRulesError, embedding, fit_rules
from tilepragma.tuning.input_space import input_name
from tilepragma.tuning.kernel_tuning import TuningError, only_target, profile_key, taken_sizes
from tilepragma.tuning.measuring import DEFAULT, FIRST_SECONDS, Bench, LostError, alone, recorded
from tilepragma.tuning.programs import ElsewhereError, KernelTimes, ProgramError, ProgramMissingError, has_no_input, run
from tilepragma.tuning.size_ranges import sizes_text
from tilepragma.tuning.trial_versions import FAMILIES, Build, builds_of, families_of, space_of

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan


_DONE, _NOTHING_TUNED = 0, 1
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
#: The command of a build at some sizes, for so many calls, and so many after each fill of the
#: arrays.
Command = Callable[[str, Mapping[str, int], int, int], list[str]]
#: Defaults of the options; the last for kernels without the default versions.
BUDGET, VERSIONS, OTHER_VERSIONS = "60s", "sizes,steps", "counts,unroll"


def check_usage(options: argparse.Namespace) -> None:
    """Raises CommandError for wrong options."""
    if options.input == "-":
        raise CommandError("standard input cannot be tuned: measurements are kept by the source's name, so name a file")
    if options.best is not None:
        raise CommandError("--best goes with --quick")
    if not _seconds(options.budget or BUDGET):
        raise CommandError(f"--budget {options.budget}: write a time, as in 90s, 10m or 2h")
    for name in listed(options.versions):
        if name not in FAMILIES:
            raise CommandError(f"--versions: there is no family '{name}'; families are {', '.join(FAMILIES)}")
    if len(targets_of(options.target)) > 1 and options.program:
        raise CommandError("--target: name one target for a program of yours")
    if options.build and not options.program:
        raise CommandError("--build goes with a program of yours: name that last, as in  -- ./program arguments")
    others = [name for name in listed(options.versions) if name != "sizes"]
    if options.program and others and not options.build:
        remedy = "say how, as in  --build 'make CC=tilecc'"
        raise CommandError(f"--versions: {others[0]} needs the program to be built again: {remedy}")


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


def explore(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Measure versions of the kernels of a translated source and print the fastest; returns the
    exit status. Raises CommandError for sizes that no kernel has.
    """
    plans, points = asked_kernels(options.kernel, [*options.sizes, *options.size], request, result)
    if options.program:
        check_sizes_used(options.program, points)
    if options.keep and not can_keep(request.source):
        return _NOTHING_TUNED
    targets = listed(options.target) or ("" if options.program else "threads",)
    tasks = [_Task(plan, target) for plan in plans for target in targets]
    has_versions = not options.program or options.build
    families = listed(options.versions or VERSIONS) if has_versions else ("sizes",)
    others = listed(OTHER_VERSIONS) if has_versions and not options.versions else ()
    with tempfile.TemporaryDirectory(prefix="tilepragma-tune-") as folder:
        build = UserBuild(options.build, Path(request.source), Path(folder)) if options.build else None
        searched = request, result, points, options.program, build, families, others
        job = _Job(*searched, Path(folder), options.again, options.keep)
        return _explore_all(job, tasks, _seconds(options.budget or BUDGET))


def _explore_all(job: _Job, tasks: Sequence[_Task], budget: float) -> int:
    """All tasks in turn, with seconds to measure: later tasks get unused ones; returns the exit
    status.
    """
    succeeded = False
    words = "what was measured is kept; the same command goes on from there"
    try:
        path = database_path()
        with ended_by_user(words), opened(path) as database, alone(path, _print_waiting), _built_again(job.build):
            for place, task in enumerate(tasks):
                tuned, spent = _explore_or_refuse(job, task, max(budget, 0.0) / (len(tasks) - place), database)
                succeeded, budget = succeeded or tuned, budget - spent
    except ProgramMissingError as error:
        raise CommandError(f"{job.program[0]} {error}; build it first, with tilecc") from None
    return _DONE if succeeded else _NOTHING_TUNED


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
                print_error(f"the program still has versions to try: it {error}; {error.remedy}")


def _print_waiting() -> None:
    print("another tuner is measuring, and two at once would disturb each other: waiting for it to end", flush=True)


def _explore_or_refuse(job: _Job, task: _Task, budget: float, database: Database) -> tuple[bool, float]:
    """Explore one kernel on one target, or say why not; returns success and the spent seconds."""
    try:
        return _explore_kernel(job, task, budget, database)
    except TuningError as error:
        refused = error
    except RefusalError as error:
        function = as_written(job.result, task.plan).enclosing.function
        reason = f"cannot be called: its function '{function}' {error}"
        refused = TuningError(reason, "give a program that calls it: -- ./program arguments")
    refuse(task.plan, refused, job.request)
    return False, 0.0


def _explore_kernel(job: _Job, task: _Task, budget: float, database: Database) -> tuple[bool, float]:
    """Whether it succeeded, and the spent seconds of the budget. Raises RefusalError and
    TuningError for kernels that cannot be explored.
    """
    plan = task.plan
    if plan.untransformed is not None:
        reason = f"runs the original loops, without tiles: {plan.untransformed}"
        raise TuningError(reason, "'tilepragma explain' says more")
    subject = _user_subject(job, task) if job.program else _made_subject(job, task)
    first, target, points, builds = subject.first, subject.target, subject.points, subject.builds
    serves = "threads" if first.on_host and target == "opencl" else target
    device: Device | None = job.request.device or ordering(target, serves)
    versions, space = space_of(builds, points, serves, device, "sizes" in job.families)
    title = f"{plan.kernel.name} on {target}"
    if len(versions) < 2 and job.others:
        print(f"{title} has no versions of {', '.join(job.families)}: trying {', '.join(job.others)}")
        return _explore_kernel(replace(job, families=job.others, others=()), task, budget, database)
    if len(versions) < 2:
        needs = ", which need --build" if job.program and job.build is None else ""
        remedy = f"'tilepragma explain' shows its tile sizes; --versions names others{needs}: {', '.join(FAMILIES)}"
        raise TuningError(f"has nothing to try among the versions {', '.join(job.families)}", remedy)
    key = KernelKey(Path(job.request.source).name, plan.kernel.name, kernel_digest(job.result, plan))
    study = database.study(key, environment_of(target, job.request.options, job.command_line))
    if job.again:
        study.forget(points)
    identity = plan.kernel.name, profile_key(plan), target
    bench = Bench(*identity, versions, points, subject.command, not job.program, subject.keeps_arrays, subject.embedded)

    def now() -> str:
        return datetime.now().astimezone().isoformat(timespec="seconds")

    take = recorded(study, lambda trial: bench.measure(trial, study), bench.check, time.monotonic, now)
    search = Search(space, budget, take)
    try:
        with _shown_progress(search, title):
            search.run()
    except KeyboardInterrupt:
        show(search, title)
        raise
    except LostError as reason:
        show(search, title)
        print_error(f"{title} cannot be measured any more: its program {reason}; what was measured is kept")
        return False, search.spent
    show(search, title)
    try:
        measured = job.request, job.result, plan, target, first.on_host, study.trials()
        lesson = lesson_from(*measured, _print_refused, (job.families, builds))
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
    target = task.target or only_target(first)
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
            reason = f"has none of the versions to try in its program after '{job.build.command}'"
            remedy = "the command must build the program of this source with tilecc, whenever the source has changed"
            raise TuningError(reason, remedy)
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
    request = job.request
    programs = MadePrograms(folder, Path(request.source), request.options, request.openmp, builds, calling)
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
    command: Command, task: _Task, numbers: Mapping[str, int], variables: Mapping[str, str] = {}, is_made: bool = False
) -> KernelTimes:
    """One run of the unchanged source: whether it runs, and where. Raises TuningError."""
    with measuring_progress() as progress:
        progress.add_task(f"running {task.plan.kernel.name} once as it is", total=None)
        try:
            environment = {**variables, **({"TILEK_TARGET": task.target} if task.target else {})}
            done = run(command("", numbers, 1, 1), environment, FIRST_SECONDS)
            key = profile_key(task.plan)
            return done.times_on(key, task.target) if task.target else done.kernels[key]
        except ProgramMissingError:
            raise
        except KeyError:
            remedy = "give the program arguments with which it gets there"
            raise TuningError("was never launched in this run", remedy) from None
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


# -- rule printing


def lesson_from(
    request: TranslateRequest,
    result: TranslateResult,
    plan: KernelPlan,
    target: str,
    on_host: bool,
    trials: Sequence[tuple[Trial, Outcome]],
    refused: Callable[[str, str], None],
    known: tuple[Sequence[str], Mapping[str, Build]] = ((), {}),
) -> FittedRules:
    """Rules fitted to all trials of a kernel on a target, whatever families its versions are of;
    `on_host`: it runs host launches. `known` are families and their builds, `refused` gets
    impossible versions. Raises NoRulesError.
    """
    families, builds = families_of(trial.version for trial, _ in trials), known[1]
    missing = tuple(family for family in families if family not in known[0])
    if missing:
        builds = {**builds, **builds_of(request, result, plan, target, missing, host_devices()[-1].compute_units)}
    embed = embedding(request, result, plan, refused) if len(builds) > 1 else None
    return fit_rules(trials, builds, target, on_host, embed)


# -- exploration results


#: The most failures that are listed.
_MOST_FAILURES = 8


def show(search: Search, title: str) -> None:
    """The fastest version at each size, and the failures."""
    table = new_table(title, ("sizes", "fastest version"), ("measured", "of default", "its place", "tried"))
    for sizes, versions in search.versions.items():
        ordered = search.ordered(sizes)
        if not ordered:
            table.add_row(input_name(sizes), "", "", "", "", f"0 of {len(versions)}")
            continue
        best, default = search.typical(ordered[0], sizes), search.typical(DEFAULT, sizes)
        ratio = f"{best / default:.3f}" if best is not None and default else ""
        place = str(versions.index(ordered[0]) + 1) if ordered[0] in versions else ""
        # The fastest version at another size was tried at this one, too.
        row = (seconds(best or 0.0), ratio, place, f"{len(ordered)} of {len({*versions, *ordered})}")
        table.add_row(input_name(sizes), ordered[0], *row)
    print_table(table)
    failed = [(version, why) for failures in search.failures.values() for version, why in failures.items()]
    for version, why in list(dict.fromkeys(failed))[:_MOST_FAILURES]:
        print(f"  {version}: the program {why}")
    if search.is_spent:
        print(f"  the budget of {search.budget:.4g} s is spent; a larger --budget goes on from here")


def show_lesson(lesson: FittedRules, keep: bool, source: str, is_rebuilt: bool) -> None:
    """Print the fitted rules and their quality, and store them beside the source if asked to.
    `is_rebuilt`: the command rebuilds the program.
    """
    decision = lesson.decision
    count = len(decision.measured.choices)
    if lesson.is_worth_it:
        if lesson.build:
            print(f"  with {lesson.build}:")
        for number, version in enumerate(lesson.plan.versions, 1):
            print(f"  version {number}: {version.text}")
        for rule in size_rules(lesson.plan, decision.measured.choices, lesson.on_host):
            print(f"  {rule}")
        rules = "this rule reaches" if count == 1 else f"these {count} rules reach"
        single = (
            f"; the best layout for all sizes {_shares(lesson.single.shares)}" if lesson.single and count > 1 else ""
        )
        print(f"  {rules} {_shares(decision.shares)}{single}; the default {_shares(lesson.before)}")
        if decision.missed:
            print(f"  {ENOUGH:.0%} everywhere is not reached: {decision.missed}")
    else:
        print(f"  the default is kept: it reaches {_shares(lesson.before)}, and no rules much more")
    for name, sizes in lesson.others.items():
        what = name or "the source as it stands"
        print(f"  {what} is the fastest at {sizes} of {len(lesson.before)} sizes that were measured so far")
    if keep:
        keep_beside(source, lesson.winner(machine_of(lesson.target).name, datetime.now()), is_rebuilt)


def _shares(shares: tuple[float, ...]) -> str:
    """The share of each size's best that is reached."""
    return f"{min(shares):.1%} of the best at every size, {sum(shares) / len(shares):.1%} on average"


# -- record exchange


def export(file: str) -> int:
    """Write all measurements; returns the exit status. Raises CommandError, OSError."""
    path = database_path()
    if not path.is_file():
        raise CommandError(f"{path} is not there: nothing was measured yet", status=1)
    with opened_to_read(path) as database:
        if file == "-":
            sys.stdout.writelines(lines_of(database.measurements()))
        else:
            write_atomically(Path(file), "".join(lines_of(database.measurements())).encode())
    return _DONE


def merge(file: str) -> int:
    """Add the measurements of another database, all or none; returns the exit status. Raises
    CommandError, OSError.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8", errors="replace")
        with opened(database_path()) as database:
            new = database.merge(measurements_of(StringIO(text)))
    except SharingError as error:
        raise CommandError(f"{file}: {error}; nothing of it is taken", status=1) from None
    print(f"{new} measurement{'' if new == 1 else 's'} that {'was' if new == 1 else 'were'} not here before")
    return _DONE
