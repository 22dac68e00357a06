"""The host's processor without root: cores, caches, memory, from Linux's files or the C library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Device, Processor

_CPUS = Path("/sys/devices/system/cpu")
_DESCRIPTION = Path("/proc/cpuinfo")
_USUAL = ((1, 32 * 1024), (2, 512 * 1024))
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Cache:
    """One data cache level: `size` bytes, shared by `cores`, which run `threads` of ours."""

    level: int
    size: int
    cores: int
    threads: int


@dataclass(frozen=True)
class Host:
    """`threads` that this process may use, on `cores`. `memory`, `line` in bytes, `clock` in Hz."""

    name: str
    cores: int
    threads: int
    caches: tuple[Cache, ...]
    line: int
    memory: int
    clock: float


def this_host(cpus: Path = _CPUS, description: Path = _DESCRIPTION) -> Host:
    """The current host, with usual values for unknown ones."""
    ours = our_cpus()
    folders = {cpu: cpus / f"cpu{cpu}" for cpu in ours}
    lists = ((cpu, folder / "topology" / "thread_siblings_list") for cpu, folder in folders.items())
    siblings = {cpu: _listed(path) & ours or {cpu} for cpu, path in lists}
    first = min(ours)
    caches = tuple(_caches(folders[first], ours, siblings)) or tuple(_default_caches())
    facts = cpu_facts(description)
    nearest = folders[first] / "cache" / "index0"
    line = _number(nearest / "coherency_line_size") or _sysconf("SC_LEVEL1_DCACHE_LINESIZE") or 64
    memory = _sysconf("SC_PAGE_SIZE") * _sysconf("SC_PHYS_PAGES") or 4 << 30
    clock = float(facts.get("cpu MHz", "0") or 0) * 1e6
    return Host(facts.get("model name") or "processor", _cores(ours, siblings), len(ours), caches, line, memory, clock)


def usual_processor(cores: int) -> Device:
    """A usual processor with so many cores, in place of an uncalibrated one."""
    device = named_device("processor")
    return device.with_cores(cores) if isinstance(device, Processor) else device


def our_cpus() -> set[int]:
    """The numbers of the processors that this process may use."""
    return set(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def _cores(cpus: set[int], siblings: dict[int, set[int]]) -> int:
    return len({min(siblings[cpu]) for cpu in cpus})


def _caches(folder: Path, ours: set[int], siblings: dict[int, set[int]]) -> Iterator[Cache]:
    """The caches of one processor, in ascending order of levels."""
    caches = {}
    for index in sorted((folder / "cache").glob("index[0-9]*")):
        level, size = _number(index / "level"), _number(index / "size")
        if level and size and _text(index / "type") in {"Data", "Unified"}:
            sharers = _listed(index / "shared_cpu_list") & ours or {min(ours)}
            caches[level] = Cache(level, size, _cores(sharers, siblings), len(sharers))
    yield from (caches[level] for level in sorted(caches))


def _default_caches() -> Iterator[Cache]:
    """Cache sizes of the C library, else usual ones; each core is assumed to have its own."""
    for level, usual in _USUAL:
        yield Cache(level, _sysconf(f"SC_LEVEL{level}_{'DCACHE' if level == 1 else 'CACHE'}_SIZE") or usual, 1, 1)


def _sysconf(name: str) -> int:
    """A number of sysconf; 0 if it has none."""
    try:
        return max(os.sysconf(name), 0)
    except (ValueError, OSError):
        return 0


def cpu_facts(description: Path = _DESCRIPTION) -> dict[str, str]:
    """The first value of each name that Linux tells of the processors."""
    facts: dict[str, str] = {}
    for entry in _text(description).splitlines():
        name, _, value = entry.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> int:
    """`48K` as 49152; 0 if there is no number."""
    text = _text(path)
    digits = text.rstrip("KMG")
    return int(digits) * _UNITS.get(text[len(digits) :], 1) if digits.isdecimal() else 0


def _listed(path: Path) -> set[int]:
    """`0-3,8` as numbers."""
    numbers: set[int] = set()
    for part in _text(path).split(","):
        low, _, high = part.partition("-")
        if low.isdecimal():
            numbers |= set(range(int(low), int(high if high.isdecimal() else low) + 1))
    return numbers
