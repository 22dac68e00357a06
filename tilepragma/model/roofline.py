"""The time of kernels limited by arithmetic or a memory: the largest of operations by their rate
and bytes by the bandwidth of each level.

It complements the thesis's model for nests of independent iterations, and for any kernel that moves
more than it computes. Multiprocessors are units, warps have lanes, shared memory and caches are the
nearer levels. Arrays have an entry a layout; times are in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Gpu, Memory
from tilepragma.model.execution_time import Integers, Numbers


@dataclass(frozen=True)
class Demand:
    """What all tiles of a kernel demand of a device.

    `operations` of floating type. `traffic`: for each of the device's memories, nearest first, the
    bytes that come from it or go to it, in whole transactions (`row_bytes`, `level_traffic`),
    unions of footprints counted once. `tiles` are blocks of work in full ones' worth, `rounds`
    those that the slowest unit runs one after the other (`slowest_unit`, `slowest_rounds`).
    `filled` is the share of lanes that have a point.
    """

    operations: Numbers
    traffic: tuple[Numbers, ...]
    tiles: Numbers
    rounds: Numbers
    filled: Numbers


def roofline(demand: Demand, gpu: Gpu, double: bool) -> Numbers:
    """Seconds that each resource is busy for a kernel of double or of single precision: a row for
    arithmetic, then one for each memory, which is 0 where its bandwidth is unknown.

    Units without a tile are idle: tiles / (units rounds) are busy on average. Arithmetic needs busy
    units and filled lanes. A level gives its whole bandwidth if each of its memories has a busy
    unit among its sharers: the nearest in proportion to busy units, the last as soon as one is
    busy.
    """
    busy = demand.tiles / (gpu.multiprocessors * np.maximum(demand.rounds, np.finfo(np.float64).tiny))
    rate = gpu.double_rate if double else gpu.float_rate
    parts = [_time(demand.operations, rate * busy * demand.filled)]
    for memory, moved in zip(gpu.memories, demand.traffic, strict=True):
        if memory.bandwidth is None:
            parts.append(np.zeros_like(parts[0]))
        else:
            parts.append(_time(moved, memory.bandwidth * np.minimum(busy * memory.sharers, 1.0)))
    return np.stack(np.broadcast_arrays(*parts))


def _time(amount: Numbers, rate: Numbers) -> Numbers:
    """amount / rate: 0 for no amount, infinite for an amount at rate 0."""
    amount, rate = np.broadcast_arrays(amount, rate)
    some = amount > 0
    return np.divide(amount, rate, out=np.where(some, np.inf, 0.0), where=some & (rate > 0))


def row_bytes(length: Integers, rows: Integers, element: int, transaction: int) -> Numbers:
    """Bytes moved for rows of neighbouring elements at any alignment, in whole transactions.

    A row of x bytes that begins at each multiple of the element's size e in a transaction of b
    bytes equally often touches (x + b - e) / b of them on average. Elements wider than a
    transaction are moved as they are.
    """
    met = length * element + max(transaction - element, 0)
    return np.asarray(np.where(length > 0, rows * met, 0), dtype=np.float64)


def scattered_bytes(stride: Integers, lanes: int | Integers, element: int, transaction: int) -> Integers:
    """Bytes moved for one access of a warp whose lanes access elements `stride` elements apart, the
    first at the start of a transaction.

    Up to a transaction's width a warp touches every transaction in its span; further apart, one for
    each lane. Stride 0 touches one element.
    """
    wide = max(transaction, element)
    span = (lanes - 1) * np.abs(stride) * element
    return np.asarray(np.minimum(span // wide + 1, lanes) * wide, dtype=np.int64)


def level_traffic(
    memories: Sequence[Memory], accesses: Numbers, footprint: Numbers, moved: Numbers
) -> tuple[Numbers, ...]:
    """Bytes from each of the memories through caches, nearest first: the nearest serves all
    `accesses`.

    A tile touches `footprint` bytes, and all tiles together move `moved` bytes if each fetches its
    data once. A further memory serves these if a tile for each unit that shares the memory before
    it fits there; else what that memory serves itself.
    """
    served = [np.asarray(accesses, dtype=np.float64)]
    for nearer in memories[:-1]:
        fits = footprint * nearer.sharers <= (nearer.size or np.inf)
        served.append(np.where(fits, np.minimum(served[-1], moved), served[-1]))
    return tuple(served)
