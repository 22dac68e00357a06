"""Algorithms 4.1 and 4.2 on C text, by way of the Scop: decreasing loops, conditions on data, and time."""

from __future__ import annotations

import time

import islpy as isl
import pytest

from tests.support.band_orders import matrix
from tests.support.c_functions import HYPERPLANES, c_function
from tests.support.scops import scop
from tests.thesis.schedule_legality import untilable, violations
from tilepragma.poly.dependences import memory_dependences, value_dependences
from tilepragma.poly.hyperplanes import tiling_hyperplanes
from tilepragma.poly.schedule import Schedule
from tilepragma.poly.scop import Scop
from tilepragma.poly.wavefronts import band_wavefronts


def planned(parameters: str, body: str) -> tuple[Scop, Schedule]:
    made = scop(parameters, body)
    result = value_dependences(memory_dependences(made))
    schedule = tiling_hyperplanes(made.statements, result)
    assert violations(schedule, result) == ()
    assert untilable(schedule, result) == ()
    return made, schedule


FIGURE_3_4 = "for (int j = 1; j <= J; j++) for (int i = 1; i <= I; i++) A[i] = 0.5 * (A[i] + A[i + 1]);"


def test_figure_3_4_from_c() -> None:
    _, schedule = planned("int J, int I, double A[I + 2]", FIGURE_3_4)
    (only,) = schedule
    assert matrix(only) == ((1, 0), (1, 1))


def test_a_decreasing_loop_is_reversed_and_back() -> None:
    body = "for (int j = 1; j <= J; j++) for (int i = I; i >= 1; i--) A[i] = 0.5 * (A[i] + A[i - 1]);"
    _, schedule = planned("int J, int I, double A[I + 2]", body)
    (only,) = schedule
    assert matrix(only) == ((1, 0), (1, 1)), "the mirror image of Figure 3.4"
    context = only.statement.domain.get_ctx()
    mirrored = isl.Map(f"[I, J] -> {{ {only.statement.name}[j, i] -> [j, j - i] }}", context=context)
    assert only.map.is_equal(mirrored)


def in_c(name: str) -> tuple[str, str]:
    """Parameters and body of a kernel that tests/run runs."""
    result = c_function(HYPERPLANES, name)
    return result.parameters, result.body


KERNELS = {
    "gemm": (
        "int n, double C[n][n], double A[n][n], double B[n][n]",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) C[i][j] *= 2; "
        "for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) C[i][j] += A[i][k] * B[k][j]; }",
    ),
    "lu": in_c("lu"),
    "paths": in_c("shortest_paths"),
    "seidel": in_c("seidel2d"),
    "adi": (
        "int T, int n, double u[n][n], double v[n][n], double p[n][n], double q[n][n]",
        "for (int t = 1; t <= T; t++) { for (int i = 1; i < n - 1; i++) { v[0][i] = 1; p[i][0] = 0; q[i][0] = v[0][i]; "
        "for (int j = 1; j < n - 1; j++) { p[i][j] = 1 / p[i][j-1]; q[i][j] = (u[j][i-1] + u[j][i] + u[j][i+1]) / p[i][j-1]; } "
        "v[n-1][i] = 1; for (int j = n - 2; j >= 1; j--) v[j][i] = p[i][j] * v[j+1][i] + q[i][j]; } "
        "for (int i = 1; i < n - 1; i++) { u[i][0] = 1; p[i][0] = 0; q[i][0] = u[i][0]; "
        "for (int j = 1; j < n - 1; j++) { p[i][j] = 1 / p[i][j-1]; q[i][j] = (v[i-1][j] + v[i][j] + v[i+1][j]) / p[i][j-1]; } "
        "u[i][n-1] = 1; for (int j = n - 2; j >= 1; j--) u[i][j] = p[i][j] * u[i][j+1] + q[i][j]; } }",
    ),
}


def test_parallelism_without_synchronisation_is_not_skewed_away() -> None:
    program = scop(*KERNELS["gemm"])
    schedule = tiling_hyperplanes(program.statements, value_dependences(memory_dependences(program)))
    scaling, product = schedule
    assert matrix(scaling)[:2] == ((1, 0), (0, 1))
    assert matrix(product) == ((1, 0, 0), (0, 0, 1), (0, 1, 0)), "i, j, k, where the text has i, k, j"
    (found,) = band_wavefronts(schedule, value_dependences(memory_dependences(program)))
    assert found.carrying == (2,), "k alone is sequential"


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_scheduled_legally_and_soon(name: str) -> None:
    started = time.process_time()
    planned(*KERNELS[name])
    assert time.process_time() - started < 20, "seconds where milliseconds are usual: the search has lost its bounds"
