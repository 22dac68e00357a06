"""What is asked of a device, and the descriptor that comes of the answers, kept and read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from tilepragma.model.descriptor_files import named_device, read_descriptor
from tilepragma.model.device import Gpu, Overheads, Processor
from tilepragma.tuning.calibration import (
    FULL,
    QUICK,
    Effort,
    beyond_caches,
    calibrated_on,
    copy_rate,
    described,
    keep,
    milliseconds_a_number,
    nearest,
    shipped_gpus,
    words_for,
    working_sets,
)
from tilepragma.tuning.calibration_samples import CalibrationError, Findings, ListedDevice, Series
from tilepragma.tuning.host_processor import Cache, Host

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
HOST = Host(
    "A CPU", 2, 2, (Cache(1, 48 * KIB, 1, 1), Cache(2, MIB, 1, 1), Cache(3, 32 * MIB, 2, 2)), 64, 16 * GIB, 2.5e9
)
THREADS = ListedDevice("threads", 0, "A CPU", "", "cpu", 2)
POCL = ListedDevice("opencl", 1, "pthread-A CPU", "", "cpu", 2, 8 * GIB)
H100 = ListedDevice("cuda", 0, "NVIDIA H100 PCIe", "", "gpu", 114, 80 * GIB)
CL_GPU = ListedDevice("opencl", 0, "Some GPU", "", "gpu", 20, 4 * GIB)
WHEN = datetime(2026, 11, 22, 12, 30)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_DATA_DIR", str(tmp_path / "data"))


def answer(word: str) -> Series:
    """What a device of no machine in particular says."""
    measure, _, argument = word.partition(":")
    number = int(argument or 0)
    plain: dict[str, Callable[[], float]] = {
        "clock": lambda: 4e9,
        "vector": lambda: 64.0,
        "rate": lambda: 4e12 / number,
        "stream": lambda: 1e15 / number,
        "cached": lambda: 5e12,
        "shared": lambda: 2e13,
        "launch": lambda: 5e-6,
        "wavefront": lambda: 1e-6 + 1e-9 * number,
        "barrier": lambda: 1e-9 * number,
        "copy_in": lambda: 1e-5 + number / 1e10,
        "copy_out": lambda: 3e-5 + number / 5e9,
    }
    said = {
        16: 114,
        10: 32,
        39: 2048,
        1: 1024,
        106: 32,
        81: 233472,
        8: 49152,
        97: 232448,
        111: 1024,
        82: 65536,
        12: 65536,
    }
    said |= {
        13: 1755000,
        75: 9,
        76: 0,
        38: 50 * MIB,
        0x1002: 20,
        0x1004: 512,
        0x1023: 48 * KIB,
        0x100C: 1300,
        0x101E: MIB,
    }
    if measure == "attribute":
        return Series(word, (float(said[number]),)) if number in said else Series(word, (), "unknown")
    return Series(word, (plain[measure](),))


def answers(subject: ListedDevice, effort: Effort = FULL, without: tuple[str, ...] = ()) -> Findings:
    series = [answer(word) for word in words_for(subject, HOST, effort)]
    return Findings(
        tuple(Series(each.word, (), "not today") if each.word.startswith(without) else each for each in series)
    )


def test_streams_lie_inside_their_level_and_beyond_the_one_before() -> None:
    for effort in (FULL, QUICK):
        sets = working_sets(HOST, effort)
        assert [memory.name for memory, _ in sets] == ["L1", "L2", "L3", "DRAM"]
        sizes = [own for _, own in sets]
        assert sizes[0] < 48 * KIB < sizes[1] < MIB < sizes[2] < 16 * MIB < sizes[3]
        assert sizes[3] * HOST.threads == beyond_caches(HOST, effort) >= 64 * MIB


def test_a_last_cache_that_is_hardly_larger_than_the_one_before() -> None:
    """A core's share of L3 is 1.4 MB where its L2 has 1 MB: half of it would never leave L2."""
    host = replace(HOST, caches=(Cache(1, 32 * KIB, 1, 1), Cache(2, MIB, 1, 1), Cache(3, 1408 * KIB, 1, 1)))
    sizes = [own for _, own in working_sets(host, FULL)]
    assert MIB < sizes[2] < 1408 * KIB


def test_a_stream_takes_an_eighth_of_memory_at_most() -> None:
    assert beyond_caches(replace(HOST, memory=256 * MIB), FULL) == 32 * MIB


def test_a_minute_is_enough_for_many_devices() -> None:
    count = len(words_for(THREADS, HOST, FULL)) + 4 * len(words_for(H100, HOST, FULL))
    assert milliseconds_a_number(FULL, count) * count < 60e3
    assert milliseconds_a_number(FULL, 5) == 500.0
    assert milliseconds_a_number(QUICK, 10**6) == 2.0


def test_the_host_as_measured() -> None:
    device = described(THREADS, HOST, FULL, answers(THREADS), []).device
    assert isinstance(device, Processor)
    assert (device.cores, device.vector, device.line, device.clock) == (2, 64, 64, 4e9)
    assert (device.float_rate, device.double_rate) == (1e12, 5e11)
    assert [(memory.name, memory.size, memory.sharers) for memory in device.memories] == [
        ("L1", 48 * KIB, 1),
        ("L2", MIB, 1),
        ("L3", 32 * MIB, 2),
        ("DRAM", 16 * GIB, 2),
    ]
    assert device.memories[0].bandwidth == 1e15 / (24 * KIB)
    assert device.overheads is not None
    assert device.overheads.barrier == ((1, 0.0),)
    assert [blocks for blocks, _ in device.overheads.wavefront] == [1, 2, 4, 8, 32, 128, 512]
    assert device.overheads.copy_in is None


def test_a_processor_under_opencl_has_the_hosts_caches_and_its_own_costs() -> None:
    threads = described(THREADS, HOST, FULL, answers(THREADS), [])
    device = described(POCL, HOST, FULL, answers(POCL), [threads]).device
    assert isinstance(device, Processor) and isinstance(threads.device, Processor)
    assert device.name == "pthread-A CPU"
    assert device.memories[:3] == threads.device.memories[:3]
    assert device.memories[3].bandwidth == 1e15 / beyond_caches(HOST, FULL)
    assert device.overheads is not None
    assert device.overheads.barrier == ((1, 0.0),)  # its form has none
    assert device.overheads.copy == pytest.approx(2e-5, rel=1e-3)
    assert device.overheads.copy_in == pytest.approx(1e10)
    assert device.overheads.copy_out == pytest.approx(5e9)
    with pytest.raises(CalibrationError, match="the host, which was not measured"):
        described(POCL, HOST, FULL, answers(POCL), [])


def test_a_gpu_says_of_itself_what_our_file_does_not_know() -> None:
    device = described(H100, HOST, FULL, answers(H100), []).device
    assert isinstance(device, Gpu)
    base = next(gpu for gpu in shipped_gpus() if "H100" in gpu.name)
    assert (device.name, device.multiprocessors, device.clock) == ("NVIDIA H100 PCIe", 114, 1.755e9)
    assert device.register_unit == base.register_unit
    assert [(memory.size, memory.sharers, memory.bandwidth) for memory in device.memories] == [
        (233472, 1, 2e13),
        (50 * MIB, 114, 5e12),
        (80 * GIB, 114, 1e15 / (512 * MIB)),
    ]
    assert (device.float_rate, device.double_rate) == (1e12, 5e11)
    assert device.overheads is not None
    assert device.overheads.barrier[:2] == ((32, 3.2e-8), (64, 6.4e-8))


def test_a_gpu_that_says_nothing_keeps_our_figures() -> None:
    result = answers(H100, without=("rate", "shared", "cached", "attribute:8", "attribute:38", "attribute:16"))
    device = described(H100, HOST, FULL, result, []).device
    base = next(gpu for gpu in shipped_gpus() if "H100" in gpu.name)
    assert isinstance(device, Gpu)
    assert (device.float_rate, device.multiprocessors) == (base.float_rate, 132)
    assert device.memories[0].bandwidth == base.memories[0].bandwidth


def test_opencl_gpus() -> None:
    device = described(CL_GPU, HOST, FULL, answers(CL_GPU), []).device
    assert isinstance(device, Gpu)
    assert (device.compute_capability, device.multiprocessors, device.threads_per_block) == (None, 20, 512)
    assert (device.shared_per_block, device.clock) == (48 * KIB, 1.3e9)
    assert device.memories[1].bandwidth is None  # its cache has 1 MiB, and more than that was read


def test_the_nearest_of_our_descriptors() -> None:
    assert nearest("NVIDIA A100-SXM4-80GB", (8, 0), shipped_gpus()).compute_capability == (8, 0)
    assert nearest("NVIDIA GeForce RTX 4090", (8, 9), shipped_gpus()).compute_capability == (8, 9)
    assert nearest("NVIDIA RTX A4000", (8, 6), shipped_gpus()).compute_capability == (8, 6)
    assert nearest("NVIDIA B200", (10, 0), shipped_gpus()).compute_capability == (9, 0)
    assert nearest("Tesla C870", (1, 0), shipped_gpus()).compute_capability == (1, 3)
    assert nearest("gfx1100", None, shipped_gpus()).name == "an OpenCL GPU"
    assert "MI250" in nearest("AMD Instinct MI250X", None, shipped_gpus()).name
    with pytest.raises(CalibrationError):
        nearest("gfx90a", None, [])


@pytest.mark.parametrize("missing", ["launch", "wavefront", "rate:8", "stream"])
def test_what_a_descriptor_cannot_do_without(missing: str) -> None:
    with pytest.raises(CalibrationError):
        described(THREADS, HOST, FULL, answers(THREADS, without=(missing,)), [])


@pytest.mark.parametrize("missing", ["barrier", "copy_out", "stream", "attribute:75"])
def test_what_a_gpus_descriptor_cannot_do_without(missing: str) -> None:
    with pytest.raises(CalibrationError):
        described(H100, HOST, FULL, answers(H100, without=(missing,)), [])


def test_numbers_that_make_no_sense_are_refused() -> None:
    series = [Series(each.word, (3.0,)) if each.word == "clock" else each for each in answers(THREADS).series]
    with pytest.raises(CalibrationError, match="'clock' is 3.0"):
        described(THREADS, HOST, FULL, Findings(tuple(series)), [])


def test_copies_that_cost_no_more_for_more_bytes_have_no_rate() -> None:
    result = Findings((Series("copy_in:4", (2e-5,)), Series(f"copy_in:{FULL.copy}", (1e-5,))))
    assert copy_rate(result, "copy_in", FULL) is None


@pytest.mark.parametrize("subject", [THREADS, H100, CL_GPU], ids=lambda subject: str(subject.key))
def test_kept_and_read_again(subject: ListedDevice) -> None:
    assert calibrated_on(subject) is None
    device = described(subject, HOST, QUICK, answers(subject, QUICK), []).device
    path = keep(device, subject, WHEN)
    assert path.parent.name == "devices"
    assert read_descriptor(path) == named_device(subject.key) == device
    assert isinstance(device.overheads, Overheads)
    assert calibrated_on(subject) == "2026-11-22"
    assert calibrated_on(replace(subject, name="another device in its place")) is None


@pytest.mark.parametrize("text", ["", "[]", '{"name": "A CPU"}', '{"name": "A CPU", "source": "a data sheet"}'])
def test_files_that_no_calibration_wrote(text: str) -> None:
    path = keep(described(THREADS, HOST, QUICK, answers(THREADS, QUICK), []).device, THREADS, WHEN)
    assert json.loads(path.read_text())["source"] == "calibrated 2026-11-22 12:30 by tilepragma devices --calibrate"
    path.write_text(text)
    assert calibrated_on(THREADS) is None
