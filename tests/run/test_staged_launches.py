"""Staged launches with one program for all numbers: the boxes lie in a pool, and the kernel itself asks whether they fit."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cases import Case, read_cases
from tests.support.nvrtc import compile_error, nvrtc_library, ptx
from tests.support.programs import FLAGS, ROOT, Suite, Workshop, first_difference
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA, OPENCL
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.model.descriptor_files import named_device
from tilepragma.plan.summary import points_of

INCLUDE = (f"-I{ROOT / 'tests' / 'support'}",)
FILE = read_cases(Path(__file__).parent / "cases" / "staging.c")


@functools.cache
def suite(workshop: Workshop) -> Suite:
    return Suite(Workshop(workshop.folder / "staging", workshop.cache), FILE, flags=FLAGS)


@pytest.mark.parametrize("name", ["opencl-gpu", "cuda"])
@pytest.mark.parametrize("case", FILE.cases, ids=lambda case: case.name)
def test_one_program_for_all_numbers_agrees(workshop: Workshop, case: Case, name: str) -> None:
    target = target_environment(name, workshop.cache)
    if target.absent is not None:
        pytest.skip(target.absent)
    generic = TargetEnvironment(f"{name}-generic", (*target.variables, ("TILEK_SPECIALIZE", "0")))
    built = suite(workshop)
    assert first_difference(built.original(case), built.translated(case, generic)) is None


@functools.cache
def few_registers(workshop: Workshop) -> Suite:
    """Products for a GPU with 64 registers a worker of 256: workers have 8 x 2 and 4 x 2 points in the place of 8 x 4."""
    products = replace(FILE, cases=tuple(case for case in FILE.cases if case.name == "product"))
    return Suite(Workshop(workshop.folder / "c1060", workshop.cache), products, options=("--tilek-device=c1060",))


@pytest.mark.parametrize("name", ["opencl-gpu", "cuda"])
def test_workers_with_other_points_agree(workshop: Workshop, name: str) -> None:
    target = target_environment(name, workshop.cache)
    if target.absent is not None:
        pytest.skip(target.absent)
    built = few_registers(workshop)
    (case,) = built.cases.cases
    assert first_difference(built.original(case), built.translated(case, target)) is None
    text = (workshop.folder / "c1060" / "staging" / "all.c").read_text()
    plans = translate(
        TranslateRequest("all.c", text=text.encode(), device=named_device("c1060"), options=INCLUDE)
    ).plans
    assert {math.prod(points_of(launch).values()) for plan in plans for launch in plan.device} == {16, 8}


PRODUCT = b"""
void f(int n, int m, int p, const float a[n][p], const float b[p][m], float c[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < p; k++)
        c[i][j] += a[i][k] * b[k][j];
}"""


#: What makes workers neighbours along i, so that they read down the columns of a[i][j].
ALONG_I = "c[j][i] * c[j - 1][i] * c[j + 1][i] * c[j][i - 1] * c[j][i + 1]"
TRANSPOSITION = b"""
void f(int n, int m, const float a[n][m], float b[m][n]) {
#pragma tilek kernel
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++)
      b[j][i] = a[i][j];
}"""


def specialised(workers: tuple[int, int], length: int = 1, source: bytes = PRODUCT) -> tuple[str, tuple[str, ...]]:
    """The CUDA program of the product, and its numbers as options: those of workers, and the length of rows."""
    (plan,) = translate(TranslateRequest("f.c", text=source)).plans
    program = device_program(plan, CUDA)
    (parameters,) = program.parameters
    numbers = {
        "worker0_count": workers[0],
        "worker1_count": workers[1],
        "i_row_points": 8,
        "j_row_points": 4,
        "j_points": 4,
    }
    constants = [parameter.constant for parameter in parameters if parameter.constant is not None]
    assert len(constants) > len(numbers)
    numbers |= {name: length for name in constants if "length" in name}
    numbers |= {name: 4096 for name in constants if "trip" in name}
    return program.text, ("-DTILEK_SPECIALIZED", *(f"-D{name}={numbers.get(name, 1)}LL" for name in constants))


@pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")
@pytest.mark.parametrize("workers", [(32, 8), (1024, 1), (1, 1)])
def test_what_does_not_fit_is_left_out_of_specialised_programs(workers: tuple[int, int]) -> None:
    text, options = specialised(workers)
    for bound in ((), ("-DTILEK_LOCAL_BYTES=0",)):
        assert compile_error(text, "sm_90", (*options, *bound)) is None


@pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")
def test_tiles_are_copied_asynchronously_from_ampere_on() -> None:
    text, options = specialised((32, 8))
    assert "cp.async.ca" in ptx(text, "compute_80", options)
    assert "cp.async.wait_all" in ptx(text, "compute_90", options)
    for architecture, more in (("compute_75", ()), ("compute_90", ("-DTILEK_NO_ASYNC",))):
        assert "cp.async" not in ptx(text, architecture, (*options, *more))


@pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")
def test_both_tiles_lie_in_the_memory_where_there_is_room() -> None:
    text, options = specialised((32, 8))
    tiles = 4 * (16 * (8 * 8 + 4) + 16 * 4 * 32)

    def pool(bytes_: int) -> str:
        code = ptx(text, "compute_80", (*options, f"-DTILEK_LOCAL_BYTES={bytes_}"))
        return next((line.split("[")[1].rstrip("];") for line in code.splitlines() if ".shared .align" in line), "none")

    sizes = (2 * tiles, 2 * tiles - 1, tiles, tiles - 1)
    assert [pool(size) for size in sizes] == [str(2 * tiles), str(tiles), str(tiles), "none"]


@pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")
def test_rows_of_whole_vectors_are_copied_sixteen_bytes_at_a_time() -> None:
    for length, wide in ((128, True), (130, False), (203, False)):
        text, options = specialised((32, 8), length)
        ahead = ptx(text, "compute_80", options)
        assert ("cp.async.cg" in ahead) == wide and "cp.async.ca" in ahead
        text, options = specialised((32, 8), length, TRANSPOSITION)
        assert (".v4" in ptx(text, "compute_75", options)) == wide
    # With numbers as arguments the program asks for them, and copies at once where it cannot copy
    # asynchronously.
    text, _ = specialised((32, 8))
    assert "cp.async.cg" in ptx(text, "compute_80")
    copied = ptx(text, "compute_75")
    assert "st.shared.v4" in copied and "ld.global" in copied and "cp.async" not in copied


STAR = "a[i][{0}] + a[i - 1][{0}] + a[i + 1][{0}] + a[i][{0} - 1] + a[i][{0} + 1]"


@pytest.mark.parametrize(
    ("element", "length", "first", "value", "vectors"),
    [
        ("float", "m", "1", "a[i][j - 1]", {"float4"}),
        ("float", "m", "1", STAR.format("j"), set()),
        ("unsigned", "128", "4", "a[i][j]", {"uint4"}),
        ("double", "m", "1", "a[i][j + 1]", {"double2"}),
        ("long", "m", "from", "a[i][j]", set()),
        ("float", "m", "2", "a[i][j]", set()),
        ("float", "203", "1", "a[i][j - 1]", set()),
        ("short", "m", "1", "a[i][j - 1]", set()),
        ("float", "m", "1", "a[i][m - 1 - j]", set()),
    ],
)
def test_vectors_are_asked_for_where_tiles_begin_with_them(
    element: str, length: str, first: str, value: str, vectors: set[str]
) -> None:
    text = f"""
void f(int n, int m, int from, const {element} a[n][{length}], const {element} c[m][n], {element} b[m][n]) {{
#pragma tilek kernel
  for (int i = 1; i < n - 1; i++)
    for (int j = {first}; j < m - 4; j++)
      b[j][i] = {value} + {ALONG_I};
}}"""
    (plan,) = translate(TranslateRequest("f.c", text=text.encode())).plans
    program = device_program(plan, OPENCL).text
    assert "a_staged[" in program
    assert set(re.findall(r"\*\(const __global (\w+) \*\)", program)) == vectors
