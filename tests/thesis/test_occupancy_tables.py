"""The thesis's tables of occupancy as printed, and that what really runs is never more."""

from __future__ import annotations

import itertools

import pytest

from tests.thesis.occupancy_tables import table_5_1, table_6_3
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.model.occupancy import occupancy


def c1060() -> Gpu:
    device = named_device("c1060")
    assert isinstance(device, Gpu)
    return device


def test_thesis_table_5_1() -> None:
    """B = min(B_W, B_R, B_S) on C1060: W = 32, W_SM = 32, B_SM = 8, S_SM = 16 KB, R_SM = 16 K."""
    device = c1060()
    limits = table_5_1(device, 256, 10 * 256, 3000)
    assert (limits.by_warps, limits.by_registers, limits.by_shared, limits.blocks) == (4, 6, 5, 4)
    assert table_5_1(device, 32, 16 * 32, 100).by_warps == 8
    assert table_5_1(device, 33, 1, 1).by_warps == 8
    assert table_5_1(device, 200, 32 * 200, 1).blocks == 2
    assert table_5_1(device, 64, 64, 6000).blocks == 2
    assert table_5_1(device, 64, 0, 0).blocks == 8
    with pytest.raises(ValueError, match="threads"):
        table_5_1(device, 0, 1, 1)


#: Subdomain's P; registers of a thread, the more of both columns; rows of threads, bytes, B_SM,
#: active threads.
TABLE_6_3 = [
    (
        16,
        [
            (4, 404, 40, 160),
            (8, 724, 22, 176),
            (16, 1364, 12, 192),
            (32, 2644, 6, 192),
            (64, 5204, 3, 192),
            (128, 10324, 1, 128),
        ],
    ),
    (59, [(4, 1260, 13, 52), (8, 2412, 6, 48), (16, 4716, 3, 48), (32, 9324, 1, 32)]),
]
TABLE_6_4 = [
    (
        27,
        [
            (4, 268, 61, 244),
            (8, 460, 35, 280),
            (16, 844, 19, 304),
            (32, 1612, 10, 320),
            (64, 3148, 5, 320),
            (128, 6220, 2, 256),
        ],
    ),
    (27, [(256, 12364, 1, 256)]),
    (
        27,
        [
            (4, 468, 35, 140),
            (8, 852, 19, 152),
            (16, 1620, 10, 160),
            (32, 3156, 5, 160),
            (64, 6228, 2, 128),
            (128, 12372, 1, 128),
        ],
    ),
    (27, [(4, 868, 18, 72), (8, 1636, 10, 80), (16, 3172, 5, 80), (32, 6244, 2, 64), (64, 12388, 1, 64)]),
    (25, [(4, 1668, 9, 36), (8, 3204, 5, 40), (16, 6276, 2, 32), (32, 12420, 1, 32)]),
]
#: (registers of a thread, threads, bytes, B_SM, active threads) of each row.
PRINTED = [(registers, *row) for registers, rows in (*TABLE_6_3, *TABLE_6_4) for row in rows]


@pytest.mark.parametrize(("registers", "threads", "shared", "blocks", "active"), PRINTED)
def test_thesis_tables_6_3_and_6_4(registers: int, threads: int, shared: int, blocks: int, active: int) -> None:
    """Rows as printed: the limit of 8 blocks is ignored there."""
    assert table_6_3(c1060(), threads, registers, shared) == (blocks, active)


def test_thesis_table_6_3s_shared_bytes() -> None:
    """FACTS: P=4: a 2 x (n/2) block of n threads, 4 (2P + 2)(P n/2 + 2) + 4 bytes; P=8 as printed is 288 n + 108."""
    for threads, shared, _, _ in TABLE_6_3[0][1]:
        assert shared == 4 * (2 * 4 + 2) * (4 * threads // 2 + 2) + 4
    for threads, shared, _, _ in TABLE_6_3[1][1]:
        assert shared == 288 * threads + 108


def test_registers_limit_tables_6_3_where_they_are_scarce() -> None:
    """Section 6.5.1.1: "Otherwise, B_SM is decided by register usage", and never more than 1024 threads."""
    assert table_6_3(c1060(), 128, 59, 404) == (2, 256)
    assert table_6_3(c1060(), 100, 4, 404) == (10, 1000)


def test_units_make_fewer_blocks_than_table_5_1() -> None:
    """The table rounds nothing up to units: never below what runs, and above it in 10 of 48 cases."""
    device = c1060()
    cases = list(itertools.product((32, 96, 160, 512), (1, 10, 21, 40), (16, 1000, 5000)))
    real = [occupancy(device, *case).blocks for case in cases]
    printed = [table_5_1(device, threads, registers * threads, shared).blocks for threads, registers, shared in cases]
    assert all(blocks <= most for blocks, most in zip(real, printed, strict=True))
    assert sum(map(int.__lt__, real, printed)) == 10
