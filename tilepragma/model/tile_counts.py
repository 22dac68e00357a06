"""Counts of tiles and of wavefronts in closed form: boxes of points, and the tiles of time-skewed nests.

A tile is a box of s_1 x ... x s_m points in the space of the hyperplanes. Its intra-tile wavefronts are the points whose coordinates have the
same sum (thesis (5.1)), and so are the inter-tile wavefronts among tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilepragma.model.execution_time import Integers, Numbers, TileWavefronts


def wavefront_widths(sizes: Integers) -> tuple[Integers, Integers]:
    """H of every intra-tile wavefront of boxes (a row of `sizes` each), one box after the other, and where each box's begin.

    The numbers of points by the sum of their coordinates are the coefficients of prod (1 - x^s) / (1 - x): 2^m differences of order m a
    box, summed m times over all boxes at once (a box's sums end at zero where the next begins).
    """
    boxes, dimensions = sizes.shape
    lengths = sizes.sum(axis=1) + 1
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    values = np.zeros(int(lengths.sum()), dtype=np.int64)
    _scatter(values, starts, sizes, np.ones(boxes, dtype=np.int64))
    for _ in range(dimensions):
        values = np.cumsum(values)
    return values, starts


def _scatter(values: Integers, starts: Integers, lengths: Integers, signs: Integers) -> None:
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
    return np.asarray(np.maximum.reduceat(widths, starts)[back.reshape(-1)], dtype=np.int64)


def _widest_of_three(ordered: Integers) -> Integers:
    """The middle wavefront of boxes a <= b <= c: of the a b points of a rectangle, those with c places or fewer around its middle sum."""
    a, b, c = ordered.T
    short = np.maximum(a + b - 1 - c, 0)
    low, high = short // 2, short - short // 2
    return np.asarray(a * b - (low * (low + 1) + high * (high + 1)) // 2, dtype=np.int64)


def warps_of_boxes(sizes: Integers, warp: int) -> Numbers:
    """The sum of G over each box's intra-tile wavefronts: warps of `warp` lanes that have points.

    In closed form for one and two dimensions (widths 1, 2, ..., s, ..., s, ..., 2, 1); with more, summed over wavefronts, once for all boxes
    with the same edges in whatever order.
    """
    ordered = np.sort(sizes, axis=1)
    if sizes.shape[1] == 1:
        return ordered[:, 0].astype(np.float64)
    if sizes.shape[1] == 2:
        short, long = ordered.T
        return np.asarray(2 * _groups_up_to(short - 1, warp) + (long - short + 1) * -(-short // warp), dtype=np.float64)
    distinct, back = np.unique(ordered, axis=0, return_inverse=True)
    widths, starts = wavefront_widths(distinct)
    return np.add.reduceat(-(-widths // warp), starts)[back.reshape(-1)].astype(np.float64)


def _groups_up_to(last: Integers, group: int) -> Integers:
    """ceil(1 / group) + ... + ceil(last / group)."""
    whole = last // group
    return np.asarray(group * whole * (whole + 1) // 2 + (last - whole * group) * (whole + 1), dtype=np.int64)


def fewest_warps(sizes: Integers, warp: int) -> Numbers:
    """No more than `warps_of_boxes`: a warp for each wavefront, and no more than `warp` points in one."""
    points = np.prod(sizes, axis=1, dtype=np.int64)
    return np.asarray(np.maximum(intra_tile_wavefronts(sizes), points / warp), dtype=np.float64)


@dataclass(frozen=True)
class SkewedNest:
    """Iterations (t, x_2, ..., x_m) with 0 <= t < T and f_d t <= x_d < f_d t + N_d: a nest of sweeps over an array, skewed against time.

    `extents` are T, N_2, ..., N_m (all above 0), `skews` f_2, ..., f_m (0 or more). Tiles are boxes, the first begins at the origin.
    """

    extents: tuple[int, ...]
    skews: tuple[int, ...]

    @property
    def points(self) -> int:
        """Iterations of the nest."""
        return int(np.prod(self.extents, dtype=object))


def skewed_wavefronts(nest: SkewedNest, sizes: Integers) -> TileWavefronts:
    """The inter-tile wavefronts of a skewed nest for each row of tile sizes.

    For each tile of time there is a range of tiles in each other dimension; the tiles are those of the product of these ranges, as a grid of
    blocks covers them. (In two dimensions each has a point; in more, a few at the corners have none: border tiles of no share.) Full tiles
    are counted exactly, and so is what the border tiles of a layout have together: `share` is their mean.
    """
    rows = -(-nest.extents[0] // sizes[:, 0])
    layout = np.repeat(np.arange(len(sizes)), rows)
    row = np.arange(int(rows.sum())) - np.repeat(np.cumsum(rows) - rows, rows)
    lows, counts, full_lows, full_counts = _ranges(nest, sizes, layout, row)
    number = inter_tile_wavefronts(nest, sizes)
    lengths = number + sizes.shape[1] - 1
    places = (np.cumsum(lengths) - lengths)[layout] + row
    kept = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths) < np.repeat(number, lengths)
    tiles = _profile(len(kept), places + lows, counts)[kept]
    full = _profile(len(kept), places + full_lows, full_counts)[kept]
    starts = np.cumsum(number) - number
    inside = np.add.reduceat(full, starts)
    border = np.add.reduceat(tiles, starts) - inside
    share = (nest.points / np.prod(sizes, axis=1, dtype=np.float64) - inside) / np.maximum(border, 1)
    return TileWavefronts(starts, np.ones_like(tiles), tiles, full, share)


def _ranges(
    nest: SkewedNest, sizes: Integers, layout: Integers, row: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """For tiles of time (`row` of a `layout`): the sum of the first tiles over the other dimensions and the number of tiles in each; the
    same of the full ones.
    """
    height = sizes[layout, 0]
    first = row * height
    last = np.minimum(first + height, nest.extents[0]) - 1
    whole = last - first + 1 == height
    lows, counts, full_lows, full_counts = np.zeros_like(row), [], np.zeros_like(row), []
    for dimension, (extent, skew) in enumerate(zip(nest.extents[1:], nest.skews, strict=True), start=1):
        size = sizes[layout, dimension]
        low = skew * first // size
        full_low = -(-skew * last // size)
        lows += low
        full_lows += full_low
        counts.append((skew * last + extent - 1) // size - low + 1)
        full_counts.append(np.where(whole, np.maximum((skew * first + extent) // size - full_low, 0), 0))
    return lows, np.stack(counts, axis=1), full_lows, np.stack(full_counts, axis=1)


def _profile(total: int, places: Integers, counts: Integers) -> Integers:
    """Tiles by wavefront: the sum of boxes of `counts` tiles that begin at `places`."""
    values = np.zeros(total, dtype=np.int64)
    some = (counts > 0).all(axis=1)
    _scatter(values, places[some], counts[some], np.ones(int(some.sum()), dtype=np.int64))
    for _ in range(counts.shape[1]):
        values = np.cumsum(values)
    return values


def inter_tile_wavefronts(nest: SkewedNest, sizes: Integers) -> Integers:
    """Inter-tile wavefronts for each row of tile sizes, from the first tile's to the last one's."""
    last = (nest.extents[0] - 1) // sizes[:, 0]
    for dimension, (extent, skew) in enumerate(zip(nest.extents[1:], nest.skews, strict=True), start=1):
        last = last + (skew * (nest.extents[0] - 1) + extent - 1) // sizes[:, dimension]
    return np.asarray(last + 1, dtype=np.int64)
