"""OpenCL kernels of samples and of every strategy under Oclgrind, which sees races, accesses out of bounds and misuse of the API."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.case_suites import case_suite, file_named, with_file
from tests.support.cases import FAILING, Case, CaseFile, read_cases
from tests.support.oclgrind import OPENCL, oclgrind
from tests.support.paper_kernels import CONV2D, all_tilings
from tests.support.programs import CHECKED, FLAGS, PLAIN, ROOT, Workshop, first_difference, read_records
from tests.support.small_tiles import SMALL_TILES

SAMPLES = {
    "listing1": ("13", "11", "2"),
    "listing2": ("13", "11", "2"),
    "listing3": ("29", "23", "2"),
    "conv2d": ("23", "31", "2"),
    "sgemm": ("13", "11", "7"),
    "syr2k": ("13", "7"),
    "doitgen": ("5", "7", "6"),
    "wave2d": ("31", "23", "3"),
}

pytestmark = pytest.mark.skipif(shutil.which("oclgrind") is None, reason="oclgrind is not installed")


#: Oclgrind's device is what it is asked to be: both programs run on it.
FORMS = ("gpu", "cpu")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SAMPLES)
def test_sample_runs_clean(workshop: Workshop, name: str, form: str) -> None:
    folder = workshop.folder / "oclgrind" / name
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted((ROOT / "samples" / name).glob("*.c"))
    program = folder / name
    workshop.translate_and_link(program, *sources, flags=("-O1", "-ffp-contract=off"))
    assert oclgrind(workshop, form, program, *SAMPLES[name]) == ""


@pytest.mark.parametrize("form", FORMS)
def test_guards_of_odd_machines_run_clean(workshop: Workshop, form: str) -> None:
    folder = workshop.folder / "oclgrind"
    folder.mkdir(parents=True, exist_ok=True)
    cases = CONV2D.case_file(all_tilings(odd=True)[::5])
    source = folder / "conv2d_odd.c"
    source.write_text(cases.program(cases.cases))
    program = workshop.build_translated(source, FLAGS)
    assert oclgrind(workshop, form, program, str(source.with_suffix(".dump")), "all", "13", "17") == ""


STAGING = read_cases(Path(__file__).parent / "cases" / "staging.c")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", STAGING.cases, ids=lambda case: case.name)
def test_stages_run_clean(workshop: Workshop, case: Case, form: str) -> None:
    # Copies by all workers, borders, barriers: once with numbers as constants, once with a pool and
    # numbers as arguments.
    folder = workshop.folder / "oclgrind"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"staging_{case.name}.c"
    source.write_text(STAGING.program((case,)).replace("{0, 1, 3, 8, 32, 45}", "{1, 3, 35}"))
    program = workshop.build_translated(source, FLAGS)
    arguments = (str(source.with_suffix(".dump")), "all")
    assert oclgrind(workshop, form, program, *arguments) == ""
    assert oclgrind(workshop, form, program, *arguments, TILEK_SPECIALIZE="0") == ""


COALESCING = read_cases(Path(__file__).parent / "cases" / "coalescing.c")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", COALESCING.cases, ids=lambda case: case.name)
def test_turned_loops_run_clean(workshop: Workshop, case: Case, form: str) -> None:
    folder = workshop.folder / "oclgrind"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"coalescing_{case.name}.c"
    source.write_text(COALESCING.program((case,)))
    expected, dump = source.with_suffix(".expected"), source.with_suffix(".dump")
    workshop.run(workshop.build_original(source), PLAIN, str(expected), "all")
    program = workshop.build_translated(source, FLAGS)
    for specialize in ("1", "0"):
        assert oclgrind(workshop, form, program, str(dump), "all", TILEK_SPECIALIZE=specialize) == ""
        assert read_records(dump) == read_records(expected)


@pytest.mark.parametrize("form", FORMS)
def test_diamonds_run_clean(workshop: Workshop, form: str) -> None:
    # Steps of a diamond with barriers between, tiles of the other rows one after another; a gang's
    # empty tiles.
    folder = workshop.folder / "oclgrind" / f"diamonds_{form}"
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(shutil.copy(Path(__file__).parent / "stencils.c", folder))
    expected = workshop.run(workshop.build_original(source), PLAIN, "9", "3")
    program = workshop.build_with(source, TILEK_TILES="diamond")
    for specialize in ("1", "0"):
        variables = {"TILEK_SIZES": "t_i_size=5,t_j_size=4", "TILEK_SPECIALIZE": specialize}
        assert oclgrind(workshop, form, program, "9", "3", **variables) == ""
    assert workshop.run(program, OPENCL, "9", "3") == expected


@pytest.mark.parametrize("form", ["boxes", "streamed"])
def test_overlapped_tiles_run_clean(workshop: Workshop, form: str) -> None:
    # Scratchpads filled, computed in and stored by several workers, tile after tile of one gang; a tile
    # of one element; rings gone round.
    folder = workshop.folder / "oclgrind" / form
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "overlapped.c"
    text = Path(__file__).with_name("overlapped.c").read_text()
    source.write_text(f"#define ONLY_ONE\n{text}")
    expected = workshop.run(workshop.build_original(source), PLAIN, "14", "5")
    program = workshop.build_with(source, TILEK_TILES=form)
    first = "i_chunk=8" if form == "streamed" else "i_scratchpad=12"
    for specialize in ("1", "0"):
        sizes = f"t_degree=2,{first},j_scratchpad=10"
        variables = {"TILEK_SIZES": sizes, "TILEK_SPECIALIZE": specialize}
        assert oclgrind(workshop, "gpu", program, "14", "5", **variables) == ""
    assert workshop.run(program, OPENCL, "14", "5") == expected


def test_subdomains_run_clean(workshop: Workshop) -> None:
    # Tiles filled, computed front by front and stored by several workers; a mesh that subdomains do
    # not divide, a last group of fewer layers.
    folder = workshop.folder / "oclgrind" / "subdomains"
    folder.mkdir(parents=True, exist_ok=True)
    text = Path(__file__).with_name("multilayer.c").read_text()
    source = folder / "multilayer.c"
    source.write_text(f"#define ONLY_ONE\n{text.replace('../references', str(ROOT / 'tests' / 'references'))}")
    program = workshop.build_translated(source, FLAGS)
    for specialize in ("1", "0"):
        assert oclgrind(workshop, "gpu", program, "13", "8", TILEK_SPECIALIZE=specialize) == ""
    assert workshop.run(program, OPENCL, "13", "8") == "five\n"


#: Strategies with small tiles; scratch storage, steps, launches in host loops, neighbours under
#: conditions, rows with strides, factorisations.
NAMES = ("strategies", "storage", "steps", "structure", "host_loops", "neighbours", "flattened", "algebra", "meetings")
#: Oclgrind's compiler makes llvm.usub.sat.i64 of this, which its interpreter does not know.
UNKNOWN = {("flattened", "cpu")}
RUNS = [
    with_file(file_named(name), form, id=f"{name}-{form}")
    for name in NAMES
    for form in FORMS
    if (name, form) not in UNKNOWN
]


@pytest.mark.parametrize(("file", "form"), RUNS)
def test_strategies_run_clean(workshop: Workshop, file: CaseFile, form: str) -> None:
    suite = case_suite(workshop, file)
    program = suite.build()
    tiles, kinds = ({"TILEK_SIZES": SMALL_TILES}, "10") if file == file_named("strategies") else ({}, "0")
    result = {}
    for group in dict.fromkeys(case.group for case in file.cases):
        dump = program.with_suffix(f".{form}.{group}.dump")
        strict = "0" if group == FAILING else "1"
        for specialize in kinds:
            said = oclgrind(
                workshop, form, program, str(dump), group, TILEK_SPECIALIZE=specialize, TILEK_STRICT=strict, **tiles
            )
            assert [line for line in said.splitlines() if strict == "1" or not CHECKED.search(line)] == []
        result |= read_records(dump)
    differing = {case.name: first_difference(suite.original(case), result.get(case.name, [])) for case in file.cases}
    assert {name: said for name, said in differing.items() if said is not None} == {}
