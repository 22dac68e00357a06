"""What a device that is named changes in plans: the memory of gangs, and how many workers they may have."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan, plans
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA
from tilepragma.ir.directives import LOCAL_BYTES, TemporalTiles
from tilepragma.ir.expressions import IntegerLiteral
from tilepragma.model.descriptor_files import named_device
from tilepragma.plan.command_line import PlanOptions
from tilepragma.verify.rules import verify

COUNTED = """
void f(int n, int m, float a[n][m]) {{
#pragma tilek kernel num_workers[0]({0}) num_workers[1]({1})
#pragma tilek loop independent tile(gang, 0) tile(worker, 0)
  for (int i = 0; i < n; i++)
#pragma tilek loop independent tile(gang, 1) tile(worker, 1)
    for (int j = 0; j < m; j++)
      a[i][j] += 1;
}}"""


@pytest.mark.parametrize(
    ("name", "counts", "said"),
    [
        ("c1060", (32, 16), None),
        ("c1060", (32, 17), "a gang has 544 workers, and NVIDIA Tesla C1060 runs 512 in a block at most"),
        ("v100", (32, 32), None),
        ("v100", (64, 32), "a gang has 2048 workers, and NVIDIA Tesla V100-SXM2 runs 1024 in a block at most"),
        ("opencl-gpu", (300, "n"), "a gang has 300 workers, and an OpenCL GPU runs 256 in a block at most"),
        ("v100", ("n", 32), None),
        ("processor", (64, 64), None),
        ("", (64, 64), None),
    ],
)
def test_more_workers_than_a_block_has_threads_are_refused(
    name: str, counts: tuple[object, object], said: str | None
) -> None:
    result = Diagnostics()
    plans(COUNTED.format(*counts), result, defaults=PlanOptions(device=named_device(name) if name else None))
    errors = [each for each in result if each.severity.value == "error"]
    assert [error.message for error in errors] == ([] if said is None else [said])
    assert [(error.range.start.line, error.notes[0].message[:7]) for error in errors] == (
        [] if said is None else [(3, "ask for")]
    )


STENCIL = """
void f(int steps, int n, double a[n], double b[n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i] + a[i + 1];
    for (int i = 1; i < n - 1; i++) a[i] = b[i];
  }
}"""


@pytest.mark.parametrize(
    ("name", "bytes_"), [("", LOCAL_BYTES), ("c1060", 16384), ("h100", 49152), ("processor", LOCAL_BYTES)]
)
def test_scratchpads_fit_the_memory_of_the_named_device(name: str, bytes_: int) -> None:
    device = named_device(name) if name else None
    made = plan(STENCIL, PlanOptions(temporal=TemporalTiles.OVERLAPPED, device=device))
    verify(made)
    sizes = [
        8 * length.value
        for scratchpad in made.device[0].scratchpads
        for length in scratchpad.object.lengths
        if isinstance(length, IntegerLiteral)
    ]
    assert sum(sizes) == bytes_


SUMS = """
void f(int n, const double *a, double *sums) {
  double p = 0, q = 0, r = 0;
#pragma tilek kernel data(a[0:n]) reduction(+: p, q, r)
#pragma tilek loop independent tile(gang, 0) tile(worker, 0)
  for (int i = 0; i < n; i++) { p += a[i]; q += a[i] * 2; r += a[i] * 3; }
  sums[0] = p + q + r;
}"""


def test_trees_of_reductions_fit_it_too() -> None:
    """1024 slots of three doubles take 24 KB."""
    for name, slots in (("v100", "(worker0_count)"), ("c1060", "(worker0_count < 512 ? worker0_count : 512)")):
        made = plan(SUMS, PlanOptions(device=named_device(name)))
        assert f"#define F_SLOTS {slots}\n" in device_program(made, CUDA).text
