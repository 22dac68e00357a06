"""Rules fitted to the measurements of an exploration (sizes/records.py): tile sizes for launches,
and the versions of a kernel among which they choose, the plan and other builds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.driver.texts import planned_version
from tilepragma.ir.directives import TemporalTiles
from tilepragma.ir.evaluation import UncountableError
from tilepragma.plan.dispatch_table import bytes_and_trips, chosen_sizes, sizes_on_hosts
from tilepragma.plan.kernel_plan import MeasuredSizes, PlanVersion
from tilepragma.planner.versions import MOST_VERSIONS
from tilepragma.sizes.records import DEVICE, HOST, RecordedChoice, TuningRecord
from tilepragma.tuning.decisions import ENOUGH, MOST, Decision, Occasion, decided
from tilepragma.tuning.exploration import Results
from tilepragma.tuning.measuring import DEFAULT, Version, version_of
from tilepragma.tuning.size_ranges import sizes_of

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
    from tilepragma.sizes.ranked_layouts import Sizes
    from tilepragma.tuning.database import Outcome, Trial
    from tilepragma.tuning.trial_versions import Build

#: The least gain that counts: runs differ by as much.
LEAST_GAIN = 0.02
#: Returns the version of a text with its plan; None if it cannot be embedded.
Embed = Callable[[str], PlanVersion | None]


class NoRulesError(Exception):
    """No rules can be fitted; the message says why, in a clause."""


@dataclass(frozen=True)
class FittedRules:
    """The choices on a target and the share of each size's best that they reach; `before` is the
    share without them. The rules are for the named `build` of the source. `others`: the builds that
    are the fastest at some sizes, with the number of these.
    """

    plan: KernelPlan
    target: str
    on_host: bool
    decision: Decision
    before: tuple[float, ...]
    others: Mapping[str, int]
    build: str = ""
    steps: str = ""
    single: Decision | None = None
    """the best layout for all sizes"""
    occasions: Mapping[str, Occasion] = field(default_factory=dict)
    """the measurements of the build, by the text of the sizes; `before` has their order"""
    shares: Mapping[str, float] | None = None
    """if launches choose among versions, the shares that they reach by the text of the sizes:
    `plan` has the versions, and `decision` is theirs"""

    def launched(self, text: str, threads: int) -> tuple[Mapping[Sizes, float], Sizes | None]:
        """The measured seconds at some sizes by the launches' tile sizes, and the default's tile
        sizes: on cores the launch adapts them to the number of threads.
        """
        occasion = self.occasions[text]
        if occasion.default is None or self.target != "threads":
            return occasion.seconds, occasion.default
        taken = sizes_on_hosts(self.plan, self.plan.kernel.by_name(sizes_of(text)), threads)
        seconds = {sizes: typical for sizes, typical in occasion.seconds.items() if sizes != occasion.default}
        default_seconds = occasion.seconds[occasion.default]
        return {**seconds, taken: min(default_seconds, seconds.get(taken, default_seconds))}, taken

    @property
    def reached(self) -> dict[str, float]:
        """The share of the best that launches reach at each size, with the rules if worth it."""
        if not self.is_worth_it:
            return dict(zip(self.occasions, self.before, strict=True))
        if self.shares is not None:
            return dict(self.shares)
        choices = self.decision.measured.choices
        occasions = self.occasions.items()
        taken = {text: chosen_sizes(choices, (case.bytes, case.trips)) for text, case in occasions}
        shares = {text: case.share(taken[text] or choices[-1].sizes) for text, case in occasions}
        return {text: share for text, share in shares.items() if share > 0}

    @property
    def is_worth_it(self) -> bool:
        """Whether the mean or the least share gains, or suffices now, and nothing is lost."""
        mean, least = sum(self.before) / len(self.before), min(self.before)
        gains = self.decision.mean - mean, self.decision.least - least
        is_enough = least < ENOUGH <= self.decision.least
        return (is_enough or max(gains) >= LEAST_GAIN) and min(gains) > -LEAST_GAIN

    def winner(self, machine: str, now: datetime) -> TuningRecord:
        """The record to store; without facts it removes the target's previous record."""
        choices = tuple(map(self._kept, self.decision.measured.choices))
        facts: dict[str, str | float] | None = None
        if self.is_worth_it:
            facts = {
                "machine": machine,
                "date": f"{now:%Y-%m-%d}",
                "sizes_measured": len(self.before),
                "least_share_of_best": round(self.decision.least, 3),
                "default_share_of_best": round(min(self.before), 3),
            }
        kernel, sizes = self.plan.kernel.name, choices[0].sizes
        size_class = HOST if self.on_host else DEVICE
        if not self.on_host and len(choices) == 1 and self.shares is None:
            return TuningRecord(kernel, size_class, self.target, sizes, facts)
        least = self.decision.measured.least
        tiles = TemporalTiles(self.steps) if self.steps else None
        return TuningRecord(kernel, size_class, self.target, sizes, facts, choices, least, tiles)

    def _kept(self, rule: SizeChoice) -> RecordedChoice:
        version = self.plan.versions[rule.version - 1] if rule.version else None
        names = [size.object.name for size in (self.plan if version is None else version.plan).sizes]
        sizes = dict(zip(names, rule.sizes, strict=True)) if rule.sizes else {}
        return RecordedChoice(rule.bytes or 0, rule.trips, sizes, "" if version is None else version.text)


def embedding(
    request: TranslateRequest, result: TranslateResult, plan: KernelPlan, refused: Callable[[str, str], None]
) -> Embed:
    """Embeds versions in a translated source; `refused` receives a text and a reason (a clause)."""

    def embed(text: str) -> PlanVersion | None:
        try:
            return planned_version(request, result, plan, text)
        except RefusalError as reason:
            refused(text, str(reason))
            return None

    return embed


def fit_rules(
    trials: Iterable[tuple[Trial, Outcome]],
    builds: Mapping[str, Build],
    target: str,
    on_host: bool,
    embed: Embed | None = None,
) -> FittedRules:
    """The rules that fit all these measurements best. On hosts a build with other time tiles may
    replace the source's; with an `embed`, launches may choose among builds.

    Raises NoRulesError if nothing was measured, no plan has tile sizes, or the numbers do not
    determine the launches' bytes.
    """
    results = Results()
    for trial, outcome in trials:
        results.note(trial, outcome)
    taken = {name: build for name, build in builds.items() if not name or (on_host and build.steps)}
    candidates: list[FittedRules] = []
    for name, build in taken.items():
        if build.plan is not None and (build.plan.sizes or (embed is not None and not name)):
            occasions = _occasions(results, name, build.plan, target, on_host)
            decision = decided(list(occasions.values()), most=MOST)
            if decision is not None and len(decision.shares) == len(occasions):
                usual = {text: results.typical(DEFAULT, text) for text in occasions}
                before = tuple(case.best / (usual[text] or case.best) for text, case in occasions.items())
                others = _others(results, name, occasions)
                single = decided(list(occasions.values()), most=1)
                rules = FittedRules(build.plan, target, on_host, decision, before, others, name, build.steps)
                candidates.append(replace(rules, single=single, occasions=occasions))
    if embed is not None and candidates and not candidates[0].build:
        with_versions = _with_versions(candidates[0], results, builds, embed)
        candidates += [] if with_versions is None else [with_versions]
    if not candidates:
        has_sizes = any(build.plan is not None and build.plan.sizes for build in taken.values())
        raise NoRulesError(
            "no version with tile sizes was measured at all sizes" if has_sizes else "its launches have no tile sizes"
        )
    best = max(candidates, key=_worth)
    # At equal worth, prefer the source's build, then rules without versions.
    least, mean = (worth - LEAST_GAIN for worth in _worth(best))
    return next(rules for rules in candidates if rules.decision.least > least and rules.decision.mean > mean)


def _with_versions(
    usual: FittedRules, results: Results, builds: Mapping[str, Build], embed: Embed
) -> FittedRules | None:
    """Rules for launches that choose among the source's build, whose rules are the `usual` ones,
    and other builds; None if none is for a version.
    """
    left = {name: build for name, build in builds.items() if not name or build.version}
    versions: dict[str, PlanVersion] = {}
    while len(left) > 1:
        places = list(left)
        # A layout is named by its build's number and its tile sizes (none: the build's own).
        occasions = usual.occasions.items()
        extended = {text: _with_others(usual, results, left, text, occasion) for text, occasion in occasions}
        decision = decided(list(extended.values()), MOST)
        if decision is None:
            return None
        taken = list(dict.fromkeys(places[choice.sizes[0]] for choice in decision.measured.choices if choice.sizes[0]))
        if not taken:
            return None
        for name in taken:
            version = versions.get(name) or embed(left[name].version)
            counts = {len(choice.sizes) - 1 for choice in decision.measured.choices if places[choice.sizes[0]] == name}
            if version is None or not counts <= {0, len(version.plan.sizes)}:
                del left[name]
            else:
                versions[name] = version
        if not set(taken) <= set(left):
            continue
        if len(taken) > MOST_VERSIONS:
            # Remove the version without which the worst size is served best.
            worths = {name: _worth_without(name, places, extended.values()) for name in taken}
            del left[max(worths, key=worths.__getitem__)]
            continue
        numbers = {name: number for number, name in enumerate(taken, 1)}
        rules = decision.measured.choices
        choices = [replace(rule, sizes=rule.sizes[1:], version=numbers.get(places[rule.sizes[0]], 0)) for rule in rules]
        plan = replace(usual.plan, versions=tuple(versions[name] for name in taken))
        layouts = {text: chosen_sizes(rules, (case.bytes, case.trips)) for text, case in extended.items()}
        reached = {text: case.share(layouts[text] or ()) for text, case in extended.items()}
        measured = MeasuredSizes(decision.measured.least, tuple(choices))
        others = {name: count for name, count in usual.others.items() if name not in taken}
        return replace(usual, plan=plan, decision=replace(decision, measured=measured), others=others, shares=reached)
    return None


def _worth_without(name: str, places: Sequence[str], occasions: Iterable[Occasion]) -> tuple[float, float]:
    """The least and the mean share that rules reach without the build of this name."""
    place = places.index(name)
    left = [
        replace(occasion, seconds={sizes: taken for sizes, taken in occasion.seconds.items() if sizes[0] != place})
        for occasion in occasions
    ]
    decision = decided(left, MOST)
    return (0.0, 0.0) if decision is None else (decision.least, decision.mean)


def _with_others(
    usual: FittedRules, results: Results, builds: Mapping[str, Build], text: str, occasion: Occasion
) -> Occasion:
    seconds: dict[Sizes, float] = {(0, *sizes): seconds_ for sizes, seconds_ in occasion.seconds.items()}
    places = list(builds)
    for name in results.ordered(text):
        version, typical = version_of(name), results.typical(name, text)
        if version.build and version.build in builds and typical is not None:
            plan = builds[version.build].plan
            sizes: Sizes = (places.index(version.build),)
            if plan is not None:
                numbers = plan.kernel.by_name(sizes_of(text))
                sizes += _sizes(plan, usual.target, usual.on_host, version, numbers)
            seconds[sizes] = min(typical, seconds.get(sizes, typical))
    return replace(occasion, seconds=seconds)


def _worth(rules: FittedRules) -> tuple[float, float]:
    return rules.decision.least, rules.decision.mean


def _others(results: Results, name: str, sizes: Iterable[str]) -> dict[str, int]:
    """The number of sizes at which each other build is the fastest."""
    builds = [version_of(results.ordered(text)[0]).build for text in sizes]
    return {build: builds.count(build) for build in dict.fromkeys(builds) if build != name}


def _occasions(results: Results, name: str, plan: KernelPlan, target: str, on_host: bool) -> dict[str, Occasion]:
    """The measurements of one build, by the text of the sizes, where the default ran too. Raises
    NoRulesError if no numbers determine the launches' bytes.
    """
    occasions: dict[str, Occasion] = {}
    reason = ""
    for text in results.seconds:
        ordered = results.ordered(text)
        best = results.typical(ordered[0], text) if ordered else None
        if best is None or DEFAULT not in ordered:
            continue
        scalars = plan.kernel.by_name(sizes_of(text))
        seconds: dict[Sizes, float] = {}
        default: Sizes | None = None
        try:
            for version in ordered:
                version_, typical = version_of(version), results.typical(version, text)
                if version_.build == name and typical is not None:
                    sizes = _sizes(plan, target, on_host, version_, scalars)
                    seconds[sizes] = min(typical, seconds.get(sizes, typical))
                    default = sizes if version == DEFAULT else default
            length, _ = bytes_and_trips(plan, scalars, with_trips=False)
        except UncountableError as why:
            reason = f"{why}; --sizes should say all numbers that launches depend on"
        else:
            occasions[text] = Occasion(length, _trips(plan, scalars), seconds, best, default)
    if reason and not occasions:
        raise NoRulesError(reason)
    return occasions


def _trips(plan: KernelPlan, scalars: Mapping[str, int]) -> int:
    """Iterations of the outermost loop; 0 if the numbers do not determine them."""
    try:
        return bytes_and_trips(plan, scalars, with_trips=True)[1]
    except UncountableError:
        return 0


def _sizes(plan: KernelPlan, target: str, on_host: bool, version: Version, scalars: Mapping[str, int]) -> Sizes:
    """All tile sizes of a version of the plan. Raises UncountableError."""
    if on_host and not version.sizes:
        return sizes_on_hosts(plan, scalars, by_opencl=target == "opencl")
    given = dict(version.sizes)
    return tuple(given.get(size.object.name, size.host if on_host else size.device) for size in plan.sizes)
