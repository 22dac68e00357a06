"""Staged launches with one program for all numbers: the boxes lie in a pool, and the kernel itself asks whether they fit."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.cases import Case, read_cases
from tests.support.nvrtc import compile_error, nvrtc_library, ptx
from tests.support.programs import FLAGS, Suite, Workshop, first_difference
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.codegen.describe import describe
from tilepragma.driver import TranslateRequest, translate
from tilepragma.ir.directives import Target

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


PRODUCT = b"""
void f(int n, int m, int p, const float a[n][p], const float b[p][m], float c[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < p; k++)
        c[i][j] += a[i][k] * b[k][j];
}"""


def specialised(workers: tuple[int, int]) -> tuple[str, tuple[str, ...]]:
    """The CUDA program of the product, and its numbers as options."""
    (plan,) = translate(TranslateRequest("f.c", text=PRODUCT)).plans
    shape = describe(plan, [Target.CUDA])
    (launch,) = shape.device_launches
    assert shape.cuda is not None
    numbers = {"worker0_count": workers[0], "worker1_count": workers[1]}
    constants = [parameter.constant for parameter in launch.parameters if parameter.constant is not None]
    assert len(constants) > len(numbers)
    return shape.cuda, ("-DTILEK_SPECIALIZED", *(f"-D{name}={numbers.get(name, 1)}LL" for name in constants))


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
    one = 4 * (8 * 8 * 32 + 32 * 4 * 32)

    def pool(bytes_: int) -> str:
        code = ptx(text, "compute_80", (*options, f"-DTILEK_LOCAL_BYTES={bytes_}"))
        return next((line.split("[")[1].rstrip("];") for line in code.splitlines() if ".shared .align" in line), "none")

    assert [pool(size) for size in (2 * one, 2 * one - 1, one, one - 1)] == [str(2 * one), str(one), str(one), "none"]
