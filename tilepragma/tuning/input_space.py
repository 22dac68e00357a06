"""Versions of a kernel over the measured inputs: the share of the best that each reaches, and the
gain of choosing the best for each input over one version for all (TileK paper, section 5.3, Figures
6 and 7, Table 4).
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
    """The displayed name of an input; a user's program may have been measured without sizes."""
    return text or "the program's own sizes"


@dataclass(frozen=True)
class InputSpace:
    """The typical `seconds` of each version, the default included, by the input's text."""

    seconds: Mapping[str, Mapping[str, float]]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The texts of the inputs, in the order of the default's time."""
        return tuple(self.seconds)

    @cached_property
    def best(self) -> dict[str, tuple[str, float]]:
        """The fastest version of each input, and its seconds."""
        return {text: min(times.items(), key=lambda entry: entry[1]) for text, times in self.seconds.items()}

    @cached_property
    def everywhere(self) -> tuple[str, ...]:
        """The versions that ran at every input, the default first."""
        common = set.intersection(*(set(times) for times in self.seconds.values()))
        names = dict.fromkeys(name for times in self.seconds.values() for name in times if name in common)
        return (DEFAULT, *(name for name in names if name != DEFAULT))

    def shares(self, version: str) -> dict[str, float]:
        """The share of the best that a version which ran everywhere reaches at each input."""
        return {text: self.best[text][1] / times[version] for text, times in self.seconds.items()}

    def wins(self, version: str) -> int:
        """The number of inputs at which it is the fastest."""
        return sum(name == version for name, _ in self.best.values())

    def average_best(self, work: Mapping[str, float]) -> str:
        """The version with the highest mean rate of `work`, of those that ran at all inputs."""
        return max(self.everywhere, key=lambda name: spread_of(self.rates(self.shares(name), work)).mean)

    def rates(self, shares: Mapping[str, float], work: Mapping[str, float]) -> tuple[float, ...]:
        """The rate of `work` at each input, for these shares of the best."""
        return tuple(shares[input_] * work[input_] / self.best[input_][1] for input_ in self.inputs)

    @property
    def relative_work(self) -> dict[str, float]:
        """Work of each input such that the best version's rate is 1, and rates are shares."""
        return {text: seconds for text, (_, seconds) in self.best.items()}


def input_space(trials: Iterable[tuple[Trial, Outcome]]) -> InputSpace | None:
    """The inputs at which the default ran, in the order of its time; None if there are none."""
    results = Results()
    for trial, outcome in trials:
        results.note(trial, outcome)
    times: dict[str, dict[str, float]] = {}
    for text in results.seconds:
        typical = {name: results.typical(name, text) for name in results.ordered(text)}
        ran = {name: seconds for name, seconds in typical.items() if seconds}
        if DEFAULT in ran:
            times[text] = ran
    ordered = sorted(times, key=lambda text: (times[text][DEFAULT], text))
    return InputSpace({text: times[text] for text in ordered}) if times else None
