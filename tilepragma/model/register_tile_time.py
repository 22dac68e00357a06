"""The time of a GPU for a point of a register tile, by the registers that a compiler allocates.

A worker has several points and runs a loop with them: at each step it reads elements from shared
memory, each of which serves several of its points, and computes. More points read less but take
registers: fewer gangs are then resident on a multiprocessor, and registers beyond are spilled.

    a point at a step   alpha (`fitting.estimate`), with all resident warps' points hiding
                        latencies, and the gang's copies in parallel
    all points          that, times the rounds of the busiest multiprocessor for a nest of EXTENT
                        points along each axis (thesis (5.9))
"""

from __future__ import annotations

import math

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Gpu
from tilepragma.model.fitting import Mix, estimate
from tilepragma.model.occupancy import resident_blocks

#: Points along each axis of a representative nest without known sizes.
EXTENT = 2048


@dataclass(frozen=True)
class RegisterTile:
    """`axes`: (workers of a gang, points of a worker) for each axis mapped to workers. At a step of
    the loop a worker reads `reads` elements of `element` bytes from shared memory and does
    `operations` for each point; the gang copies `copied` bytes, in parallel with the computation if
    `ahead`. It takes `shared` bytes of shared memory.
    """

    axes: tuple[tuple[int, int], ...]
    reads: float
    operations: float
    copied: float
    shared: int
    ahead: bool
    element: int

    @property
    def threads(self) -> int:
        """Workers of a gang."""
        return math.prod(workers for workers, _ in self.axes)

    @property
    def points(self) -> int:
        """Points of a worker."""
        return math.prod(points for _, points in self.axes)


def least_registers(tile: RegisterTile) -> int:
    """The registers that hold a worker's results, one for each word."""
    return tile.points * tile.element // 4


def step_seconds(gpu: Gpu, tile: RegisterTile, registers: int, spilled: int) -> float:
    """Seconds of a step of the loop for all points of a nest of EXTENT points along each axis, with
    these registers and spilled bytes of a worker; infinite if no gang fits.
    """
    blocks = int(resident_blocks(gpu, tile.threads, registers, tile.shared))
    if blocks == 0:
        return math.inf
    gangs = math.prod(-(-EXTENT // (workers * points)) for workers, points in tile.axes)
    resident = min(blocks, -(-gangs // gpu.multiprocessors))
    accesses = (tile.reads + spilled / tile.element) / tile.points
    mix = Mix(tile.operations, 0.0, 0.0, accesses, element=tile.element, double=tile.element == 8)
    warps = resident * -(-tile.threads // gpu.warp)
    alpha = estimate(gpu, mix, float(warps * tile.points)).alpha
    computing = float(alpha) * tile.points * -(-tile.threads // gpu.warp)
    behind = gpu.memories[1] if len(gpu.memories) > 1 else None
    bandwidth = None if behind is None else behind.bandwidth
    copying = tile.copied * gpu.multiprocessors / bandwidth if bandwidth else 0.0
    gang = max(computing, copying) if tile.ahead or resident > 1 else computing + copying
    return gang * -(-gangs // gpu.multiprocessors)
