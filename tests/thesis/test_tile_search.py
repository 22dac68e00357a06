"""Algorithm 5.1: what it finds, and that pruning loses nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.thesis.sor_layouts import Sor
from tests.thesis.tile_search import SearchResult, WavefrontLayouts, search
from tilepragma.model.device import Overheads
from tilepragma.model.execution_time import Coefficients, Integers, Numbers, predict

WARP, UNITS = 4, 3
OVERHEADS = Overheads(kernel=5.0, barrier=((4, 0.5), (32, 2.0)), wavefront=((3, 3.0), (24, 9.0)), copy=0.0)
COEFFICIENTS = Coefficients(4.0, -0.25, 2.0)


def resident(threads: int, shared: Integers) -> Integers:
    """B of a small device: 8 blocks, 16 warps, 1 KB."""
    return np.minimum(min(8, 16 // -(-threads // WARP)), 1024 // shared)


def layouts_of(sor: Sor, coefficients: Coefficients = COEFFICIENTS, least_reuse: float = 0.0) -> WavefrontLayouts:
    return WavefrontLayouts(
        organisations=((4,), (8,), (4, 4), (32,)),
        work=sor.work,
        outline=sor.outline,
        resident=resident,
        coefficients=lambda threads, blocks: coefficients,
        overheads=OVERHEADS,
        units=UNITS,
        least_reuse=least_reuse,
    )


@dataclass(frozen=True)
class Counted:
    """Layouts with these times and bounds; `asked` are the sizes that were timed."""

    table: Numbers
    below: Numbers
    asked: list[int] = field(default_factory=list)

    @property
    def organisations(self) -> tuple[tuple[int, ...], ...]:
        return tuple((32 * (k + 1),) for k in range(self.table.shape[1]))

    def bounds(self, sizes: Integers) -> Numbers:
        return self.below[sizes[:, 0]]

    def times(self, sizes: Integers) -> Numbers:
        self.asked.extend(sizes[:, 0].tolist())
        return self.table[sizes[:, 0]]

    def blocks(self, sizes: Integers) -> Integers:
        return np.ones((len(sizes), self.table.shape[1]), dtype=np.int64)


def exhaustive(times: Numbers, keep: int) -> list[tuple[float, int, int]]:
    """The best of a table, the order of equal ones being that of rows and columns."""
    rows, columns = times.shape
    every = [(times[r, c], r, c) for r in range(rows) for c in range(columns) if np.isfinite(times[r, c])]
    return sorted(every)[:keep]


def places_in(
    result: SearchResult, sizes: Integers, organisations: tuple[tuple[int, ...], ...]
) -> list[tuple[float, int, int]]:
    rows = [tuple(size) for size in sizes.tolist()]
    return [
        (layout.time, rows.index(layout.sizes), organisations.index(layout.organisation)) for layout in result.layouts
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 4),
    st.integers(1, 40),
    st.lists(st.integers(1, 60), min_size=3, max_size=3),
    st.one_of(st.floats(0.0, 8.0), st.floats(-0.1, 0.0)),
    st.floats(-1.0, 2.0),
    st.floats(0.0, 5.0),
    st.sampled_from([0.0, 1.0, 1.7]),
    st.integers(1, 9),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_pruning_loses_nothing(
    dimensions: int,
    steps: int,
    extents: list[int],
    alpha: float,
    beta: float,
    gamma: float,
    reuse: float,
    keep: int,
    limited: bool,
    seed: int,
) -> None:
    """The winner and the runners-up are those of a search through everything, whatever the coefficients' signs."""
    sor = Sor(
        steps,
        tuple(extent if dimensions == 2 else 1 + extent % 13 for extent in extents[: dimensions - 1]),
        UNITS,
        WARP,
    )
    layouts = layouts_of(sor, Coefficients(alpha, beta, gamma), reuse)
    numbers = np.random.default_rng(seed)
    if limited:
        layouts = replace(layouts, least_time=lambda sizes: 50.0 * sor.nest.points / sizes[:, 1])
    sizes = np.unique(numbers.integers(1, 12, size=(150, dimensions)), axis=0)
    times = layouts.times(sizes)
    assert (layouts.bounds(sizes) <= times).all()
    result = search(layouts, sizes, keep)
    assert places_in(result, sizes, layouts.organisations) == exhaustive(times, keep)
    assert result.seen == times.size == result.refused + result.pruned + result.timed


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 700), st.integers(1, 3), st.integers(1, 9), st.integers(0, 1 << 30))
def test_ties_come_out_as_without_pruning(rows: int, columns: int, keep: int, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    times = numbers.integers(5, 9, size=(rows, columns)).astype(np.float64)
    layouts = Counted(times, times - numbers.integers(0, 3, size=times.shape))
    sizes = np.arange(rows)[:, None]
    assert places_in(search(layouts, sizes, keep), sizes, layouts.organisations) == exhaustive(times, keep)


def test_what_cannot_win_is_not_timed() -> None:
    times = np.arange(10_000.0)[::-1, None] + 100
    layouts = Counted(times, times - 0.5)
    result = search(layouts, np.arange(10_000)[:, None], keep=3)
    assert [layout.time for layout in result.layouts] == [100.0, 101.0, 102.0]
    assert min(layouts.asked) > 9000
    assert result.timed == len(layouts.asked) == 10_000 - result.pruned < 1000


def test_winner_by_hand() -> None:
    """Each layout's time by (5.8), one by one."""
    sor = Sor(20, (100,), UNITS, WARP)
    layouts = layouts_of(sor)
    sizes = np.array([[s, x] for s in range(1, 17) for x in range(1, 40)])
    result = search(layouts, sizes, keep=1)
    best = result.best
    assert best is not None
    sizes_of_best = np.array([best.sizes])
    threads = int(np.prod(best.organisation))
    work = sor.work(sizes_of_best)
    blocks = resident(threads, work.shared)
    assert best.blocks == blocks[0]
    assert best.time == predict(work, threads, blocks, UNITS, COEFFICIENTS, OVERHEADS).total[0]
    assert best.time == np.min(layouts.times(sizes))


def test_constraints_refuse() -> None:
    sor = Sor(20, (100,), UNITS, WARP)
    sizes = np.array([[9, 30], [2, 2], [3, 300], [3, 30]])
    bounds = layouts_of(sor, least_reuse=1.5).bounds(sizes)
    refused = np.isinf(bounds)
    assert refused[0].tolist() == [True, True, False, False], (
        "9 points in the widest wavefront, blocks of 4 and of 8 threads"
    )
    assert refused[1].all(), "4 points for 5 elements"
    assert refused[2].all(), "304 elements of 4 bytes in 1 KB"
    assert not refused[3].any()
    result = search(layouts_of(sor, least_reuse=1.5), sizes)
    assert (result.seen, result.refused) == (16, 10)


def test_no_layout_is_no_error() -> None:
    layouts = layouts_of(Sor(20, (100,), UNITS, WARP), least_reuse=1000.0)
    for sizes in (np.array([[3, 5], [4, 4]]), np.zeros((0, 2), dtype=np.int64)):
        result = search(layouts, sizes)
        assert result.layouts == ()
        assert result.best is None
        assert result.refused == result.seen == 4 * len(sizes)


def test_tiles_that_take_no_time_are_no_winners() -> None:
    """A fitted beta below zero can outweigh all else outside of what was measured; the model knows nothing there."""
    layouts = layouts_of(Sor(20, (100,), UNITS, WARP), Coefficients(0.0, -1.0, 0.0))
    times = layouts.times(np.array([[2, 2], [12, 40]]))
    assert np.isfinite(times[0]).any()
    assert np.isinf(times[1]).all()


def test_coefficients_of_each_organisation() -> None:
    """Thesis 5.3.3: alpha, beta and gamma are of a thread organisation."""
    sor = Sor(20, (100,), UNITS, WARP)
    dear = replace(
        layouts_of(sor), coefficients=lambda threads, blocks: Coefficients(np.where(threads == 8, 1.0, 50.0), 0.0, 1.0)
    )
    best = search(dear, np.array([[s, x] for s in range(1, 9) for x in range(1, 40)])).best
    assert best is not None
    assert best.organisation == (8,)


def test_other_organisations_of_as_many_threads_take_as_long() -> None:
    layouts = replace(layouts_of(Sor(20, (100,), UNITS, WARP)), organisations=((16,), (4, 4), (2, 2, 4)))
    times = layouts.times(np.array([[3, 30]]))
    assert times[0].tolist() == pytest.approx([times[0, 0]] * 3)


def test_memories_bandwidth_is_a_limit() -> None:
    """Where moving takes longer than the thesis's model says of everything, it is the time."""
    layouts = layouts_of(Sor(20, (100,), UNITS, WARP))
    sizes = np.array([[3, 30], [4, 8]])
    alone = layouts.times(sizes)
    limited = replace(layouts, least_time=lambda sizes: np.array([0.0, 1e9])).times(sizes)
    assert limited[0].tolist() == alone[0].tolist()
    assert limited[1].tolist() == [1e9] * 4


def test_the_bound_holds_for_an_alpha_below_zero() -> None:
    """A fit may give one; then more warps take less time, and a tile has at most as many as points."""
    layouts = layouts_of(Sor(20, (9, 9), UNITS, WARP), Coefficients(-4.0, 1.3, 0.0))
    sizes = np.array([[s, x, y] for s in range(1, 6) for x in range(1, 6) for y in range(1, 6)])
    assert np.isfinite(layouts.times(sizes)).any()
    assert (layouts.bounds(sizes) <= layouts.times(sizes)).all()
