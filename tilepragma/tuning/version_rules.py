"""Rules that choose among versions of a kernel at launch: of the source as it stands, and of builds that can be embedded in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.driver.texts import planned_version
from tilepragma.plan.dispatch_table import chosen_sizes
from tilepragma.plan.kernel_plan import MeasuredSizes, PlanVersion
from tilepragma.planner.applied_records import MOST_VERSIONS
from tilepragma.tuning.decisions import Decision, Occasion, decided
from tilepragma.tuning.measuring import Version, version_of

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.sizes.search import Sizes
    from tilepragma.tuning.exploration import Results
    from tilepragma.tuning.trial_versions import Build

#: The version that a text names, with its plan; None where it cannot be embedded.
Embed = Callable[[str], PlanVersion | None]
#: The tile sizes that a trial of a plan had, at the sizes of that name.
SizesOf = Callable[["KernelPlan", Version, str], "Sizes"]


def embedding(
    request: TranslateRequest, result: TranslateResult, plan: KernelPlan, refused: Callable[[str, str], None]
) -> Embed:
    """Embeds versions in the source of a translation as it stands; `refused` hears of a text and the reason, in a clause."""

    def embed(text: str) -> PlanVersion | None:
        try:
            return planned_version(request, result, plan, text)
        except RefusalError as reason:
            refused(text, str(reason))
            return None

    return embed


@dataclass(frozen=True)
class VersionRules:
    """The plan with its versions, the rules, and the share of the best that these reach, by the
    text of the sizes. `builds` are those that the versions stand for.
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
    """At most so many rules; None where none is for a version. `occasions` are those of the source as it stands."""
    usual = builds[""].plan
    left = {name: one for name, one in builds.items() if not name or one.version}
    versions: dict[str, PlanVersion] = {}
    while usual is not None and len(left) > 1:
        places = list(left)
        # A layout is named by the number of its build and its tile sizes; none are those that the
        # build takes by itself.
        mine = {text: _occasion(results, left, text, one, sizes_of) for text, one in occasions.items()}
        decision = decided(list(mine.values()), most)
        if decision is None:
            return None
        taken = list(dict.fromkeys(places[choice.sizes[0]] for choice in decision.measured.choices if choice.sizes[0]))
        if not taken:
            return None
        for name in taken:
            found = versions.get(name) or embed(left[name].version)
            counts = {len(choice.sizes) - 1 for choice in decision.measured.choices if places[choice.sizes[0]] == name}
            if found is None or not counts <= {0, len(found.plan.sizes)}:
                del left[name]
            else:
                versions[name] = found
        if not set(taken) <= set(left):
            continue
        if len(taken) > MOST_VERSIONS:
            # The one without which the worst size is served best.
            worths = {name: _worth_without(name, places, mine.values(), most) for name in taken}
            del left[max(worths, key=worths.__getitem__)]
            continue
        numbers = {name: number for number, name in enumerate(taken, 1)}
        choices = [
            replace(choice, sizes=choice.sizes[1:], version=numbers.get(places[choice.sizes[0]], 0))
            for choice in decision.measured.choices
        ]
        plan = replace(usual, versions=tuple(versions[name] for name in taken))
        reached = {
            text: one.share(chosen_sizes(decision.measured.choices, (one.bytes, one.trips)) or ())
            for text, one in mine.items()
        }
        measured = MeasuredSizes(decision.measured.least, tuple(choices))
        return VersionRules(plan, replace(decision, measured=measured), reached, tuple(taken))
    return None


def _worth_without(name: str, places: Sequence[str], occasions: Iterable[Occasion], most: int) -> tuple[float, float]:
    """What rules reach at least, and in the mean, that do without a build; the builds have these places."""
    own = places.index(name)
    left = [
        replace(occasion, seconds={sizes: taken for sizes, taken in occasion.seconds.items() if sizes[0] != own})
        for occasion in occasions
    ]
    found = decided(left, most)
    return (0.0, 0.0) if found is None else (found.least, found.mean)


def _occasion(results: Results, builds: Mapping[str, Build], text: str, usual: Occasion, sizes_of: SizesOf) -> Occasion:
    """With what the other builds took."""
    seconds: dict[Sizes, float] = {(0, *sizes): one for sizes, one in usual.seconds.items()}
    places = list(builds)
    for name in results.ordered(text):
        version, typical = version_of(name), results.typical(name, text)
        if version.build and version.build in builds and typical is not None:
            plan = builds[version.build].plan
            sizes = (places.index(version.build), *(() if plan is None else sizes_of(plan, version, text)))
            seconds[sizes] = min(typical, seconds.get(sizes, typical))
    return replace(usual, seconds=seconds)
