"""Rules as a table over what a launch knows, the bytes of its arrays and the iterations of its
outermost loop, if a few ranges of bytes do not suffice. First a few layouts are chosen
(covering.py), then the fewest rules for them that are enough.

Rules are ranges of bytes, each cut into ranges of iterations. Their worth is a sum over the cells
of the table, so that dynamic programming finds the best for every number of rules.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.covering import Shares, covering, improved

#: The most rules.
MOST_RULES = 32
#: Weights of a share missing to what is enough, and of one missing to what all cells can reach,
#: against a share gained beyond.
_SHORT, _WORST = 10.0, 1000.0
#: If enough is not reached, fewer rules may miss so much more in the mean.
_SAME = 0.002

#: Indices of bytes and of iterations among all values, in ascending order.
Cell = tuple[int, int]


@dataclass(frozen=True)
class Range:
    """The rules for launches whose index of bytes is before `end` and in no earlier range: for
    indices of iterations up to a limit (None: all others), a layout by its number.
    """

    end: int
    rules: tuple[tuple[int | None, int], ...]


def rule_table(cells: Mapping[Cell, Shares], most: int, enough: float) -> tuple[Range, ...]:
    """Rules for cells in which layouts reach these shares of the best, in ascending order, with at
    most `most` of the layouts. There is at least a cell and a layout.
    """
    shares = np.array(list(cells.values()))
    layouts, attainable = covering(shares, most, enough)
    count = most if attainable < enough else len(layouts)
    layouts = improved(layouts, _worth(shares, attainable, enough), count)
    of_layouts = shares[:, layouts]
    rows, columns = (1 + max(cell[side] for cell in cells) for side in (0, 1))
    grid = np.full((rows, columns, len(layouts)), np.nan)
    for cell, worth in zip(cells, _worth(of_layouts, attainable, enough), strict=True):
        grid[cell] = worth
    cuts = _Cuts(grid)
    tables: list[tuple[float, float, tuple[Range, ...]]] = []
    for count in range(1, min(MOST_RULES, len(cells)) + 1):
        ranges = cuts.ranges(count)
        taken = np.array([shares_[_layout(ranges, cell)] for cell, shares_ in zip(cells, of_layouts, strict=True)])
        tables.append((float(taken.min()), float(np.maximum(enough - taken, 0.0).mean()), ranges))
        if tables[-1][1] == 0.0:
            break
    least = max(reached for reached, _, _ in tables)
    limit = min(loss for reached, loss, _ in tables if reached == least) + _SAME
    chosen = next(ranges for reached, loss, ranges in tables if reached == least and loss <= limit)
    return tuple(
        Range(range_.end, tuple((last, layouts[number]) for last, number in range_.rules)) for range_ in chosen
    )


def _worth(shares: Shares, attainable: float, enough: float) -> Shares:
    """The weight of shares in a sum: the worst count most, then those that are not enough."""
    short, worst = np.maximum(enough - shares, 0.0), np.maximum(attainable - shares, 0.0)
    return np.asarray(shares - _SHORT * short - _WORST * worst)


def _layout(ranges: tuple[Range, ...], cell: Cell) -> int:
    """The layout that the rules take at the cell."""
    rules = next(range_.rules for range_ in ranges if cell[0] < range_.end)
    return next(layout for last, layout in rules if last is None or cell[1] <= last)


class _Cuts:
    """The ways to cut a table of worths (rows, columns, layouts); missing cells are NaN."""

    def __init__(self, grid: Shares) -> None:
        self._grid = grid
        rows = len(grid)
        self._parts = {
            (first, end): _Row(grid[first:end]) for first in range(rows) for end in range(first + 1, rows + 1)
        }
        # best[count][end]: the worth of that many rules for the rows before `end`, and the first
        # row and the number of rules of the last range.
        self._best: list[dict[int, tuple[float, int, int]]] = [{0: (0.0, 0, 0)}]

    def ranges(self, count: int) -> tuple[Range, ...]:
        """The best ranges of so many rules; there are cells for all of them."""
        while len(self._best) <= count:
            self._widen()
        ranges: list[Range] = []
        end = len(self._grid)
        while end:
            _, first, pieces = self._best[count][end]
            ranges.insert(0, Range(end, self._parts[first, end].rules(pieces)))
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
        """The best `count` pieces as a Range's rules."""
        self.worth(count)
        rules: list[tuple[int | None, int]] = []
        end = self.most
        for level in range(count - 1, -1, -1):
            first = int((self._levels[level - 1] + self._pieces[:, end]).argmax()) if level else 0
            last = None if end == self.most else self._used[end - 1]
            rules.insert(0, (last, int((self._sums[end] - self._sums[first]).argmax())))
            end = first
        return tuple(rules)
