"""What is measured on a device, and the descriptor that comes of it (thesis 5.3.3.1, extended by bandwidths and rates)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from tilepragma.model.devices import Device, Memory, Overheads, Processor
from tilepragma.tuning.findings import Findings, word
from tilepragma.tuning.host import Host
from tilepragma.tuning.runner import CalibrationError, Subject

_MIB = 1 << 20
#: Threads of a block that a barrier is measured for, and blocks of a wavefront in multiples of the device's units.
_BLOCK_SIZES = (32, 64, 128, 256, 512, 1024)
_QUICK_BLOCK_SIZES = (32, 256)
_BLOCKS_A_UNIT = (1, 2, 4, 16, 64, 256)
_QUICK_BLOCKS_A_UNIT = (1, 16)
_LEAST_BYTES = 4
_NAMES = {1: "L1", 2: "L2", 3: "L3", 4: "L4"}


@dataclass(frozen=True)
class Effort:
    """How much is measured. `seconds` are for all devices together; `copy` and `stream` are bytes, those of a stream in a GPU's memory."""

    seconds: float
    block_sizes: tuple[int, ...]
    blocks_a_unit: tuple[int, ...]
    copy: int
    stream: int
    caches_beyond: int
    """a stream from the host's memory is so many times as long as its last caches"""


FULL = Effort(40.0, _BLOCK_SIZES, _BLOCKS_A_UNIT, 16 * _MIB, 512 * _MIB, 4)
QUICK = Effort(2.0, _QUICK_BLOCK_SIZES, _QUICK_BLOCKS_A_UNIT, _MIB, 128 * _MIB, 2)

#: No number is measured longer, or shorter, than so many milliseconds; the program's warm-up takes about as much again as the share says.
_LONGEST, _SHORTEST, _WARM_UP = 500.0, 2.0, 1.4


def milliseconds_a_number(effort: Effort, count: int) -> float:
    """How long each of `count` numbers is measured."""
    return max(min(effort.seconds * 1e3 / (max(count, 1) * _WARM_UP), _LONGEST), _SHORTEST)


# ---- What is asked -----------------------------------------------------------------------------------------------------


def words_for(subject: Subject, host: Host, effort: Effort) -> list[str]:
    """The measurements that make sense on a device, in the order they are made."""
    common = [word("launch", subject.units), *(word("wavefront", blocks) for blocks in blocks_of(subject.units, effort))]
    if subject.target == "threads":
        streams = [word("stream", size) for _, size in working_sets(host, effort)]
        return ["clock", "vector", word("rate", 4), word("rate", 8), *streams, *common]
    copies = [word(way, size) for way in ("copy_in", "copy_out") for size in (_LEAST_BYTES, effort.copy)]
    common += [*(word("barrier", size) for size in effort.block_sizes), *copies]
    if not subject.is_gpu:
        return [*common, word("stream", beyond_caches(host, effort))]
    from tilepragma.tuning.gpus import gpu_words

    return [*common, *gpu_words(subject, effort)]


def blocks_of(units: int, effort: Effort) -> list[int]:
    """The numbers of blocks that wavefronts are measured for."""
    return sorted({1, *(units * times for times in effort.blocks_a_unit)})


def working_sets(host: Host, effort: Effort) -> list[tuple[Memory, int]]:
    """Each level of the host, its bandwidth still unknown, and the bytes of one thread's stream that it serves: well inside of the
    level, and too much for the one before.
    """
    sets: list[tuple[Memory, int]] = []
    before = 0
    for cache in host.caches:
        share = cache.size // cache.threads
        own = max(share // 2, min(2 * before, share * 9 // 10))
        sets.append((Memory(_NAMES.get(cache.level, f"L{cache.level}"), cache.size, cache.cores, None), own))
        before = share
    dram = Memory("DRAM", host.memory, host.cores, None)
    return [*sets, (dram, beyond_caches(host, effort) // host.threads)]


def beyond_caches(host: Host, effort: Effort) -> int:
    """Bytes of a stream of all threads that comes from memory."""
    last = host.caches[-1]
    instances = max(host.threads // last.threads, 1)
    return min(max(effort.caches_beyond * last.size * instances, 64 * _MIB), host.memory // 8)


# ---- What comes of it --------------------------------------------------------------------------------------------------


def descriptor(subject: Subject, host: Host, effort: Effort, found: Findings, processor: Processor | None) -> Device:
    """The device as measured; `processor` is the host as measured with threads, None where that failed.

    Raises CalibrationError where a number is missing that it cannot do without.
    """
    if subject.target == "threads":
        return _host_processor(subject, host, effort, found)
    overheads = overheads_of(subject, effort, found)
    if not subject.is_gpu:
        if processor is None:
            raise CalibrationError("a processor's caches and rates are those of the host, which was not measured")
        memory = word("stream", beyond_caches(host, effort))
        return replace(
            processor,
            name=subject.name,
            cores=subject.units,
            memories=(*processor.memories[:-1], replace(processor.memories[-1], bandwidth=_needed(found, *_parts(memory)))),
            overheads=overheads,
        )
    from tilepragma.tuning.gpus import measured_gpu

    return measured_gpu(subject, effort, found, overheads)


def _host_processor(subject: Subject, host: Host, effort: Effort, found: Findings) -> Processor:
    memories = [
        replace(memory, bandwidth=_needed(found, "stream", size)) for memory, size in working_sets(host, effort)
    ]
    return Processor(
        name=subject.name,
        cores=host.cores,
        vector=int(_needed(found, "vector")),
        line=host.line,
        clock=found.value("clock") or host.clock,
        float_rate=_needed(found, "rate", 4),
        double_rate=_needed(found, "rate", 8),
        memories=tuple(memories),
        overheads=overheads_of(subject, effort, found),
    )


def overheads_of(subject: Subject, effort: Effort, found: Findings) -> Overheads:
    """The costs of launches, barriers and copies. Raises CalibrationError where one is missing."""
    kernel = _needed(found, "launch", subject.units)
    wavefront = found.costs("wavefront")
    if not wavefront:
        raise CalibrationError("no wavefront could be measured")
    if subject.target == "threads":  # a gang is one thread: its barriers are nothing, and there is nowhere to copy to
        return Overheads(kernel, ((1, 0.0),), wavefront, 0.0)
    barrier = found.costs("barrier")
    if not barrier:
        raise CalibrationError("no barrier could be measured")
    ways = [_needed(found, way, _LEAST_BYTES) for way in ("copy_in", "copy_out")]
    return Overheads(kernel, barrier, wavefront, sum(ways) / len(ways))


def copy_rate(found: Findings, way: str, effort: Effort) -> float | None:
    """Bytes a second of copies, `copy_in` or `copy_out`, less what a copy costs in any case; None where that was not found."""
    least, most = found.value(way, _LEAST_BYTES), found.value(way, effort.copy)
    if least is None or most is None or most <= least:
        return None
    return (effort.copy - _LEAST_BYTES) / (most - least)


def _needed(found: Findings, measure: str, argument: int = 0) -> float:
    value = found.value(measure, argument)
    if value is None:
        why = [one.failure for one in found.failures() if one.word == word(measure, argument)]
        raise CalibrationError(f"{word(measure, argument)} was not measured" + (f": {why[0]}" if why else ""))
    return value


def _parts(asked: str) -> tuple[str, int]:
    measure, _, argument = asked.partition(":")
    return measure, int(argument or 0)


def total(words: dict[Subject, list[str]]) -> int:
    """How many numbers are measured in all."""
    return sum(1 for _ in itertools.chain.from_iterable(words.values()))
