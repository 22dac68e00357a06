"""Tiles of skewed nests of two dimensions: how long their inter-tile wavefronts take, in closed form.

In a plane every count is a difference of two floors of linear functions of the wavefront, so sums over wavefronts are sums of floors, which
Euclid's algorithm finds in a few steps. Arrays are of float64 that hold integers below 2^52, where floor(a / b) is exact (and division several
times as fast as that of integers).
"""

from __future__ import annotations

import numpy as np

from tilepragma.model.execution_time import Integers, Numbers

LARGEST = float(1 << 52)


def floor_sums(number: Numbers, divisor: Numbers, factor: Numbers, offset: Numbers) -> Numbers:
    """floor((factor i + offset) / divisor) summed over 0 <= i < number, entry by entry.

    `number`, `factor` and `offset` are 0 or more, `divisor` is above 0. Multiples of the divisor are taken out of factor and offset; what is left
    has the points under a line, counted by columns and then by rows, with divisor and factor exchanged.
    """
    total = np.zeros(len(number))
    places = np.flatnonzero(number > 0)
    n, m, a, b = (values[places] for values in (number, divisor, factor, offset))
    while len(places):
        steps, rise = np.floor(a / m), np.floor(b / m)
        a, b = a - steps * m, b - rise * m
        total[places] += n * (n - 1) / 2 * steps + n * rise
        top = a * n + b
        more = top >= m
        places, m, a, top = places[more], m[more], a[more], top[more]
        n = np.floor(top / m)
        b = top - n * m
        m, a = a, m
    return total


def plane_rounds(extents: tuple[int, int], skew: int, sizes: Integers, units: int) -> Numbers:
    """What `TileWavefronts.rounds` says of a nest of two dimensions: T by N, skewed, in tiles of s_1 x s_2.

    Tile (t, x) of wavefront w = t + x has a point where skew s_1 t <= s_2 x + s_2 - 1 and s_2 x <= skew (s_1 t + s_1 - 1) + N - 1, and is full where
    s_2 x >= skew (s_1 t + s_1 - 1) and s_2 (x + 1) <= skew s_1 t + N: with x = w - t each a range of t, see `_Band`. (The last row of tiles may have
    fewer steps. Its last tile with points is then the last wavefront all the same, where the sum ends: all rows before it end earlier.)
    """
    steps, width = (float(extent) for extent in extents)
    high, wide = sizes.astype(np.float64).T
    if float(np.max(high + wide, initial=0.0)) * (1 + skew) * units * (steps + width) * (1 + skew) >= LARGEST:
        raise OverflowError("the nest is too large for exact sums in float64")
    rows, whole = np.ceil(steps / high), np.floor(steps / high)
    last = rows - 1 + np.floor((skew * (steps - 1) + width - 1) / wide)
    step = wide + skew * high
    fits = width - wide - skew * (high - 1) >= 0
    some = _Band(wide, step, wide - 1, skew * (high - 1) + width, rows, last)
    full = _Band(wide, step, -skew * (high - 1), width - wide + 1, np.where(fits, whole, 0.0), last)
    ones = np.ones_like(high)
    tiles, inside = some.rounds(ones), full.rounds(ones)
    share = (steps * width / (high * wide) - inside) / np.maximum(tiles - inside, 1.0)
    parallel = units * ones
    whole_rounds = full.rounds(parallel)
    return np.asarray(whole_rounds + share * (some.rounds(parallel) - whole_rounds), dtype=np.float64)


class _Band:
    """A tile of row t for each t with 0 <= t < rows, L(w) <= t < U(w) in wavefronts 0 <= w <= last, where

    U(w) = floor((wide w + above) / step) + 1, L(w) = floor((wide w - below) / step) + 1.

    So a wavefront has min(rows, U) - max(0, L) tiles. From `first` on U grows, until `top` where it is `rows`; L grows from `lift` on; `end` is the
    last wavefront with a tile. Before both there is U, between them U - L or all rows, after both rows - L.
    """

    def __init__(self, wide: Numbers, step: Numbers, above: Numbers, below: Numbers, rows: Numbers, last: Numbers):
        self.wide, self.step, self.above, self.below, self.rows = wide, step, above, below, rows
        self.reach = (rows - 1) * step + below - 1
        self.first = np.maximum(np.ceil(-above / wide), 0.0)
        self.end = np.where(rows > 0, np.minimum(last, np.floor(self.reach / wide)), -1.0)
        beyond = self.end + 1
        top = np.maximum(np.ceil(((rows - 1) * step - above) / wide), self.first)
        lift = np.maximum(np.ceil(below / wide), self.first)
        self.top, self.lift = np.minimum(top, beyond), np.minimum(lift, beyond)

    def rounds(self, units: Numbers) -> Numbers:
        """ceil(tiles / units) summed over wavefronts."""
        early, late = np.minimum(self.top, self.lift), np.maximum(self.top, self.lift)
        total = self._growing(early, units) + self._shrinking(late, units)
        between = np.maximum(late - early, 0.0)
        level = between * np.ceil(self.rows / units)
        return np.asarray(total + np.where(self.top <= self.lift, level, self._moving(between, units)))

    def _growing(self, until: Numbers, units: Numbers) -> Numbers:
        """ceil(U / units) = floor((wide w + above) / (step units)) + 1, from `first` on."""
        number = np.maximum(until - self.first, 0.0)
        offset = self.wide * self.first + self.above
        return number + floor_sums(number, self.step * units, self.wide, offset)

    def _shrinking(self, since: Numbers, units: Numbers) -> Numbers:
        """ceil((rows - L) / units) = floor((reach - wide w) / (step units)) + 1, from `end` back."""
        number = np.maximum(self.end + 1 - since, 0.0)
        return number + floor_sums(number, self.step * units, self.wide, self.reach - self.wide * self.end)

    def _moving(self, number: Numbers, units: Numbers) -> Numbers:
        """ceil((U - L) / units) over `number` wavefronts from `lift` on.

        U - L is k = floor((above + below) / step) or k + 1. Which of the two it is matters only where k is a multiple of the units; then the
        sum of U - L says how often it is k + 1.
        """
        fewer = np.floor((self.above + self.below) / self.step)
        rounds = np.ceil(fewer / units)
        more = np.zeros_like(number)
        asked = np.flatnonzero((fewer == rounds * units) & (number > 0) & (self.lift < self.top))
        if len(asked):
            wide, step, n = self.wide[asked], self.step[asked], number[asked]
            start = wide * self.lift[asked]
            upper = floor_sums(n, step, wide, start + self.above[asked])
            lower = floor_sums(n, step, wide, start - self.below[asked])
            more[asked] = upper - lower - fewer[asked] * n
        return np.asarray(number * rounds + more)
