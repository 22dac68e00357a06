"""Kernels with several versions: each leaves what the original does, to the last bit; launches take the one that the rules name, and say so."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment
from tilepragma.sizes.records import records_file

SOURCE = Path(__file__).parent / "versions.c"
#: The numbers of elements on a side: none, one, few, and more than the rules speak of.
SIDES = ("0", "1", "6", "30", "60")
THREADS = "num_threads(3); j: tile(thread) tile[0](dynamic); i: tile[1](dynamic)"
GANGS = "num_gangs(3) num_workers(4); i: tile(gang) tile[0](dynamic); j: tile(worker) tile[1](dynamic)"
SKEWED = {"version": "TILEK_TILES=skewed", "sizes": {"t_size": 3, "t_i_size": 7}}


def rules(*choices: dict[str, object]) -> dict[str, object]:
    """Rules for two arrays of doubles, of 6 x 9 elements, of 30 x 33, each."""
    limits = (2 * 8 * 6 * 9, 2 * 8 * 30 * 33)
    return {"least_bytes": 0, "choices": [{"bytes": most, **one} for most, one in zip(limits, choices, strict=True)]}


KEPT = {
    "add": {
        "host": rules({"version": THREADS}, {"version": GANGS}),
        "device": rules({"version": GANGS}, {"version": "unroll(2)"}),
    },
    "smooth": {"host": rules(SKEWED, {"version": "TILEK_TILES=overlapped"})},
}
#: The versions that launches of 6, 30 and 60 elements take on hosts, and on devices.
TAKEN = {"add": (1, 2, 0), "smooth": (1, 2, 0)}
TAKEN_ON_DEVICES = {"add": (2, 3, 0), "smooth": (0, 0, 0)}

#: Versions besides those of plans; devices have none that only cores take.
VERSIONS = {"add": (1, 2, 3), "smooth": (1, 2)}
VERSIONS_ON_DEVICES: dict[str, tuple[int, ...]] = {"add": (2, 3), "smooth": ()}


@dataclass(frozen=True)
class Programs:
    """The original and the translated program."""

    original: Path
    translated: Path


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> Programs:
    folder = workshop.folder / "versions"
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(shutil.copy(SOURCE, folder))
    records_file(str(source)).write_text(json.dumps({"version": 1, "kernels": KEPT}))
    return Programs(
        workshop.build_original(source), workshop.build_translated(source, (*FLAGS, "-Wall", "-Wextra", "-Werror"))
    )


def expected(workshop: Workshop, programs: Programs) -> str:
    return workshop.run(programs.original, TargetEnvironment("original", ()), *SIDES)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_leaves_what_the_original_does(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, tmp_path: Path, version: int
) -> None:
    trace = tmp_path / "trace.json"
    said = {"TILEK_VERSION": str(version), "TILEK_PROFILE": str(trace)}
    assert workshop.run(programs.translated, target, *SIDES, **said) == expected(workshop, programs)
    versions = VERSIONS if runs_on_host(target) else VERSIONS_ON_DEVICES
    for name, own in versions.items():
        assert set(traced(trace, name)) == {version if version in own else 0}, name


def test_versions_are_verified(workshop: Workshop, programs: Programs, host_target: TargetEnvironment) -> None:
    result = workshop.run(programs.translated, host_target, *SIDES, TILEK_VERIFY="1", TILEK_TOLERANCE="0")
    said, lines = [], []
    for line in result.splitlines(keepends=True):
        (said if "tilek: verify:" in line else lines).append(line)
    assert "".join(lines) == expected(workshop, programs)
    assert all("largest difference 0 absolute" in line for line in said)
    # A line for each version that ran, of each array that it writes.
    assert sum("kernel add," in line for line in said) == 3
    assert sum("kernel smooth," in line for line in said) == 6


def test_what_is_tried_leaves_the_same(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, tmp_path: Path
) -> None:
    """The first launches of a kind take one version each, then one again."""
    sides, trace = ("30",) * 12, tmp_path / "trace.json"
    result = workshop.run(programs.translated, target, *sides, TILEK_ADAPT="1", TILEK_PROFILE=str(trace))
    # At the end a trace says what was learned, which no test can know.
    result = result.partition("tilek: adapted")[0]
    assert result == workshop.run(programs.original, TargetEnvironment("original", ()), *sides)
    taken = TAKEN if runs_on_host(target) else TAKEN_ON_DEVICES
    assert set(traced(trace, "add")) == set(taken["add"])


def runs_on_host(target: TargetEnvironment) -> bool:
    """Whether launches of hosts run there; processors under OpenCL have them, too."""
    return target.name in ("serial", "threads", "opencl")


def traced(trace: Path, name: str) -> dict[int, str]:
    """The versions of a kernel that ran, by their numbers, with their texts; the plan itself has none."""
    events = [event["args"] for event in json.loads(trace.read_text())["traceEvents"] if event["cat"] == "kernel"]
    return {event.get("version", 0): event.get("version text", "") for event in events if event["kernel"] == name}


def test_launches_take_what_the_rules_say(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, tmp_path: Path
) -> None:
    on_host = runs_on_host(target)
    for place, side in enumerate(SIDES[2:]):
        trace = tmp_path / f"{side}.json"
        workshop.run(programs.translated, target, side, TILEK_PROFILE=str(trace))
        for name, taken in (TAKEN if on_host else TAKEN_ON_DEVICES).items():
            assert list(traced(trace, name)) == [taken[place]], (name, side)
    assert traced(tmp_path / "6.json", "add") == {1: THREADS} if on_host else {2: GANGS}


def test_devices_run_no_version_that_is_for_hosts_alone(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, tmp_path: Path
) -> None:
    on_host = target.name in ("serial", "threads", "opencl")
    trace = tmp_path / "trace.json"
    workshop.run(programs.translated, target, "6", TILEK_PROFILE=str(trace), TILEK_VERSION="1")
    assert list(traced(trace, "add")) == [1 if on_host else 0]


def test_versions_have_their_tile_sizes(
    workshop: Workshop, programs: Programs, host_target: TargetEnvironment, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.json"
    workshop.run(programs.translated, host_target, "6", TILEK_PROFILE=str(trace))
    sizes = [
        event["args"]["tile sizes"]
        for event in json.loads(trace.read_text())["traceEvents"]
        if event["cat"] == "kernel" and event["args"]["kernel"] == "smooth"
    ]
    assert sizes
    assert all(size == SKEWED["sizes"] for size in sizes)
