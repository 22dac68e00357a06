"""Intra-tile wavefronts in closed form: a tile is a box of s_1 x ... x s_m points in the space of
the hyperplanes, and a wavefront the points whose coordinates have the same sum (thesis (5.1)).
"""

from __future__ import annotations

import numpy as np

from tilepragma.model.execution_time import Integers, Numbers, sums


def wavefront_widths(sizes: Integers) -> tuple[Integers, Integers]:
    """H of every intra-tile wavefront of boxes (a row of `sizes` each), one box after the other,
    and where each box's begin.

    The numbers of points by the sum of their coordinates are the coefficients of prod (1 - x^s) /
    (1 - x): 2^m differences of order m a box, summed m times over all boxes at once (a box's sums
    end at zero where the next begins).
    """
    boxes, dimensions = sizes.shape
    lengths = sizes.sum(axis=1) + 1
    starts = np.cumsum(lengths) - lengths
    values = np.zeros(int(lengths.sum()), dtype=np.int64)
    add_corners(values, starts, sizes, np.ones(boxes, dtype=np.int64))
    for _ in range(dimensions):
        values = np.cumsum(values)
    return values, starts


def add_corners(values: Integers, starts: Integers, lengths: Integers, signs: Integers) -> None:
    """Add the differences that make boxes with corners at `starts` to `values`."""
    for corner in range(2 ** lengths.shape[1]):
        taken = [d for d in range(lengths.shape[1]) if corner >> d & 1]
        places = starts + lengths[:, taken].sum(axis=1)
        np.add.at(values, places, signs * (-1) ** len(taken))


def intra_tile_wavefronts(sizes: Integers) -> Integers:
    """U_e - L_e + 1: the number of intra-tile wavefronts of each box."""
    return np.asarray(sizes.sum(axis=1) - sizes.shape[1] + 1, dtype=np.int64)


def widest_wavefront(sizes: Integers) -> Integers:
    """The largest H of each box: that of the middle one, since sums of independent intervals have one hill."""
    ordered = np.sort(sizes, axis=1)
    if sizes.shape[1] == 1:
        return np.ones(len(sizes), dtype=np.int64)
    if sizes.shape[1] == 2:
        return ordered[:, 0]
    if sizes.shape[1] == 3:
        return _widest_of_three(ordered)
    distinct, back = np.unique(ordered, axis=0, return_inverse=True)
    widths, starts = wavefront_widths(distinct)
    middle = intra_tile_wavefronts(distinct) // 2
    return np.asarray(widths[starts + middle][back.reshape(-1)], dtype=np.int64)


def _widest_of_three(ordered: Integers) -> Integers:
    """The middle wavefront of boxes a <= b <= c: of the a b points of a rectangle, those with c places or fewer around its middle sum."""
    a, b, c = ordered.T
    short = np.maximum(a + b - 1 - c, 0)
    low, high = short // 2, short - short // 2
    return np.asarray(a * b - (low * (low + 1) + high * (high + 1)) // 2, dtype=np.int64)


def warps_of_boxes(sizes: Integers, warp: int) -> Numbers:
    """The sum of G over each box's intra-tile wavefronts: warps of `warp` lanes that have points.

    In closed form for one and two dimensions (widths 1, 2, ..., s, ..., s, ..., 2, 1); with more,
    summed over wavefronts, once for all boxes with the same edges in whatever order.
    """
    ordered = np.sort(sizes, axis=1)
    if sizes.shape[1] == 1:
        return ordered[:, 0].astype(np.float64)
    if sizes.shape[1] == 2:
        short, long = ordered.T
        return np.asarray(2 * _groups_up_to(short - 1, warp) + (long - short + 1) * -(-short // warp), dtype=np.float64)
    distinct, back = np.unique(ordered, axis=0, return_inverse=True)
    widths, starts = wavefront_widths(distinct)
    return sums(-(-widths // warp), starts)[back.reshape(-1)].astype(np.float64)


def _groups_up_to(last: Integers, group: int) -> Integers:
    """ceil(1 / group) + ... + ceil(last / group)."""
    whole = last // group
    return np.asarray(group * whole * (whole + 1) // 2 + (last - whole * group) * (whole + 1), dtype=np.int64)


def fewest_warps(sizes: Integers, warp: int) -> Numbers:
    """No more than `warps_of_boxes`: a warp for each wavefront, and no more than `warp` points in one."""
    points = np.prod(sizes, axis=1, dtype=np.int64)
    return np.asarray(np.maximum(intra_tile_wavefronts(sizes), points / warp), dtype=np.float64)
