"""Devices for tests of the model, with numbers that are easy to work with by hand."""

from __future__ import annotations

from tilepragma.model.device import Gpu, Memory, Overheads, Processor

#: 4 multiprocessors, warps of 4; a cycle is a second. A multiprocessor issues for 2 lanes a cycle
#: (of double precision 1).
GPU = Gpu(
    name="small",
    compute_capability=(1, 3),
    multiprocessors=4,
    warp=4,
    threads_per_multiprocessor=32,
    threads_per_block=16,
    blocks_per_multiprocessor=4,
    shared_per_multiprocessor=1024,
    shared_per_block=1024,
    shared_reserved=0,
    shared_unit=1,
    registers_per_multiprocessor=256,
    registers_per_block=256,
    registers_per_thread=64,
    register_unit=1,
    register_scope="block",
    warps_unit=1,
    transaction=32,
    banks=2,
    bank_width=4,
    clock=1.0,
    float_rate=16.0,
    double_rate=8.0,
    memories=(Memory("shared memory", 1024, 1, 64.0), Memory("L2", 4096, 4, None), Memory("DRAM", 0, 4, 8.0)),
    overheads=Overheads(kernel=3.0, barrier=((4, 1.0),), wavefront=((4, 2.0),), copy=1.0),
)

#: 2 cores with vectors of 16 bytes, each of which computes one (4 floats) a cycle of a second; L2
#: belongs to a core, L3 to both.
PROCESSOR = Processor(
    name="small",
    cores=2,
    vector=16,
    line=64,
    clock=1.0,
    float_rate=16.0,
    double_rate=8.0,
    memories=(
        Memory("L1", 100, 1, 64.0),
        Memory("L2", 1000, 1, 32.0),
        Memory("L3", 10_000, 2, 16.0),
        Memory("DRAM", 0, 2, 4.0),
    ),
    overheads=None,
)
