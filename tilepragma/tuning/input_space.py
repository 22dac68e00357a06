"""Versions of a kernel over the inputs that it was measured at: what each reaches of the best, and
what taking the best of each input is worth against one version for all (TileK paper, section 5.3,
Figures 6 and 7, Table 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.performance_spread import spread_of
from tilepragma.tuning.exploration import Results
from tilepragma.tuning.measuring import DEFAULT

if TYPE_CHECKING:
    from tilepragma.tuning.database import Outcome, Trial


def input_name(text: str) -> str:
    """What people call an input with these sizes: a program of the user's may have been measured without any."""
    return text or "the program's own sizes"


@dataclass(frozen=True)
class InputSpace:
    """The typical `seconds` of each version that ran, by the text of the sizes of an input; the default is among the versions of each."""

    seconds: Mapping[str, Mapping[str, float]]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The texts of the inputs, in the order of the default's time."""
        return tuple(self.seconds)

    @cached_property
    def best(self) -> dict[str, tuple[str, float]]:
        """The fastest version of each input, and its seconds."""
        return {one: min(found.items(), key=lambda each: each[1]) for one, found in self.seconds.items()}

    @cached_property
    def everywhere(self) -> tuple[str, ...]:
        """The versions that ran at every input, the default first."""
        common = set.intersection(*(set(found) for found in self.seconds.values()))
        names = dict.fromkeys(name for found in self.seconds.values() for name in found if name in common)
        return (DEFAULT, *(name for name in names if name != DEFAULT))

    def shares(self, version: str) -> dict[str, float]:
        """The share of the best that a version which ran everywhere reaches at each input."""
        return {one: self.best[one][1] / found[version] for one, found in self.seconds.items()}

    def wins(self, version: str) -> int:
        """At how many inputs it is the fastest."""
        return sum(name == version for name, _ in self.best.values())

    def average_best(self, work: Mapping[str, float]) -> str:
        """The version with the highest mean of `work` a second over all inputs, of those that ran at all of them."""
        return max(self.everywhere, key=lambda name: spread_of(self.rates(self.shares(name), work)).mean)

    def rates(self, shares: Mapping[str, float], work: Mapping[str, float]) -> tuple[float, ...]:
        """The performance at each input, as `work` a second, of what reaches these shares of the best there."""
        return tuple(shares[input_] * work[input_] / self.best[input_][1] for input_ in self.inputs)

    @property
    def relative_work(self) -> dict[str, float]:
        """An amount of work for each input of which the best version does one a second: performance is then the share of the best."""
        return {one: seconds for one, (_, seconds) in self.best.items()}


def input_space(trials: Iterable[tuple[Trial, Outcome]]) -> InputSpace | None:
    """What trials tell of the inputs at which the default ran; None where it ran at none. Inputs stand in the order of the default's time."""
    results = Results()
    for trial, outcome in trials:
        results.note(trial, outcome)
    found: dict[str, dict[str, float]] = {}
    for text in results.seconds:
        typical = {name: results.typical(name, text) for name in results.ordered(text)}
        ran = {name: seconds for name, seconds in typical.items() if seconds}
        if DEFAULT in ran:
            found[text] = ran
    ordered = sorted(found, key=lambda text: (found[text][DEFAULT], text))
    return InputSpace({text: found[text] for text in ordered}) if found else None
