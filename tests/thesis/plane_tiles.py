"""Tiles of skewed nests of two dimensions: how long their inter-tile wavefronts take, in closed
form.

In a plane every count is a difference of two floors of linear functions of the wavefront, so sums
over wavefronts are sums of floors, which Euclid's algorithm finds in a few steps. Arrays are of
float64 that hold integers below 2^52, where floor(a / b) is exact (and division several times as
fast as that of integers).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilepragma.model.execution_time import Integers, Numbers

LARGEST = float(1 << 52)


def floor_sums(number: Numbers, divisor: Numbers, factor: Numbers, offset: Numbers) -> Numbers:
    """floor((factor i + offset) / divisor) summed over 0 <= i < number, entry by entry.

    `number`, `factor` and `offset` are 0 or more, `divisor` is above 0. Multiples of the divisor
    are taken out of factor and offset; what is left has the points under a line, counted by columns
    and then by rows, with divisor and factor exchanged.
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
    """What `TileWavefronts.rounds` says of a nest of two dimensions: T by N, skewed, in tiles of
    s_1 x s_2.

    Where a sum would exceed what float64 holds exactly (some 10^15 tiles), a wavefront's last round
    counts as a whole one and its share of all points besides: no less than it is, and hardly more
    where wavefronts are long.
    """
    high, wide = sizes.astype(np.float64).T
    steps, width = (float(extent) for extent in extents)
    rows = np.ceil(steps / high)
    last = rows - 1 + np.floor((skew * (steps - 1) + width - 1) / wide)
    full = steps * width / (high * wide)
    largest = np.maximum((last + 2) * rows, wide * (last + 2) + (rows + units) * (wide + skew * high))
    exact = np.flatnonzero(largest < LARGEST)
    rounds = full / units + last + 1
    rounds[exact] = _exact_rounds((steps, width), skew, (high[exact], wide[exact]), last[exact], units)
    return np.asarray(rounds, dtype=np.float64)


def _exact_rounds(
    extents: tuple[float, float], skew: int, sizes: tuple[Numbers, Numbers], last: Numbers, units: int
) -> Numbers:
    """The rounds, where the last tile with a point is in the wavefront `last`.

    Tile (t, x) of wavefront w = t + x has a point where skew s_1 t <= s_2 x + s_2 - 1 and s_2 x <=
    skew (s_1 t + s_1 - 1) + N - 1, and is full where s_2 x >= skew (s_1 t + s_1 - 1) and s_2 (x +
    1) <= skew s_1 t + N: with x = w - t each a range of t, see `_Band`. (The last row of tiles may
    have fewer steps. Its last tile with points is then the last wavefront all the same, where the
    sum ends: all rows before it end earlier.)
    """
    (steps, width), (high, wide) = extents, sizes
    step = wide + skew * high
    whole = np.where(width - wide - skew * (high - 1) >= 0, np.floor(steps / high), 0.0)
    some = _Band.of(wide, step, wide - 1, skew * (high - 1) + width, np.ceil(steps / high), last)
    full = _Band.of(wide, step, -skew * (high - 1), width - wide + 1, whole, last)
    single, parallel = np.ones_like(high), np.full_like(high, units)
    tiles, inside = some.rounds(single), full.rounds(single)
    share = (steps * width / (high * wide) - inside) / np.maximum(tiles - inside, 1.0)
    least = full.rounds(parallel)
    return np.asarray(least + share * (some.rounds(parallel) - least), dtype=np.float64)


@dataclass(frozen=True)
class _Band:
    """A tile of row t for each t with 0 <= t < rows, L(w) <= t < U(w) in wavefronts 0 <= w <= last,
    where

    U(w) = floor((wide w + above) / step) + 1, L(w) = floor((wide w - below) / step) + 1.

    So a wavefront has min(rows, U) - max(0, L) tiles. From `first` on U grows, until `top` where it
    is `rows`; L grows from `lift` on; `end` is the last wavefront with a tile. Before both there is
    U, between them U - L or all rows, after both rows - L.
    """

    wide: Numbers
    step: Numbers
    above: Numbers
    below: Numbers
    rows: Numbers
    reach: Numbers
    """(rows - 1) step + below - 1: the largest wide w with L(w) < rows"""
    first: Numbers
    top: Numbers
    lift: Numbers
    end: Numbers

    @classmethod
    def of(cls, wide: Numbers, step: Numbers, above: Numbers, below: Numbers, rows: Numbers, last: Numbers) -> _Band:
        """The band with these lines."""
        reach = (rows - 1) * step + below - 1
        first = np.maximum(np.ceil(-above / wide), 0.0)
        end = np.where(rows > 0, np.minimum(last, np.floor(reach / wide)), -1.0)
        top = np.maximum(np.ceil(((rows - 1) * step - above) / wide), first)
        lift = np.maximum(np.ceil(below / wide), first)
        return cls(
            wide, step, above, below, rows, reach, first, np.minimum(top, end + 1), np.minimum(lift, end + 1), end
        )

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

        U - L is k = floor((above + below) / step) or k + 1. Which of the two it is matters only
        where k is a multiple of the units; then the sum of U - L says how often it is k + 1.
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
