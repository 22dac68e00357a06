"""How long a GPU takes for a point of a register tile, by the registers that a compiler gives its
workers.

A worker has several points and goes along a loop with them: at each step it reads elements from its
gang's memory, each of which serves several of its points, and computes. More points read less, but
take registers: fewer gangs are then at once on a multiprocessor, and what has no register is
spilled to memory and comes back.

    a point at a step   alpha (`fitting.estimate`), with the points of all resident warps hiding latencies, and the gang's copies beside it
    all points          that, times the rounds of the busiest multiprocessor where a nest has EXTENT points along each axis (thesis (5.9))
"""

from __future__ import annotations

import math

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Gpu
from tilepragma.model.fitting import Mix, estimate
from tilepragma.model.occupancy import blocks_at_once

#: Points along each axis of the nest that stands for those of which no sizes are known.
EXTENT = 2048


@dataclass(frozen=True)
class RegisterTile:
    """`axes` has (workers of a gang, points of a worker) for each axis that workers are dealt
    along. At a step of the loop a worker reads `reads` elements of `element` bytes from its gang's
    memory and does `operations` for each point; the gang copies `copied` bytes, while it computes
    if `ahead`. It takes `shared` bytes of memory.
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
    """Registers without which no worker holds what it computes, one for each word of it."""
    return tile.points * tile.element // 4


def step_seconds(gpu: Gpu, tile: RegisterTile, registers: int, spilled: int) -> float:
    """Seconds of a step of the loop for all points of a nest of EXTENT points along each axis,
    where a worker has so many registers and spills so many bytes of them; infinite where no gang
    has room.
    """
    blocks = int(blocks_at_once(gpu, tile.threads, registers, tile.shared))
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
