"""Every strategy of the planner in a small kernel of tests/run/cases/strategies.c: that it is
there, with tiles smaller than the arrays, with numbers as arguments, and under Oclgrind.
docs/TESTING.md says which other tests hold each of them.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.case_suites import case_suite, file_named, with_file
from tests.support.cases import CaseFile
from tests.support.planning import SUPPORT, varied
from tests.support.programs import Workshop, first_difference
from tests.support.small_tiles import SMALL_TILES, TILES
from tests.support.targets import TargetEnvironment
from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest, TranslateResult

FILE = file_named("strategies")
#: The vectors for which the register tiles below are made.
WIDE_VECTORS = "-march=x86-64-v4"
#: What `explain` says of each kernel: on cores, on devices, of its storage.
SHOWN = {
    "launches": ("diamond tiles", "for (t = 0; t < steps) in order"),
    "wavefronts": ("for each wavefront in order", "t_i_block: gangs 0, t_step: workers 1, t_i_step: workers 0"),
    "transformed": ("i_j_block: threads",),
    "register_tiles": ("256 × 24 of b[j][k] packed", "8 × 24 of c[i][j] in registers", "a tile while the one before"),
    "solved": ("for each wavefront in order", "8 of x[i] in registers, sums that wait for themselves side by side"),
    "in_strips": ("for each i_strip in order", "stages a[i_row : 1][j : 1]"),
    "expanded": ("array expansion: 'row' has a copy for each iteration of i",),
    "copied": ("anti-dependence renaming (Algorithm 4.2): old values of 'a' are read from 'a_old'",),
    "hoisted": (
        "'a' is seen as a[][n]",
        "scalar expansion: 'sum' has a copy",
        "8 × 32 of sum_of_i_j[i][j] in registers",
    ),
    "filtered": ("a constant array of the program", "j: gangs 0 × workers 0, i: gangs 1 × workers 1"),
    "triangle": ("i: gangs 1 × workers 1, j: gangs 0 × workers 0",),
    "stepped": ("i_index: gangs 0 × workers 0",),
    "lifted": ("diamond tiles",),
    "rows_apart": ("at each launch: stride >= m",),
    "summed": ("reduces sum with +",),
}


@functools.cache
def planned(folder: Path) -> TranslateResult:
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "strategies.c"
    source.write_text(FILE.program(FILE.cases))
    return translate(TranslateRequest(str(source), options=(f"-I{SUPPORT}", WIDE_VECTORS), last="choose_sizes"))


def test_each_kernel_shows_its_strategy(workshop: Workshop) -> None:
    result = {facts.name: facts for facts in kernel_reports(planned(workshop.folder / "strategies"))}
    assert set(result) == set(SHOWN)
    missing = {name: [each for each in SHOWN[name] if each not in explain([facts])] for name, facts in result.items()}
    assert {name: clauses for name, clauses in missing.items() if clauses} == {}


def test_every_tile_size_is_made_small(workshop: Workshop) -> None:
    plans = planned(workshop.folder / "strategies").plans
    assert {size.object.host for plan in plans for size in plan.sizes} == set(TILES)


@pytest.mark.parametrize("file", [with_file(FILE)])
def test_small_tiles_agree(workshop: Workshop, target: TargetEnvironment, file: CaseFile) -> None:
    """With numbers as arguments on devices, so that one program serves all sizes."""
    small = varied(target, "small", (("TILEK_SIZES", SMALL_TILES), ("TILEK_SPECIALIZE", "0")))
    suite = case_suite(workshop, file)
    result = {case.name: first_difference(suite.original(case), suite.translated(case, small)) for case in file.cases}
    assert {name: said for name, said in result.items() if said is not None} == {}
