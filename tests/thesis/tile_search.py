"""Algorithm 5.1: the best layout, tile size and thread organisation together, by the model.

The layouts are all pairs of a tile size and an organisation. Sizes are looked at in the order of a
lower bound of their times, and the search ends where the bound exceeds what has been found: nothing
that is left could be among the layouts asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Overheads
from tilepragma.model.execution_time import Coefficients, Integers, Numbers, Work, cost_at, predict

CHUNK = 1 << 15
FIRST_BATCH = 256
#: What sums of a dozen terms may be wrong by, relative to the largest.
ROUNDING = 1e-12


class Layouts(Protocol):
    """What a search chooses from. Rows of `sizes` are tile sizes; results have a row for each and a column for each organisation."""

    @property
    def organisations(self) -> tuple[tuple[int, ...], ...]:
        """The thread organisations: threads of a block by dimension."""

    def bounds(self, sizes: Integers) -> Numbers:
        """Seconds that the layouts take at least: never above `times`. Infinite where a constraint refuses a layout."""

    def times(self, sizes: Integers) -> Numbers:
        """Predicted seconds; infinite for refused layouts and those of which the model knows nothing."""

    def blocks(self, sizes: Integers) -> Integers:
        """B, the blocks resident on each unit; 0 where none has room."""


@dataclass(frozen=True)
class Layout:
    """A layout and its predicted `time` in seconds. `blocks` are resident on each unit, so the grid is `blocks` by the number of units."""

    sizes: tuple[int, ...]
    organisation: tuple[int, ...]
    blocks: int
    time: float


@dataclass(frozen=True)
class SearchResult:
    """The best layouts, best first (none where constraints refuse all), and what became of the
    `seen`: `refused` by constraints, `pruned` by the bound, `timed` by the model.
    """

    layouts: tuple[Layout, ...]
    seen: int
    refused: int
    pruned: int
    timed: int

    @property
    def best(self) -> Layout | None:
        """The winner."""
        return self.layouts[0] if self.layouts else None


def search(layouts: Layouts, sizes: Integers, keep: int = 8) -> SearchResult:
    """The `keep` best layouts of those with these tile sizes (a row each), the same as a search
    without pruning finds.

    Proof: let b(s) be the least bound of the layouts with size s. Sizes are timed in ascending
    order of b until b(s) > T, the `keep`-th best time so far. Each layout left out has a time of at
    least its b >= b(s) > T, while `keep` layouts with times up to T are known, so it is none of the
    best. Equal times are in the order of `sizes`, then of organisations; b = T is timed, hence ties
    come out the same.
    """
    lowest, admitted = _bounds(layouts, sizes)
    order = np.argsort(lowest, kind="stable")
    ranked = lowest[order]
    hopeful = int(np.searchsorted(ranked, np.inf))
    times = np.empty(0)
    places = np.empty(0, dtype=np.int64)
    done, batch = 0, FIRST_BATCH
    while done < hopeful:
        limit = times[keep - 1] if len(times) == keep else np.inf
        end = min(done + batch, hopeful, int(np.searchsorted(ranked, limit, side="right")))
        if end <= done:
            break
        times, places = _best(layouts, sizes, order[done:end], keep, times, places)
        done, batch = end, min(2 * batch, CHUNK)
    timed = int(admitted[order[:done]].sum())
    seen = len(sizes) * len(layouts.organisations)
    every = int(admitted.sum())
    return SearchResult(_named(layouts, sizes, times, places), seen, seen - every, every - timed, timed)


def _bounds(layouts: Layouts, sizes: Integers) -> tuple[Numbers, Integers]:
    """For each size its least bound, and how many organisations constraints admit."""
    lowest = np.empty(len(sizes))
    admitted = np.empty(len(sizes), dtype=np.int64)
    for start in range(0, len(sizes), CHUNK):
        bounds = layouts.bounds(sizes[start : start + CHUNK])
        lowest[start : start + CHUNK] = bounds.min(axis=1, initial=np.inf)
        admitted[start : start + CHUNK] = np.isfinite(bounds).sum(axis=1)
    return lowest, admitted


def _best(
    layouts: Layouts, sizes: Integers, rows: Integers, keep: int, times: Numbers, places: Integers
) -> tuple[Numbers, Integers]:
    """The best of those known and of the sizes in these rows: times in ascending order, and places (row and organisation in one number)."""
    width = len(layouts.organisations)
    more = layouts.times(sizes[rows])
    where = (rows[:, None] * width + np.arange(width)).reshape(-1)
    times = np.concatenate((times, more.reshape(-1)))
    places = np.concatenate((places, where))
    finite = np.isfinite(times)
    times, places = times[finite], places[finite]
    if len(times) > keep:
        near = times <= np.partition(times, keep - 1)[keep - 1]
        times, places = times[near], places[near]
    order = np.lexsort((places, times))[:keep]
    return times[order], places[order]


def _named(layouts: Layouts, sizes: Integers, times: Numbers, places: Integers) -> tuple[Layout, ...]:
    """The layouts at these places."""
    width = len(layouts.organisations)
    layouts_of_rows = []
    for time, place in zip(times.tolist(), places.tolist(), strict=True):
        row, column = divmod(place, width)
        blocks = layouts.blocks(sizes[row : row + 1])[0, column]
        size = tuple(int(edge) for edge in sizes[row])
        layouts_of_rows.append(Layout(size, layouts.organisations[column], int(blocks), time))
    return tuple(layouts_of_rows)


@dataclass(frozen=True)
class TileWork(Work):
    """What there is to do, and `widest`, the largest H of a tile."""

    widest: Integers

    @property
    def reuse(self) -> Numbers:
        """D = L_tile / N_mem (thesis 5.4.1)."""
        return np.asarray(self.points / self.transfers, dtype=np.float64)


@dataclass(frozen=True)
class WavefrontLayouts:
    """Layouts of a nest that runs in two levels of wavefronts, with the times of the thesis's
    model.

    `work` says exactly what there is to do at tile sizes. `outline` says it faster: its `warps`,
    `rounds` and `wavefronts` may be too few, never too many; all else is exact. `resident` gives B
    by threads a block and shared bytes of a block, `coefficients` those of an organisation with its
    B. `least_time` are seconds that tile sizes take at least whatever the organisation, because of
    the memories' bandwidths (`roofline`); a time is never below it. Constraints: L_tile / N_mem is
    `least_reuse` or more, a block has at least as many threads as the widest intra-tile wavefront
    has points, and a unit has room for a block.
    """

    organisations: tuple[tuple[int, ...], ...]
    work: Callable[[Integers], TileWork]
    outline: Callable[[Integers], TileWork]
    resident: Callable[[int, Integers], Integers]
    coefficients: Callable[[int, Integers], Coefficients]
    overheads: Overheads
    units: int
    least_reuse: float = 0.0
    least_time: Callable[[Integers], Numbers] | None = None

    def bounds(self, sizes: Integers) -> Numbers:
        """T_total from below.

        Let G', R', W' be the outline's warps of a tile, rounds and wavefronts. T_total = R T_tile +
        W sigma_blk + sigma_ker with R >= R', W >= W'. G' <= G <= L_tile (a warp that runs has a
        point), so alpha G >= min(alpha G', alpha L_tile) whatever alpha's sign, and T_tile is at
        least the same sum with that in the place of alpha G: t. `times` refuses layouts with T_tile
        <= 0, so R T_tile >= R' max(t, 0). The bound is R' max(t, 0) + W' sigma_blk + sigma_ker,
        less what rounding may have added; and as T_total is raised to `least_time`, so is it.
        """
        work = self.outline(sizes)
        columns = [self._bound(work, column) for column in range(len(self.organisations))]
        return self._at_least(sizes, np.stack(columns, axis=1))

    def _at_least(self, sizes: Integers, times: Numbers) -> Numbers:
        return np.maximum(times, self.least_time(sizes)[:, None]) if self.least_time else times

    def _bound(self, work: TileWork, column: int) -> Numbers:
        threads = self._threads(column)
        blocks = self.resident(threads, work.shared)
        known = self.coefficients(threads, blocks)
        warps = np.minimum(known.alpha * work.warps, known.alpha * work.points)
        barriers = (work.steps + 2) * cost_at(self.overheads.barrier, threads)
        rest = known.beta * work.points, known.gamma * work.transfers
        size = np.abs(known.alpha) * work.points + barriers + abs(rest[0]) + abs(rest[1])
        tile = np.maximum(warps + barriers + rest[0] + rest[1] - ROUNDING * size, 0.0)
        crossing = cost_at(self.overheads.wavefront, blocks * self.units)
        total = work.rounds * tile + work.wavefronts * crossing + self.overheads.kernel
        return np.where(self._admits(work, threads, blocks), total * (1 - ROUNDING), np.inf)

    def _threads(self, column: int) -> int:
        return int(np.prod(self.organisations[column]))

    def _admits(self, work: TileWork, threads: int, blocks: Integers) -> npt.NDArray[np.bool_]:
        return np.asarray((work.widest <= threads) & (work.reuse >= self.least_reuse) & (blocks > 0), dtype=np.bool_)

    def times(self, sizes: Integers) -> Numbers:
        """T_total (5.8); infinite for refused layouts, and where coefficients make a tile take no time or less."""
        work = self.work(sizes)
        columns = []
        for column in range(len(self.organisations)):
            threads = self._threads(column)
            blocks = self.resident(threads, work.shared)
            parts = predict(work, threads, blocks, self.units, self.coefficients(threads, blocks), self.overheads)
            known = self._admits(work, threads, blocks) & (parts.tile > 0)
            columns.append(np.where(known, parts.total, np.inf))
        return self._at_least(sizes, np.stack(columns, axis=1))

    def blocks(self, sizes: Integers) -> Integers:
        """B of each layout."""
        shared = self.outline(sizes).shared
        columns = [self.resident(self._threads(column), shared) for column in range(len(self.organisations))]
        return np.stack(columns, axis=1)
