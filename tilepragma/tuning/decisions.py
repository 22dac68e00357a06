"""Chooses tile sizes for launches from measurements: a short list of rules over the bytes of arrays
and, if these do not suffice, the iterations of the outermost loop (`SizeChoice`).

The measured sizes are cut into ranges of bytes with one layout each, such that the worst loss
against the best of each size is least: dynamic programming over the ranges. Fewer rules are better
if they lose no more than is enough. If as many rules as layouts do not reach that, a table over
bytes and iterations has more rules for no more layouts (rule_tables.py).
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

#: Default: the most layouts, and the share of the best of each size that is enough.
MOST, ENOUGH = 4, 0.97
#: The most ranges of bytes for which iterations are considered too: the cost is quadratic.
_MOST_GROUPS = 48
#: The gain at the worst size or in the mean that justifies more rules than layouts, if they do not
#: reach what is enough.
_LEAST_GAIN = 0.01


@dataclass(frozen=True)
class Occasion:
    """Launches with the same `bytes` of arrays and `trips` of the outermost loop, and the `seconds`
    of each layout that ran. `best` are the seconds of the best version, which may be none of these.
    `default` is the layout without tuning, None if that is of no use.
    """

    bytes: int
    trips: int
    seconds: Mapping[Sizes, float]
    best: float
    default: Sizes | None = None

    def share(self, sizes: Sizes) -> float:
        """The share of the best that a layout reaches; 0 if it did not run."""
        return self.best / self.seconds[sizes] if sizes in self.seconds else 0.0


@dataclass(frozen=True)
class Decision:
    """The rules, and the share of the best that they reach on each occasion. `missed` says why that
    is not enough everywhere, in a clause; empty if it is.
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
    """Rules for a range of bytes, (limit of trips or None, layout), and the `shares` reached."""

    rules: tuple[tuple[int | None, Sizes], ...]
    shares: tuple[float, ...]

    @property
    def worth(self) -> tuple[float, float]:
        """The least share, then the sum."""
        return min(self.shares), math.fsum(self.shares)


def decided(occasions: Sequence[Occasion], most: int = MOST) -> Decision | None:
    """Rules with at most `most` layouts for these occasions; None if nothing ran."""
    ordered = sorted((occasion for occasion in occasions if occasion.seconds), key=lambda occasion: occasion.bytes)
    if not ordered:
        return None
    groups = [list(group) for _, group in itertools.groupby(ordered, key=lambda occasion: occasion.bytes)]
    parts = _best_parts(groups, most, by_trips=False)
    if len(groups) <= _MOST_GROUPS and _worth(parts)[0] < ENOUGH:
        split = _best_parts(groups, most, by_trips=True)
        parts = max(parts, split, key=_worth)
        if most > 1 and _worth(parts)[0] < ENOUGH:
            parts = _better_table(parts, groups, most)
    missed = "" if _worth(parts)[0] >= ENOUGH or most == 1 else _why(groups, most)
    return _decision(groups, parts, missed)


def _worth(parts: Sequence[tuple[int, _Part]]) -> tuple[float, float]:
    least, whole = zip(*(part.worth for _, part in parts), strict=True)
    return min(least), math.fsum(whole)


def _best_parts(groups: Sequence[list[Occasion]], most: int, by_trips: bool) -> list[tuple[int, _Part]]:
    """Parts with the end of their groups: the fewest rules that suffice, or the best of `most`."""
    layouts = _layouts(groups)
    options = {
        (first, end): list(_parts([occasion for group in groups[first:end] for occasion in group], layouts, by_trips))
        for first in range(len(groups))
        for end in range(first + 1, len(groups) + 1)
    }
    # best[rules][end]: the best parts for the groups before `end` with that many rules.
    best: list[dict[int, list[tuple[int, _Part]]]] = [{0: []}]
    for count in range(1, most + 1):
        level: dict[int, list[tuple[int, _Part]]] = {}
        for (first, end), parts in options.items():
            for part in parts:
                before = best[count - len(part.rules)].get(first) if len(part.rules) <= count else None
                if before is not None:
                    extended = [*before, (end, part)]
                    if end not in level or _worth(extended) > _worth(level[end]):
                        level[end] = extended
        best.append(level)
        if len(groups) in level and _worth(level[len(groups)])[0] >= ENOUGH:
            return level[len(groups)]
    return max((level[len(groups)] for level in best if len(groups) in level), key=_worth)


def _better_table(
    usual: list[tuple[int, _Part]], groups: Sequence[list[Occasion]], most: int
) -> list[tuple[int, _Part]]:
    """A table's parts if they reach enough or more than the `usual` parts, else these."""
    layouts = _layouts(groups)
    trips = sorted({case.trips for group in groups for case in group})
    cells: dict[tuple[int, int], Shares] = {}
    for row, group in enumerate(groups):
        for occasion in group:
            cell, shares = (row, trips.index(occasion.trips)), _shares(occasion, layouts)
            cells[cell] = np.minimum(cells.get(cell, shares), shares)
    table, first = [], 0
    for part in rule_table(cells, most, ENOUGH):
        covered = [case for group in groups[first : part.end] for case in group]
        first = part.end
        rules: list[tuple[int | None, Sizes]] = []
        for last, number in part.rules:
            beyond = [case.trips for case in covered if last is not None and case.trips > trips[last]]
            limit = None if last is None else _between(trips[last], min(beyond))
            rules.append((limit, layouts[number]))
        table.append((first, _Part(tuple(rules), tuple(case.share(_taken(rules, case.trips)) for case in covered))))
    least, whole = (new - old for new, old in zip(_worth(table), _worth(usual), strict=True))
    count = sum(map(len, groups))
    is_better = _worth(table)[0] >= ENOUGH or (least >= 0 and max(least, whole / count) >= _LEAST_GAIN)
    return table if is_better else usual


def _taken(rules: Sequence[tuple[int | None, Sizes]], trips: int) -> Sizes:
    return next(sizes for limit, sizes in rules if limit is None or trips <= limit)


def _why(groups: Sequence[list[Occasion]], most: int) -> str:
    """Why no rules reach enough of the best everywhere."""
    layouts = _layouts(groups)
    _, reached = covering(np.array([_shares(case, layouts) for group in groups for case in group]), most, ENOUGH)
    if reached < ENOUGH:
        return f"no {most} versions reach more than {reached:.1%} of the best at every size"
    if len(groups) > _MOST_GROUPS:
        return f"arrays have more than {_MOST_GROUPS} lengths, so that iterations were not looked at"
    alike = [len({occasion.trips for occasion in group}) < len(group) for group in groups]
    return (
        "sizes with as many bytes and iterations need different versions, and launches know no more"
        if any(alike)
        else f"more than {MOST_RULES} rules would be needed"
    )


def _shares(occasion: Occasion, layouts: Sequence[Sizes]) -> Shares:
    return np.array([occasion.share(sizes) for sizes in layouts])


def _layouts(groups: Sequence[Sequence[Occasion]]) -> list[Sizes]:
    return list(dict.fromkeys(sizes for group in groups for occasion in group for sizes in occasion.seconds))


def _parts(occasions: Sequence[Occasion], layouts: Sequence[Sizes], by_trips: bool) -> Iterator[_Part]:
    """One layout for all occasions, and one each for few and for many iterations."""
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
        yield max(halves, key=lambda part: part.worth)


def _single(occasions: Sequence[Occasion], layouts: Sequence[Sizes], limit: int | None) -> _Part:
    parts = [_Part(((limit, sizes),), tuple(occasion.share(sizes) for occasion in occasions)) for sizes in layouts]
    return max(parts, key=lambda part: part.worth)


def _between(low: int, high: int) -> int:
    """A limit that the lower of two numbers meets and the higher does not, near their mean."""
    return min(max(math.isqrt(low * high), low), high - 1)


def _decision(groups: Sequence[list[Occasion]], parts: Sequence[tuple[int, _Part]], missed: str) -> Decision:
    choices: list[SizeChoice] = []
    for end, part in parts:
        last = groups[end - 1][0].bytes
        limit = last if end == len(groups) else _between(last, groups[end][0].bytes)
        choices += [SizeChoice(limit, trips, sizes) for trips, sizes in part.rules]
    shares = tuple(share for _, part in parts for share in part.shares)
    return Decision(MeasuredSizes(groups[0][0].bytes, tuple(choices)), shares, missed)
