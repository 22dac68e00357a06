"""Thesis equations (5.2)-(5.11), each with numbers worked by hand."""

from __future__ import annotations

from math import ceil

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.thesis import box_wavefronts
from tests.thesis.skewed_tiles import TileWavefronts
from tilepragma.model.device import Overheads
from tilepragma.model.execution_time import (
    HALF_A_TILE,
    Coefficients,
    Work,
    cost_at,
    predict,
    slowest_unit,
    sums,
    tile_time,
)

#: 1-D SOR in tiles of 3 x 5 with warps of 2: H = 1 2 3 3 3 2 1, G = 1 1 2 2 2 1 1; 3 + 5 + 1
#: elements are moved.
H = (1, 2, 3, 3, 3, 2, 1)
G = (1, 1, 2, 2, 2, 1, 1)
ALPHA, BETA, GAMMA, BARRIER = 4.0, -0.5, 2.0, 3.0
OVERHEADS = Overheads(kernel=100.0, barrier=((2, 2.0), (4, 4.0)), wavefront=((6, 10.0), (12, 16.0)), copy=0.0)


def work(wavefronts: TileWavefronts | None = None, units: int = 2) -> Work:
    size = np.array([[3, 5]])
    return Work(
        steps=box_wavefronts.intra_tile_wavefronts(size),
        warps=box_wavefronts.warps_of_boxes(size, 2),
        points=np.array([15]),
        transfers=np.array([9]),
        shared=np.array([36]),
        wavefronts=sums(wavefronts.repeats, wavefronts.starts) if wavefronts else np.array([1]),
        rounds=wavefronts.rounds(units) if wavefronts else np.array([1.0]),
    )


def profile(tiles: list[int], full: list[int], share: float = HALF_A_TILE) -> TileWavefronts:
    return TileWavefronts(
        np.array([0]), np.ones(len(tiles), dtype=np.int64), np.array(tiles), np.array(full), np.array([share])
    )


def test_equation_5_2_a_tile_is_its_wavefronts_its_transfers_and_two_barriers() -> None:
    wavefronts = sum(ALPHA * g + BETA * h + BARRIER for g, h in zip(G, H, strict=True))
    parts = tile_time(work(), Coefficients(ALPHA, BETA, GAMMA), BARRIER)
    assert sum(float(part[0]) for part in parts) == wavefronts + GAMMA * 9 + 2 * BARRIER


def test_equation_5_3_a_wavefront_is_its_warps_its_points_and_a_barrier() -> None:
    one = Work(*(np.array([n]) for n in (1, 2, 3, 0, 0, 1, 1)))
    compute, barriers, memory = tile_time(one, Coefficients(ALPHA, BETA, GAMMA), BARRIER)
    assert (compute[0], memory[0]) == (4.0 * 2 - 0.5 * 3, 0.0)
    assert barriers[0] == 3.0 + 2 * 3.0, "its own and the two of (5.2)"


def test_equation_5_4_sums_over_wavefronts() -> None:
    compute, _, _ = tile_time(work(), Coefficients(ALPHA, BETA, GAMMA), BARRIER)
    assert work().warps[0] == sum(G) == 10
    assert compute[0] == 4.0 * 10 - 0.5 * 15 == 32.5


def test_equation_5_5_memory_is_gamma_by_transfers() -> None:
    _, _, memory = tile_time(work(), Coefficients(ALPHA, BETA, GAMMA), BARRIER)
    assert memory[0] == 18.0


def test_equation_5_6_points_of_wavefronts_are_those_of_the_tile() -> None:
    widths, _ = box_wavefronts.wavefront_widths(np.array([[3, 5]]))
    assert widths.sum() == work().points[0] == 3 * 5 == sum(H)


def test_equation_5_7_time_of_a_tile() -> None:
    parts = predict(work(), 3, 1, 2, Coefficients(ALPHA, BETA, GAMMA), OVERHEADS)
    assert cost_at(OVERHEADS.barrier, 3) == 3.0, "between the 2 of 2 threads and the 4 of 4"
    assert parts.tile[0] == 4.0 * 10 + (7 - 1 + 3) * 3.0 - 0.5 * 15 + 2.0 * 9 == 77.5


def test_equation_5_7_on_the_scale_of_the_thesis() -> None:
    """64 x 512 with warps of 32: 2 (32 * 1 + 31 * 2) + 449 * 2 = 1086 warps in 575 wavefronts."""
    size = np.array([[64, 512]])
    assert box_wavefronts.warps_of_boxes(size, 32)[0] == 1086
    assert box_wavefronts.intra_tile_wavefronts(size)[0] == 575


def test_equation_5_8_wavefronts_and_a_launch() -> None:
    wavefronts = profile([1, 2, 3, 5, 7], [1, 2, 3, 5, 7])
    parts = predict(work(wavefronts), 3, 3, 2, Coefficients(ALPHA, BETA, GAMMA), OVERHEADS)
    rounds = 1 + 1 + 2 + 3 + 4
    assert parts.total[0] == rounds * 77.5 + 5 * 10.0 + 100.0
    assert parts.wavefronts[0] == 50.0
    assert parts.launch[0] == 100.0
    assert (parts.compute[0], parts.barriers[0], parts.memory[0]) == (rounds * 32.5, rounds * 27.0, rounds * 18.0)


def rounds_as_printed(tiles: int, blocks: int, units: int) -> int:
    """(5.9)-(5.11) word for word, in tiles; where the last round is a whole one, (5.11) as printed says 0, and it is B."""
    number = ceil(tiles / (blocks * units))
    rest = tiles % (blocks * units)
    return (number - 1) * blocks + (ceil(rest / units) if rest else blocks)


def test_equation_5_9_rounds_of_a_block() -> None:
    """65 tiles on 30 units with 2 blocks each: two rounds, the first of B = 2 tiles, the last of ceil(5 / 30) = 1."""
    assert rounds_as_printed(65, 2, 30) == 2 + 1 == slowest_unit(np.array([65]), 30)[0]


def test_equation_5_10_each_wavefront_pays_its_synchronisation() -> None:
    few, many = (
        predict(work(profile(tiles, tiles)), 3, 6, 2, Coefficients(ALPHA, BETA, GAMMA), OVERHEADS).total[0]
        for tiles in ([4], [2, 2])
    )
    assert many - few == 16.0, "sigma_blk of 12 blocks"


@settings(deadline=None)
@given(st.integers(1, 500), st.integers(1, 9), st.integers(1, 40))
def test_equation_5_11_in_closed_form(tiles: int, blocks: int, units: int) -> None:
    assert slowest_unit(np.array([tiles]), units)[0] == rounds_as_printed(tiles, blocks, units)


def test_border_tiles_count_half_where_nobody_counted() -> None:
    """Thesis 5.3.4. 5 tiles on 2 units, 2 of them full: a round of full tiles, two of border tiles."""
    assert profile([5], [2]).rounds(2)[0] == 1 + 2 * 0.5


def test_border_tiles_count_by_their_share() -> None:
    assert profile([5, 2], [2, 0], share=0.25).rounds(2)[0] == (1 + 2 * 0.25) + 0.25


def test_wavefronts_with_the_same_numbers_are_one_entry() -> None:
    short = TileWavefronts(*(np.array(a) for a in ([0, 2], [1, 8, 3], [2, 7, 5], [0, 7, 4], [0.5, 0.25])))
    assert sums(short.repeats, short.starts).tolist() == [9, 3]
    assert short.rounds(2).tolist() == [0.5 + 8 * 4, 3 * (2 + 0.25)]


def test_costs_outside_a_table_are_the_nearest() -> None:
    assert cost_at(((32, 1.0), (64, 3.0)), np.array([1, 32, 48, 64, 1024])).tolist() == [1.0, 1.0, 2.0, 3.0, 3.0]
    assert cost_at((), np.array([32, 64])).tolist() == [0.0, 0.0]


def test_layouts_are_computed_at_once() -> None:
    both = Work(*(np.array([n, 2 * n]) for n in (7, 10, 15, 9, 36, 5, 11)))
    threads, blocks = np.array([3, 2]), np.array([3, 6])
    together = predict(both, threads, blocks, 2, Coefficients(np.array([4.0, 5.0]), 0.0, 2.0), OVERHEADS).total
    for k in range(2):
        one = Work(*(np.array([n * (k + 1)]) for n in (7, 10, 15, 9, 36, 5, 11)))
        coefficients = Coefficients(4.0 + k, 0.0, 2.0)
        assert together[k] == predict(one, int(threads[k]), int(blocks[k]), 2, coefficients, OVERHEADS).total[0]


def test_cores_are_units_and_vectors_warps() -> None:
    """3 tiles on 2 cores, no barriers inside a tile: two rounds of 4 * 10 - 0.5 * 15 + 2 * 9, and the threads meet once."""
    cores = Overheads(kernel=0.0, barrier=(), wavefront=((1, 0.0), (2, 7.0)), copy=0.0)
    parts = predict(work(profile([3], [3])), 1, 1, 2, Coefficients(ALPHA, BETA, GAMMA), cores)
    assert parts.barriers[0] == parts.launch[0] == 0.0
    assert parts.total[0] == 2 * 50.5 + 7.0
