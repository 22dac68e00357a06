"""The host's caches and cores, read from files as Linux has them, and without such."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.tuning import host_processor
from tilepragma.tuning.host_processor import Cache, this_host

CPUINFO = "processor\t: 0\nmodel name\t: Some CPU\ncpu MHz\t\t: 2500.000\n\nprocessor\t: 1\nmodel name\t: Another\n"


def lay(folder: Path, cpu: int, siblings: str, caches: list[tuple[int, str, str, str]]) -> None:
    """Files of one processor: caches as level, type, size, who shares."""
    topology = folder / f"cpu{cpu}" / "topology"
    topology.mkdir(parents=True)
    (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    for number, (level, kind, size, sharers) in enumerate(caches):
        index = folder / f"cpu{cpu}" / "cache" / f"index{number}"
        index.mkdir(parents=True)
        for name, text in [("level", str(level)), ("type", kind), ("size", size), ("shared_cpu_list", sharers)]:
            (index / name).write_text(f"{text}\n")
        (index / "coherency_line_size").write_text("128\n")


def test_two_threads_a_core_share_the_near_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_processor, "our_cpus", lambda: {0, 1, 4, 5})
    for cpu in (0, 1, 4, 5):
        core = f"{cpu % 4},{cpu % 4 + 4}"
        lay(
            tmp_path,
            cpu,
            core,
            [
                (1, "Data", "48K", core),
                (1, "Instruction", "32K", core),
                (2, "Unified", "2M", core),
                (3, "Unified", "30M", "0-7"),
            ],
        )
    description = tmp_path / "cpuinfo"
    description.write_text(CPUINFO)
    result = this_host(tmp_path, description)
    assert (result.name, result.cores, result.threads, result.line, result.clock) == ("Some CPU", 2, 4, 128, 2.5e9)
    assert result.caches == (Cache(1, 48 << 10, 1, 2), Cache(2, 2 << 20, 1, 2), Cache(3, 30 << 20, 2, 4))
    assert result.memory > 1 << 20


def test_without_files_there_are_usual_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_processor, "our_cpus", lambda: {0, 1, 2})
    monkeypatch.setattr(host_processor, "_sysconf", lambda name: 0)
    result = this_host(tmp_path / "none", tmp_path / "nothing")
    assert (result.cores, result.threads, result.line, result.clock, result.memory) == (3, 3, 64, 0.0, 4 << 30)
    assert result.caches == (Cache(1, 32 << 10, 1, 1), Cache(2, 512 << 10, 1, 1))


def test_the_c_library_is_asked_where_there_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"SC_LEVEL1_DCACHE_SIZE": 65536, "SC_LEVEL2_CACHE_SIZE": 1 << 20, "SC_LEVEL1_DCACHE_LINESIZE": 32}
    monkeypatch.setattr(host_processor, "_sysconf", lambda name: sizes.get(name, 0))
    result = this_host(tmp_path / "none", tmp_path / "nothing")
    assert result.line == 32
    assert [cache.size for cache in result.caches] == [65536, 1 << 20]


def test_this_machine_has_caches_in_ascending_order() -> None:
    result = this_host()
    sizes = [cache.size for cache in result.caches]
    assert sizes and sizes == sorted(sizes)
    assert 1 <= result.cores <= result.threads
