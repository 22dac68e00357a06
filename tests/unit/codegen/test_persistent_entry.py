"""The launch of all wavefronts: where its gangs wait, and who meets at the barriers around a tile."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

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


CUBE = """void f(int n, int steps, float u[n][n][n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          u[i][j][k] = 0.1f * (u[i - 1][j][k] + u[i + 1][j][k] + u[i][j - 1][k] + u[i][j + 1][k] + u[i][j][k - 1] + u[i][j][k + 1]);
}"""
PLANE = """void f(int n, int steps, float u[n][n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        u[i][j] = 0.2f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
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
    assert lines[tile - 10 : tile + 2] == [
        "const int has_tile = t_block_2 >= box[0] && t_block_2 <= box[1];",
        "const long long before = tilek_flags_base + (wavefront_2 - wavefront_2_first);",
        "if (first_worker) {",
        "int waited = 0;",
        "if (t_block_2 > t_block_2_first && t_block_2_seen < before) {",
        "t_block_2_seen = tilek_await(&tilek_flags[column - 1], before);",
        "waited = 1;",
        "}",
        "if (waited) __threadfence();",
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


@pytest.mark.parametrize(
    ("source", "counts"),
    [(LINE, (7,)), (PLANE, (5, 3)), (PLANE, (1, 4)), (CUBE, (3, 4, 2)), (CUBE, (1, 1, 5))],
    ids=["a line", "a plane", "one row", "a cube", "one edge"],
)
def test_gangs_take_columns_by_the_sum_of_their_coordinates(
    tmp_path: Path, source: str, counts: tuple[int, ...]
) -> None:
    """The emitted loop, compiled and run: each column once, in the same order for any number of gangs, and behind those
    that it waits for.
    """
    text = device_program(plan(source), CUDA).text
    diagonal = "" if len(counts) == 1 else text[text.index("static inline __device__ long long tilek_diagonal(") :]
    text = text[text.index("f_persistent(") :]
    text = text[text.index("so the first unfinished column never waits.") :]
    loop = text[text.index("*/") + 2 : text.index(";", text.index("const long long column = ")) + 1]
    names = ("t_block_2", "t_i_block_2", "t_j_block_2")[: len(counts)]
    given = " ".join(f"const long long {name}_columns = {count};" for name, count in zip(names, counts, strict=True))
    program = tmp_path / "columns.c"
    program.write_text(
        f"""#include <stdio.h>
        #include <stdlib.h>
        #define __device__
        {diagonal[: diagonal.find("}") + 1]}
        static long long tilek_maximum(long long a, long long b) {{ return a > b ? a : b; }}
        int main(int count, char **arguments) {{
            struct {{ int x; }} blockIdx = {{atoi(arguments[1])}}, gridDim = {{atoi(arguments[2])}};
            {given} (void)count; (void)tilek_maximum;
            {loop} printf("%lld\\n", column); }}
            return 0; }}"""
    )
    subprocess.run(["cc", "-o", str(tmp_path / "columns"), str(program)], check=True)

    def taken(gang: int, gangs: int) -> list[int]:
        done = subprocess.run(
            [str(tmp_path / "columns"), str(gang), str(gangs)], capture_output=True, text=True, check=True
        )
        return [int(line) for line in done.stdout.split()]

    places = list(itertools.product(*map(range, counts)))
    assert taken(0, 1) == sorted(range(len(places)), key=lambda column: (sum(places[column][:2]), column))
    for before, after in itertools.combinations(taken(0, 1), 2):
        assert any(a < b for a, b in zip(places[before], places[after], strict=True))
    for gangs in (2, 5):
        assert [taken(gang, gangs) for gang in range(gangs)] == [taken(0, 1)[gang::gangs] for gang in range(gangs)]
