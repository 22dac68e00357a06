"""The launch of all wavefronts: where its gangs wait, and who meets at the barriers around a tile."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA, OPENCL
from tilepragma.plan.kernel_plan import KernelPlan

LINE = """void f(int n, int steps, double u[n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      u[i] = 0.5 * (u[i - 1] + u[i + 1]);
}"""


@pytest.fixture(scope="module")
def made() -> KernelPlan:
    return plan(LINE)


def test_a_tile_stands_between_barriers_under_a_condition_without_votes(made: KernelPlan) -> None:
    """The first worker waits before the barrier and posts behind it: in wavefronts without a tile, too, without one."""
    text = device_program(made, CUDA).text
    lines = [line.strip() for line in text[text.index("f_persistent(") :].splitlines()]
    tile, post = (
        lines.index("if (has_tile) {"),
        lines.index("if (first_worker) tilek_post(&tilek_flags[column], before + 1);"),
    )
    assert lines[tile - 7 : tile + 2] == [
        "const int has_tile = t_block_2 >= box[0] && t_block_2 <= box[1];",
        "const long long before = tilek_flags_base + (wavefront_2 - wavefront_2_first);",
        "if (first_worker) {",
        "if (t_block_2 > t_block_2_first && t_block_2_seen < before) {",
        "t_block_2_seen = tilek_await(&tilek_flags[column - 1], before);",
        "}",
        "}",
        "if (has_tile) {",
        "__syncthreads();",
    ]
    assert lines[post - 2 : post + 2] == ["__syncthreads();", "}", lines[post], "}"]
    assert not any("__syncthreads_" in line for line in lines)


def test_opencl_has_a_launch_for_each_wavefront(made: KernelPlan) -> None:
    """It does not promise that all gangs run at once, so that nothing may wait for others."""
    program = device_program(made, OPENCL)
    assert [launch.name for launch in program.launches] == [launch.name for launch in made.device]
    assert not any(name in program.text for name in ("tilek_await", "tilek_post", "tilek_flags", "has_tile"))
    assert "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" in program.text
