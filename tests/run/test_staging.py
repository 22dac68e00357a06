"""Staged launches with one program for all numbers: the boxes lie in a pool, and the kernel itself asks whether they fit."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.cases import Case, read_cases
from tests.support.nvrtc import compile_error, nvrtc_library
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


@pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")
@pytest.mark.parametrize("workers", [(32, 8), (1024, 1), (1, 1)])
def test_what_does_not_fit_is_left_out_of_specialised_programs(workers: tuple[int, int]) -> None:
    (plan,) = translate(TranslateRequest("f.c", text=PRODUCT)).plans
    text = describe(plan, [Target.CUDA]).cuda
    assert text is not None
    (launch,) = describe(plan, [Target.CUDA]).device_launches
    numbers = {"worker0_count": workers[0], "worker1_count": workers[1]}
    options = [
        f"-D{parameter.constant}={numbers.get(parameter.constant, 1)}LL"
        for parameter in launch.parameters
        if parameter.constant is not None
    ]
    assert len(options) > len(numbers)
    for bound in ((), ("-DTILEK_LOCAL_BYTES=0",)):
        assert compile_error(text, "sm_90", ("-DTILEK_SPECIALIZED", *options, *bound)) is None
