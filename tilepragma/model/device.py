"""What the model knows of a device. Sizes are in bytes, rates in bytes or operations per second,
times in seconds.

A descriptor has a data sheet's figures; `Overheads` are measured on the machine (`tilepragma
devices --calibrate`), else None. GPUs and processors have a common form: units that run blocks of
work in parallel, lanes that run in step, and memories in levels.
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass


@dataclass(frozen=True)
class Memory:
    """One level of the memories: `sharers` units (multiprocessors, cores) share one of `size`
    bytes. `bandwidth`: bytes per second of all units from all of them together; None if unmeasured.
    """

    name: str
    size: int
    sharers: int
    bandwidth: float | None


@dataclass(frozen=True)
class Overheads:
    """Costs apart from work, in seconds (thesis 5.3.3.1).

    `kernel`: sigma_ker, an empty launch. `barrier`: sigma_thd, one barrier of a block, by its
    number of threads. `wavefront`: sigma_blk, from one inter-tile wavefront to the next, by the
    number of blocks. Both tables ascend; costs are interpolated, and constant outside. `copy`: an
    empty copy to or from the device; `copy_in` and `copy_out`: bytes per second of long copies to
    and from it, None if unmeasured or without copies.
    """

    kernel: float
    barrier: tuple[tuple[int, float], ...]
    wavefront: tuple[tuple[int, float], ...]
    copy: float
    copy_in: float | None = None
    copy_out: float | None = None


@dataclass(frozen=True)
class Gpu:
    """A GPU. `memories` from the nearest: shared memory (of one multiprocessor), caches, DRAM.

    `compute_capability` is None for other makers than NVIDIA; the limits are then those of OpenCL.
    Registers are 32 bits wide. A block gets `shared_per_block` bytes by default, up to
    `shared_opt_in` on request (0: no more), and `shared_reserved` bytes are the system's besides.
    `transaction`: the bytes in which global memory serves a warp; each of the `banks` serves
    `bank_width` bytes.
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
    """`warp` or `block`: the unit that gets registers, in multiples of `register_unit`"""
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


@dataclass(frozen=True)
class Processor:
    """The cores of a host, for threads and for OpenCL processors. A core computes `vector` bytes at
    a time; rates are those of all cores. `memories` from the nearest: L1, L2, L3 if any, DRAM.
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
        """Whether it is an OpenCL device, with a launch queue and measured copies."""
        return self.overheads is not None and self.overheads.copy_in is not None

    def with_cores(self, cores: int) -> Processor:
        """The processor with so many busy cores: rates and private bandwidths scale with them."""
        part = cores / self.cores
        memories = tuple(
            replace(memory, bandwidth=memory.bandwidth * part)
            if memory.bandwidth is not None and memory.sharers < self.cores
            else memory
            for memory in self.memories
        )
        return replace(
            self, cores=cores, memories=memories, float_rate=self.float_rate * part, double_rate=self.double_rate * part
        )


Device = Gpu | Processor
