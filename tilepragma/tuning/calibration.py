"""What is measured on a device (thesis 5.3.3.1, with bandwidths and rates), and its descriptor,
which is kept among the user's by target and number (`threads`, `cuda-0`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tilepragma.base.diagnostics import LocatedError
from tilepragma.base.files import file_bytes
from tilepragma.base.frozen_values import dataclass
from tilepragma.model.descriptor_checks import device_of
from tilepragma.model.descriptor_files import descriptor_text, known_devices, users_descriptors, write_descriptor
from tilepragma.model.device import Device, Gpu, Memory, Overheads, Processor
from tilepragma.tuning.calibration_samples import CalibrationError, Findings, ListedDevice, size, word
from tilepragma.tuning.host_processor import Host

_LEAST_BYTES = 4
_MIB = 1 << 20
_NAMES = {1: "L1", 2: "L2", 3: "L3", 4: "L4"}
_CALIBRATED = "calibrated "
_DAY = len("2026-01-01")


# -- Effort


@dataclass(frozen=True)
class Effort:
    """How much is measured: `seconds` for all devices without repetitions; barriers of
    `block_sizes` threads, and wavefronts of `blocks_a_unit` blocks per unit of the device; `copy`
    and `stream` (in a GPU's memory) in bytes.
    """

    seconds: float
    block_sizes: tuple[int, ...]
    blocks_a_unit: tuple[int, ...]
    copy: int
    stream: int
    caches_beyond: int
    """a stream from the host's memory is so many times as large as its last caches"""


FULL = Effort(22.0, (32, 64, 128, 256, 512, 1024), (1, 2, 4, 16, 64, 256), 16 * _MIB, 512 * _MIB, 4)
QUICK = Effort(2.0, (32, 256), (1, 16), _MIB, 128 * _MIB, 2)

#: The longest and the shortest measurement of a number in milliseconds; the program's time with
#: warm-up relative to that without.
_LONGEST, _SHORTEST, _WARM_UP = 500.0, 2.0, 1.4


def milliseconds_a_number(effort: Effort, count: int) -> float:
    """Milliseconds for each of `count` numbers."""
    return max(min(effort.seconds * 1e3 / (max(count, 1) * _WARM_UP), _LONGEST), _SHORTEST)


# -- Requests


def words_for(subject: ListedDevice, host: Host, effort: Effort) -> list[str]:
    """The measurements of a device, in the order in which they are made."""
    numbers_of_blocks = sorted({1, *(subject.compute_units * times for times in effort.blocks_a_unit)})
    wavefronts = (word("wavefront", blocks) for blocks in numbers_of_blocks)
    common = [word("launch", subject.compute_units), *wavefronts]
    if subject.target == "threads":
        streams = [word("stream", length) for _, length in working_sets(host, effort)]
        return ["clock", "vector", word("rate", 4), word("rate", 8), *streams, *common]
    copies = [word(way, length) for way in ("copy_in", "copy_out") for length in (_LEAST_BYTES, effort.copy)]
    common += [*(word("barrier", threads) for threads in effort.block_sizes), *copies]
    if not subject.is_gpu:
        return [*common, word("stream", beyond_caches(host, effort))]
    return [*common, *gpu_words(subject, effort)]


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


def labels(subject: ListedDevice, host: Host, effort: Effort) -> dict[str, str]:
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

    subject: ListedDevice
    findings: Findings
    labels: dict[str, str]
    device: Device


def described(
    subject: ListedDevice, host: Host, effort: Effort, findings: Findings, before: Sequence[Measured]
) -> Measured:
    """The results of a device. `before`: the devices measured so far, with the host if that
    succeeded.

    Raises CalibrationError if a number that the descriptor needs is missing or makes no sense.
    """
    processor = next((measured.device for measured in before if isinstance(measured.device, Processor)), None)
    device = _described(subject, host, effort, findings, processor)
    try:
        device_of(descriptor_text(device, "measured"), subject.key)
    except LocatedError as faults:
        raise CalibrationError(f"what was measured makes no sense: {faults.diagnostics[0].message}") from None
    return Measured(subject, findings, labels(subject, host, effort), device)


def _described(
    subject: ListedDevice, host: Host, effort: Effort, findings: Findings, processor: Processor | None
) -> Device:
    """The device as measured; `processor` is the measured host, None if that failed."""
    if subject.target == "threads":
        sets = working_sets(host, effort)
        return Processor(
            name=subject.name,
            memories=tuple(replace(memory, bandwidth=_needed(findings, "stream", length)) for memory, length in sets),
            cores=host.cores,
            vector=int(_needed(findings, "vector")),
            line=host.line,
            clock=findings.value("clock") or host.clock,
            float_rate=_needed(findings, "rate", 4),
            double_rate=_needed(findings, "rate", 8),
            overheads=overheads_of(subject, effort, findings),
        )
    overheads = overheads_of(subject, effort, findings)
    if subject.is_gpu:
        return measured_gpu(subject, effort, findings, overheads)
    if processor is None:
        raise CalibrationError("a processor's caches and rates are those of the host, which was not measured")
    *caches, dram = processor.memories
    dram = replace(dram, bandwidth=_needed(findings, "stream", beyond_caches(host, effort)))
    return replace(processor, name=subject.name, memories=(*caches, dram), overheads=overheads)


def overheads_of(subject: ListedDevice, effort: Effort, findings: Findings) -> Overheads:
    """The costs of launches, barriers and copies. Raises CalibrationError if one is missing."""
    kernel = _needed(findings, "launch", subject.compute_units)
    wavefront = findings.costs("wavefront")
    if not wavefront:
        raise CalibrationError("no wavefront could be measured")
    free = ((1, 0.0),)
    if subject.target == "threads":  # there is nowhere to copy to
        return Overheads(kernel, free, wavefront, 0.0)
    # A gang of a processor is one thread, which the runtime runs without barriers.
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


# -- GPUs: the nearest descriptor, updated by the device's attributes and measurements

#: Fields by the number of their CUdevice_attribute or cl_device_info, and the unit.
_CUDA = {
    "multiprocessors": (16, 1),
    "warp": (10, 1),
    "threads_per_multiprocessor": (39, 1),
    "threads_per_block": (1, 1),
    "blocks_per_multiprocessor": (106, 1),
    "shared_per_multiprocessor": (81, 1),
    "shared_per_block": (8, 1),
    "shared_opt_in": (97, 1),
    "shared_reserved": (111, 1),
    "registers_per_multiprocessor": (82, 1),
    "registers_per_block": (12, 1),
    "clock": (13, 1000),
}
_OPENCL = {
    "multiprocessors": (0x1002, 1),
    "threads_per_block": (0x1004, 1),
    "shared_per_block": (0x1023, 1),
    "clock": (0x100C, 10**6),
}
_MAJOR, _MINOR, _CUDA_CACHE, _OPENCL_CACHE = 75, 76, 38, 0x101E
_SHARED_BLOCK = 256
#: Bytes of data that measure L2's bandwidth: half of most devices' L2, and a power of two.
_CACHED_BYTES = 4 << 20
_SHARE_OF_MEMORY = 8


def gpu_words(subject: ListedDevice, effort: Effort) -> list[str]:
    """The measurements and attributes of GPUs alone."""
    asked = [number for number, _ in _attributes(subject).values()]
    asked += [_MAJOR, _MINOR, _CUDA_CACHE] if subject.target == "cuda" else [_OPENCL_CACHE]
    return [
        *(word("attribute", number) for number in asked),
        word("rate", 4),
        word("rate", 8),
        word("shared", _SHARED_BLOCK),
        word("cached", _CACHED_BYTES),
        word("stream", _stream_bytes(subject, effort)),
    ]


def measured_gpu(subject: ListedDevice, effort: Effort, findings: Findings, overheads: Overheads) -> Gpu:
    """The GPU with its findings. Raises CalibrationError if its memory could not be measured."""
    capability = _capability(findings) if subject.target == "cuda" else None
    base = nearest(subject.name, capability, shipped_gpus())
    facts: dict[str, Any] = {}
    for field, (number, unit) in _attributes(subject).items():
        value = findings.value("attribute", number)
        if value:
            facts[field] = value * unit if field == "clock" else int(value) * unit
    gpu = replace(base, name=subject.name, compute_capability=capability, overheads=overheads, **facts)
    gpu = replace(
        gpu,
        shared_per_multiprocessor=max(gpu.shared_per_multiprocessor, gpu.shared_per_block),
        threads_per_multiprocessor=max(gpu.threads_per_multiprocessor, gpu.threads_per_block),
        float_rate=findings.value("rate", 4) or gpu.float_rate,
        double_rate=findings.value("rate", 8) or gpu.double_rate,
    )
    return replace(gpu, memories=tuple(_memories(gpu, subject, findings, effort)))


def shipped_gpus() -> list[Gpu]:
    """The GPUs whose descriptors ship with the package."""
    known = (device.device for device in known_devices() if not device.is_users)
    return [device for device in known if isinstance(device, Gpu)]


def nearest(name: str, capability: tuple[int, int] | None, gpus: Iterable[Gpu]) -> Gpu:
    """The most similar GPU: of the same name, else of the nearest lower compute capability; without
    any, one that is no model in particular.
    """
    kind = [gpu for gpu in gpus if (gpu.compute_capability is None) == (capability is None)]
    if not kind:
        raise CalibrationError("no shipped descriptor describes a GPU of its kind")
    same = [gpu for gpu in kind if _model(gpu.name) in name.upper()]
    if same or capability is None:
        return (same or [gpu for gpu in kind if _model(gpu.name) == gpu.name.upper()] or kind)[0]
    below = [gpu for gpu in kind if gpu.compute_capability and gpu.compute_capability <= capability]
    if not below:
        return min(kind, key=lambda gpu: gpu.compute_capability or (0, 0))
    return max(below, key=lambda gpu: gpu.compute_capability or (0, 0))


def _model(name: str) -> str:
    """`H100` of `NVIDIA H100-SXM5-80GB`: the first word with a digit."""
    words = re.findall(r"[A-Z0-9]+", name.upper())
    return next((part for part in words if any(map(str.isdigit, part))), name.upper())


def _attributes(subject: ListedDevice) -> dict[str, tuple[int, int]]:
    return _CUDA if subject.target == "cuda" else _OPENCL


def _capability(findings: Findings) -> tuple[int, int]:
    major, minor = findings.value("attribute", _MAJOR), findings.value("attribute", _MINOR)
    if major is None or minor is None:
        raise CalibrationError("the driver does not tell the compute capability")
    return int(major), int(minor)


def _memories(gpu: Gpu, subject: ListedDevice, findings: Findings, effort: Effort) -> list[Memory]:
    """The memory levels, the nearest first: a multiprocessor's, caches, the device's."""
    stream = findings.value("stream", _stream_bytes(subject, effort))
    if stream is None:
        raise CalibrationError("the bandwidth of its memory could not be measured")
    near, *between, far = gpu.memories
    cache = int(findings.value("attribute", _CUDA_CACHE if subject.target == "cuda" else _OPENCL_CACHE) or 0)
    shared = findings.value("shared", _SHARED_BLOCK) or near.bandwidth
    levels = [replace(near, size=gpu.shared_per_multiprocessor, bandwidth=shared)]
    for level in between:
        size = cache or level.size
        cached = findings.value("cached", _CACHED_BYTES) if size >= _CACHED_BYTES else None
        levels.append(replace(level, size=size, sharers=gpu.multiprocessors, bandwidth=cached or level.bandwidth))
    return [*levels, replace(far, size=subject.memory or far.size, sharers=gpu.multiprocessors, bandwidth=stream)]


def _stream_bytes(subject: ListedDevice, effort: Effort) -> int:
    """Much more than L2 holds, and no more than fits the device."""
    return min(effort.stream, subject.memory // _SHARE_OF_MEMORY) if subject.memory else effort.stream


# -- Records


def keep(device: Device, subject: ListedDevice, now: datetime) -> Path:
    """Write the subject's descriptor atomically; returns its path. Raises OSError."""
    source = f"{_CALIBRATED}{now:%Y-%m-%d %H:%M} by tilepragma devices --calibrate"
    return write_descriptor(device, subject.key, source)


def calibrated_on(subject: ListedDevice) -> str | None:
    """The day of this device's calibration, `2026-11-22`; None without one."""
    try:
        values = json.loads(file_bytes(users_descriptors() / f"{subject.key}.json"))
    except (OSError, ValueError):
        return None
    source = values.get("source") if isinstance(values, dict) and values.get("name") == subject.name else None
    if not isinstance(source, str) or not source.startswith(_CALIBRATED):
        return None
    return source.removeprefix(_CALIBRATED)[:_DAY]
