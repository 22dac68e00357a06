"""A measured GPU: the nearest descriptor, updated by the device's attributes and measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tilepragma.model.descriptor_files import known_devices
from tilepragma.model.device import Gpu, Memory, Overheads
from tilepragma.tuning.calibration_samples import Findings, word
from tilepragma.tuning.calibration_target import CalibrationError, CalibrationTarget
from tilepragma.tuning.effort import Effort

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
_RATES = frozenset({"clock"})
#: Bytes of data that measure L2's bandwidth: half of most devices' L2, and a power of two.
_CACHED_BYTES = 4 << 20
_SHARE_OF_MEMORY = 8


def gpu_words(subject: CalibrationTarget, effort: Effort) -> list[str]:
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


def measured_gpu(subject: CalibrationTarget, effort: Effort, findings: Findings, overheads: Overheads) -> Gpu:
    """The GPU with its findings. Raises CalibrationError if its memory could not be measured."""
    capability = _capability(findings) if subject.target == "cuda" else None
    base = nearest(subject.name, capability, ours())
    facts = _facts(subject, findings)
    if facts.get("shared_per_multiprocessor", base.shared_per_multiprocessor) != base.shared_per_multiprocessor:
        facts["shared_carve_outs"] = ()
    gpu = replace(base, name=subject.name, compute_capability=capability, overheads=overheads, **facts)
    shared_fits = max(gpu.shared_per_multiprocessor, gpu.shared_per_block)
    gpu = replace(
        gpu,
        shared_per_multiprocessor=shared_fits,
        threads_per_multiprocessor=max(gpu.threads_per_multiprocessor, gpu.threads_per_block),
        float_rate=findings.value("rate", 4) or gpu.float_rate,
        double_rate=findings.value("rate", 8) or gpu.double_rate,
    )
    return replace(gpu, memories=tuple(_memories(gpu, subject, findings, effort)))


def ours() -> list[Gpu]:
    """The GPUs whose descriptors ship with the package."""
    known = (device.device for device in known_devices() if not device.is_users)
    return [device for device in known if isinstance(device, Gpu)]


def nearest(name: str, capability: tuple[int, int] | None, gpus: Iterable[Gpu]) -> Gpu:
    """The most similar GPU: of the same name, else of the nearest lower compute capability."""
    kind = [gpu for gpu in gpus if (gpu.compute_capability is None) == (capability is None)]
    if not kind:
        raise CalibrationError("no descriptor of ours is of its kind")
    same = [gpu for gpu in kind if _model(gpu.name) in name.upper()]
    if same or capability is None:
        return (same or kind)[0]
    below = [gpu for gpu in kind if gpu.compute_capability and gpu.compute_capability <= capability]
    if not below:
        return min(kind, key=lambda gpu: gpu.compute_capability or (0, 0))
    return max(below, key=lambda gpu: gpu.compute_capability or (0, 0))


def _model(name: str) -> str:
    """`H100` of `NVIDIA H100-SXM5-80GB`: the first word with a digit."""
    words = name.upper().replace("-", " ").split()
    return next((part for part in words if any(map(str.isdigit, part))), name.upper())


def _attributes(subject: CalibrationTarget) -> dict[str, tuple[int, int]]:
    return _CUDA if subject.target == "cuda" else _OPENCL


def _facts(subject: CalibrationTarget, findings: Findings) -> dict[str, Any]:
    """The fields that the device reports."""
    facts: dict[str, Any] = {}
    for name, (number, unit) in _attributes(subject).items():
        value = findings.value("attribute", number)
        if value:
            facts[name] = value * unit if name in _RATES else int(value) * unit
    return facts


def _capability(findings: Findings) -> tuple[int, int]:
    major, minor = findings.value("attribute", _MAJOR), findings.value("attribute", _MINOR)
    if major is None or minor is None:
        raise CalibrationError("the driver does not tell the compute capability")
    return int(major), int(minor)


def _memories(gpu: Gpu, subject: CalibrationTarget, findings: Findings, effort: Effort) -> list[Memory]:
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


def _stream_bytes(subject: CalibrationTarget, effort: Effort) -> int:
    """Much more than L2 holds, and no more than fits the device."""
    return min(effort.stream, subject.memory // _SHARE_OF_MEMORY) if subject.memory else effort.stream
