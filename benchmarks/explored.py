"""A kernel as `tilepragma tune` explores it, for benchmarks that measure certain versions at certain sizes: its programs, its runs, its database."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.cli.devices import environment_of, host_devices, ordering
from tilepragma.cli.exploration_programs import MadePrograms
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.driver.texts import calling_program, kernel_digest
from tilepragma.tuning.database import Database, KernelKey, Study, Trial
from tilepragma.tuning.exploration import Results, Take
from tilepragma.tuning.kernel_tuning import profile_key
from tilepragma.tuning.measuring import FIRST_SECONDS, Bench, Version, recorded
from tilepragma.tuning.programs import NotBuiltError, ProgramError, run
from tilepragma.tuning.trial_versions import Build, builds_of, space_of

if TYPE_CHECKING:
    from tilepragma.codegen.calling_program import CallingProgram
    from tilepragma.plan.kernel_plan import KernelPlan

#: The options of the C compiler for all programs.
OPTIONS = ("-O3", "-march=native")
Points = Mapping[str, Mapping[str, int]]


class NotExploredError(Exception):
    """A kernel that cannot be measured on a target; the message says why."""


@dataclass(frozen=True)
class Explored:
    """A kernel on a target. `builds` are its programs by name; `on_host`: it
    runs the launches of hosts; `keeps_arrays`: most calls of short kernels have what the one before
    left.
    """

    plan: KernelPlan
    target: str
    builds: Mapping[str, Build]
    calling: CallingProgram
    programs: MadePrograms
    study: Study
    on_host: bool
    keeps_arrays: bool

    def space(self, points: Points, with_sizes: bool) -> tuple[dict[str, Version], dict[str, list[str]]]:
        """The versions by their texts, and the order in which the tuner tries them at each point; without other tile sizes unless asked for."""
        serves = "threads" if self.on_host and self.target == "opencl" else self.target
        return space_of(self.builds, points, serves, ordering(self.target, serves), with_sizes)

    def take(self, versions: Mapping[str, Version], points: Points) -> Take:
        """What makes trials, or says what came of them before."""
        bench = Bench(
            self.plan.kernel.name,
            profile_key(self.plan),
            self.target,
            versions,
            points,
            self.programs.command,
            has_calls=True,
            keeps_arrays=self.keeps_arrays,
        )
        return recorded(
            self.study,
            lambda trial: bench.measure(trial, self.study),
            bench.check,
            time.monotonic,
            lambda: datetime.now().astimezone().isoformat(timespec="seconds"),
        )


def translated(source: Path) -> tuple[TranslateRequest, TranslateResult]:
    """A source and its translation, planned as it stands, without tuned sizes. Raises NotExploredError."""
    request = TranslateRequest(str(source), options=OPTIONS, last="verify", use_records=False)
    result = translate(request)
    if not result.succeeded or not result.plans:
        raise NotExploredError(
            "; ".join(diagnostic.message for diagnostic in result.diagnostics) or "there is no kernel"
        )
    return request, result


def explored(
    source: Path, target: str, families: tuple[str, ...], first: Mapping[str, int], folder: Path, database: Database
) -> Explored:
    """The first kernel of a source, after a run of it at the sizes `first`. Programs are built in
    `folder`. Raises NotExploredError.
    """
    request, result = translated(source)
    plan = result.plans[0]
    calling = calling_program(result, plan)
    builds = builds_of(request, result, plan, target, families, host_devices()[-1].compute_units)
    programs = MadePrograms(folder, source, OPTIONS, builds, calling)
    try:
        done = run(programs.command("", first, 1), {"TILEK_TARGET": target}, FIRST_SECONDS)
        times = done.times_on(profile_key(plan), target)
    except ProgramError as error:
        raise NotExploredError(f"its program {error}") from None
    keeps_arrays = programs.may_keep_arrays(plan, target, first, times)
    key = KernelKey(source.name, plan.kernel.name, kernel_digest(result, plan))
    study = database.study(key, environment_of(target, OPTIONS, ""))
    return Explored(plan, target, builds, calling, programs, study, times.on_host, keeps_arrays)


def build_all(kernel: Explored, names: Iterable[str], first: Mapping[str, int]) -> None:
    """Build programs on all cores, before anything is timed. A build that fails here fails again
    when its program is asked for.
    """

    def make(name: str) -> None:
        try:
            kernel.programs.command(name, first, 1)
        except NotBuiltError:
            return

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(make, names))


def measure(
    take: Take, versions: Sequence[str], points: Sequence[str], attempts: int, heard: Callable[[], None]
) -> Results:
    """Every version at every point, `attempts` times, all in turn, so that what disturbs the machine
    for a while disturbs all.

    The first version runs once more, before all others: its time sets the limit of the others, and
    how often they are called.
    """
    results = Results()

    def attempt(version: str, point: str, number: int) -> None:
        if version not in results.failures.get(point, {}):
            trial = Trial(version, point, number)
            results.note(trial, take(trial))

    for number in range(attempts):
        for point in points:
            if number == 0:
                attempt(versions[0], point, 0)
            for version in versions:
                attempt(version, point, number + (version == versions[0]))
                heard()
    return results
