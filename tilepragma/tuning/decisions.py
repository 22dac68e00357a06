"""Chooses tile sizes for launches from measurements: a short list of rules over the bytes of arrays
and, if these do not suffice, the iterations of the outermost loop (`SizeChoice`).

The measured sizes are cut into ranges of bytes with one layout each, such that the worst loss
against the best of each size is least: dynamic programming over the ranges. Fewer rules are better
if they lose no more than is enough. If as many rules as layouts do not reach that, a table over
bytes and iterations has more rules for no more layouts: first a few layouts are chosen, then the
fewest rules for them that are enough.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tilepragma.base.frozen_values import dataclass
from tilepragma.plan.kernel_plan import MeasuredSizes, SizeChoice
from tilepragma.sizes.ranked_layouts import Sizes

Shares = NDArray[np.float64]
#: The most branches for one share; beyond, the share counts as unreachable.
_MOST_BRANCHES = 20_000
#: The most exchanges of one layout for another; sums that differ by less are equal.
_MOST_EXCHANGES, _EQUAL = 16, 1e-9
#: Default: the most layouts, and the share of the best of each size that is enough.
MOST, ENOUGH = 4, 0.97
#: The most ranges of bytes for which iterations are considered too: the cost is quadratic.
_MOST_GROUPS = 48
#: The gain at the worst size or in the mean that justifies more rules than layouts, if they do not
#: reach what is enough.
_LEAST_GAIN = 0.01
#: The most rules.
MOST_RULES = 32
#: Weights of what a share lacks to be enough, and of what it lacks to what all cells can reach,
#: relative to what it gains above.
_SHORT, _WORST = 10.0, 1000.0
#: If enough is not reached, fewer rules may miss so much more in the mean.
_SAME = 0.002

#: Indices of bytes and of iterations among all values, in ascending order.
_Cell = tuple[int, int]
#: Rules of a table: the index of bytes before which a range ends, and its rules: for indices of
#: iterations up to a limit (None: all others), a layout by its number.
_Ranges = tuple[tuple[int, tuple[tuple[int | None, int], ...]], ...]


@dataclass(frozen=True)
class Occasion:
    """Launches with the same `bytes` of arrays and `trips` of the outermost loop, and the `seconds`
    of each layout that ran. `best` are the seconds of the best version, which may be none of these.
    `default` is the layout without tuning, None if it did not run.
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
    for end, numbers in _rule_table(cells, most, ENOUGH):
        covered = [case for group in groups[first:end] for case in group]
        first = end
        rules: list[tuple[int | None, Sizes]] = []
        for last, number in numbers:
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
        return f"arrays have more than {_MOST_GROUPS} lengths, so iterations were not considered"
    if any(len({occasion.trips for occasion in group}) < len(group) for group in groups):
        return "sizes with equal bytes and iterations need different versions, which launches cannot tell apart"
    return f"more than {MOST_RULES} rules would be needed"


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


# -- Tables
#
# Rules are ranges of bytes, each cut into ranges of iterations. Their worth is a sum over the cells
# of the table, so that dynamic programming finds the best for every number of rules.


def _rule_table(cells: Mapping[_Cell, Shares], most: int, enough: float) -> _Ranges:
    """Rules for cells in which layouts reach these shares of the best, in ascending order, with at
    most `most` of the layouts. There is at least a cell and a layout.
    """
    shares = np.array(list(cells.values()))
    layouts, attainable = covering(shares, most, enough)
    count = most if attainable < enough else len(layouts)
    layouts = improved(layouts, _weighted(shares, attainable, enough), count)
    of_layouts = shares[:, layouts]
    rows, columns = (1 + max(cell[side] for cell in cells) for side in (0, 1))
    grid = np.full((rows, columns, len(layouts)), np.nan)
    for cell, worth in zip(cells, _weighted(of_layouts, attainable, enough), strict=True):
        grid[cell] = worth
    cuts = _Cuts(grid)
    tables: list[tuple[float, float, _Ranges]] = []
    for count in range(1, min(MOST_RULES, len(cells)) + 1):
        ranges = cuts.ranges(count)
        taken = np.array([shares_[_layout(ranges, cell)] for cell, shares_ in zip(cells, of_layouts, strict=True)])
        tables.append((float(taken.min()), float(np.maximum(enough - taken, 0.0).mean()), ranges))
        if tables[-1][1] == 0.0:
            break
    least = max(reached for reached, _, _ in tables)
    limit = min(loss for reached, loss, _ in tables if reached == least) + _SAME
    chosen = next(ranges for reached, loss, ranges in tables if reached == least and loss <= limit)
    return tuple((end, tuple((last, layouts[number]) for last, number in rules)) for end, rules in chosen)


def _weighted(shares: Shares, attainable: float, enough: float) -> Shares:
    """The weight of shares in a sum: the worst count most, then those that are not enough."""
    short, worst = np.maximum(enough - shares, 0.0), np.maximum(attainable - shares, 0.0)
    return np.asarray(shares - _SHORT * short - _WORST * worst)


def _layout(ranges: _Ranges, cell: _Cell) -> int:
    rules = next(rules for end, rules in ranges if cell[0] < end)
    return next(layout for last, layout in rules if last is None or cell[1] <= last)


class _Cuts:
    """The ways to cut a table of worths (rows, columns, layouts); missing cells are NaN."""

    def __init__(self, grid: Shares) -> None:
        self._grid = grid
        rows = len(grid)
        ranges = itertools.combinations(range(rows + 1), 2)
        self._parts = {(first, end): _Row(grid[first:end]) for first, end in ranges}
        # best[count][end]: the worth of that many rules for the rows before `end`, and the first
        # row and the number of rules of the last range.
        self._best: list[dict[int, tuple[float, int, int]]] = [{0: (0.0, 0, 0)}]

    def ranges(self, count: int) -> _Ranges:
        """The best ranges of so many rules; there are cells for all of them."""
        while len(self._best) <= count:
            self._widen()
        ranges: list[tuple[int, tuple[tuple[int | None, int], ...]]] = []
        end = len(self._grid)
        while end:
            _, first, pieces = self._best[count][end]
            ranges.insert(0, (end, self._parts[first, end].rules(pieces)))
            end, count = first, count - pieces
        return tuple(ranges)

    def _widen(self) -> None:
        """Adds one rule."""
        count = len(self._best)
        level: dict[int, tuple[float, int, int]] = {}
        for (first, end), part in self._parts.items():
            for pieces in range(1, min(count, part.most) + 1):
                before = self._best[count - pieces].get(first)
                if before is not None:
                    worth = before[0] + part.worth(pieces)
                    if end not in level or worth > level[end][0]:
                        level[end] = (worth, first, pieces)
        self._best.append(level)


class _Row:
    """The ways to cut rows of a table, taken as one, by columns."""

    def __init__(self, cells: Shares) -> None:
        self._used = [int(column) for column in np.flatnonzero(~np.isnan(cells).all(axis=(0, 2)))]
        self.most = len(self._used)
        worth = np.nansum(cells, axis=0)[self._used]
        self._sums = np.vstack([np.zeros(cells.shape[2]), worth.cumsum(axis=0)])
        # pieces[i, j]: the worth of the cells from i to before j.
        pieces = (self._sums[None, :, :] - self._sums[:, None, :]).max(axis=2)
        self._pieces = np.where(np.tri(self.most + 1, dtype=bool), -np.inf, pieces)
        self._levels = [self._pieces[0]]

    def worth(self, count: int) -> float:
        """The worth of the best `count` pieces."""
        while len(self._levels) < count:
            self._levels.append((self._levels[-1][:, None] + self._pieces).max(axis=0))
        return float(self._levels[count - 1][-1])

    def rules(self, count: int) -> tuple[tuple[int | None, int], ...]:
        """The best `count` pieces as rules."""
        self.worth(count)
        rules: list[tuple[int | None, int]] = []
        end = self.most
        for level in range(count - 1, -1, -1):
            first = int((self._levels[level - 1] + self._pieces[:, end]).argmax()) if level else 0
            last = None if end == self.most else self._used[end - 1]
            rules.insert(0, (last, int((self._sums[end] - self._sums[first]).argmax())))
            end = first
        return tuple(rules)


# -- A few layouts for many occasions: the best of them suffices on each, or the worst loss is least
#
# A covering problem: a layout covers the occasions on which it reaches a share of the best.
# Branching on the occasion that the fewest layouts cover decides whether a few layouts cover all;
# bisection finds the greatest share that they can reach on all.


def covering(shares: Shares, most: int, enough: float) -> tuple[tuple[int, ...], float]:
    """The fewest columns of which the best reaches `enough` in each row; if `most` columns do not
    reach it, those that reach the largest share, and that share. There is at least a row and a
    column.
    """
    limit = min(enough, float(shares.max(axis=1).min()))
    for count in range(1, most + 1):
        if (columns := _covering(shares, count, limit)) is not None:
            return columns, limit
    values = np.unique(shares[shares < limit])
    chosen: tuple[int, ...] = (0,)
    reached = 0.0
    low, high = -1, len(values)  # values[low] is reached, values[high] is not
    while high - low > 1:
        middle = (low + high) // 2
        if (columns := _covering(shares, most, float(values[middle]))) is None:
            high = middle
        else:
            low, chosen, reached = middle, columns, float(values[middle])
    return chosen, reached


def improved(columns: tuple[int, ...], worth: Shares, count: int) -> tuple[int, ...]:
    """Adds columns up to `count` and exchanges some, so that the sum of each row's best grows."""
    chosen = list(columns)
    while len(chosen) < count and (best := _best_beside(chosen, worth))[1] > _total(chosen, worth) + _EQUAL:
        chosen.append(best[0])
    for _ in range(_MOST_EXCHANGES):
        ways = [(place, *_best_beside(chosen[:place] + chosen[place + 1 :], worth)) for place in range(len(chosen))]
        place, column, total = max(ways, key=lambda way: way[2])
        if total <= _total(chosen, worth) + _EQUAL:
            break
        chosen[place] = column
    return tuple(chosen)


def _total(columns: Sequence[int], worth: Shares) -> float:
    return float(worth[:, columns].max(axis=1).sum())


def _best_beside(columns: Sequence[int], worth: Shares) -> tuple[int, float]:
    """The column that adds the most worth to these, and the total."""
    sums = (np.maximum(worth, worth[:, columns].max(axis=1, keepdims=True)) if columns else worth).sum(axis=0)
    column = int(sums.argmax())
    return column, float(sums[column])


def _covering(shares: Shares, most: int, share: float) -> tuple[int, ...] | None:
    """At most `most` columns that reach the share in every row; None if there are none."""
    columns = _maximal([int("".join("1" if covers else "0" for covers in column), 2) for column in (shares >= share).T])
    rows = (1 << shares.shape[0]) - 1
    branches = 0

    def search(left: int, count: int) -> tuple[int, ...] | None:
        nonlocal branches
        if not left:
            return ()
        if count == 0 or branches >= _MOST_BRANCHES:
            return None
        ordered = sorted(columns, key=lambda mask: -(mask & left).bit_count())
        if (ordered[0] & left).bit_count() * count < left.bit_count():
            return None
        rows_left = (row for row in range(left.bit_length()) if left >> row & 1)
        holders = [[mask for mask in ordered if mask >> row & 1] for row in rows_left]
        for column in min(holders, key=len):
            branches += 1
            others = search(left & ~column, count - 1)
            if others is not None:
                return (column, *others)
        return None

    result = search(rows, most) if columns else None
    return None if result is None else tuple(columns[mask] for mask in result)


def _maximal(masks: Sequence[int]) -> dict[int, int]:
    """The masks that are subsets of no other mask, each with the number of its first column."""
    first: dict[int, int] = {}
    for number, mask in enumerate(masks):
        first.setdefault(mask, number)
    kept: dict[int, int] = {}
    for mask in sorted(first, key=int.bit_count, reverse=True):
        if mask and not any(mask & larger == mask for larger in kept):
            kept[mask] = first[mask]
    return kept
