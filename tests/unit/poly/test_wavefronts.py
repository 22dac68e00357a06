"""Two-level wavefronts (3.17) to (3.19): the figures, legality of the execution order, and runs with everything shuffled."""

from __future__ import annotations

import islpy as isl
import pytest

from tests.support.band_orders import execution_map, matrices, of, tiling_map, two_level_map, wavefront_matrix
from tests.support.simulated_runs import run, run_as_written
from tests.support.stencil_programs import (
    BENCHMARKS,
    figure_3_4,
    figure_3_7,
    figure_3_8,
    figure_3_10,
    figure_4_4,
    nest,
    statement,
)
from tests.thesis.access_flow import value_based_dependences
from tests.thesis.schedule_legality import violated_orders
from tilepragma.poly.hyperplanes import tiling_hyperplanes
from tilepragma.poly.schedule import Row, Schedule, StatementSchedule
from tilepragma.poly.scop import ScopStatement
from tilepragma.poly.wavefronts import (
    BandWavefronts,
    band_wavefronts,
)


def rectangles() -> tuple[ScopStatement, Schedule]:
    (only,) = figure_3_10()
    rows = (Row((1, 0), 0, 0), Row((0, 1), 0, 0))
    return only, (StatementSchedule(only, rows),)


def test_theta_of_3_17() -> None:
    assert wavefront_matrix(2) == ((1, 1), (0, 1))
    assert wavefront_matrix(3) == ((1, 1, 1), (0, 1, 0), (0, 0, 1))
    assert wavefront_matrix(3, (0, 2)) == ((1, 0, 1), (0, 1, 0), (0, 0, 1))
    assert wavefront_matrix(3, (1,)) == ((0, 1, 0), (1, 0, 0), (0, 0, 1))
    assert wavefront_matrix(2, ()) == ((1, 0), (0, 1))


def test_tiles_of_figure_3_14() -> None:
    only, schedule = rectangles()
    scanned = isl.Set(
        "[N] -> { [t1, t2, e1, e2] : 0 <= t1 <= floor(N/2) and 0 <= t2 <= floor(N/2) and "
        "1 <= e1 <= N and 2 t1 <= e1 <= 2 t1 + 1 and 1 <= e2 <= N and 2 t2 <= e2 <= 2 t2 + 1 }"
    )
    assert only.domain.apply(tiling_map(of(schedule, "S"), (0, 1), (2, 2))).is_equal(scanned)


def test_wavefronts_of_figures_3_15_to_3_17() -> None:
    only, schedule = rectangles()
    dependences = value_based_dependences((only,))
    (wavefronts,) = band_wavefronts(schedule, dependences)
    assert matrices(wavefronts) == (((1, 1), (0, 1)), ((1, 1), (0, 1)))
    scanned = isl.Set(
        "[N] -> { [t1, t2, e1, e2] : 0 <= t1 <= N and t2 >= 0 and 2 t2 >= 2 t1 - 2*floor(N/2) and t2 <= floor(N/2) and t2 <= t1 "
        "and e1 >= 2 and e1 >= 2 t1 and e1 >= 2 t2 + 1 and e1 >= 2 t1 - 2 t2 + 1 "
        "and e1 <= 2 N and e1 <= 2 t1 + 2 and e1 <= 2 t2 + N + 1 and e1 <= 2 t1 - 2 t2 + N + 1 "
        "and e2 >= 1 and e2 >= 2 t2 and e2 >= e1 - N and e2 >= -2 t1 + 2 t2 + e1 - 1 "
        "and e2 <= N and e2 <= 2 t2 + 1 and e2 <= e1 - 1 and e2 <= -2 t1 + 2 t2 + e1 }"
    )
    assert only.domain.apply(two_level_map(of(schedule, "S"), wavefronts, (2, 2))).is_equal(scanned)


def test_balanced_wavefronts_of_figure_4_3_follow_the_first_hyperplane() -> None:
    statements = figure_3_4()
    dependences = value_based_dependences(statements)
    balanced = (StatementSchedule(statements[0], (Row((2, 1), 0, 0), Row((1, 1), 0, 0))),)
    (wavefronts,) = band_wavefronts(balanced, dependences)
    assert matrices(wavefronts) == (((1, 1), (0, 1)), ((1, 0), (0, 1)))
    (slanted,) = band_wavefronts(tiling_hyperplanes(statements, dependences), dependences)
    assert matrices(slanted)[1] == ((1, 1), (0, 1)), "along (1, 1) of (1 0; 1 1), which is (2, 1) as Figure 4.1 says"


def test_figure_4_7_runs_the_copy_before_the_statement_in_each_wavefront() -> None:
    statements = figure_4_4()
    dependences = value_based_dependences(statements)
    (wavefronts,) = band_wavefronts(tiling_hyperplanes(statements, dependences), dependences)
    assert wavefronts.order == (("S0",), ("S1",))


def test_rows_that_carry_nothing_need_no_synchronisation() -> None:
    (only,) = figure_3_7()
    dependences = value_based_dependences((only,))
    (wavefronts,) = band_wavefronts(tiling_hyperplanes((only,), dependences), dependences)
    assert matrices(wavefronts)[0] == ((0, 1), (1, 0)), "the carrying row first, the free one parallel"
    free = statement("S", "i, j", "0 <= i, j < N", (0, 0, 0), "B[i, j]", "A[i, j]")
    (doall,) = band_wavefronts(tiling_hyperplanes((free,), ()), ())
    assert doall.carrying == ()


PROGRAMS = {
    "Figure 3.4": figure_3_4(),
    "Figure 3.8": figure_3_8(),
    "Figure 3.10": figure_3_10(),
    "Figure 4.4": figure_4_4(),
    **{name: BENCHMARKS[name] for name in ("1-D Jacobi-3", "2-D Jacobi-5", "1-D SOR-3", "2-D SOR-5", "2-D FDTD")},
    "producer": (
        statement("S0", "t, i", nest("t, i"), (0, 0, 0), "B[i]", "A[i - 1]"),
        statement("S1", "t, i", nest("t, i"), (0, 0, 1), "A[i]", "B[i]"),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_tiles_and_points_in_parallel_compute_the_same(name: str) -> None:
    statements = PROGRAMS[name]
    dependences = value_based_dependences(statements)
    schedule = tiling_hyperplanes(statements, dependences)
    (wavefronts,) = band_wavefronts(schedule, dependences)
    rows = len(wavefronts.levels)
    tiles = (2, 3, 2)[:rows]
    times = {each.statement.name: execution_map(each, wavefronts, tiles) for each in schedule}
    assert violated_orders(times, dependences) == ()
    sizes = {"T": 3, "N": 5, "J": 4, "I": 6}
    expected = run_as_written(statements, sizes)
    for seed in range(2):
        shuffled = run(statements, times, sizes, parallel=parallel_components(wavefronts), seed=seed)
        assert shuffled == expected


def parallel_components(wavefronts: BandWavefronts) -> tuple[int, ...]:
    """The components of an execution map that may run in any order: t'_2 ... t'_m, e'_2 ... e'_m."""
    before, rows = wavefronts.levels[0], len(wavefronts.levels)
    tiles = range(before + 1, before + rows)
    points = range(before + rows + 2, before + 2 * rows + 1)
    return (*tiles, *points)


def test_a_swapped_order_of_wavefronts_is_seen() -> None:
    """The machine that runs the others does notice: without the skew, tiles of one row are not independent."""
    statements = figure_3_10()
    only, schedule = rectangles()
    dependences = value_based_dependences(statements)
    wrong = BandWavefronts((0, 1), ("S",), (0,), (0, 1), (("S",),))
    times = {"S": execution_map(of(schedule, "S"), wrong, (2, 2))}
    sizes = {"T": 1, "N": 6}
    runs = [run((only,), times, sizes, parallel=parallel_components(wrong), seed=seed) for seed in range(4)]
    assert violated_orders(times, dependences) == ()
    assert any(each != run_as_written(statements, sizes) for each in runs)
