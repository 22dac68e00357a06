"""Finds the fastest version of a kernel at each of several sizes within a budget of seconds:
successive halving in the model's order.

Versions run once, as many as half of the budget allows, the model's best first at every size. The
best third at each size run again, more often, and again the best third of those, until two are
left. The winner at one size is then tried at the others. Half of the remaining budget goes to the
next versions in the same way, until all ran or nothing is left. A reserved part of the budget
repeats the apparent winner in alternation with the default: the fastest of many versions is in part
the luckiest.

The only state are the measurements: `take` may answer from a database, and an interrupted search
resumes where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.calibration_samples import Series
from tilepragma.tuning.database import Outcome, Trial

#: One in so many versions at a size goes on to the next round, but at least two.
_THIRD, _LEAST = 3, 2
#: The share of the remaining budget for versions that did not run yet; the attempts at a version in
#: each following round.
_SHARE, _ATTEMPTS = 0.5, (2, 4, 4)
#: The share of the budget for the rounds (the rest is for the apparent winner); attempts that make
#: a winner certain.
_ROUNDS, _SURE = 0.85, 7
#: The most winners that are tried at further sizes.
_MOST_WINNERS = 8
#: Failures at different sizes after which a version is given up.
_MOST_FAILURES = 2

#: Makes a trial, or recalls its outcome. It may raise any exception to end the search.
Take = Callable[[Trial], Outcome]


@dataclass
class Results:
    """The outcomes of trials."""

    seconds: dict[str, dict[str, list[tuple[float, ...]]]] = field(default_factory=dict, kw_only=True)
    """of the calls of each attempt, by sizes and version"""
    failures: dict[str, dict[str, str]] = field(default_factory=dict, kw_only=True)
    """by sizes and version"""

    def note(self, trial: Trial, outcome: Outcome) -> None:
        """Add the outcome of a trial."""
        if outcome.failure:
            self.failures.setdefault(trial.sizes, {})[trial.version] = outcome.failure
        else:
            self.seconds.setdefault(trial.sizes, {}).setdefault(trial.version, []).append(outcome.seconds)

    def typical(self, version: str, sizes: str) -> float | None:
        """The typical seconds of its calls; None without calls, or if an attempt failed."""
        if version in self.failures.get(sizes, {}):
            return None
        attempts = self.seconds.get(sizes, {}).get(version, ())
        calls = tuple(call for attempt in attempts for call in attempt)
        return Series(version, calls).typical if calls else None

    def ordered(self, sizes: str) -> list[str]:
        """The versions that ran at some sizes, the fastest first."""
        typicals = {version: self.typical(version, sizes) for version in self.seconds.get(sizes, {})}
        measured = {version: seconds for version, seconds in typicals.items() if seconds is not None}
        return sorted(measured, key=measured.__getitem__)


@dataclass
class Search(Results):
    """A search with the outcomes of its trials so far. `versions`: those to try at each size, both
    by texts, in the model's order after the default.
    """

    versions: Mapping[str, Sequence[str]]
    budget: float
    take: Take
    spent: float = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether the budget is spent, except for the reserve."""
        return self.spent >= _ROUNDS * self.budget

    def run(self) -> None:
        """All rounds until the budget is spent or all was tried, or until `take` raises."""
        most = max(map(len, self.versions.values()), default=0)
        place = 0
        while place < most and not self.is_spent:
            first, place = place, self._widen(place, most)
            self._narrow(first, place)
            self._cross()
        for sizes, versions in self.versions.items():
            self._make_sure(sizes, versions[0])

    def _widen(self, first: int, most: int) -> int:
        """One attempt at each further version within the share; returns the end in the order."""
        enough = self.spent + _SHARE * (_ROUNDS * self.budget - self.spent)
        for place in range(first, most):
            if place >= first + _LEAST and self.spent >= enough:
                return place
            for sizes, versions in self.versions.items():
                if place < len(versions) and not self.is_spent and not self._runs(versions[place], sizes):
                    self._attempt(versions[place], sizes)
        return most

    def _narrow(self, first: int, end: int) -> None:
        """Repeats the best third of these and the best before them, until two are left."""
        remaining = {}
        for sizes, versions in self.versions.items():
            ordered = self.ordered(sizes)
            looked_at = {*versions[first:end], *ordered[:_LEAST]}
            remaining[sizes] = self._best(sizes, [version for version in ordered if version in looked_at])
        number = 0
        while number == 0 or any(len(versions) > _LEAST + 1 for versions in remaining.values()):
            self._round(remaining, _ATTEMPTS[min(number, len(_ATTEMPTS) - 1)])
            if self.is_spent:
                return
            remaining = {
                sizes: self._best(sizes, [version for version in self.ordered(sizes) if version in versions])
                for sizes, versions in remaining.items()
            }
            number += 1

    def _best(self, sizes: str, ordered: Sequence[str]) -> list[str]:
        """The fastest third, and the default, with which all others are compared."""
        kept = list(ordered[: max(_LEAST, math.ceil(len(ordered) / _THIRD))])
        default = self.versions[sizes][0]
        return kept if default in kept or default not in ordered else [*kept, default]

    def _round(self, left: Mapping[str, Sequence[str]], attempts: int) -> None:
        """Interleaved attempts, so that a disturbance of the machine affects all versions."""
        for _ in range(attempts):
            for sizes, versions in left.items():
                for version in versions:
                    if self.is_spent:
                        return
                    self._attempt(version, sizes)

    def _cross(self) -> None:
        """Winners of one size at the others."""
        winners = dict.fromkeys(ordered[0] for sizes in self.versions if (ordered := self.ordered(sizes)))
        for version in list(winners)[:_MOST_WINNERS]:
            for sizes in self.versions:
                for _ in range(self._runs(version, sizes), 1 + _ATTEMPTS[0]):
                    if self.is_spent:
                        return
                    self._attempt(version, sizes)

    def _make_sure(self, sizes: str, default: str) -> None:
        """Repeats the apparent winner and the default until the winner is certain or replaced."""
        while self.spent < self.budget:
            ordered = self.ordered(sizes)
            if default not in ordered[1:] or self._runs(ordered[0], sizes) >= _SURE or self._failed_often(ordered[0]):
                return
            for version in (ordered[0], default):
                self._attempt(version, sizes)

    def _runs(self, version: str, sizes: str) -> int:
        return len(self.seconds.get(sizes, {}).get(version, ()))

    def _attempt(self, version: str, sizes: str) -> None:
        if version in self.failures.get(sizes, {}) or self._failed_often(version):
            return
        trial = Trial(version, sizes, self._runs(version, sizes))
        outcome = self.take(trial)
        self.spent += outcome.spent
        self.note(trial, outcome)

    def _failed_often(self, version: str) -> bool:
        return sum(version in failed for failed in self.failures.values()) >= _MOST_FAILURES
