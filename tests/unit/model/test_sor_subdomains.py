"""Sides of subdomains by device: what stays in memory near the cores."""

from __future__ import annotations

import pytest

from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.model.sor_subdomains import GANGS, SIDES, subdomain_side


@pytest.mark.parametrize(
    ("name", "side"), [("c1060", 16), ("c2050", 32), ("v100", 64), ("a100", 64), ("h100", 64), ("processor", 64)]
)
def test_sides_for_floats(name: str, side: int) -> None:
    """A C1060 has 16 KiB for all gangs of a multiprocessor: 18 x 18 floats four times, not 34 x 34."""
    assert subdomain_side(named_device(name), 4, 2) == side


def test_without_a_device() -> None:
    assert [subdomain_side(None, 4, dimensions) for dimensions in (1, 2, 3)] == [SIDES[each] for each in (1, 2, 3)]


def test_a_subdomain_stays_in_the_memory_of_a_gang() -> None:
    """What a power of two more would not; the least is 4 whatever there is, and 128 are enough."""
    for name in ("v100", "h200", "opencl-gpu"):
        device = named_device(name)
        assert isinstance(device, Gpu)
        room = min(device.shared_per_block, device.shared_per_multiprocessor // GANGS)
        for dimensions in (1, 2, 3):
            for bytes_of_point in (4, 8, 16, 4096):
                side = subdomain_side(device, bytes_of_point, dimensions)
                used = [(each + 2) ** dimensions * bytes_of_point for each in (side, 2 * side)]
                assert used[1] > room or side == 128
                assert used[0] <= room or side == 4
