"""Rules by which launches choose among versions of a kernel: the plan and other builds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.driver.texts import planned_version
from tilepragma.plan.dispatch_table import chosen_sizes
from tilepragma.plan.kernel_plan import MeasuredSizes, PlanVersion
from tilepragma.planner.versions import MOST_VERSIONS
from tilepragma.tuning.decisions import Decision, Occasion, decided
from tilepragma.tuning.measuring import Version, version_of

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.sizes.search import Sizes
    from tilepragma.tuning.exploration import Results
    from tilepragma.tuning.trial_versions import Build

#: Returns the version of a text with its plan; None if it cannot be embedded.
Embed = Callable[[str], PlanVersion | None]
#: Returns the tile sizes of a plan's trial at the named sizes.
SizesOf = Callable[["KernelPlan", Version, str], "Sizes"]


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


@dataclass(frozen=True)
class VersionRules:
    """The plan with its versions, the rules, and the share of the best that they reach by the text
    of the sizes; `builds`: those of the versions.
    """

    plan: KernelPlan
    decision: Decision
    reached: Mapping[str, float]
    builds: tuple[str, ...]


def version_rules(
    results: Results,
    builds: Mapping[str, Build],
    occasions: Mapping[str, Occasion],
    sizes_of: SizesOf,
    embed: Embed,
    most: int,
) -> VersionRules | None:
    """At most `most` rules, None if none is for a version. `occasions`: the source's own plan."""
    usual = builds[""].plan
    left = {name: build for name, build in builds.items() if not name or build.version}
    versions: dict[str, PlanVersion] = {}
    while usual is not None and len(left) > 1:
        places = list(left)
        # A layout is named by its build's number and its tile sizes (none: the build's own).
        extended = {text: _occasion(results, left, text, occasion, sizes_of) for text, occasion in occasions.items()}
        decision = decided(list(extended.values()), most)
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
            worths = {name: _worth_without(name, places, extended.values(), most) for name in taken}
            del left[max(worths, key=worths.__getitem__)]
            continue
        numbers = {name: number for number, name in enumerate(taken, 1)}
        choices = [
            replace(choice, sizes=choice.sizes[1:], version=numbers.get(places[choice.sizes[0]], 0))
            for choice in decision.measured.choices
        ]
        plan = replace(usual, versions=tuple(versions[name] for name in taken))
        reached = {
            text: occasion.share(chosen_sizes(decision.measured.choices, (occasion.bytes, occasion.trips)) or ())
            for text, occasion in extended.items()
        }
        measured = MeasuredSizes(decision.measured.least, tuple(choices))
        return VersionRules(plan, replace(decision, measured=measured), reached, tuple(taken))
    return None


def _worth_without(name: str, places: Sequence[str], occasions: Iterable[Occasion], most: int) -> tuple[float, float]:
    """The least and the mean share that rules reach without the build of this name."""
    place = places.index(name)
    left = [
        replace(occasion, seconds={sizes: taken for sizes, taken in occasion.seconds.items() if sizes[0] != place})
        for occasion in occasions
    ]
    decision = decided(left, most)
    return (0.0, 0.0) if decision is None else (decision.least, decision.mean)


def _occasion(results: Results, builds: Mapping[str, Build], text: str, usual: Occasion, sizes_of: SizesOf) -> Occasion:
    """The occasion with the other builds' seconds."""
    seconds: dict[Sizes, float] = {(0, *sizes): seconds_ for sizes, seconds_ in usual.seconds.items()}
    places = list(builds)
    for name in results.ordered(text):
        version, typical = version_of(name), results.typical(name, text)
        if version.build and version.build in builds and typical is not None:
            plan = builds[version.build].plan
            sizes = (places.index(version.build), *(() if plan is None else sizes_of(plan, version, text)))
            seconds[sizes] = min(typical, seconds.get(sizes, typical))
    return replace(usual, seconds=seconds)
