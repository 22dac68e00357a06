"""Tuning the tile sizes of one kernel in a program that launches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import ALL_TARGETS
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.device import Processor
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.sizes.records import DEVICE, HOST, SizeClass
from tilepragma.sizes.search import Layout, Sizes, rank_layouts
from tilepragma.tuning.layout_search import LayoutSearch, Trial, layout_search, search
from tilepragma.tuning.programs import KernelTimes, Run, run

if TYPE_CHECKING:
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan

#: A version may take so many times as long as the default, and always the second number of seconds.
PATIENCE, LEAST_SECONDS = 5.0, 5.0


class TuningError(Exception):
    """A kernel that cannot be tuned; the message is a clause on the kernel that says why, and `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True)
class KernelTuning:
    """A kernel with the layouts to measure on a target, and whose sizes these are.

    `taken` are the layouts that launches of the program take by themselves, those first that most
    of the time goes to; none where its profile does not say them. `built` is the one that launches
    of the numbers that the user gave take in a build with nothing kept beside the source, None
    where they do not say it, and `kept` the one that is kept there.
    """

    plan: KernelPlan
    target: str
    size_class: SizeClass
    layouts: LayoutSearch
    taken: tuple[Sizes, ...] = ()
    built: Sizes | None = None
    kept: Sizes | None = None

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.plan.kernel.name

    def variable(self, layout: Layout) -> str:
        """What TILEK_SIZES must say for the layout."""
        pairs = zip(self.layouts.ranking.names, layout.sizes, strict=True)
        return ",".join(f"{self.name}.{name}={size}" for name, size in pairs)

    def run(self, command: Sequence[str], random: Random, heard: Callable[[Trial], None]) -> None:
        """Measure the layouts by runs of the program. Raises ProgramError where that fails with the default."""
        limit: float | None = None

        def measure(trial: Trial) -> float:
            nonlocal limit
            variables = {"TILEK_TARGET": self.target}
            if trial is not self.layouts.default or not self.taken:
                variables |= {"TILEK_SIZES": self.variable(trial.layout), "TILEK_VERSION": "0"}
            done = run(command, variables, limit)
            if limit is None:
                limit = max(LEAST_SECONDS, PATIENCE * done.seconds)
            return done.times_on(profile_key(self.plan), self.target).seconds

        search(self.layouts, measure, random, heard)


def has_sizes(plan: KernelPlan) -> None:
    """Raises TuningError for a plan that has no tile sizes."""
    if plan.as_written is not None:
        raise TuningError(
            f"runs the original loops, without tiles: {plan.as_written}", "'tilepragma explain' says more"
        )
    if not plan.sizes:
        raise TuningError(
            "has no tile sizes that could be tuned",
            "sizes that are the user's stay as they are; 'tilepragma explain' shows them",
        )


def tuning_of(
    plan: KernelPlan,
    first: Run,
    wanted: str,
    numbers: Mapping[str, int],
    device: Callable[[str], Device | None],
    kept: Mapping[SizeClass, Sizes],
    most: int,
) -> KernelTuning:
    """What to measure of a kernel, after a `first` run of the program, built from a source beside
    which `kept` layouts stand.

    `wanted` is the target that the user names (empty: the one that the program takes by itself),
    `numbers` are values of the kernel's scalars by name, `device` gives the one that a target runs
    on, and `most` is the number of layouts besides those that somebody has chosen: the program, the
    tuning before, the plan. Raises TuningError.
    """
    times = first.kernels.get(profile_key(plan))
    if times is None:
        raise TuningError(
            "was never launched in this run",
            "give the program arguments with which it gets there; or it was built from another source, or TILEK_PROFILE=1 shows that "
            "the loop ran as written",
        )
    if wanted and times.targets != (wanted,):
        raise TuningError(
            f"ran on {' and '.join(times.targets)}, not on {wanted}",
            "a target clause in the source comes first; a device that is absent or fails is named in a warning of the program",
        )
    if len(times.targets) > 1:
        raise TuningError(f"ran on {' and '.join(times.targets)}", "say with --target which one to tune for")
    [target] = times.targets
    known = {one.value: one for one in ALL_TARGETS}
    if target not in known:
        raise TuningError(f"ran on {target}, where sizes are of no use", "name another target with --target")
    # Processors under OpenCL run the launches of hosts; what is measured of them is kept for hosts.
    serves = known["threads" if times.on_host and target == "opencl" else target]
    size_class = HOST if times.on_host else DEVICE
    taken = taken_sizes(plan, times)
    runs_on = device(target)
    threads = runs_on.cores if isinstance(runs_on, Processor) else None
    built = _built(plan, times.on_host, numbers, threads, target == "opencl")
    plain = tuple(size.host if times.on_host else size.device for size in plan.sizes)
    mine = kept.get(size_class)
    chosen = [*taken, *(one for one in (mine, built, plain) if one is not None)]
    ranking = rank_layouts(plan, numbers, serves, runs_on, chosen)
    layouts = layout_search(ranking, most, taken[0] if taken else plain, chosen, is_mixed=len(taken) > 1)
    if not layouts.others:
        raise TuningError(
            f"has no tile sizes that could be tuned on {target}", "'tilepragma explain' shows those it has"
        )
    return KernelTuning(plan, target, size_class, layouts, taken, built, mine)


def taken_sizes(plan: KernelPlan, times: KernelTimes) -> tuple[Sizes, ...]:
    """What launches take by themselves. Raises TuningError where these are not the plan's tile sizes."""
    names = [size.object.name for size in plan.sizes]
    for sizes in times.sizes:
        if set(sizes) != set(names):
            raise TuningError(
                f"has the tile sizes {', '.join(names)} here, but {', '.join(sizes)} in the program: it was built from another source, or "
                "with other options",
                "build it again",
            )
    return tuple(tuple(sizes[name] for name in names) for sizes in times.sizes)


def _built(
    plan: KernelPlan, on_host: bool, numbers: Mapping[str, int], threads: int | None, by_opencl: bool
) -> Sizes | None:
    """What a build takes by itself, with nothing kept, for launches of these numbers; None where they do not say it."""
    if not on_host:
        return tuple(size.device for size in plan.sizes)
    try:
        return sizes_on_hosts(plan, numbers, threads, by_opencl)
    except UncountableError:
        return None


def profile_key(plan: KernelPlan) -> tuple[str, str]:
    """How profiles name the kernel: by its file's name and its own."""
    return Path(plan.kernel.range.start.file).name, plan.kernel.name
