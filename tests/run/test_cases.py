"""Every case of tests/run/cases, translated, on every target at hand, against the original, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.case_suites import FILES, case_suite, file_named, kept_source, with_file
from tests.support.cases import Case, CaseFile
from tests.support.programs import KeptWorkshop, Suite, Workshop, first_difference
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


def agree_on_threads(built: Suite, file: CaseFile) -> None:
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_STRICT", "1")))
    for case in file.cases:
        difference = first_difference(built.original(case), built.translated(case, threads))
        assert difference is None, f"{case.name}: {difference}"


GNU = ("-std=gnu11", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-g")


@pytest.mark.parametrize("file", [with_file(file) for file in FILES])
def test_cases_agree_under_gnu11_and_o3(workshop: Workshop, file: CaseFile) -> None:
    # Dialect and optimiser are the host's matter; one target is enough to see them, and the
    # translation is the same.
    case_suite(workshop, file).build()
    kept = KeptWorkshop(workshop.folder / "gnu11", workshop.cache, kept_source(workshop, file))
    agree_on_threads(Suite(kept, file, flags=GNU), file)


def test_gnu11_is_translated_too(workshop: Workshop) -> None:
    """What a dialect's own macros and headers are to the translator, in one file of C as people write it."""
    file = file_named("features")
    agree_on_threads(Suite(Workshop(workshop.folder / "gnu11-translated", workshop.cache), file, flags=GNU), file)
