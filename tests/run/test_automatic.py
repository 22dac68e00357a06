"""Regions without a word on tiles: what plan each gets, and that no order among the instances of a launch is relied on."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.cases import CaseFile, read_cases
from tests.support.planning import PlanningWorkshop, settings
from tests.support.programs import FLAGS, Suite, first_difference

FILES = tuple(
    read_cases(Path(__file__).parent / "cases" / f"{name}.c") for name in ("automatic", "stencils", "algebra", "traps")
)


@functools.cache
def suite(planning: PlanningWorkshop, file: CaseFile) -> Suite:
    folder = planning.folder / "cases"
    return Suite(PlanningWorkshop(folder, planning.cache, planning.runtime, planning.plans), file, flags=FLAGS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: Path(file.path).stem)
def test_instances_run_in_any_order(planning: PlanningWorkshop, shared_scratch: Path, file: CaseFile) -> None:
    built = suite(planning, file)
    wrong = []
    built.translated(file.cases[0], settings(shared_scratch, (), ())[0].target)  # now the plans are known
    for setting in settings(shared_scratch, ("cuda",), planning.plans.values()):
        for case in file.cases:
            said = first_difference(built.original(case), built.translated(case, setting.target))
            if said is not None:
                wrong.append(f"{case.name} on {setting.label}: {said}")
    assert not wrong, "\n".join(wrong)
