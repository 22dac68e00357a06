"""Which few layouts to have for many occasions: such that the best of them is good enough on every
one, or the worst loss is least.

A covering problem: a layout covers the occasions on which it reaches a share of the best. Whether a
few cover all is found by branching on the occasion that the fewest layouts cover; the greatest
share that they can reach on all by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.float64]
#: Branches that are followed for one share; beyond it counts as one that cannot be reached.
_MOST_BRANCHES = 20_000
#: Layouts are exchanged one for another so many times at most, where that is better on the whole;
#: sums that are closer are equal.
_MOST_EXCHANGES, _EQUAL = 16, 1e-9


def covering(shares: Shares, most: int, enough: float) -> tuple[tuple[int, ...], float]:
    """As few columns as reach `enough` in every row, each row by the best of them; where so many do
    not reach it, those that reach the most, and the share that they do reach. There is a row and a
    column.
    """
    limit = min(enough, float(shares.max(axis=1).min()))
    for count in range(1, most + 1):
        if (mine := _covering(shares, count, limit)) is not None:
            return mine, limit
    values = np.unique(shares[shares < limit])
    found: tuple[int, ...] = (0,)
    reached = 0.0
    low, high = -1, len(values)  # values[low] is reached, values[high] is not
    while high - low > 1:
        middle = (low + high) // 2
        if (mine := _covering(shares, most, float(values[middle]))) is None:
            high = middle
        else:
            low, found, reached = middle, mine, float(values[middle])
    return found, reached


def improved(found: tuple[int, ...], worth: Shares, count: int) -> tuple[int, ...]:
    """So many columns in the place of these: others added, and one after another exchanged, so that
    all are worth more; the best of them counts in each row.
    """
    mine = list(found)
    while len(mine) < count and (best := _best_beside(mine, worth))[1] > _total(mine, worth) + _EQUAL:
        mine.append(best[0])
    for _ in range(_MOST_EXCHANGES):
        ways = [(place, *_best_beside(mine[:place] + mine[place + 1 :], worth)) for place in range(len(mine))]
        place, column, total = max(ways, key=lambda one: one[2])
        if total <= _total(mine, worth) + _EQUAL:
            break
        mine[place] = column
    return tuple(mine)


def _total(columns: Sequence[int], worth: Shares) -> float:
    return float(worth[:, columns].max(axis=1).sum())


def _best_beside(columns: Sequence[int], worth: Shares) -> tuple[int, float]:
    """The column with which these are worth the most, and what they are."""
    sums = (np.maximum(worth, worth[:, columns].max(axis=1, keepdims=True)) if columns else worth).sum(axis=0)
    column = int(sums.argmax())
    return column, float(sums[column])


def _covering(shares: Shares, most: int, share: float) -> tuple[int, ...] | None:
    """At most so many columns that reach the share in every row; None where there are none."""
    columns = _maximal([int("".join("1" if one else "0" for one in column), 2) for column in (shares >= share).T])
    rows = (1 << shares.shape[0]) - 1
    branches = 0

    def search(left: int, count: int) -> tuple[int, ...] | None:
        nonlocal branches
        if not left:
            return ()
        if count == 0 or branches >= _MOST_BRANCHES:
            return None
        ordered = sorted(columns, key=lambda one: -(one & left).bit_count())
        if (ordered[0] & left).bit_count() * count < left.bit_count():
            return None
        holders = [[one for one in ordered if one >> row & 1] for row in _bits(left)]
        for column in min(holders, key=len):
            branches += 1
            others = search(left & ~column, count - 1)
            if others is not None:
                return (column, *others)
        return None

    found = search(rows, most) if columns else None
    return None if found is None else tuple(columns[one] for one in found)


def _maximal(masks: Sequence[int]) -> dict[int, int]:
    """The masks that no other one holds, each with the number of its first column."""
    first: dict[int, int] = {}
    for number, mask in enumerate(masks):
        first.setdefault(mask, number)
    kept: dict[int, int] = {}
    for mask in sorted(first, key=int.bit_count, reverse=True):
        if mask and not any(mask & other == mask for other in kept):
            kept[mask] = first[mask]
    return kept


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
