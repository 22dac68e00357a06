"""`device(all)`: blocks of rows on several devices alike, against one core, to the last bit, and
what moves between them.

OpenCL's devices are parts of the processor that PoCL has; CUDA's are the stand-in's.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment, cuda_device_present, target_environment

SOURCE = Path(__file__).parent / "several_devices.c"
#: Rows, columns, steps.
MESHES = (("40", "20", "4"), ("7", "33", "3"), ("2", "2", "2"))
#: The devices that share them: more than there are rows, too.
COUNTS = (3, 2, 3)
SERIAL = TargetEnvironment("serial", (("TILEK_TARGET", "serial"), ("TILEK_STRICT", "1")))

pytestmark = pytest.mark.xdist_group("several_devices")


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Path:
    folder = workshop.folder / "several_devices"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / SOURCE.name
    source.write_text(SOURCE.read_text())
    return workshop.build_translated(source, FLAGS)


@pytest.fixture(params=("opencl-gpu", "cuda"))
def several(request: pytest.FixtureRequest, shared_scratch: Path) -> TargetEnvironment:
    """A target without its devices' number; a real GPU is alone."""
    target = target_environment(request.param, shared_scratch)
    if target.absent is not None or (request.param == "cuda" and cuda_device_present()):
        pytest.skip(target.absent or "a CUDA device is here, and the stand-in is not used")
    return target


def devices(target: TargetEnvironment, count: int) -> dict[str, str]:
    return {"TILEK_STANDIN_DEVICES" if target.name == "cuda" else "TILEK_SUBDEVICES": str(count)}


@pytest.mark.parametrize(("mesh", "count"), list(zip(MESHES, COUNTS, strict=True)))
def test_results_are_those_of_one(
    workshop: Workshop, program: Path, several: TargetEnvironment, mesh: tuple[str, ...], count: int
) -> None:
    expected = workshop.run(program, SERIAL, *mesh)
    assert workshop.run(program, several, *mesh, **devices(several, count)) == expected


def test_one_program_for_all_numbers(workshop: Workshop, program: Path, several: TargetEnvironment) -> None:
    expected = workshop.run(program, SERIAL, *MESHES[0])
    assert workshop.run(program, several, *MESHES[0], TILEK_SPECIALIZE="0", **devices(several, 2)) == expected


def test_verified(workshop: Workshop, program: Path, several: TargetEnvironment) -> None:
    result = workshop.run(program, several, *MESHES[1], TILEK_VERIFY="1", **devices(several, 2))
    reports = [line for line in result.splitlines() if "tilek: verify:" in line]
    assert len(reports) > 8
    assert all("largest difference 0 absolute, 0 relative" in line for line in reports)


def moved(
    workshop: Workshop, program: Path, target: TargetEnvironment, trace: Path, steps: int, **more: str
) -> Counter[str]:
    """Bytes that kernels get on devices, by kernel."""
    workshop.run(program, target, "40", "20", str(steps), TILEK_PROFILE=str(trace), **more)
    result: Counter[str] = Counter()
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["cat"] == "copy in":
            result[event["args"]["kernel"]] += event["args"]["bytes"]
    return result


def test_only_rows_at_borders_move(
    workshop: Workshop, program: Path, several: TargetEnvironment, tmp_path: Path
) -> None:
    """One step more moves the rows of `a` that neighbours read, each way between two blocks, and none of `b`."""
    count = 3
    few, many = (
        moved(workshop, program, several, tmp_path / "trace.json", steps, **devices(several, count)) for steps in (4, 9)
    )
    row = 20 * 4
    assert many["jacobi"] - few["jacobi"] == 5 * (count - 1) * 2 * row
    assert many["upwind"] - few["upwind"] == 5 * (count - 1) * 3 * row
    # Two more groups of layers, forward and backward, of four launches each way, which move no more
    # than a subdomain's rows at a border.
    assert 0 < many["layered"] - few["layered"] < 2 * 2 * 4 * (count - 1) * 4 * row
    # The rows that the first and the last one need are with one device, which has them. The array
    # of one float a step goes there once.
    assert many["borders"] - few["borders"] == 5 * (count - 1) * 2 * row + 5 * 4


def test_a_number_is_one_device(workshop: Workshop, program: Path, several: TargetEnvironment, tmp_path: Path) -> None:
    """TILEK_DEVICE=1 takes the second device alone: no step moves anything."""
    few, many = (
        moved(workshop, program, several, tmp_path / "trace.json", steps, TILEK_DEVICE="1", **devices(several, 2))
        for steps in (4, 9)
    )
    assert few["jacobi"] == many["jacobi"] > 0
