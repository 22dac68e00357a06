"""Loops of the host around launches, on every target against the original, to the last bit; plans are made by hand (support/host_loops)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.host_loops import Making, translated
from tests.support.programs import COMPILER, FLAGS, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment

SOURCE = Path(__file__).parent / "host_loops.c"
BOTH = frozenset({"host", "device"})
MAKINGS = {
    "nests": Making(frozenset({"s"})),
    "blocked": Making(frozenset({"s"}), BOTH),
    "mixed": Making(frozenset({"s"}), frozenset({"device"})),
}
SIZES = (("61", "7"), ("1", "3"), ("130", "0"), ("97", "4"))
TILE_SIZES = ("i_size=1", "i_size=5,lu.i_size=1000,jacobi.i_size=2")


@dataclass(frozen=True)
class Programs:
    """The original, and the translated one of each way to make plans."""

    original: Path
    translated: dict[str, Path]


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> Programs:
    from tilepragma.cli.runtime_library import compile_flags, link_flags

    folder = workshop.folder / "host_loops"
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(shutil.copy(SOURCE, folder))
    made = {}
    for name, making in MAKINGS.items():
        text, _ = translated(source, making)
        output = folder / f"{name}.c"
        output.write_bytes(text)
        made[name] = folder / name
        command = (COMPILER, *FLAGS, *compile_flags(), "-o", str(made[name]), str(output), *link_flags(), "-lm")
        run_command(command, tool_environment(workshop.cache), folder, 120)
    return Programs(workshop.build_original(source), made)


def original(workshop: Workshop, programs: Programs, size: tuple[str, ...]) -> str:
    return workshop.run(programs.original, TargetEnvironment("original", ()), *size)


@pytest.mark.parametrize("size", SIZES, ids="x".join)
@pytest.mark.parametrize("making", MAKINGS)
def test_matches_the_original(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, making: str, size: tuple[str, ...]
) -> None:
    expected = original(workshop, programs, size)
    assert workshop.run(programs.translated[making], target, *size) == expected


@pytest.mark.parametrize("making", MAKINGS)
def test_one_program_for_all_numbers(
    workshop: Workshop, programs: Programs, device_target: TargetEnvironment, making: str
) -> None:
    expected = original(workshop, programs, SIZES[0])
    assert workshop.run(programs.translated[making], device_target, *SIZES[0], TILEK_SPECIALIZE="0") == expected


@pytest.mark.parametrize("given", TILE_SIZES)
def test_any_tile_size(workshop: Workshop, programs: Programs, target: TargetEnvironment, given: str) -> None:
    expected = original(workshop, programs, SIZES[0])
    assert workshop.run(programs.translated["blocked"], target, *SIZES[0], TILEK_SIZES=given) == expected


@pytest.mark.parametrize("given", TILE_SIZES)
def test_one_program_for_all_tile_sizes(
    workshop: Workshop, programs: Programs, device_target: TargetEnvironment, given: str
) -> None:
    expected = original(workshop, programs, SIZES[0])
    more = {"TILEK_SIZES": given, "TILEK_SPECIALIZE": "0"}
    assert workshop.run(programs.translated["blocked"], device_target, *SIZES[0], **more) == expected


@pytest.mark.parametrize("making", MAKINGS)
def test_verified(workshop: Workshop, programs: Programs, target: TargetEnvironment, making: str) -> None:
    result = workshop.run(programs.translated[making], target, *SIZES[0], TILEK_VERIFY="1")
    reports = [line for line in result.splitlines() if "tilek: verify:" in line]
    assert len(reports) > 8
    assert all("largest difference 0 absolute, 0 relative" in line for line in reports)


def test_profile_counts_steps(workshop: Workshop, programs: Programs, target: TargetEnvironment) -> None:
    result = workshop.run(programs.translated["nests"], target, "61", "7", TILEK_PROFILE="1")
    rows = {line.split()[0]: line.split() for line in result.splitlines() if f" {target.runtime} " in line}
    assert rows["jacobi"][2] == "3"
    assert rows["jacobi_nest1"][2] == rows["jacobi_nest2"][2] == "15"
    assert rows["lu_nest2"][2] == "60"
    assert "parity_nest3" not in rows
