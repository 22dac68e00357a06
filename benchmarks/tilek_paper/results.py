"""What Table 4 and Figure 7 make of measured seconds: the ideal adaptive kernel, the best version on average, and rules of a few versions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tilepragma.base.performance_spread import Spread, spread_of
from tilepragma.plan.dispatch_table import chosen_sizes
from tilepragma.tuning.decisions import Decision, Occasion, decided
from tilepragma.tuning.exploration import Results

#: Inputs from which on rules are learned from one half of them and judged at the other.
ENOUGH_FOR_HALVES = 16
#: The share of the measured versions among which the best is to be, and what is as good as the
#: best.
EARLY, NEAR = 0.1, 1.02
#: Versions of which a place says something.
ENOUGH_FOR_A_PLACE = 5


@dataclass(frozen=True)
class Input:
    """One input: its `text`, operations by Table 1, and what a launch knows of it, bytes of its arrays and iterations of its outermost loop."""

    text: str
    flops: int
    bytes: int
    trips: int


@dataclass(frozen=True)
class Rules:
    """What a few rules over what a launch knows reach: they name a version for each input."""

    count: int
    column: Spread


@dataclass(frozen=True)
class Comparison:
    """A kernel's row of Table 4: the ideal `adaptive` kernel (A), which takes the best version at
    each input, and the version that is the `best` on average (B). `rules` are learned from all
    inputs; `halves` from every second one, and judged at the others beside the best on average of
    these. `own` is what the translator makes without tuning.
    """

    inputs: int
    adaptive: Spread
    best: Spread
    version: str
    rules: Rules
    halves: tuple[Rules, Spread] | None
    own: Spread | None

    @property
    def speedup(self) -> tuple[float, float]:
        """A over B: of the means, and at the inputs where each is worst."""
        return self.adaptive.over(self.best)

    @property
    def rules_speedup(self) -> tuple[float, float]:
        """What the rules reach over B, likewise."""
        return self.rules.column.over(self.best)

    @property
    def unseen_share(self) -> float | None:
        """The same at inputs that the rules were not learned from."""
        return None if self.halves is None else self.halves[0].column.over(self.halves[1])[0]


Rates = Mapping[str, Mapping[str, float]]


def rates_of(results: Results, inputs: Sequence[Input], versions: Sequence[str]) -> dict[str, dict[str, float]]:
    """1e9 operations a second by version and input, of the typical seconds; versions that did not run at all inputs are left out."""
    result: dict[str, dict[str, float]] = {}
    for version in versions:
        seconds = {each.text: results.typical(version, each.text) for each in inputs}
        own = {each.text: 1e-9 * each.flops / taken for each in inputs if (taken := seconds[each.text])}
        if len(own) == len(inputs):
            result[version] = own
    return result


def best_on_average(rates: Rates) -> str:
    """The version with the highest mean over the inputs."""
    return max(rates, key=lambda version: math.fsum(rates[version].values()))


def compared(rates: Rates, inputs: Sequence[Input], own: Mapping[str, float] | None = None) -> Comparison:
    """The row of a kernel whose versions have these rates, of which there is one; `own` are those without tuning."""
    version = best_on_average(rates)
    adaptive = [max(each[item.text] for each in rates.values()) for item in inputs]
    halves = None
    if len(inputs) >= ENOUGH_FOR_HALVES:
        learned, judged = inputs[::2], inputs[1::2]
        halves = (
            _with_rules(rates, learned, judged),
            spread_of(_at(rates, judged)[best_on_average(_at(rates, judged))].values()),
        )
    return Comparison(
        len(inputs),
        spread_of(adaptive),
        spread_of(rates[version].values()),
        version,
        _with_rules(rates, inputs, inputs),
        halves,
        None if own is None else spread_of([own[each.text] for each in inputs]),
    )


def _at(rates: Rates, inputs: Sequence[Input]) -> dict[str, dict[str, float]]:
    return {version: {each.text: own[each.text] for each in inputs} for version, own in rates.items()}


def _with_rules(rates: Rates, learned: Sequence[Input], judged: Sequence[Input]) -> Rules:
    """Rules learned at some inputs, and what they reach at others. Beyond the largest array that was learned from the last rule holds on."""
    versions = list(rates)
    decision = learned_rules(rates, learned)
    reached = []
    for each in judged:
        result = (
            chosen_sizes(decision.measured.choices, (each.bytes, each.trips)) or decision.measured.choices[-1].sizes
        )
        reached.append(rates[versions[result[0]]][each.text])
    return Rules(len(decision.measured.choices), spread_of(reached))


def learned_rules(rates: Rates, inputs: Sequence[Input]) -> Decision:
    """Which version to take, by the rules that the tuner learns for tile sizes: a version's number in `rates` stands for its sizes."""
    occasions = [
        Occasion(
            each.bytes,
            each.trips,
            {(number,): 1.0 / own[each.text] for number, own in enumerate(rates.values())},
            1.0 / max(own[each.text] for own in rates.values()),
        )
        for each in inputs
    ]
    result = decided(occasions)
    if result is None:
        raise ValueError("there are no inputs")
    return result


@dataclass(frozen=True)
class Place:
    """Where the fastest version stood in the model's order at one input: `place` from 1 among all
    versions, of which the first `measured` ran; `near` is the place of the first that takes at most
    so much longer, and `default` the untuned program's seconds over the best's.
    """

    input: str
    version: str
    place: int
    near: int
    measured: int
    default: float

    @property
    def is_near_early(self) -> bool:
        """Whether one that is as good as the best is among them."""
        return self.near <= self.most

    @property
    def most(self) -> int:
        """The place up to which a version is early."""
        return max(1, math.ceil(EARLY * self.measured))

    @property
    def is_early(self) -> bool:
        """Whether the best is among the first tenth that was measured, or the very first of fewer than ten."""
        return self.place <= self.most


@dataclass(frozen=True)
class Row:
    """All of one kernel on one target; `rates` by version and input, `own` those without tuning, `failures` by version."""

    name: str
    target: str
    comparison: Comparison
    places: tuple[Place, ...]
    rates: Rates
    own: Mapping[str, float]
    failures: Mapping[str, str]


def place_of_best(results: Results, order: Sequence[str], text: str, default: str) -> Place | None:
    """Where the fastest version of a search stands; None where too few ran. Versions that failed are not counted."""
    ran = [version for version in order if results.typical(version, text) is not None]
    if len(ran) < ENOUGH_FOR_A_PLACE:
        return None
    seconds = {version: results.typical(version, text) or math.inf for version in ran}
    best = min(ran, key=seconds.__getitem__)
    near = next(place for place, version in enumerate(ran, 1) if seconds[version] <= NEAR * seconds[best])
    return Place(text, best, ran.index(best) + 1, near, len(ran), seconds.get(default, math.nan) / seconds[best])


def as_json(machine: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """Everything, for a file."""
    return {"machine": dict(machine), "rows": [asdict(row) for row in rows]}
