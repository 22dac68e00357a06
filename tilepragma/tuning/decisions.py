"""Which tile sizes to take for which launches, learned from measurements: a short list of rules
over the bytes of arrays and, where these do not tell enough, the iterations of the outermost loop
(`SizeChoice`).

The sizes that were measured are cut into ranges of bytes with one layout each, such that the worst
loss against the best of each size is least: dynamic programming over the ranges. Fewer rules are
better where they lose no more than is enough. Where as many rules as there may be layouts do not
reach that, a table over bytes and iterations has more rules for no more layouts (rule_tables.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.plan.kernel_plan import MeasuredSizes, SizeChoice
from tilepragma.sizes.search import Sizes
from tilepragma.tuning.covering import Shares, covering
from tilepragma.tuning.rule_tables import MOST_RULES, rule_table

#: Layouts at most, where nothing else is said, and the share of the best of each size that is
#: enough.
MOST, ENOUGH = 4, 0.97
#: Ranges of bytes up to which iterations are looked at too: what is tried grows with their square.
_MOST_GROUPS = 48
#: More rules than layouts are worth so much more of the best, at the worst size or in the mean,
#: where they do not reach what is enough.
_LEAST_GAIN = 0.01


@dataclass(frozen=True)
class Occasion:
    """Launches whose arrays have so many `bytes` and whose outermost loop so many `trips`, with the
    `seconds` of each layout that ran; `best` are those of the best version, be it one of these or
    not. `default` is the layout that is taken where nobody tunes, None where that is of no use
    here.
    """

    bytes: int
    trips: int
    seconds: Mapping[Sizes, float]
    best: float
    default: Sizes | None = None

    def share(self, sizes: Sizes) -> float:
        """The share of the best that a layout reaches; 0 where it did not run."""
        return self.best / self.seconds[sizes] if sizes in self.seconds else 0.0


@dataclass(frozen=True)
class Decision:
    """The rules, and the share of the best that they reach on each occasion. `missed` says why that
    is not enough everywhere, in a clause; empty where it is.
    """

    measured: MeasuredSizes
    shares: tuple[float, ...]
    missed: str = ""

    @property
    def least(self) -> float:
        """The share that is reached everywhere."""
        return min(self.shares)

    @property
    def mean(self) -> float:
        """The mean of the shares."""
        return math.fsum(self.shares) / len(self.shares)


@dataclass(frozen=True)
class _Part:
    """Rules for some occasions in the order of bytes, by limits of trips: (None or the trips, the layout). `shares` are what they reach."""

    rules: tuple[tuple[int | None, Sizes], ...]
    shares: tuple[float, ...]

    @property
    def worth(self) -> tuple[float, float]:
        """The least share first, then their sum."""
        return min(self.shares), math.fsum(self.shares)


def decided(occasions: Sequence[Occasion], most: int = MOST) -> Decision | None:
    """Rules with at most so many layouts for these occasions; None where there are none on which anything ran."""
    ordered = sorted((occasion for occasion in occasions if occasion.seconds), key=lambda occasion: occasion.bytes)
    if not ordered:
        return None
    groups = [list(own) for _, own in itertools.groupby(ordered, key=lambda one: one.bytes)]
    found = _best_parts(groups, most, by_trips=False)
    if len(groups) <= _MOST_GROUPS and _worth(found)[0] < ENOUGH:
        split = _best_parts(groups, most, by_trips=True)
        found = max(found, split, key=_worth)
        if most > 1 and _worth(found)[0] < ENOUGH:
            found = _table_or(found, groups, most)
    missed = "" if _worth(found)[0] >= ENOUGH or most == 1 else _why(groups, most)
    return _decision(groups, found, missed)


def _worth(parts: Sequence[tuple[int, _Part]]) -> tuple[float, float]:
    least, whole = zip(*(part.worth for _, part in parts), strict=True)
    return min(least), math.fsum(whole)


def _best_parts(groups: Sequence[list[Occasion]], most: int, by_trips: bool) -> list[tuple[int, _Part]]:
    """Parts with the number of the group behind their last one: as few rules as are enough, or the best of at most so many."""
    layouts = _layouts(groups)
    options = {
        (first, end): list(_parts([one for group in groups[first:end] for one in group], layouts, by_trips))
        for first in range(len(groups))
        for end in range(first + 1, len(groups) + 1)
    }
    # best[rules][end]: what is best for the groups before `end` with that many rules.
    best: list[dict[int, list[tuple[int, _Part]]]] = [{0: []}]
    for count in range(1, most + 1):
        level: dict[int, list[tuple[int, _Part]]] = {}
        for (first, end), parts in options.items():
            for part in parts:
                before = best[count - len(part.rules)].get(first) if len(part.rules) <= count else None
                if before is not None:
                    mine = [*before, (end, part)]
                    if end not in level or _worth(mine) > _worth(level[end]):
                        level[end] = mine
        best.append(level)
        if len(groups) in level and _worth(level[len(groups)])[0] >= ENOUGH:
            return level[len(groups)]
    return max((level[len(groups)] for level in best if len(groups) in level), key=_worth)


def _table_or(found: list[tuple[int, _Part]], groups: Sequence[list[Occasion]], most: int) -> list[tuple[int, _Part]]:
    """The parts of a table where that reaches what is enough, or more than was found."""
    layouts = _layouts(groups)
    trips = sorted({one.trips for group in groups for one in group})
    cells: dict[tuple[int, int], Shares] = {}
    for row, group in enumerate(groups):
        for one in group:
            cell, shares = (row, trips.index(one.trips)), _shares(one, layouts)
            cells[cell] = np.minimum(cells.get(cell, shares), shares)
    parts, first = [], 0
    for part in rule_table(cells, most, ENOUGH):
        mine = [one for group in groups[first : part.end] for one in group]
        first = part.end
        rules: list[tuple[int | None, Sizes]] = []
        for last, number in part.rules:
            beyond = [one.trips for one in mine if last is not None and one.trips > trips[last]]
            limit = None if last is None else _between(trips[last], min(beyond))
            rules.append((limit, layouts[number]))
        parts.append((first, _Part(tuple(rules), tuple(one.share(_taken(rules, one.trips)) for one in mine))))
    least, whole = (mine - own for mine, own in zip(_worth(parts), _worth(found), strict=True))
    count = sum(map(len, groups))
    is_better = _worth(parts)[0] >= ENOUGH or (least >= 0 and max(least, whole / count) >= _LEAST_GAIN)
    return parts if is_better else found


def _taken(rules: Sequence[tuple[int | None, Sizes]], trips: int) -> Sizes:
    return next(sizes for limit, sizes in rules if limit is None or trips <= limit)


def _why(groups: Sequence[list[Occasion]], most: int) -> str:
    """Why rules do not reach what is enough of the best everywhere."""
    layouts = _layouts(groups)
    _, reached = covering(np.array([_shares(one, layouts) for group in groups for one in group]), most, ENOUGH)
    if reached < ENOUGH:
        return f"no {most} versions reach more than {reached:.1%} of the best at every size"
    if len(groups) > _MOST_GROUPS:
        return f"arrays have more than {_MOST_GROUPS} lengths, so that iterations were not looked at"
    alike = [len({one.trips for one in group}) < len(group) for group in groups]
    return (
        "sizes with as many bytes and iterations need different versions, and launches know no more"
        if any(alike)
        else f"more than {MOST_RULES} rules would be needed"
    )


def _shares(occasion: Occasion, layouts: Sequence[Sizes]) -> Shares:
    return np.array([occasion.share(sizes) for sizes in layouts])


def _layouts(groups: Sequence[Sequence[Occasion]]) -> list[Sizes]:
    return list(dict.fromkeys(sizes for group in groups for one in group for sizes in one.seconds))


def _parts(occasions: Sequence[Occasion], layouts: Sequence[Sizes], by_trips: bool) -> Iterator[_Part]:
    """One layout for all of them, and one each for few and for many iterations."""
    yield _single(occasions, layouts, None)
    if not by_trips:
        return
    trips = sorted({occasion.trips for occasion in occasions})
    halves = []
    for few, many in itertools.pairwise(trips):
        limit = _between(few, many)
        low = _single([occasion for occasion in occasions if occasion.trips <= limit], layouts, limit)
        high = _single([occasion for occasion in occasions if occasion.trips > limit], layouts, None)
        halves.append(_Part((*low.rules, *high.rules), (*low.shares, *high.shares)))
    if halves:
        yield max(halves, key=lambda one: one.worth)


def _single(occasions: Sequence[Occasion], layouts: Sequence[Sizes], limit: int | None) -> _Part:
    parts = [_Part(((limit, sizes),), tuple(occasion.share(sizes) for occasion in occasions)) for sizes in layouts]
    return max(parts, key=lambda one: one.worth)


def _between(low: int, high: int) -> int:
    """A limit that the lower of two numbers meets, and the higher does not, in the middle of their ratio."""
    return min(max(math.isqrt(low * high), low), high - 1)


def _decision(groups: Sequence[list[Occasion]], parts: Sequence[tuple[int, _Part]], missed: str) -> Decision:
    choices: list[SizeChoice] = []
    for end, part in parts:
        last = groups[end - 1][0].bytes
        limit = last if end == len(groups) else _between(last, groups[end][0].bytes)
        choices += [SizeChoice(limit, trips, sizes) for trips, sizes in part.rules]
    shares = tuple(share for _, part in parts for share in part.shares)
    return Decision(MeasuredSizes(groups[0][0].bytes, tuple(choices)), shares, missed)
