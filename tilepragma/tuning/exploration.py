"""Which version of a kernel is the fastest at each of several sizes, found within a budget of
seconds: successive halving in the model's order.

Versions run once, as many as half of the budget allows, the model's best first at every size. The
best third at each size run again, more often, and again the best third of those, until two are
left. What won at one size is then tried at the others. With half of what is left of the budget this
begins anew with the versions that come next, until all ran or nothing is left. At last, with a part
of the budget that is set aside, what seems to be the fastest runs again, in turn with what is taken
where nobody tunes: of many versions the fastest one so far is in part the luckiest.

The search has no state but what was measured: `take` may answer from a database, and a search that
was interrupted goes on where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.calibration_samples import Series
from tilepragma.tuning.database import Outcome, Trial

#: Of the versions at a size one of so many goes on to the next round, and two at least.
_THIRD, _LEAST = 3, 2
#: The share of what is left of the budget that goes to versions that did not run yet; the attempts
#: of each round that follows at a version.
_SHARE, _ATTEMPTS = 0.5, (2, 4, 4)
#: The share of the budget for all this, of which the rest is for what seems to be the fastest;
#: attempts after which that is taken to be so.
_ROUNDS, _SURE = 0.85, 7
#: Winners that are tried at sizes where they did not run, at most.
_MOST_WINNERS = 8
#: Failures at different sizes after which a version is tried no more.
_MOST_FAILURES = 2

#: Makes a trial, or says what came of it before. It may raise anything to end the search.
Take = Callable[[Trial], Outcome]


@dataclass(frozen=True)
class Space:
    """The versions to try at each size, both by their texts, in the model's order; the first is the one that is taken where nobody tunes."""

    versions: Mapping[str, Sequence[str]]

    @property
    def count(self) -> int:
        """Pairs of a version and sizes."""
        return sum(map(len, self.versions.values()))


@dataclass
class Results:
    """What came of trials."""

    seconds: dict[str, dict[str, list[tuple[float, ...]]]] = field(default_factory=dict, kw_only=True)
    """of the calls of each attempt, by sizes and version"""
    failures: dict[str, dict[str, str]] = field(default_factory=dict, kw_only=True)
    """by sizes and version"""

    def note(self, trial: Trial, outcome: Outcome) -> None:
        """Take up what came of a trial."""
        if outcome.failure:
            self.failures.setdefault(trial.sizes, {})[trial.version] = outcome.failure
        else:
            self.seconds.setdefault(trial.sizes, {}).setdefault(trial.version, []).append(outcome.seconds)

    def typical(self, version: str, sizes: str) -> float | None:
        """The typical seconds of its calls; None where there are none, or an attempt failed."""
        if version in self.failures.get(sizes, {}):
            return None
        attempts = self.seconds.get(sizes, {}).get(version, ())
        calls = tuple(one for attempt in attempts for one in attempt)
        return Series(version, calls).typical if calls else None

    def ordered(self, sizes: str) -> list[str]:
        """The versions that ran at some sizes, the fastest first."""
        found = {one: self.typical(one, sizes) for one in self.seconds.get(sizes, {})}
        measured = {one: seconds for one, seconds in found.items() if seconds is not None}
        return sorted(measured, key=measured.__getitem__)


@dataclass
class Search(Results):
    """A search, with what came of its trials so far."""

    space: Space
    budget: float
    take: Take
    spent: float = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether the budget is, but for what is set aside."""
        return self.spent >= _ROUNDS * self.budget

    def run(self) -> None:
        """All rounds, until the budget is spent or all was tried. What `take` raises ends it; the search then has what came before."""
        most = max(map(len, self.space.versions.values()), default=0)
        place = 0
        while place < most and not self.is_spent:
            first, place = place, self._widen(place, most)
            self._narrow(first, place)
            self._cross()
        for sizes, versions in self.space.versions.items():
            self._make_sure(sizes, versions[0])

    def _widen(self, first: int, most: int) -> int:
        """One attempt at each further version, until a share of what is left of the budget is spent; returns how far it went in the model's order."""
        enough = self.spent + _SHARE * (_ROUNDS * self.budget - self.spent)
        for place in range(first, most):
            if place >= first + _LEAST and self.spent >= enough:
                return place
            for sizes, versions in self.space.versions.items():
                if place < len(versions) and not self.is_spent and not self._runs(versions[place], sizes):
                    self._attempt(versions[place], sizes)
        return most

    def _narrow(self, first: int, end: int) -> None:
        """The best third of these of the model's order, with the best before them, again and again, until two are left."""
        left = {}
        for sizes, versions in self.space.versions.items():
            ordered = self.ordered(sizes)
            new = set(versions[first:end])
            left[sizes] = self._best(sizes, [one for one in ordered if one in new or one in ordered[:_LEAST]])
        number = 0
        while number == 0 or any(len(mine) > _LEAST + 1 for mine in left.values()):
            self._round(left, _ATTEMPTS[min(number, len(_ATTEMPTS) - 1)])
            if self.is_spent:
                return
            left = {
                sizes: self._best(sizes, [one for one in self.ordered(sizes) if one in mine])
                for sizes, mine in left.items()
            }
            number += 1

    def _best(self, sizes: str, ordered: Sequence[str]) -> list[str]:
        """The fastest third, and what is taken where nobody tunes: all others are compared with it."""
        kept = list(ordered[: max(_LEAST, math.ceil(len(ordered) / _THIRD))])
        default = self.space.versions[sizes][0]
        return kept if default in kept or default not in ordered else [*kept, default]

    def _round(self, left: Mapping[str, Sequence[str]], attempts: int) -> None:
        """Attempts in turn, so that what disturbs the machine for a while disturbs all."""
        for _ in range(attempts):
            for sizes, versions in left.items():
                for version in versions:
                    if self.is_spent:
                        return
                    self._attempt(version, sizes)

    def _cross(self) -> None:
        """Winners of one size at the others."""
        winners = dict.fromkeys(ordered[0] for sizes in self.space.versions if (ordered := self.ordered(sizes)))
        for version in list(winners)[:_MOST_WINNERS]:
            for sizes in self.space.versions:
                for _ in range(self._runs(version, sizes), 1 + _ATTEMPTS[0]):
                    if self.is_spent:
                        return
                    self._attempt(version, sizes)

    def _make_sure(self, sizes: str, default: str) -> None:
        """What seems to be faster than the default, and the default, until it ran often or another one seems to be."""
        while self.spent < self.budget:
            ordered = self.ordered(sizes)
            if default not in ordered[1:] or self._runs(ordered[0], sizes) >= _SURE or self._failed_often(ordered[0]):
                return
            for version in (ordered[0], default):
                self._attempt(version, sizes)

    def _runs(self, version: str, sizes: str) -> int:
        """How often it ran so far."""
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
