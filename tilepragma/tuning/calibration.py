"""What is measured on a device, and its descriptor (thesis 5.3.3.1, with bandwidths and rates)."""

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


# -- Requests


def words_for(subject: CalibrationTarget, host: Host, effort: Effort) -> list[str]:
    """The measurements of a device, in the order in which they are made."""
    common = [
        word("launch", subject.units),
        *(word("wavefront", blocks) for blocks in blocks_of(subject.units, effort)),
    ]
    if subject.target == "threads":
        streams = [word("stream", length) for _, length in working_sets(host, effort)]
        return ["clock", "vector", word("rate", 4), word("rate", 8), *streams, *common]
    copies = [word(way, length) for way in ("copy_in", "copy_out") for length in (_LEAST_BYTES, effort.copy)]
    common += [*(word("barrier", threads) for threads in effort.block_sizes), *copies]
    if not subject.is_gpu:
        return [*common, word("stream", beyond_caches(host, effort))]
    from tilepragma.tuning.measured_gpu import gpu_words

    return [*common, *gpu_words(subject, effort)]


def blocks_of(units: int, effort: Effort) -> list[int]:
    """The numbers of blocks for which wavefronts are measured."""
    return sorted({1, *(units * times for times in effort.blocks_a_unit)})


def working_sets(host: Host, effort: Effort) -> list[tuple[Memory, int]]:
    """The host's memory levels without bandwidth, and the bytes of one thread's stream for each:
    well inside the level, and too large for the one before.
    """
    sets: list[tuple[Memory, int]] = []
    before = 0
    for cache in host.caches:
        share = cache.size // cache.threads
        length = max(share // 2, min(2 * before, share * 9 // 10))
        sets.append((Memory(_NAMES.get(cache.level, f"L{cache.level}"), cache.size, cache.cores, None), length))
        before = share
    dram = Memory("DRAM", host.memory, host.cores, None)
    return [*sets, (dram, beyond_caches(host, effort) // host.threads)]


def labels(subject: CalibrationTarget, host: Host, effort: Effort) -> dict[str, str]:
    """Labels of measurements whose words do not explain them."""
    if subject.target != "threads":
        sizes = () if subject.is_gpu else effort.block_sizes
        return {word("barrier", count): f"barrier of {count} threads (TILEK_OPENCL_FORM=gpu)" for count in sizes}
    sets = working_sets(host, effort)
    return {word("stream", length): f"{memory.name}, streams of {size(length)} a thread" for memory, length in sets}


def beyond_caches(host: Host, effort: Effort) -> int:
    """Bytes of a stream of all threads that comes from memory."""
    last = host.caches[-1]
    instances = max(host.threads // last.threads, 1)
    return min(max(effort.caches_beyond * last.size * instances, 64 * _MIB), host.memory // 8)


# -- Results


@dataclass(frozen=True)
class Measured:
    """The findings of one device, labels of some of them, and its descriptor."""

    subject: CalibrationTarget
    findings: Findings
    labels: dict[str, str]
    device: Device


def described(
    subject: CalibrationTarget, host: Host, effort: Effort, findings: Findings, before: Sequence[Measured]
) -> Measured:
    """The results of a device. `before`: the devices measured so far, with the host if that
    succeeded.

    Raises CalibrationError if a number that the descriptor needs is missing or makes no sense.
    """
    processor = next((measured.device for measured in before if isinstance(measured.device, Processor)), None)
    device = checked(descriptor(subject, host, effort, findings, processor), subject)
    return Measured(subject, findings, labels(subject, host, effort), device)


def descriptor(
    subject: CalibrationTarget, host: Host, effort: Effort, findings: Findings, processor: Processor | None
) -> Device:
    """The device as measured; `processor` is the measured host, None if that failed. Raises
    CalibrationError if a required number is missing.
    """
    if subject.target == "threads":
        return _host_processor(subject, host, effort, findings)
    overheads = overheads_of(subject, effort, findings)
    if not subject.is_gpu:
        if processor is None:
            raise CalibrationError("a processor's caches and rates are those of the host, which was not measured")
        *caches, dram = processor.memories
        dram = replace(dram, bandwidth=_needed(findings, "stream", beyond_caches(host, effort)))
        return replace(processor, name=subject.name, memories=(*caches, dram), overheads=overheads)
    from tilepragma.tuning.measured_gpu import measured_gpu

    return measured_gpu(subject, effort, findings, overheads)


def _host_processor(subject: CalibrationTarget, host: Host, effort: Effort, findings: Findings) -> Processor:
    memories = [
        replace(memory, bandwidth=_needed(findings, "stream", length)) for memory, length in working_sets(host, effort)
    ]
    return Processor(
        name=subject.name,
        cores=host.cores,
        vector=int(_needed(findings, "vector")),
        line=host.line,
        clock=findings.value("clock") or host.clock,
        float_rate=_needed(findings, "rate", 4),
        double_rate=_needed(findings, "rate", 8),
        memories=tuple(memories),
        overheads=overheads_of(subject, effort, findings),
    )


def overheads_of(subject: CalibrationTarget, effort: Effort, findings: Findings) -> Overheads:
    """The costs of launches, barriers and copies. Raises CalibrationError if one is missing."""
    kernel = _needed(findings, "launch", subject.units)
    wavefront = findings.costs("wavefront")
    if not wavefront:
        raise CalibrationError("no wavefront could be measured")
    free = ((1, 0.0),)
    if subject.target == "threads":  # there is nowhere to copy to
        return Overheads(kernel, free, wavefront, 0.0)
    # A gang of a processor is one thread: the runtime runs it without barriers, whatever their
    # cost.
    barrier = findings.costs("barrier") if subject.is_gpu else free
    if not barrier:
        raise CalibrationError("no barrier could be measured")
    ways = [_needed(findings, way, _LEAST_BYTES) for way in ("copy_in", "copy_out")]
    rates = [copy_rate(findings, way, effort) for way in ("copy_in", "copy_out")]
    return Overheads(kernel, barrier, wavefront, sum(ways) / len(ways), *rates)


def copy_rate(findings: Findings, way: str, effort: Effort) -> float | None:
    """Bytes a second of `copy_in` or `copy_out` beyond the fixed cost; None if that is unknown."""
    least, most = findings.value(way, _LEAST_BYTES), findings.value(way, effort.copy)
    if least is None or most is None or most <= least:
        return None
    return (effort.copy - _LEAST_BYTES) / (most - least)


def _needed(findings: Findings, measure: str, argument: int = 0) -> float:
    value = findings.value(measure, argument)
    if value is None:
        why = [failure.failure for failure in findings.failures() if failure.word == word(measure, argument)]
        raise CalibrationError(f"{word(measure, argument)} was not measured" + (f": {why[0]}" if why else ""))
    return value
