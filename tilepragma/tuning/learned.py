"""What an exploration teaches of a kernel: which tile sizes its launches are to take, as it is kept beside the source (plan/kept_sizes.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tilepragma.plan.evaluation import UncountableError
from tilepragma.plan.kept_sizes import DEVICE, HOST, KeptChoice, Winner
from tilepragma.plan.size_choices import found_by_launch, sizes_on_hosts
from tilepragma.tuning.decisions import Decision, Occasion, decided
from tilepragma.tuning.measuring import DEFAULT, Version

if TYPE_CHECKING:
    from tilepragma.driver import KernelPlan
    from tilepragma.plan.layouts import Sizes
    from tilepragma.tuning.exploration import Search

#: What is less of a gain than this share is none: runs differ by as much.
LEAST_GAIN = 0.02


class NoLessonError(Exception):
    """Nothing can be learned; the message says why, in a clause."""


@dataclass(frozen=True)
class Lesson:
    """What to take on a target, and what of the best of each size that reaches; `before` is what is reached without it. `others` are the builds of
    the source that are the fastest at some sizes, with the number of these: no tile sizes reach them.
    """

    plan: KernelPlan
    target: str
    on_host: bool
    decision: Decision
    before: tuple[float, ...]
    others: Mapping[str, int]

    @property
    def is_worth_it(self) -> bool:
        """Whether anything is gained, on the whole or where it is worst, and nothing lost."""
        mean = sum(self.before) / len(self.before)
        gains = self.decision.mean - mean, self.decision.least - min(self.before)
        return max(gains) >= LEAST_GAIN and min(gains) > -LEAST_GAIN

    def winner(self, machine: str, now: datetime) -> Winner:
        """What is to be kept of it; what was kept for the target before is to go where it is worth nothing."""
        names = [size.object.name for size in self.plan.sizes]
        rules = self.decision.measured.choices
        choices = tuple(
            KeptChoice(one.bytes or 0, one.trips, dict(zip(names, one.sizes, strict=True))) for one in rules
        )
        facts: dict[str, str | float] | None = None
        if self.is_worth_it:
            facts = {
                "machine": machine,
                "date": f"{now:%Y-%m-%d}",
                "sizes_measured": len(self.before),
                "least_share_of_best": round(self.decision.least, 3),
                "default_share_of_best": round(min(self.before), 3),
            }
        sizes = choices[0].sizes
        if self.on_host:
            least = self.decision.measured.least
            return Winner(self.plan.kernel.name, HOST, self.target, sizes, facts, choices, least)
        return Winner(self.plan.kernel.name, DEVICE, self.target, sizes, facts)


def lesson_of(
    search: Search,
    plan: KernelPlan,
    target: str,
    on_host: bool,
    versions: Mapping[str, Version],
    points: Mapping[str, Mapping[str, int]],
) -> Lesson:
    """What a search teaches.

    Raises NoLessonError where nothing was measured, the plan has no tile sizes, or the numbers do not say what launches find.
    """
    if not plan.sizes:
        raise NoLessonError("the source as it stands has no tile sizes")
    occasions, before = [], []
    others: dict[str, int] = {}
    for text, numbers in points.items():
        ordered = search.ordered(text)
        best = search.typical(ordered[0], text) if ordered else None
        default = search.typical(DEFAULT, text)
        if best is None or default is None:
            continue
        try:
            occasions.append(_occasion(search, plan, on_host, versions, text, numbers, best))
        except UncountableError as reason:
            raise NoLessonError(f"{reason}; --sizes should say all numbers that launches depend on") from None
        before.append(best / default)
        name = versions[ordered[0]].build
        if name:
            others[name] = others.get(name, 0) + 1
    # Devices have no choice at launch.
    decision = decided(occasions) if on_host else decided(occasions, most=1)
    if decision is None:
        raise NoLessonError("nothing was measured with the source as it stands")
    return Lesson(plan, target, on_host, decision, tuple(before), others)


def _occasion(
    search: Search,
    plan: KernelPlan,
    on_host: bool,
    versions: Mapping[str, Version],
    text: str,
    numbers: Mapping[str, int],
    best: float,
) -> Occasion:
    """Raises UncountableError."""
    scalars = {one.name: numbers[one.host] for one in plan.kernel.objects if one.host in numbers}
    seconds: dict[Sizes, float] = {}
    for version in search.ordered(text):
        one = versions[version]
        typical = search.typical(version, text)
        if not one.build and typical is not None:
            sizes = _sizes(plan, on_host, one, scalars)
            seconds[sizes] = min(typical, seconds.get(sizes, typical))
    length, _ = found_by_launch(plan, scalars, with_trips=False)
    return Occasion(length, _trips(plan, scalars), seconds, best)


def _trips(plan: KernelPlan, scalars: Mapping[str, int]) -> int:
    """Iterations of the outermost loop; 0 where the numbers do not say them."""
    try:
        return found_by_launch(plan, scalars, with_trips=True)[1]
    except UncountableError:
        return 0


def _sizes(plan: KernelPlan, on_host: bool, version: Version, scalars: Mapping[str, int]) -> Sizes:
    """All tile sizes of a version of the plan. Raises UncountableError."""
    if on_host and not version.sizes:
        return sizes_on_hosts(plan, scalars)
    said = dict(version.sizes)
    return tuple(said.get(one.object.name, one.host if on_host else one.device) for one in plan.sizes)
