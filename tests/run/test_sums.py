"""Sums of floating-point numbers have the same bits however many threads, cores, workers or devices
form them: strategies of `sums.c`.

Sizes stand around the chunks of `dot`, 512 iterations (`runtime/launch/launch_geometry.c`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment, target_environment

SOURCE = Path(__file__).parent / "sums.c"
SIZES = ("0", "1", "20", "511", "512", "513", "1023", "1024", "1025", "20011")
LARGE = "1000003"
COUNTS = ("1", "2", "3", "4", "7", "8", "16", "64")

pytestmark = pytest.mark.xdist_group("sums")


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Path:
    folder = workshop.folder / "sums"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / SOURCE.name
    source.write_text(SOURCE.read_text())
    return workshop.build_translated(source, FLAGS)


@pytest.fixture(scope="module")
def serial(shared_scratch: Path) -> TargetEnvironment:
    return target_environment("serial", shared_scratch)


@pytest.mark.parametrize("size", (*SIZES, LARGE))
def test_no_number_of_threads_changes_a_bit(
    workshop: Workshop, program: Path, serial: TargetEnvironment, shared_scratch: Path, size: str
) -> None:
    threads = target_environment("threads", shared_scratch)
    expected = workshop.run(program, serial, size)
    assert expected.startswith("dot ")
    for count in COUNTS:
        assert workshop.run(program, threads, size, count, TILEK_NUM_THREADS=count) == expected, count


def test_the_cores_of_the_process_change_none(
    workshop: Workshop, program: Path, serial: TargetEnvironment, shared_scratch: Path
) -> None:
    variables = tuple(each for each in target_environment("threads", shared_scratch).variables if "NUM_" not in each[0])
    expected = workshop.run(program, serial, LARGE)
    cores = os.sched_getaffinity(0)
    assert workshop.run(program, TargetEnvironment("threads", variables), LARGE) == expected
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert workshop.run(program, TargetEnvironment("threads", variables), LARGE) == expected
    finally:
        os.sched_setaffinity(0, cores)


@pytest.mark.parametrize("size", ("1", "1025", "20011"))
def test_opencl_processors_compute_what_threads_do(
    workshop: Workshop, program: Path, serial: TargetEnvironment, shared_scratch: Path, size: str
) -> None:
    """But for wavefronts of several sweeps, whose tiles are larger there."""
    opencl = target_environment("opencl", shared_scratch)
    if opencl.absent is not None:
        pytest.skip(opencl.absent)
    whole = workshop.run(program, opencl, size, TILEK_SPECIALIZE="0")
    for parts in ("2", "3"):
        assert workshop.run(program, opencl, size, TILEK_SPECIALIZE="0", TILEK_SUBDEVICES=parts) == whole, parts
    assert without_line(whole) == without_line(workshop.run(program, serial, size))


def without_line(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if not line.startswith("line ")]


@pytest.mark.parametrize("name", ("opencl-gpu", "cuda"))
def test_devices_are_alike(workshop: Workshop, program: Path, shared_scratch: Path, name: str) -> None:
    """However many there are, whether programs are specialised, and at each run."""
    device = target_environment(name, shared_scratch)
    if device.absent is not None:
        pytest.skip(device.absent)
    expected = workshop.run(program, device, "1025", TILEK_SPECIALIZE="0")
    assert workshop.run(program, device, "1025") == expected
    several = {"TILEK_STANDIN_DEVICES" if name == "cuda" else "TILEK_SUBDEVICES": "2"}
    assert workshop.run(program, device, "1025", TILEK_SPECIALIZE="0", **several) == expected
