"""Chooses a few layouts for many occasions: the best of them suffices on each, or the worst loss is
least.

A covering problem: a layout covers the occasions on which it reaches a share of the best. Branching
on the occasion that the fewest layouts cover decides whether a few layouts cover all; bisection
finds the greatest share that they can reach on all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.float64]
#: The most branches for one share; beyond, the share counts as unreachable.
_MOST_BRANCHES = 20_000
#: The most exchanges of one layout for another; sums that differ by less are equal.
_MOST_EXCHANGES, _EQUAL = 16, 1e-9


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
        holders = [[mask for mask in ordered if mask >> row & 1] for row in _bits(left)]
        for column in min(holders, key=len):
            branches += 1
            others = search(left & ~column, count - 1)
            if others is not None:
                return (column, *others)
        return None

    result = search(rows, most) if columns else None
    return None if result is None else tuple(columns[mask] for mask in result)


def _maximal(masks: Sequence[int]) -> dict[int, int]:
    """The masks that are in no other one, each with the number of its first column."""
    first: dict[int, int] = {}
    for number, mask in enumerate(masks):
        first.setdefault(mask, number)
    kept: dict[int, int] = {}
    for mask in sorted(first, key=int.bit_count, reverse=True):
        if mask and not any(mask & larger == mask for larger in kept):
            kept[mask] = first[mask]
    return kept


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
