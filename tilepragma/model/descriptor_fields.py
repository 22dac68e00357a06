"""The fields of device descriptors: meaning, unit and valid values (as in docs/DEVICES.md)."""

from __future__ import annotations

from enum import Enum

from tilepragma.base.frozen_values import dataclass


class Value(Enum):
    """What a field may hold, in words for its errors."""

    TEXT = "a text that is not empty"
    COUNT = "a whole number from 1"
    AMOUNT = "a whole number from 0"
    POWER = "a power of two"
    AMOUNTS = "a list of whole numbers from 1, ascending"
    RATE = "a number a second, not in thousands or millions of them: from 1e6"
    RATE_OR_NULL = (
        "a number a second, not in thousands or millions of them: from 1e6; or null where nobody has measured it"
    )
    SECONDS = "a number of seconds from 0"
    CAPABILITY = "two whole numbers, [major, minor], or null where it is no NVIDIA device"
    SCOPE = '"warp" or "block"'
    MEMORIES = "a list of memories, the nearest first"
    COSTS = "a list of pairs [number, seconds], the numbers from 1 and ascending"
    OVERHEADS = "null, or an object with what was measured"


@dataclass(frozen=True)
class Field:
    """One field: its unit and meaning in words. It may be left out unless it is `required`."""

    name: str
    value: Value
    meaning: str
    required: bool = True


GPU = (
    Field("name", Value.TEXT, "what its maker calls it"),
    Field("compute_capability", Value.CAPABILITY, "of NVIDIA's devices; it chooses the rules of occupancy"),
    Field("multiprocessors", Value.COUNT, "streaming multiprocessors; of OpenCL, compute units"),
    Field("warp", Value.POWER, "threads that run in step (AMD: wavefront)"),
    Field("threads_per_multiprocessor", Value.COUNT, "threads, at most, of all blocks on a multiprocessor"),
    Field("threads_per_block", Value.COUNT, "threads of a block (work-items of a group), at most"),
    Field("blocks_per_multiprocessor", Value.COUNT, "blocks on a multiprocessor, at most"),
    Field("shared_per_multiprocessor", Value.COUNT, "bytes of shared (local) memory"),
    Field("shared_per_block", Value.COUNT, "bytes of it that a block may have without asking for more"),
    Field("shared_opt_in", Value.AMOUNT, "bytes of it that a block may ask for; 0: no more", required=False),
    Field("shared_reserved", Value.AMOUNT, "bytes of it that the system takes for each block"),
    Field("shared_unit", Value.POWER, "bytes: shared memory is given out in multiples of so many"),
    Field(
        "shared_carve_outs",
        Value.AMOUNTS,
        "bytes of shared memory that can be chosen for a multiprocessor, beside its L1 cache; none: it is always all",
        required=False,
    ),
    Field("registers_per_multiprocessor", Value.COUNT, "registers of 32 bits"),
    Field("registers_per_block", Value.COUNT, "registers of 32 bits, at most"),
    Field("registers_per_thread", Value.COUNT, "registers of 32 bits, at most"),
    Field("register_unit", Value.POWER, "registers: they are given out in multiples of so many"),
    Field("register_scope", Value.SCOPE, "what registers are given out to"),
    Field(
        "warps_unit",
        Value.POWER,
        "warps: where registers go to warps, the partitions of a multiprocessor that warps are mapped to; "
        "where they go to "
        "blocks, a block's warps are rounded up to a multiple of it",
    ),
    Field("transaction", Value.POWER, "bytes that an access to global memory moves at least"),
    Field("banks", Value.POWER, "banks of shared memory"),
    Field("bank_width", Value.POWER, "bytes that a bank serves at once"),
    Field("clock", Value.RATE, "cycles a second of the cores"),
    Field(
        "float_rate",
        Value.RATE,
        "operations on floats a second, of all multiprocessors, a fused multiply-add being two",
    ),
    Field("double_rate", Value.RATE, "the same of doubles"),
    Field("memories", Value.MEMORIES, "shared memory, L2 where there is one, DRAM"),
    Field("overheads", Value.OVERHEADS, "what `tilepragma devices --calibrate` measured", required=False),
)
PROCESSOR = (
    Field("name", Value.TEXT, "what its maker calls it"),
    Field("cores", Value.COUNT, "cores, each counted once however many threads it runs"),
    Field("vector", Value.POWER, "bytes that a core computes at once"),
    Field("line", Value.POWER, "bytes of a cache line"),
    Field("clock", Value.RATE, "cycles a second with all cores at work"),
    Field("float_rate", Value.RATE, "operations on floats a second, of all cores, a fused multiply-add being two"),
    Field("double_rate", Value.RATE, "the same of doubles"),
    Field("memories", Value.MEMORIES, "L1, L2, L3 where there is one, DRAM"),
    Field("overheads", Value.OVERHEADS, "what `tilepragma devices --calibrate` measured", required=False),
)
MEMORY = (
    Field("name", Value.TEXT, "what it is called"),
    Field("size", Value.COUNT, "bytes of one such memory"),
    Field("sharers", Value.COUNT, "multiprocessors, or cores, that share one such memory"),
    Field(
        "bandwidth",
        Value.RATE_OR_NULL,
        "bytes a second that all multiprocessors, or cores, get from all of them together",
    ),
)
OVERHEADS = (
    Field("kernel", Value.SECONDS, "a launch that does nothing (thesis 5.3.3.1: sigma_ker)"),
    Field("barrier", Value.COSTS, "one barrier of a block, by its threads (sigma_thd)"),
    Field("wavefront", Value.COSTS, "from one wavefront of tiles to the next, by the number of blocks (sigma_blk)"),
    Field("copy", Value.SECONDS, "a copy of no bytes to or from the device"),
    Field("copy_in", Value.RATE_OR_NULL, "bytes a second of long copies to the device", required=False),
    Field("copy_out", Value.RATE_OR_NULL, "bytes a second of long copies from the device", required=False),
)
#: Further fields at the top of a file.
TOP = (
    Field("kind", Value.TEXT, "`gpu` or `processor`"),
    Field("source", Value.TEXT, "where the figures are from, for people", required=False),
)
