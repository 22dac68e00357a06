"""What the model knows of a device. Sizes are in bytes, rates in bytes or operations per second,
times in seconds.

A descriptor has what a data sheet says; `Overheads` are measured on the machine at hand
(`tilepragma devices --calibrate`), None where nobody has. GPUs and processors answer the same
questions: units that run blocks of work at once, lanes that run in step, and memories in levels.
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass


@dataclass(frozen=True)
class Memory:
    """One level of the memories: `sharers` units (multiprocessors, cores) share one of `size`
    bytes, and `bandwidth` is the bytes per second that all units get from all of them together;
    None where nobody has measured that.
    """

    name: str
    size: int
    sharers: int
    bandwidth: float | None


@dataclass(frozen=True)
class Overheads:
    """What things cost apart from work, in seconds (thesis 5.3.3.1).

    `kernel`: sigma_ker, a launch that does nothing. `barrier`: sigma_thd, one barrier of a block,
    by its number of threads. `wavefront`: sigma_blk, from one inter-tile wavefront to the next, by
    the number of blocks. Both tables are in ascending order of the number; between two numbers the
    cost is interpolated, outside them it is that of the nearest. `copy`: a copy of no bytes to or
    from the device; `copy_in` and `copy_out` are the bytes per second that a long one to and from
    it moves, None where there is no copying or nobody has measured it.
    """

    kernel: float
    barrier: tuple[tuple[int, float], ...]
    wavefront: tuple[tuple[int, float], ...]
    copy: float
    copy_in: float | None = None
    copy_out: float | None = None


@dataclass(frozen=True)
class Gpu:
    """A GPU. `memories` are listed from the nearest: shared memory (of one multiprocessor), L2,
    DRAM.

    `compute_capability` is None where it is no NVIDIA device; the limits are then those of OpenCL.
    Registers are 32 bits wide. `shared_per_block` is what a block may have that asks for nothing,
    `shared_opt_in` what it may ask for (0: no more), `shared_reserved` bytes of each block are the
    system's besides. `shared_carve_outs` are the amounts of shared memory, ascending, that a
    multiprocessor can be split into beside its L1 cache (none: it is always all). `transaction` is
    what a warp's accesses to global memory are served in; each of the `banks` serves `bank_width`
    bytes.
    """

    name: str
    compute_capability: tuple[int, int] | None
    multiprocessors: int
    warp: int
    threads_per_multiprocessor: int
    threads_per_block: int
    blocks_per_multiprocessor: int
    shared_per_multiprocessor: int
    shared_per_block: int
    shared_reserved: int
    shared_unit: int
    registers_per_multiprocessor: int
    registers_per_block: int
    registers_per_thread: int
    register_unit: int
    register_scope: str
    """`warp` or `block`: what registers are given out to, in multiples of `register_unit`"""
    warps_unit: int
    transaction: int
    banks: int
    bank_width: int
    clock: float
    float_rate: float
    double_rate: float
    memories: tuple[Memory, ...]
    overheads: Overheads | None = None
    shared_opt_in: int = 0
    shared_carve_outs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Processor:
    """The cores of a host, for threads and for OpenCL devices that are processors. `vector` bytes
    are computed at once; rates are those of all cores. `memories` are listed from the nearest: L1,
    L2, L3 where there is one, DRAM.
    """

    name: str
    cores: int
    vector: int
    line: int
    clock: float
    float_rate: float
    double_rate: float
    memories: tuple[Memory, ...]
    overheads: Overheads | None = None

    @property
    def is_opencl(self) -> bool:
        """Whether it is an OpenCL device, whose launches are queued one by one: data are copied to it, as calibration has measured."""
        return self.overheads is not None and self.overheads.copy_in is not None

    def with_cores(self, cores: int) -> Processor:
        """The same where only so many of its cores have work: rates and bandwidths of memories that each core has for itself are theirs."""
        part = cores / self.cores
        memories = tuple(
            replace(memory, bandwidth=memory.bandwidth * part)
            if memory.bandwidth is not None and memory.sharers < self.cores
            else memory
            for memory in self.memories
        )
        return replace(
            self,
            cores=cores,
            memories=memories,
            float_rate=self.float_rate * part,
            double_rate=self.double_rate * part,
        )


Device = Gpu | Processor
