"""Times of register tiles by hand: registers decide how many gangs hide each other's latencies, and what is spilled is read again."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from small_devices import GPU

from tilepragma.model.device import Memory
from tilepragma.model.register_tile_time import EXTENT, RegisterTile, least_registers, step_seconds

#: 8 workers, 2 warps, with 4 points each.
TILE = RegisterTile(((4, 2), (2, 2)), reads=4, operations=2, copied=16, shared=0, ahead=False, element=4)
#: Of the busiest of 4 multiprocessors.
GANGS = (EXTENT // 8) * (EXTENT // 4) // 4


@pytest.mark.parametrize(
    ("registers", "spilled", "cycles"),
    [
        (16, 0, 6),  # 2 operations of 2 cycles, an access of 2; 2 gangs at once
        (16, 8, 7),  # and half an access more
        (32, 0, 9),  # one gang: 3 instructions wait 24 cycles each, while the 8 points of its warps go on
        (33, 0, math.inf),
    ],
)
def test_a_step_takes_what_issues_or_waits(registers: int, spilled: int, cycles: float) -> None:
    assert step_seconds(GPU, TILE, registers, spilled) == pytest.approx(cycles * 4 * 2 * GANGS)


@pytest.mark.parametrize(("registers", "ahead", "seconds"), [(32, False, 72 + 8), (32, True, 72), (16, False, 48)])
def test_copies_go_on_beside_another_gang_or_ahead(registers: int, ahead: bool, seconds: float) -> None:
    """16 bytes by a quarter of 8 bytes a second."""
    shared, _, dram = GPU.memories
    gpu = replace(GPU, memories=(shared, Memory("L2", 4096, 4, 8.0), dram))
    assert step_seconds(gpu, replace(TILE, ahead=ahead), registers, 0) == pytest.approx(seconds * GANGS)


def test_more_points_than_there_are_gangs_for_leave_units_without_work() -> None:
    few = RegisterTile(((512, 1),), reads=1, operations=1, copied=0, shared=0, ahead=True, element=4)
    wide = replace(GPU, threads_per_block=1024, threads_per_multiprocessor=1024, registers_per_multiprocessor=1 << 20)
    wide = replace(wide, registers_per_block=1 << 20)
    # 4 gangs for 4 multiprocessors, then one for all.
    assert step_seconds(wide, replace(few, axes=((512, 4),), reads=4), 8, 0) == pytest.approx(
        4 * step_seconds(wide, few, 8, 0)
    )


def test_sums_of_double_precision_take_two_registers() -> None:
    assert (least_registers(TILE), least_registers(replace(TILE, element=8))) == (4, 8)
