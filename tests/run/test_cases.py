"""Every case of tests/run/cases, translated, on every target at hand, against the original, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.case_suites import FILES, case_suite, with_file
from tests.support.cases import Case, CaseFile
from tests.support.programs import Suite, Workshop, first_difference
from tests.support.targets import TargetEnvironment

CASES = [with_file(file, case, id=f"{Path(file.path).stem}-{case.name}") for file in FILES for case in file.cases]


@pytest.mark.parametrize(("file", "case"), CASES)
def test_translated_agrees_with_original(
    workshop: Workshop, target: TargetEnvironment, file: CaseFile, case: Case
) -> None:
    built = case_suite(workshop, file)
    expected = built.original(case)
    assert expected, "the case records nothing"
    assert first_difference(expected, built.translated(case, target)) is None


GNU = ("-std=gnu11", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-g")


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, id=Path(file.path).stem, marks=pytest.mark.xdist_group(f"gnu {file.path}")) for file in FILES],
)
def test_cases_agree_under_gnu11_and_o3(workshop: Workshop, file: CaseFile) -> None:
    # Dialect and optimiser are the host's matter; one target is enough to see them.
    built = Suite(Workshop(workshop.folder / "gnu11", workshop.cache), file, flags=GNU)
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_STRICT", "1")))
    for case in file.cases:
        difference = first_difference(built.original(case), built.translated(case, threads))
        assert difference is None, f"{case.name}: {difference}"
