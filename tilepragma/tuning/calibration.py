"""What is measured on a device, and the descriptor that comes of it (thesis 5.3.3.1, extended by bandwidths and rates)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Device, Memory, Overheads, Processor
from tilepragma.tuning.calibration_samples import Findings, word
from tilepragma.tuning.calibration_target import CalibrationError, CalibrationTarget
from tilepragma.tuning.device_records import checked
from tilepragma.tuning.effort import Effort
from tilepragma.tuning.host_processor import Host
from tilepragma.tuning.table import size

_LEAST_BYTES = 4
_MIB = 1 << 20
_NAMES = {1: "L1", 2: "L2", 3: "L3", 4: "L4"}


# -- What is asked


def words_for(subject: CalibrationTarget, host: Host, effort: Effort) -> list[str]:
    """The measurements that make sense on a device, in the order they are made."""
    common = [
        word("launch", subject.units),
        *(word("wavefront", blocks) for blocks in blocks_of(subject.units, effort)),
    ]
    if subject.target == "threads":
        streams = [word("stream", own) for _, own in working_sets(host, effort)]
        return ["clock", "vector", word("rate", 4), word("rate", 8), *streams, *common]
    copies = [word(way, length) for way in ("copy_in", "copy_out") for length in (_LEAST_BYTES, effort.copy)]
    common += [*(word("barrier", threads) for threads in effort.block_sizes), *copies]
    if not subject.is_gpu:
        return [*common, word("stream", beyond_caches(host, effort))]
    from tilepragma.tuning.measured_gpu import gpu_words

    return [*common, *gpu_words(subject, effort)]


def blocks_of(units: int, effort: Effort) -> list[int]:
    """The numbers of blocks that wavefronts are measured for."""
    return sorted({1, *(units * times for times in effort.blocks_a_unit)})


def working_sets(host: Host, effort: Effort) -> list[tuple[Memory, int]]:
    """Each level of the host, its bandwidth still unknown, and the bytes of one thread's stream
    that it serves: well inside of the level, and too much for the one before.
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


def labels(subject: CalibrationTarget, host: Host, effort: Effort) -> dict[str, str]:
    """Names for people of measurements whose words do not tell all."""
    if subject.target != "threads":
        sizes = () if subject.is_gpu else effort.block_sizes
        return {word("barrier", count): f"barrier of {count} threads (TILEK_OPENCL_FORM=gpu)" for count in sizes}
    sets = working_sets(host, effort)
    return {word("stream", own): f"{memory.name}, streams of {size(own)} a thread" for memory, own in sets}


def beyond_caches(host: Host, effort: Effort) -> int:
    """Bytes of a stream of all threads that comes from memory."""
    last = host.caches[-1]
    instances = max(host.threads // last.threads, 1)
    return min(max(effort.caches_beyond * last.size * instances, 64 * _MIB), host.memory // 8)


# -- What comes of it


@dataclass(frozen=True)
class Measured:
    """One device: what was found, with names for people of some of it, and its descriptor."""

    subject: CalibrationTarget
    found: Findings
    labels: dict[str, str]
    device: Device


def described(
    subject: CalibrationTarget, host: Host, effort: Effort, found: Findings, before: Sequence[Measured]
) -> Measured:
    """What was found on a device, `before` being the devices measured so far, the host with threads
    among them where that went well.

    Raises CalibrationError where a number is missing that the descriptor cannot do without, or
    where it makes no sense.
    """
    processor = next((one.device for one in before if isinstance(one.device, Processor)), None)
    device = checked(descriptor(subject, host, effort, found, processor), subject)
    return Measured(subject, found, labels(subject, host, effort), device)


def descriptor(
    subject: CalibrationTarget, host: Host, effort: Effort, found: Findings, processor: Processor | None
) -> Device:
    """The device as measured; `processor` is the host as measured with threads, None where that
    failed.

    Raises CalibrationError where a number is missing that it cannot do without.
    """
    if subject.target == "threads":
        return _host_processor(subject, host, effort, found)
    overheads = overheads_of(subject, effort, found)
    if not subject.is_gpu:
        if processor is None:
            raise CalibrationError("a processor's caches and rates are those of the host, which was not measured")
        *caches, dram = processor.memories
        dram = replace(dram, bandwidth=_needed(found, "stream", beyond_caches(host, effort)))
        return replace(processor, name=subject.name, memories=(*caches, dram), overheads=overheads)
    from tilepragma.tuning.measured_gpu import measured_gpu

    return measured_gpu(subject, effort, found, overheads)


def _host_processor(subject: CalibrationTarget, host: Host, effort: Effort, found: Findings) -> Processor:
    memories = [replace(memory, bandwidth=_needed(found, "stream", own)) for memory, own in working_sets(host, effort)]
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


def overheads_of(subject: CalibrationTarget, effort: Effort, found: Findings) -> Overheads:
    """The costs of launches, barriers and copies. Raises CalibrationError where one is missing."""
    kernel = _needed(found, "launch", subject.units)
    wavefront = found.costs("wavefront")
    if not wavefront:
        raise CalibrationError("no wavefront could be measured")
    free = ((1, 0.0),)
    if subject.target == "threads":  # there is nowhere to copy to
        return Overheads(kernel, free, wavefront, 0.0)
    # A gang of a processor is one thread: what the runtime has it run is without barriers, whatever
    # these would cost.
    barrier = found.costs("barrier") if subject.is_gpu else free
    if not barrier:
        raise CalibrationError("no barrier could be measured")
    ways = [_needed(found, way, _LEAST_BYTES) for way in ("copy_in", "copy_out")]
    rates = [copy_rate(found, way, effort) for way in ("copy_in", "copy_out")]
    return Overheads(kernel, barrier, wavefront, sum(ways) / len(ways), *rates)


def copy_rate(found: Findings, way: str, effort: Effort) -> float | None:
    """Bytes a second of copies, `copy_in` or `copy_out`, less what a copy costs in any case; None where that was not found."""
    least, most = found.value(way, _LEAST_BYTES), found.value(way, effort.copy)
    if least is None or most is None or most <= least:
        return None
    return (effort.copy - _LEAST_BYTES) / (most - least)


def _needed(found: Findings, measure: str, argument: int = 0) -> float:
    value = found.value(measure, argument)
    if value is None:
        why = [failure.failure for failure in found.failures() if failure.word == word(measure, argument)]
        raise CalibrationError(f"{word(measure, argument)} was not measured" + (f": {why[0]}" if why else ""))
    return value
