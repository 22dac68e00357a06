"""The counts of compiled launches beside those of GPGPU-Sim 4.2 (a quarter of a V100, NVRTC 11.8), recorded on 2026-11-28."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.nvrtc import nvrtc_library
from tilepragma.cost.ptx_walk import PlanCounts
from tilepragma.driver import translate
from tilepragma.driver.compiled_counts import compiled_counts
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.size_values import parse_sizes

PROGRAMS = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu" / "programs"
#: What other versions of NVRTC may change; with 11.8 all instructions are counted exactly.
TOLERANCE = 0.01

present = pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEK_NVRTC_LIBRARY", raising=False)


def gpu(multiprocessors: int = 20) -> Gpu:
    result = named_device("v100")
    assert isinstance(result, Gpu)
    return replace(result, multiprocessors=multiprocessors)


def plan_of(text: str) -> KernelPlan:
    (plan,) = translate(TranslateRequest("t.c", text=text.encode(), last="verify")).plans
    return plan


def counts_of(program: str, kernel: str, n: int) -> PlanCounts:
    text = (PROGRAMS / f"{program}.c").read_text()
    function = re.search(rf"^void {kernel}\(.*?^\}}\n", text, re.MULTILINE | re.DOTALL)
    macros = "\n".join(re.findall(r"^#define BOX_.*$", text, re.MULTILINE))
    assert function is not None
    return compiled_counts(plan_of(f"#include <math.h>\n{macros}\n{function[0]}"), {"n": n, "steps": 1}, gpu())


@present
@pytest.mark.parametrize(
    ("program", "kernel", "n", "instructions", "sectors", "conflicts"),
    [
        ("elementwise", "axpy", 65536, 1310720, 24576, 0),
        ("elementwise", "gather", 65536, 1376256, 81920, 0),
        ("elementwise", "transpose", 256, 950272, 16384, 0),
        ("stencils", "star2d1r", 256, 2141256, 55880, 0),
        ("stencils", "star2d1r_double", 256, 2141256, 104648, 0),
        ("stencils", "box3d1r", 34, 2850816, 138496, 0),
        ("products", "gemv", 512, 1722368, 41088, 0),
        ("products", "gemv_transposed", 512, 1460736, 41088, 0),
        ("products", "sgemm", 128, 7593984, 23552, 3584),
        ("products", "syrk", 128, 4733056, 12416, 2560),
    ],
)
def test_counts_are_the_simulators(
    program: str, kernel: str, n: int, instructions: int, sectors: int, conflicts: int
) -> None:
    total = counts_of(program, kernel, n).total
    assert total.instructions == pytest.approx(instructions, rel=TOLERANCE)
    assert total.sectors == sectors
    assert total.conflicts == conflicts


@present
def test_points_of_workers_are_those_of_the_launch() -> None:
    """At this size workers have twice the points that they have at 128."""
    assert counts_of("products", "sgemm", 256).total.instructions == pytest.approx(46915584, rel=TOLERANCE)


SCALED = """
void f(int n, float a[n], const float b[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = b[i] * 2;
}
"""


@present
def test_sampled_gangs_stand_for_all() -> None:
    """33 of 65536 gangs are walked; all threads do the same."""
    plan = plan_of(SCALED)
    few, many = (compiled_counts(plan, {"n": n}, gpu()).total for n in (256 * 30, 256 * 65536))
    assert many.instructions * 30 == few.instructions * 65536
    assert many.sectors * 30 == few.sectors * 65536 == 2 * 256 * 30 * 4 // 32 * 65536


@present
def test_launches_of_a_host_loop_are_counted_all() -> None:
    text = """
void f(int n, float a[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
}
"""
    counts = compiled_counts(plan_of(text), {"n": 40}, gpu())
    assert all(times >= 39 for times, _ in counts.launches.values())
    assert counts.total.sectors > 0


@present
def test_explain_says_what_launches_execute() -> None:
    device = gpu(80)
    result = translate(TranslateRequest("t.c", text=SCALED.encode(), device=device, last="choose_sizes"))
    said = " ".join(explain(kernel_reports(result, parse_sizes(["n=1048576"]), device)).split())
    assert re.search(r"executed f: 1 launch, \d+(\.\d+)? million instructions of threads, 262 thousand sectors", said)
    assert "memory: at least 262 thousand sectors" in said
    without = " ".join(explain(kernel_reports(result, None, device)).split())
    assert "executed" not in without


def test_without_a_compiler_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_NVRTC_LIBRARY", "/nowhere")
    with pytest.raises(UncountableError, match="which is no NVRTC"):
        compiled_counts(plan_of(SCALED), {"n": 10}, gpu())
    with pytest.raises(UncountableError, match="has no compute capability"):
        compiled_counts(plan_of(SCALED), {"n": 10}, replace(gpu(), compute_capability=None))
