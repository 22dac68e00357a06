"""The host's processor, as its system tells without root: cores, caches, memory. Linux's files where they are, else the C library's numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Device, Processor

_CPUS = Path("/sys/devices/system/cpu")
_USUAL = ((1, 32 * 1024), (2, 512 * 1024))
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Cache:
    """One level for data: `size` bytes, shared by `cores` cores, which run `threads` threads of ours."""

    level: int
    size: int
    cores: int
    threads: int


@dataclass(frozen=True)
class Host:
    """`threads` are what this process may use, `cores` those that run them. `memory` and `line` in bytes, `clock` in Hz (0: not told)."""

    name: str
    cores: int
    threads: int
    caches: tuple[Cache, ...]
    line: int
    memory: int
    clock: float


def this_host(cpus: Path = _CPUS, description: Path = Path("/proc/cpuinfo")) -> Host:
    """The host at hand. What nobody tells is what is usual."""
    own = _own_cpus()
    folders = {cpu: cpus / f"cpu{cpu}" for cpu in own}
    siblings = {
        cpu: _listed(folder / "topology" / "thread_siblings_list") & own or {cpu} for cpu, folder in folders.items()
    }
    first = min(own)
    caches = tuple(_caches(folders[first], own, siblings)) or tuple(_asked_caches())
    facts = _cpuinfo(description)
    line = (
        _number(folders[first] / "cache" / "index0" / "coherency_line_size")
        or _asked("SC_LEVEL1_DCACHE_LINESIZE")
        or 64
    )
    memory = _asked("SC_PAGE_SIZE") * _asked("SC_PHYS_PAGES") or 4 << 30
    clock = float(facts.get("cpu MHz", "0") or 0) * 1e6
    return Host(facts.get("model name") or "processor", _cores(own, siblings), len(own), caches, line, memory, clock)


def usual_processor(cores: int) -> Device:
    """A processor as most are, with so many cores: what can be said of one that nobody has calibrated."""
    found = named_device("processor")
    return found.with_cores(cores) if isinstance(found, Processor) else found


def _own_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _cores(cpus: set[int], siblings: dict[int, set[int]]) -> int:
    return len({min(siblings[cpu]) for cpu in cpus})


def _caches(folder: Path, own: set[int], siblings: dict[int, set[int]]) -> Iterator[Cache]:
    """Of one processor, in ascending order of the levels."""
    found = {}
    for index in sorted((folder / "cache").glob("index[0-9]*")):
        level, size = _number(index / "level"), _number(index / "size")
        if level and size and _text(index / "type") in {"Data", "Unified"}:
            sharers = _listed(index / "shared_cpu_list") & own or {min(own)}
            found[level] = Cache(level, size, _cores(sharers, siblings), len(sharers))
    for level in sorted(found):
        yield found[level]


def _asked_caches() -> Iterator[Cache]:
    """What the C library says of sizes, else what is usual; who shares them nobody says, and each core is taken to have its own."""
    for level, usual in _USUAL:
        yield Cache(level, _asked(f"SC_LEVEL{level}_{'DCACHE' if level == 1 else 'CACHE'}_SIZE") or usual, 1, 1)


def _asked(name: str) -> int:
    """A number of sysconf's; 0 where it has none."""
    try:
        return max(os.sysconf(name), 0)
    except (ValueError, OSError):
        return 0


def _cpuinfo(description: Path) -> dict[str, str]:
    """The first value of each name."""
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
    """`48K` as 49152; 0 where there is none."""
    text = _text(path)
    digits = text.rstrip("KMG")
    return int(digits) * _UNITS.get(text[len(digits) :], 1) if digits.isdecimal() else 0


def _listed(path: Path) -> set[int]:
    """`0-3,8` as numbers."""
    found: set[int] = set()
    for part in _text(path).split(","):
        low, _, high = part.partition("-")
        if low.isdecimal():
            found |= set(range(int(low), int(high if high.isdecimal() else low) + 1))
    return found
