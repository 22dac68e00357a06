"""Numbers at the ends of their types: a target runs the kernel or leaves it to the user's loop; the results are the same."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cases import Case, CaseFile, read_cases
from tests.support.programs import Suite, Workshop, first_difference
from tests.support.targets import TargetEnvironment

FILE = read_cases(Path(__file__).parent / "cases_not_strict" / "extremes.c")


@functools.cache
def suite(workshop: Workshop, file: CaseFile) -> Suite:
    return Suite(Workshop(workshop.folder / "extremes", workshop.cache), file)


@pytest.mark.parametrize("case", FILE.cases, ids=lambda case: case.name)
def test_extremes_agree_with_the_original(workshop: Workshop, target: TargetEnvironment, case: Case) -> None:
    lenient = replace(target, variables=(*target.variables, ("TILEK_STRICT", "0")))
    built = suite(workshop, FILE)
    expected = built.original(case)
    assert expected, "the case records nothing"
    assert first_difference(expected, built.translated(case, lenient)) is None
