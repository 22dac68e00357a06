"""Tuning the tile sizes of one kernel in a program that launches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import ALL_TARGETS
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.device import Processor
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.sizes.ranked_layouts import Layout, Sizes, rank_layouts
from tilepragma.sizes.records import DEVICE, HOST, SizeClass, TuningRecord
from tilepragma.tuning.layout_search import LayoutSearch, Trial, layout_search, search
from tilepragma.tuning.programs import KernelTimes, Run, run

if TYPE_CHECKING:
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan

#: The longest run of a version, relative to the default's, and in any case so many seconds.
PATIENCE, LEAST_SECONDS = 5.0, 5.0


class TuningError(Exception):
    """A kernel that cannot be tuned; the message is a clause on the kernel, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True)
class KernelTuning:
    """A kernel with the layouts to measure on a target, and the class of its sizes.

    `taken`: the layouts that the program's launches take by themselves, those with most of the time
    first; none if the profile does not have them. `built`: the layout of launches with the user's
    numbers in a build without stored records, None if the numbers do not determine it. `kept`: the
    stored layout.
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
        """The value of TILEK_SIZES for the layout."""
        pairs = zip(self.layouts.ranking.names, layout.sizes, strict=True)
        return ",".join(f"{self.name}.{name}={size}" for name, size in pairs)

    def run(self, command: Sequence[str], random: Random, notify: Callable[[Trial], None]) -> None:
        """Measure the layouts by runs of the program. Raises ProgramError if the default fails."""
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

        search(self.layouts, measure, random, notify)

    def winner(self, machine: str, now: datetime) -> TuningRecord | None:
        """The record of the search, without facts if a build takes this anyway; None for no
        change.
        """
        best, default = self.layouts.winner, self.layouts.default
        sizes = best.layout.sizes
        is_default = best is default
        if is_default and not self.layouts.is_mixed and sizes == self.kept:
            return None
        if is_default:
            by_itself = self.layouts.is_mixed or self.built in (None, sizes)
        else:
            by_itself = sizes == self.built and not (self.size_class == HOST and self.plan.choices)
        facts: dict[str, str | float] | None = None
        if not by_itself and best.median is not None and default.median is not None:
            facts = {
                "machine": machine,
                "date": f"{now:%Y-%m-%d}",
                "seconds": float(f"{best.median:.4g}"),
                "default_seconds": float(f"{default.median:.4g}"),
            }
        named = dict(zip(self.layouts.ranking.names, sizes, strict=True))
        return TuningRecord(self.name, self.size_class, self.target, named, facts)


def require_sizes(plan: KernelPlan) -> None:
    """Raises TuningError for a plan without tile sizes."""
    if plan.untransformed is not None:
        raise TuningError(f"runs the original loops: {plan.untransformed}", "'tilepragma explain' says more")
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
    """What to measure of a kernel after a `first` run of the program, built from a source with
    `kept` layouts.

    `wanted`: the user's target (empty: the program's own choice); `numbers`: values of the kernel's
    scalars by name; `device` returns the device of a target; `most`: the number of layouts besides
    the program's, the stored and the plan's own. Raises TuningError.
    """
    times = first.kernels.get(profile_key(plan))
    if times is None:
        raise TuningError(
            "was never launched in this run",
            "give the program arguments with which it gets there; or it was built from another source, or "
            "TILEK_PROFILE=1 shows that the loop ran as written",
        )
    if wanted and times.targets != (wanted,):
        raise TuningError(
            f"ran on {' and '.join(times.targets)}, not on {wanted}",
            "a target clause in the source comes first; a device that is absent or fails is named in a "
            "warning of the program",
        )
    target = only_target(times)
    known = {target_.value: target_ for target_ in ALL_TARGETS}
    if target not in known:
        raise TuningError(f"ran on {target}, where sizes are of no use", "name another target with --target")
    # Processors under OpenCL run host launches; their measurements are stored for hosts.
    serves = known["threads" if times.on_host and target == "opencl" else target]
    size_class = HOST if times.on_host else DEVICE
    taken = taken_sizes(plan, times)
    runs_on = device(target)
    threads = runs_on.cores if isinstance(runs_on, Processor) else None
    built = _built(plan, times.on_host, numbers, threads, target == "opencl")
    plain = tuple(size.host if times.on_host else size.device for size in plan.sizes)
    recorded = kept.get(size_class)
    chosen = [*taken, *(sizes for sizes in (recorded, built, plain) if sizes is not None)]
    ranking = rank_layouts(plan, numbers, serves, runs_on, chosen)
    layouts = layout_search(ranking, most, taken[0] if taken else plain, chosen, is_mixed=len(taken) > 1)
    if not layouts.others:
        raise TuningError(
            f"has no tile sizes that could be tuned on {target}", "'tilepragma explain' shows those it has"
        )
    return KernelTuning(plan, target, size_class, layouts, taken, built, recorded)


def only_target(times: KernelTimes) -> str:
    """The target of all launches. Raises TuningError for several."""
    if len(times.targets) > 1:
        raise TuningError(f"ran on {' and '.join(times.targets)}", "say with --target which one to tune for")
    return times.targets[0]


def taken_sizes(plan: KernelPlan, times: KernelTimes) -> tuple[Sizes, ...]:
    """The layouts of the program's launches. Raises TuningError for another plan's sizes."""
    names = [size.object.name for size in plan.sizes]
    for sizes in times.sizes:
        if set(sizes) != set(names):
            raise TuningError(
                f"has the tile sizes {', '.join(names)} here, but {', '.join(sizes)} in the program: it "
                "was built from another source, or with other options",
                "build it again",
            )
    return tuple(tuple(sizes[name] for name in names) for sizes in times.sizes)


def _built(
    plan: KernelPlan, on_host: bool, numbers: Mapping[str, int], threads: int | None, by_opencl: bool
) -> Sizes | None:
    """The layout of a build without stored records for these numbers; None if undetermined."""
    if not on_host:
        return tuple(size.device for size in plan.sizes)
    try:
        return sizes_on_hosts(plan, numbers, threads, by_opencl)
    except UncountableError:
        return None


def profile_key(plan: KernelPlan) -> tuple[str, str]:
    """The kernel's identity in profiles: its file's name and its own."""
    return Path(plan.kernel.range.start.file).name, plan.kernel.name
