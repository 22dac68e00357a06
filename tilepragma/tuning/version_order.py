"""In which order versions are tried: by predicted time, but so that those which the model can
hardly tell apart do not all come at once.

Of tile sizes many matter little, so that dozens of layouts are predicted to take the same time
within a share of a percent. Which of them is the fastest the model does not know; that they are not
much different it does. So each further one of a kind waits as if it were predicted to take some
more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.execution_time import Numbers
from tilepragma.tuning.measuring import Version

#: Versions whose kinds of work differ by less than the first share of their time, all together, are
#: of one kind; each that goes before counts as the second share more of a version's own time. Of
#: what was measured of two products at three sizes each (docs/RESULTS.md, "Section 5 of the TileK
#: paper") the first tenth of the order then has a version within 2 % of the best six times, by
#: predicted time alone five times.
SAME, AGAIN = 0.005, 0.02


@dataclass(frozen=True, eq=False)
class Candidate:
    """A version with the seconds of each kind of work that are predicted of it; none: nothing is predicted."""

    version: Version
    terms: Numbers

    @property
    def seconds(self) -> float:
        """Predicted; infinite where nothing is."""
        return float(self.terms.sum()) if self.terms.size else math.inf


#: The terms of what is not predicted.
UNKNOWN: Numbers = np.zeros(0)


def ordered(default: Candidate, builds: Sequence[Candidate], layouts: Sequence[Candidate]) -> list[Version]:
    """The default, then all that is predicted, the fastest first; the `builds` of which nothing is
    predicted come behind the best of the others, and `layouts` of which nothing is stay in their
    order at the end.
    """
    known = [one for one in (*builds, *layouts) if math.isfinite(one.seconds)]
    unknown_builds = [build.version for build in builds if not math.isfinite(build.seconds)]
    unknown = [layout.version for layout in layouts if not math.isfinite(layout.seconds)]
    best = [one.version for one in _spread(default, known)] + unknown
    return list(dict.fromkeys((default.version, *best[:1], *unknown_builds, *best[1:])))


def _spread(default: Candidate, known: Sequence[Candidate]) -> list[Candidate]:
    """By predicted time, kinds apart. The default came first, and is the first of its kind."""
    keys = []
    for kind in _kinds(known if not math.isfinite(default.seconds) else [default, *known]):
        own = sorted(kind, key=lambda one: one is not default)
        keys += [(one.seconds * (1 + AGAIN * place), one) for place, one in enumerate(own) if one is not default]
    return [one for _, one in sorted(keys, key=lambda key: key[0])]


def _kinds(known: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Those that the model can hardly tell apart from the fastest of their kind."""
    kinds: list[list[Candidate]] = []
    for one in sorted(known, key=lambda each: each.seconds):
        for kind in kinds:
            if _is_same(kind[0], one):
                kind.append(one)
                break
        else:
            kinds.append([one])
    yield from kinds


def _is_same(first: Candidate, other: Candidate) -> bool:
    limit = SAME * first.seconds
    if other.seconds - first.seconds > limit or first.terms.shape != other.terms.shape:
        return False
    return float(np.abs(first.terms - other.terms).sum()) <= limit
