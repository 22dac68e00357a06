"""The subdomains of sweeps by layers on a device (MLSOR, thesis chapter 6): the largest that stay
in the nearest memory.

Larger subdomains need fewer sweeps (Table 6.2). On a GPU a gang keeps one subdomain with its halo
in shared memory (schedule/multilayer_tiles.py), and a multiprocessor has several gangs, so that one
computes while another waits at a barrier. On a processor each lane of a vector has one: while its
layers are computed a subdomain drifts by K <= P / 2 places along each dimension, so that lanes * (3
P / 2)^2 elements are used K times.
"""

from __future__ import annotations

from math import prod

from tilepragma.model.device import Device, Gpu

SIDES = {1: 32, 2: 32, 3: 8}
"""The default side by the mesh's dimensions: that of Table 6.2 with the fewest sweeps."""

GANGS = 4
"""Gangs of a multiprocessor that fit with a subdomain each."""

_LEAST, _MOST = 4, 128


def subdomain_side(device: Device | None, bytes_of_point: int, dimensions: int) -> int:
    """P, a power of two from 4 to 128, if a point of the mesh has `bytes_of_point` bytes of all
    arrays.

    On a GPU the memory is a gang's default shared memory; on a processor a core's largest private
    cache.
    """
    if device is None:
        return SIDES[dimensions]
    if isinstance(device, Gpu):
        room = min(device.shared_per_block, device.shared_per_multiprocessor // GANGS)
    else:
        private = (memory.size for memory in device.memories[:-1] if memory.sharers == 1)
        room = max(private, default=device.memories[0].size)

    def fits(side: int) -> bool:
        if isinstance(device, Gpu):
            return prod([side + 2] * dimensions) * bytes_of_point <= room
        lanes = max(1, device.vector // bytes_of_point)
        return lanes * prod([3 * side // 2] * dimensions) * bytes_of_point <= room

    side = _LEAST
    while 2 * side <= _MOST and fits(2 * side):
        side *= 2
    return side
