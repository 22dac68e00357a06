"""Thesis Table 5.1: how many blocks run at once on a multiprocessor, by a rule that knows no units; and Tables 6.3 and 6.4, which ignore more."""

from __future__ import annotations

from dataclasses import dataclass

from tilepragma.model.device import Gpu
from tilepragma.model.occupancy import UNLIMITED


@dataclass(frozen=True)
class TableBlocks:
    """Blocks of a multiprocessor by thesis Table 5.1: B_W, B_R and B_S."""

    by_warps: int
    by_registers: int
    by_shared: int

    @property
    def blocks(self) -> int:
        """B = min(B_W, B_R, B_S)."""
        return min(self.by_warps, self.by_registers, self.by_shared)


def table_5_1(gpu: Gpu, threads: int, registers_of_block: int, shared_of_block: int) -> TableBlocks:
    """Thesis Table 5.1: B_W = min(B_SM, W_SM / W_TB), B_R = R_SM / R_TB, B_S = S_SM / S_TB, rounded
    down, W_TB = K / W rounded up.

    A resource of which a block takes nothing is UNLIMITED. Raises ValueError for a block without
    threads.
    """
    if threads < 1:
        raise ValueError("a block has threads")
    room = gpu.threads_per_multiprocessor // gpu.warp // -(-threads // gpu.warp)
    by_registers = gpu.registers_per_multiprocessor // registers_of_block if registers_of_block else UNLIMITED
    by_shared = gpu.shared_per_multiprocessor // shared_of_block if shared_of_block else UNLIMITED
    return TableBlocks(min(gpu.blocks_per_multiprocessor, room), by_registers, by_shared)


def table_6_3(gpu: Gpu, threads: int, registers_of_thread: int, shared_of_block: int) -> tuple[int, int]:
    """(B_SM, active threads) as thesis Tables 6.3 and 6.4 print them: by shared memory, registers
    and threads of a multiprocessor alone. The limit of blocks, B_SM = 8 in Table 6.1, is ignored
    there, and so are whole warps.
    """
    limits = table_5_1(gpu, threads, registers_of_thread * threads, shared_of_block)
    blocks = min(limits.by_registers, limits.by_shared, gpu.threads_per_multiprocessor // threads)
    return blocks, blocks * threads
