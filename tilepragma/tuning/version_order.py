"""The order in which versions are tried: by predicted time, but spreading those that the model can
hardly distinguish.

Many tile sizes matter little: dozens of layouts are predicted to take the same time within a share
of a percent, and the model does not know the fastest of them. So each further version of a kind
waits as if its predicted time were larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.execution_time import Numbers
from tilepragma.tuning.measuring import Version

#: Versions whose kinds of work differ in total by less than the first share of their time are of
#: one kind; each earlier one adds the second share to a version's time. In measurements of two
#: products at three sizes each (docs/RESULTS.md, "Section 5 of the TileK paper") the first tenth of
#: this order has a version within 2 % of the best six times, that by predicted time alone five
#: times.
SAME, AGAIN = 0.005, 0.02


@dataclass(frozen=True, eq=False)
class Candidate:
    """A version with its predicted seconds of each kind of work; no terms without a prediction."""

    version: Version
    terms: Numbers

    @property
    def seconds(self) -> float:
        """The predicted seconds; infinite without a prediction."""
        return float(self.terms.sum()) if self.terms.size else math.inf


#: The terms of what is not predicted.
UNKNOWN: Numbers = np.zeros(0)


def ordered(default: Candidate, builds: Sequence[Candidate], layouts: Sequence[Candidate]) -> list[Version]:
    """The default, then all predicted versions, the fastest first; unpredicted `builds` follow the
    best, and unpredicted `layouts` stay in their order at the end.
    """
    known = [candidate for candidate in (*builds, *layouts) if math.isfinite(candidate.seconds)]
    unknown_builds = [build.version for build in builds if not math.isfinite(build.seconds)]
    unknown = [layout.version for layout in layouts if not math.isfinite(layout.seconds)]
    best = [candidate.version for candidate in _spread(default, known)] + unknown
    return list(dict.fromkeys((default.version, *best[:1], *unknown_builds, *best[1:])))


def _spread(default: Candidate, known: Sequence[Candidate]) -> list[Candidate]:
    """By predicted time, spreading kinds. The default came first, and is the first of its kind."""
    keys = []
    for kind in _kinds(known if not math.isfinite(default.seconds) else [default, *known]):
        members = sorted(kind, key=lambda candidate: candidate is not default)
        keys += [
            (candidate.seconds * (1 + AGAIN * place), candidate)
            for place, candidate in enumerate(members)
            if candidate is not default
        ]
    return [candidate for _, candidate in sorted(keys, key=lambda key: key[0])]


def _kinds(known: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Groups of versions that the model can hardly tell from the fastest of their kind."""
    kinds: list[list[Candidate]] = []
    for candidate in sorted(known, key=lambda candidate_: candidate_.seconds):
        for kind in kinds:
            if _is_same(kind[0], candidate):
                kind.append(candidate)
                break
        else:
            kinds.append([candidate])
    yield from kinds


def _is_same(first: Candidate, second: Candidate) -> bool:
    limit = SAME * first.seconds
    if second.seconds - first.seconds > limit or first.terms.shape != second.terms.shape:
        return False
    return float(np.abs(first.terms - second.terms).sum()) <= limit
