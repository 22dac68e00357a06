"""Every case of tests/run/cases, translated, on every target at hand, against the original, bit for bit."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.cases import Case, CaseFile, read_cases
from tests.support.programs import FLAGS, Suite, Workshop, first_difference
from tests.support.targets import TargetEnvironment

FILES = tuple(read_cases(path) for path in sorted((Path(__file__).parent / "cases").glob("*.c")))
CASES = [
    pytest.param(
        file, case, id=f"{Path(file.path).stem}-{case.name}", marks=pytest.mark.xdist_group(f"cases {file.path}")
    )
    for file in FILES
    for case in file.cases
]


@functools.cache
def suite(workshop: Workshop, file: CaseFile, flags: tuple[str, ...]) -> Suite:
    folder = workshop.folder / ("cases" if flags == FLAGS else flags[0].lstrip("-"))
    return Suite(Workshop(folder, workshop.cache), file, flags=flags)


@pytest.mark.parametrize(("file", "case"), CASES)
def test_translated_agrees_with_original(
    workshop: Workshop, target: TargetEnvironment, file: CaseFile, case: Case
) -> None:
    built = suite(workshop, file, FLAGS)
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
    built = suite(workshop, file, GNU)
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_STRICT", "1")))
    for case in file.cases:
        difference = first_difference(built.original(case), built.translated(case, threads))
        assert difference is None, f"{case.name}: {difference}"
