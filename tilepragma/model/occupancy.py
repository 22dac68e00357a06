"""How many blocks are resident on a multiprocessor of a GPU, and what limits them.

By the rules of the CUDA toolkit's `cuda_occupancy.h` (12.9) from compute capability 3.0 on; by
those of the header of CUDA 7.0, the last that knew them, for 1.x and 2.x.
"""

from __future__ import annotations

from enum import Enum
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Gpu
from tilepragma.model.execution_time import Integers

#: A limit that does not apply to a kernel: INT_MAX of the header.
UNLIMITED = 2**31 - 1
#: Integers of registers that devices of compute capability 2.x allocate in larger units.
_UNEVEN_REGISTERS = (21, 22, 29, 30, 37, 38, 45, 46)
_UNEVEN_UNIT = 128


class Limit(Enum):
    """What excludes further blocks, in words."""

    WARPS = "threads"
    REGISTERS = "registers"
    SHARED = "shared memory"
    BLOCKS = "blocks"
    BARRIERS = "barriers"


@dataclass(frozen=True)
class Occupancy:
    """The residents of a multiprocessor: blocks, their warps, and the share of its warps in use.
    `by`: the blocks that each limit alone allows (UNLIMITED if it does not apply). `registers` and
    `shared` are a block's allocations.
    """

    blocks: int
    warps: int
    share: float
    by: dict[Limit, int]
    registers: int
    shared: int

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits that exclude a further block."""
        return tuple(limit for limit, blocks in self.by.items() if blocks == self.blocks)

    @property
    def reason(self) -> str:
        """What limits it, in words."""
        words = " and ".join(limit.value for limit in self.limits)
        return f"limited by {words}" if self.blocks else f"no block has room: {words}"


def occupancy(gpu: Gpu, threads: int, registers: int, shared: int) -> Occupancy:
    """The resident blocks on a multiprocessor for so many threads, registers of a thread, and bytes
    of shared memory that a kernel declares. Raises ValueError for impossible numbers.
    """
    if threads < 1 or min(registers, shared) < 0:
        raise ValueError(f"no block has {threads} threads, {registers} registers and {shared} bytes")
    numbers = (np.asarray(threads), np.asarray(registers), np.asarray(shared))
    by = {limit: int(allowed) for limit, allowed in _limits(gpu, *numbers, gpu.shared_per_block).items()}
    blocks = min(by.values())
    warps = blocks * -(-threads // gpu.warp)
    share = warps * gpu.warp / gpu.threads_per_multiprocessor
    given = int(_by_registers(gpu, *numbers[:2])[1])
    return Occupancy(blocks, warps, share, by, given, int(_given_shared(gpu, numbers[2])))


def resident_blocks(gpu: Gpu, threads: ArrayLike, registers: ArrayLike, shared: ArrayLike) -> Integers:
    """The resident blocks of many layouts: `occupancy` of corresponding arrays, for shared memory
    that kernels declare or request.
    """
    numbers = (np.asarray(values, np.int64) for values in (threads, registers, shared))
    of_threads, of_registers, of_shared = np.broadcast_arrays(*numbers)
    limits = _limits(gpu, of_threads, of_registers, of_shared, max(gpu.shared_per_block, gpu.shared_opt_in))
    return np.asarray(reduce(np.minimum, limits.values()), np.int64)


def _limits(gpu: Gpu, threads: Integers, registers: Integers, shared: Integers, most: int) -> dict[Limit, Integers]:
    """The blocks that each limit allows; a block has at most so many bytes of shared memory."""
    warps = gpu.threads_per_multiprocessor // gpu.warp // _warps(gpu, threads)
    given = _given_shared(gpu, shared)
    fits = np.where(given > 0, gpu.shared_per_multiprocessor // np.maximum(given, 1), UNLIMITED)
    # Before 8.0 the system's bytes were part of a block's.
    beside = gpu.shared_reserved if gpu.compute_capability is not None and gpu.compute_capability >= (8, 0) else 0
    return {
        Limit.WARPS: np.where(threads > gpu.threads_per_block, 0, warps),
        Limit.REGISTERS: _by_registers(gpu, threads, registers)[0],
        Limit.SHARED: np.where(given > most + beside, 0, fits),
        Limit.BLOCKS: np.asarray(gpu.blocks_per_multiprocessor),
        Limit.BARRIERS: np.asarray(_by_barriers(gpu)),
    }


def _up(value: Integers, unit: int | Integers) -> Integers:
    return np.asarray(-(-value // unit) * unit, np.int64)


def _warps(gpu: Gpu, threads: Integers) -> Integers:
    """The warps allocated to a block: whole units if registers go to blocks."""
    warps = -(-threads // gpu.warp)
    return _up(warps, gpu.warps_unit) if gpu.register_scope == "block" else np.asarray(warps, np.int64)


def _by_registers(gpu: Gpu, threads: Integers, registers: Integers) -> tuple[Integers, Integers]:
    """The blocks that registers allow, and the registers allocated to a block."""
    warps = _warps(gpu, threads)
    if gpu.register_scope == "block":
        given = _up(registers * gpu.warp * warps, gpu.register_unit)
        fits = np.asarray(gpu.registers_per_multiprocessor // np.maximum(given, 1), np.int64)
        refused = np.asarray(registers > gpu.registers_per_thread)
    else:
        fermi = gpu.compute_capability is not None and gpu.compute_capability[0] == 2
        unit = np.where(np.isin(registers, _UNEVEN_REGISTERS) & fermi, _UNEVEN_UNIT, gpu.register_unit)
        of_warp = _up(registers * gpu.warp, unit)
        given = of_warp * warps
        # Each partition has its part of the registers and of the warps; the device checks as though
        # a block's warps used all partitions.
        room = gpu.registers_per_multiprocessor // gpu.warps_unit // np.maximum(of_warp, 1) * gpu.warps_unit
        fits = np.asarray(room // warps, np.int64)
        of_block = of_warp * _up(warps, gpu.warps_unit)
        refused = (of_block > gpu.registers_per_block) | (registers > gpu.registers_per_thread)
    return np.where(refused, 0, np.where(given > 0, fits, UNLIMITED)), given


def _given_shared(gpu: Gpu, used: Integers) -> Integers:
    return _up(used + gpu.shared_reserved, gpu.shared_unit)


def _by_barriers(gpu: Gpu) -> int:
    """From compute capability 9.0 on: two named barriers a block, one on small chips, of which a
    kernel uses one.
    """
    if gpu.compute_capability is None or gpu.compute_capability < (9, 0):
        return UNLIMITED
    few = gpu.compute_capability == (10, 1) or gpu.compute_capability[0] == 12
    return gpu.blocks_per_multiprocessor * (1 if few else 2)
