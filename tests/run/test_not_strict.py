"""What some targets cannot run, numbers at the ends of their types and arrays of unknown extent: a
target runs the kernel or leaves it to another, or to the user's loop; the results are the same.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cases import Case, CaseFile, read_cases
from tests.support.programs import Suite, Workshop, first_difference
from tests.support.targets import TargetEnvironment

FILES = [read_cases(path) for path in sorted((Path(__file__).parent / "cases_not_strict").glob("*.c"))]
CASES = [pytest.param(file, case, id=f"{Path(file.path).stem}-{case.name}") for file in FILES for case in file.cases]


@functools.cache
def suite(workshop: Workshop, file: CaseFile) -> Suite:
    return Suite(Workshop(workshop.folder / Path(file.path).stem, workshop.cache), file)


@pytest.mark.parametrize(("file", "case"), CASES)
def test_extremes_agree_with_the_original(
    workshop: Workshop, target: TargetEnvironment, file: CaseFile, case: Case
) -> None:
    lenient = replace(target, variables=(*target.variables, ("TILEK_STRICT", "0")))
    built = suite(workshop, file)
    expected = built.original(case)
    assert expected, "the case records nothing"
    assert first_difference(expected, built.translated(case, lenient)) is None


CONDITIONS = next(file for file in FILES if Path(file.path).stem == "conditions")
REASON = "since no data clause says its extent"


def run_conditions(workshop: Workshop, target: TargetEnvironment, tmp_path: Path, case: str, **more: str) -> str:
    return workshop.run(suite(workshop, CONDITIONS).build(), target, str(tmp_path / "dump"), case, **more)


def test_what_may_not_be_there_is_neither_copied_nor_verified(
    workshop: Workshop, target: TargetEnvironment, tmp_path: Path
) -> None:
    said = run_conditions(workshop, target, tmp_path, "masked", TILEK_VERIFY="1", TILEK_STRICT="0")
    assert said.count("\n") == 1
    assert f"kernel masked is not verified: no copy of a can be made, {REASON}; its original loop runs" in said
    said = run_conditions(workshop, target, tmp_path, "masked", TILEK_PROFILE="1", TILEK_STRICT="0")
    in_place = target.name in ("serial", "threads", "opencl")
    assert (f"no copy of a can be made, {REASON}; it runs on" in said) != in_place
    assert (target.runtime in said.splitlines()[-1].split()) == in_place


GATHERS = next(file for file in FILES if Path(file.path).stem == "gathers")


def test_what_is_gathered_is_read_in_place_or_where_a_region_holds_it(
    workshop: Workshop, target: TargetEnvironment, tmp_path: Path
) -> None:
    dump, program = str(tmp_path / "dump"), suite(workshop, GATHERS).build()
    said = workshop.run(program, target, dump, "csr", TILEK_PROFILE="1", TILEK_STRICT="0")
    rows = [line.split() for line in said.splitlines() if line.startswith(("multiply ", "add "))]
    assert len([row for row in rows if target.runtime in row]) == 2
    assert all("original" not in row and row[8] == "-" for row in rows)
    on_host = target.name in ("serial", "threads")
    assert (f"can be made, {REASON}; it runs on" in said) != on_host
    said = workshop.run(program, target, dump, "region", TILEK_PROFILE="1", TILEK_STRICT="0")
    assert any(line.startswith("look_up ") and target.runtime in line.split() for line in said.splitlines())
    said = workshop.run(program, target, dump, "together", TILEK_PROFILE="1", TILEK_STRICT="0")
    assert all(target.runtime not in line.split() for line in said.splitlines() if line.startswith("follow"))


def test_a_data_region_lets_a_device_hold_it(workshop: Workshop, target: TargetEnvironment, tmp_path: Path) -> None:
    said = run_conditions(workshop, target, tmp_path, "upwind", TILEK_PROFILE="1", TILEK_STRICT="0")
    assert any(line.startswith("step_kernel ") and target.runtime in line.split() for line in said.splitlines())


EXTREMES = next(file for file in FILES if Path(file.path).stem == "extremes")


@pytest.mark.parametrize(("case", "long"), [("far", True), ("far_rows", True), ("steps", False)])
def test_a_profile_names_what_needs_long_indices(
    workshop: Workshop, device_target: TargetEnvironment, tmp_path: Path, case: str, long: bool
) -> None:
    """Launches of hosts, which OpenCL's processors run, count in 64 bits always."""
    program = suite(workshop, EXTREMES).build()
    said = workshop.run(program, device_target, str(tmp_path / "dump"), case, TILEK_PROFILE="1", TILEK_STRICT="0")
    line = f"  {device_target.runtime}: indices of 64 bits, since elements of a lie beyond 2^30"
    assert (line in said.splitlines()) == (long and device_target.name != "opencl")
