"""Which subdomains sweeps by layers take on a device (MLSOR, thesis chapter 6): the largest that
stay in the memory nearest to what computes them.

Larger subdomains need fewer sweeps (Table 6.2). On a GPU a gang has one subdomain and what lies
around it in memory of its own (schedule/multilayer_tiles.py), of which a multiprocessor has
several, so that one computes while another waits at a barrier. On a processor each lane of a vector
has one: while its layers are computed a subdomain drifts by K <= P / 2 places along each dimension,
so that lanes * (3 P / 2)^2 elements are come back to K times.
"""

from __future__ import annotations

from math import prod

from tilepragma.model.device import Device, Gpu

SIDES = {1: 32, 2: 32, 3: 8}
"""Without a device, by the dimensions of the mesh: the side of Table 6.2 that takes the fewest sweeps, and in space as many points."""

GANGS = 4
"""How many gangs of a multiprocessor have room for a subdomain each."""

_LEAST, _MOST = 4, 128


def subdomain_side(device: Device | None, bytes_of_point: int, dimensions: int) -> int:
    """P, a power of two from 4 to 128, where that many bytes of all arrays belong to a point of a
    mesh of so many dimensions.

    On a GPU the memory is what a gang has without asking for more; on a processor the largest that
    a core has for itself.
    """
    if device is None:
        return SIDES[dimensions]
    if isinstance(device, Gpu):
        room = min(device.shared_per_block, device.shared_per_multiprocessor // GANGS)
    else:
        room = max(
            (memory.size for memory in device.memories[:-1] if memory.sharers == 1), default=device.memories[0].size
        )

    def fits(side: int) -> bool:
        if isinstance(device, Gpu):
            return prod([side + 2] * dimensions) * bytes_of_point <= room
        lanes = max(1, device.vector // bytes_of_point)
        return lanes * prod([3 * side // 2] * dimensions) * bytes_of_point <= room

    side = _LEAST
    while 2 * side <= _MOST and fits(2 * side):
        side *= 2
    return side
