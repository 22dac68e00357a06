"""Rules as a table over both that a launch knows, the bytes of its arrays and the iterations of its
outermost loop, for where a few ranges of bytes do not tell launches apart. A few layouts are chosen
first (covering.py), then as few rules for them as are enough.

Rules are ranges of bytes, each cut into ranges of iterations. What they are worth is a sum over the
cells of the table, so that dynamic programming finds the best of every number of rules.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.covering import Shares, covering, improved

#: Rules at most.
MOST_RULES = 32
#: What counts against a share that is gained beyond what is enough: one that is missing to that,
#: and one that is missing to what all cells can reach.
_SHORT, _WORST = 10.0, 1000.0
#: Where not enough is reached, fewer rules may lose so much more of what is enough, in the mean.
_SAME = 0.002

#: Of bytes and of iterations which ones these are among all that there are, in ascending order.
Cell = tuple[int, int]


@dataclass(frozen=True)
class Range:
    """The rules for launches whose bytes have a place before `end`, and none before that of another
    range: for places of iterations up to a limit (None: all others), a layout by its number.
    """

    end: int
    rules: tuple[tuple[int | None, int], ...]


def rule_table(cells: Mapping[Cell, Shares], most: int, enough: float) -> tuple[Range, ...]:
    """Rules for cells in which layouts reach these shares of the best, in ascending order, with at
    most so many of the layouts. There is a cell, and a layout.
    """
    shares = np.array(list(cells.values()))
    layouts, attainable = covering(shares, most, enough)
    count = most if attainable < enough else len(layouts)
    layouts = improved(layouts, _worth(shares, attainable, enough), count)
    mine = shares[:, layouts]
    rows, columns = (1 + max(cell[side] for cell in cells) for side in (0, 1))
    grid = np.full((rows, columns, len(layouts)), np.nan)
    for cell, own in zip(cells, _worth(mine, attainable, enough), strict=True):
        grid[cell] = own
    cuts = _Cuts(grid)
    found: list[tuple[float, float, tuple[Range, ...]]] = []
    for count in range(1, min(MOST_RULES, len(cells)) + 1):
        ranges = cuts.ranges(count)
        taken = np.array([own[_layout(ranges, cell)] for cell, own in zip(cells, mine, strict=True)])
        found.append((float(taken.min()), float(np.maximum(enough - taken, 0.0).mean()), ranges))
        if found[-1][1] == 0.0:
            break
    least = max(reached for reached, _, _ in found)
    limit = min(loss for reached, loss, _ in found if reached == least) + _SAME
    chosen = next(ranges for reached, loss, ranges in found if reached == least and loss <= limit)
    return tuple(Range(one.end, tuple((last, layouts[own]) for last, own in one.rules)) for one in chosen)


def _worth(shares: Shares, attainable: float, enough: float) -> Shares:
    """What shares count in a sum: the worst ones first, then those that are not enough."""
    short, worst = np.maximum(enough - shares, 0.0), np.maximum(attainable - shares, 0.0)
    return np.asarray(shares - _SHORT * short - _WORST * worst)


def _layout(ranges: tuple[Range, ...], cell: Cell) -> int:
    """The one that the rules take there."""
    rules = next(range_.rules for range_ in ranges if cell[0] < range_.end)
    return next(own for last, own in rules if last is None or cell[1] <= last)


class _Cuts:
    """The ways to cut a table whose cells are worth so much with each layout (rows, columns, layouts); what is no cell is no number."""

    def __init__(self, grid: Shares) -> None:
        self._grid = grid
        rows = len(grid)
        self._parts = {
            (first, end): _Row(grid[first:end]) for first in range(rows) for end in range(first + 1, rows + 1)
        }
        # best[count][end]: what that many rules are worth for the rows before `end`, and the first
        # row and the number of rules of the last range.
        self._best: list[dict[int, tuple[float, int, int]]] = [{0: (0.0, 0, 0)}]

    def ranges(self, count: int) -> tuple[Range, ...]:
        """The best of so many rules; there are cells for all of them."""
        while len(self._best) <= count:
            self._widen()
        found: list[Range] = []
        end = len(self._grid)
        while end:
            _, first, own = self._best[count][end]
            found.insert(0, Range(end, self._parts[first, end].rules(own)))
            end, count = first, count - own
        return tuple(found)

    def _widen(self) -> None:
        """One rule more."""
        count = len(self._best)
        level: dict[int, tuple[float, int, int]] = {}
        for (first, end), part in self._parts.items():
            for own in range(1, min(count, part.most) + 1):
                before = self._best[count - own].get(first)
                if before is not None:
                    worth = before[0] + part.worth(own)
                    if end not in level or worth > level[end][0]:
                        level[end] = (worth, first, own)
        self._best.append(level)


class _Row:
    """The ways to cut rows of a table, taken as one, by columns."""

    def __init__(self, cells: Shares) -> None:
        self._used = [int(one) for one in np.flatnonzero(~np.isnan(cells).all(axis=(0, 2)))]
        self.most = len(self._used)
        worth = np.nansum(cells, axis=0)[self._used]
        self._sums = np.vstack([np.zeros(cells.shape[2]), worth.cumsum(axis=0)])
        # pieces[i, j]: of the cells from i to before j.
        pieces = (self._sums[None, :, :] - self._sums[:, None, :]).max(axis=2)
        self._pieces = np.where(np.tri(self.most + 1, dtype=bool), -np.inf, pieces)
        self._levels = [self._pieces[0]]

    def worth(self, count: int) -> float:
        """Of the best so many pieces."""
        while len(self._levels) < count:
            self._levels.append((self._levels[-1][:, None] + self._pieces).max(axis=0))
        return float(self._levels[count - 1][-1])

    def rules(self, count: int) -> tuple[tuple[int | None, int], ...]:
        """The best so many pieces, as a Range has them."""
        self.worth(count)
        found: list[tuple[int | None, int]] = []
        end = self.most
        for level in range(count - 1, -1, -1):
            first = int((self._levels[level - 1] + self._pieces[:, end]).argmax()) if level else 0
            last = None if end == self.most else self._used[end - 1]
            found.insert(0, (last, int((self._sums[end] - self._sums[first]).argmax())))
            end = first
        return tuple(found)
