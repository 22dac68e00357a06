"""Tiles and inter-tile wavefronts of time-skewed nests. A wavefront is the tiles whose coordinates have the same sum (thesis (5.1))."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tests.thesis.box_wavefronts import add_corners
from tests.thesis.plane_tiles import plane_rounds
from tilepragma.base.ragged_arrays import members
from tilepragma.model.execution_time import Integers, Numbers, slowest_rounds, sums

ENTRIES = 1 << 20
"""Rows of tiles and wavefronts that are counted at once, some 100 bytes each; more of one tile size where it has more."""


@dataclass(frozen=True)
class TileWavefronts:
    """The inter-tile wavefronts of each layout, as `slowest_rounds` takes them."""

    starts: Integers
    repeats: Integers
    tiles: Integers
    full: Integers
    share: Numbers

    def rounds(self, units: int) -> Numbers:
        """The time of the slowest unit."""
        return slowest_rounds(self.starts, self.repeats, self.tiles, self.full, self.share, units)


@dataclass(frozen=True)
class SkewedNest:
    """Iterations (t, x_2, ..., x_m) with 0 <= t < T and f_d t <= x_d < f_d t + N_d: a nest of
    sweeps over an array, skewed against time.

    `extents` are T, N_2, ..., N_m (all above 0), `skews` f_2, ..., f_m (0 or more). Tiles are
    boxes, the first begins at the origin.
    """

    extents: tuple[int, ...]
    skews: tuple[int, ...]

    @property
    def points(self) -> int:
        """Iterations of the nest."""
        return prod(self.extents)


def skewed_wavefronts(nest: SkewedNest, sizes: Integers) -> TileWavefronts:
    """The inter-tile wavefronts of a skewed nest for each row of tile sizes.

    For each tile of time there is a range of tiles in each other dimension; the tiles are those of
    the product of these ranges, as a grid of blocks covers them. (In two dimensions each has a
    point; in more, a few at the corners have none: border tiles of no share.) Full tiles are
    counted exactly, and so is what the border tiles of a layout have together: `share` is their
    mean.
    """
    rows = -(-nest.extents[0] // sizes[:, 0])
    layout, row = members(rows)
    lows, counts, full_lows, full_counts = _ranges(nest, sizes, layout, row)
    number = inter_tile_wavefronts(nest, sizes)
    lengths = number + sizes.shape[1] - 1
    places = (np.cumsum(lengths) - lengths)[layout] + row
    layout_of, wavefront = members(lengths)
    kept = wavefront < number[layout_of]
    tiles = _profile(len(kept), places + lows, counts)[kept]
    full = _profile(len(kept), places + full_lows, full_counts)[kept]
    starts = np.cumsum(number) - number
    inside = sums(full, starts)
    border = sums(tiles, starts) - inside
    share = (nest.points / np.prod(sizes, axis=1, dtype=np.float64) - inside) / np.maximum(border, 1)
    return TileWavefronts(starts, np.ones_like(tiles), tiles, full, share)


def _ranges(
    nest: SkewedNest, sizes: Integers, layout: Integers, row: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """For tiles of time (`row` of a `layout`): the sum of the first tiles over the other dimensions
    and the number of tiles in each; the same of the full ones.
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
    add_corners(values, places[some], counts[some], np.ones(int(some.sum()), dtype=np.int64))
    for _ in range(counts.shape[1]):
        values = np.cumsum(values)
    return values


def inter_tile_wavefronts(nest: SkewedNest, sizes: Integers) -> Integers:
    """Inter-tile wavefronts for each row of tile sizes, from the first tile's to the last one's."""
    last = (nest.extents[0] - 1) // sizes[:, 0]
    for dimension, (extent, skew) in enumerate(zip(nest.extents[1:], nest.skews, strict=True), start=1):
        last = last + (skew * (nest.extents[0] - 1) + extent - 1) // sizes[:, dimension]
    return np.asarray(last + 1, dtype=np.int64)


def tile_rounds(nest: SkewedNest, sizes: Integers, units: int) -> Numbers:
    """`TileWavefronts.rounds` of the wavefronts of a skewed nest: in closed form where it has two dimensions."""
    if sizes.shape[1] == 2:
        return plane_rounds((nest.extents[0], nest.extents[1]), nest.skews[0], sizes, units)
    entries = np.cumsum(-(-nest.extents[0] // sizes[:, 0]) + inter_tile_wavefronts(nest, sizes))
    cuts = np.flatnonzero(np.diff(entries // ENTRIES)) + 1
    parts = [skewed_wavefronts(nest, part).rounds(units) for part in np.split(sizes, cuts)]
    return np.concatenate(parts)


def fewest_rounds(nest: SkewedNest, sizes: Integers, units: int) -> Numbers:
    """No more than `tile_rounds`, and fast.

    A wavefront of n tiles, f of them full and the others of the mean share r, takes (1 - r) ceil(f
    / P) + r ceil(n / P) >= (f + r (n - f)) / P; summed over wavefronts, f + r (n - f) is all points
    in full tiles.
    """
    return np.asarray(nest.points / (np.prod(sizes, axis=1, dtype=np.float64) * units), dtype=np.float64)
