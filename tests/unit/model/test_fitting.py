"""Alpha, beta and gamma from instruction counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.model.small_devices import GPU
from tilepragma.model.execution_time import Coefficients
from tilepragma.model.fitting import Mix, estimate

#: 4.5 of floating type, 2 others, 2 accesses in conflict with another. A warp of 4 lanes takes 2
#: cycles an instruction, a division 8 times that.
MIX = Mix(operations=4, special=0.5, others=2, accesses=2, conflicts=2)


def test_many_warps_hide_latencies() -> None:
    """Issue: 2 (4 + 8 * 0.5) + 2 * 2 + 2 * 2 * (4 lanes / 2 banks) = 28 cycles of a second; DRAM has 8 bytes a second for 4 units."""
    result = estimate(GPU, MIX, resident_warps=100.0)
    assert result == Coefficients(28.0, 0.0, 4 * 4 / 8.0)


def test_few_warps_wait() -> None:
    """8.5 instructions one after the other, 24 cycles each: 204 cycles; of 3 resident warps each has a third of them to itself."""
    assert estimate(GPU, MIX, resident_warps=3.0).alpha == pytest.approx(204 / 3)
    assert estimate(GPU, replace(MIX, chain=3.0), resident_warps=1.0).alpha == pytest.approx(72.0)
    many = estimate(GPU, MIX, np.array([1.0, 3.0, 100.0])).alpha
    assert many == pytest.approx(np.array([204.0, 68.0, 28.0]))


def test_newer_devices_wait_for_less() -> None:
    """Compute capability 7 and above, and devices of which nothing is known: 4 cycles, 24 of an access to shared memory."""
    waiting = 6.5 * 4 + 2 * 24
    for capability in ((7, 0), (9, 0), None):
        result = estimate(replace(GPU, compute_capability=capability), MIX, 1.0)
        assert result.alpha == pytest.approx(waiting)


def test_doubles_take_the_rate_of_doubles() -> None:
    """4 cycles an instruction instead of 2; an element is two banks wide."""
    result = estimate(GPU, replace(MIX, double=True, element=8), 100.0)
    assert result == Coefficients(4 * 8 + 2 * 2 + 2 * 2 * 4, 0.0, 8 * 4 / 8.0)


def test_copies_by_unknown_bandwidths_cost_nothing() -> None:
    unknown = replace(GPU, memories=(*GPU.memories[:2], replace(GPU.memories[2], bandwidth=None)))
    result = estimate(unknown, MIX, 1.0)
    assert result.gamma == 0.0
