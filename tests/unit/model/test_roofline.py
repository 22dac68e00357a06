"""The roofline of each memory level: numbers by hand, and bytes in whole transactions against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.model.small_devices import GPU, PROCESSOR
from tilepragma.model.execution_time import slowest_unit
from tilepragma.model.roofline import (
    Demand,
    level_traffic,
    roofline,
    row_bytes,
    scattered_bytes,
)


def demand(operations: float, *traffic: float, tiles: int = 4, units: int = 4, filled: float = 1.0) -> Demand:
    return Demand(
        np.array([operations]),
        tuple(np.array([bytes_moved]) for bytes_moved in traffic),
        np.array([float(tiles)]),
        slowest_unit(np.array([tiles]), units).astype(np.float64),
        np.array([filled]),
    )


def test_each_resource_has_its_time() -> None:
    roofs = roofline(demand(160.0, 128.0, 1000.0, 96.0), GPU, double=False)
    assert roofs[:, 0].tolist() == [160 / 16, 128 / 64, 0.0, 96 / 8]


def test_double_precision_has_its_own_rate() -> None:
    assert roofline(demand(160.0, 0.0, 0.0, 96.0), GPU, double=True)[0, 0] > 12.0


def test_units_without_tiles_do_nothing() -> None:
    """5 tiles on 4 units take two rounds: 5 / 8 of the units are busy, of which all share DRAM."""
    roofs = roofline(demand(160.0, 128.0, 0.0, 96.0, tiles=5), GPU, double=False)
    assert roofs[:, 0].tolist() == [160 / 16 * 8 / 5, 128 / 64 * 8 / 5, 0.0, 96 / 8]


def test_one_busy_unit_has_all_of_what_units_share() -> None:
    roofs = roofline(demand(160.0, 128.0, 0.0, 96.0, tiles=1), GPU, double=False)
    assert roofs[:, 0].tolist() == [40.0, 8.0, 0.0, 12.0]


def test_empty_lanes_do_nothing() -> None:
    assert roofline(demand(160.0, 0.0, 0.0, 0.0, filled=0.625), GPU, double=False)[0, 0] == 16.0


def test_nothing_to_do_takes_no_time() -> None:
    assert not roofline(demand(0.0, 0.0, 0.0, 0.0, tiles=0), GPU, double=False).any()


@settings(deadline=None)
@given(st.integers(0, 70), st.sampled_from([1, 4, 8, 16]), st.sampled_from([8, 32, 64]))
def test_rows_meet_whole_transactions(length: int, element: int, transaction: int) -> None:
    """The mean over all places where a row can begin."""
    starts = range(0, max(transaction, element), element)
    met = [len({byte // transaction for byte in range(start, start + length * element)}) for start in starts]
    wanted = Fraction(sum(met) * transaction, len(met))
    assert row_bytes(np.array([length]), np.array([3]), element, transaction)[0] == 3 * wanted


@settings(deadline=None)
@given(st.integers(-40, 40), st.sampled_from([4, 8, 16]), st.sampled_from([32, 64, 128]))
def test_strides_meet_whole_transactions(stride: int, element: int, transaction: int) -> None:
    met = {abs(stride) * lane * element // transaction for lane in range(32)}
    assert scattered_bytes(np.array([stride]), 32, element, transaction)[0] == len(met) * transaction


def test_coalesced_floats_are_one_transaction_and_strided_ones_32() -> None:
    assert scattered_bytes(np.array([0, 1, 2, 32, 1000]), 32, 4, 128).tolist() == [128, 128, 256, 4096, 4096]


def test_caches_serve_what_does_not_fit_before_them() -> None:
    """Tiles of 80 bytes fit L1, those of 900 L2, two of them L3; nothing more."""
    footprint, moved = np.array([80.0, 900.0, 6000.0]), np.array([5000.0, 700.0, 300.0])
    served = level_traffic(PROCESSOR.memories, np.full(3, 90_000.0), footprint, moved)
    assert [level.tolist() for level in served] == [
        [90_000.0, 90_000.0, 90_000.0],
        [5000.0, 90_000.0, 90_000.0],
        [5000.0, 700.0, 90_000.0],
        [5000.0, 700.0, 90_000.0],
    ]


def test_a_cache_too_small_for_everything_serves_nothing() -> None:
    served = level_traffic(PROCESSOR.memories, np.array([10.0]), np.array([1e9]), np.array([1.0]))
    assert [level[0] for level in served] == [10.0] * 4
