"""Which subdomains sweeps by layers take on a device (MLSOR, thesis chapter 6): the largest that stay in the memory nearest to what computes them.

Larger subdomains need fewer sweeps (Table 6.2). A warp, or a vector, has one subdomain in each lane. While its layers are computed a subdomain
drifts by K <= P / 2 places along each dimension, so that lanes * (3 P / 2)^2 elements are come back to K times.
"""

from __future__ import annotations

from tilepragma.model.devices import Device, Gpu

#: Without a device: the side of Table 6.2 that takes the fewest sweeps.
SIDE = 32
_LEAST, _MOST = 4, 128


def subdomain_side(device: Device | None, bytes_of_point: int) -> int:
    """P, a power of two from 4 to 128, where that many bytes of all arrays belong to a point of the mesh.

    On a GPU the memory is a multiprocessor's own, on a processor the largest that a core has for itself: 4 x 4 points of 4 bytes on the thesis's
    Tesla C1060, whose best subdomains those are (Figure 6.13).
    """
    if device is None:
        return SIDE
    if isinstance(device, Gpu):
        lanes, room = device.warp, device.memories[0].size
    else:
        lanes = max(1, device.vector // bytes_of_point)
        room = max((one.size for one in device.memories[:-1] if one.sharers == 1), default=device.memories[0].size)
    side = _LEAST
    while 2 * side <= _MOST and lanes * (3 * side) ** 2 * bytes_of_point <= room:
        side *= 2
    return side
