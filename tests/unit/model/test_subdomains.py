"""Sides of subdomains by device: what the thesis found best, and what stays in memory near the cores."""

from __future__ import annotations

import pytest

from tilepragma.model.descriptor_files import named_device
from tilepragma.model.devices import Gpu
from tilepragma.model.subdomains import SIDE, subdomain_side


@pytest.mark.parametrize(
    ("name", "side"), [("c1060", 4), ("c2050", 8), ("v100", 16), ("a100", 16), ("h100", 16), ("processor", 64)]
)
def test_sides_for_floats(name: str, side: int) -> None:
    """4 on a C1060 is what thesis section 6.5.2 takes for its measurements."""
    assert subdomain_side(named_device(name), 4) == side


def test_without_a_device() -> None:
    assert subdomain_side(None, 4) == subdomain_side(None, 64) == SIDE


def test_a_warp_of_subdomains_stays_in_shared_memory() -> None:
    """What a power of two more would not; the least is 4 whatever there is."""
    for name in ("v100", "h200", "opencl-gpu"):
        device = named_device(name)
        assert isinstance(device, Gpu)
        for bytes_of_point in (4, 8, 16, 4096):
            side = subdomain_side(device, bytes_of_point)
            used = [device.warp * (3 * one // 2) ** 2 * bytes_of_point for one in (side, 2 * side)]
            assert used[1] > device.memories[0].size
            assert used[0] <= device.memories[0].size or side == 4
