"""Runs of many launches that come again, recorded as CUDA's graphs: on the stand-in, which records and plays what it is given, and counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cuda_standin.build import build_standin
from tests.support.programs import Workshop
from tests.support.standin_counts import StandinCounts, standin_counts
from tests.support.targets import cuda_device_present, program_environment, target_environment

pytestmark = pytest.mark.skipif(cuda_device_present(), reason="a CUDA device is here, and nobody counts its graphs")

RUNS = 5
ORDER = 20

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void eliminate(int n, float a[n][n], float scale)
{
#pragma tilek kernel
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++)
            a[i][k] = a[i][k] * scale / a[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}

static void relax(int steps, int n, float *restrict a, float *restrict b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.25f * (a[i - 1] + a[i + 1]) + 0.5f * a[i];
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}

static void relax_later(int steps, int n, float *restrict a, float *restrict b)
{
#pragma tilek kernel async(1)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.25f * (a[i - 1] + a[i + 1]) + 0.5f * a[i];
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}

static void norm(int steps, int n, float *restrict a, long *sum)
{
    long s = 0;
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            a[i] = a[i] + 1;
        for (int i = 0; i < n; i++)
            s += (long)a[i];
    }
    *sum = s;
}

static void fill(int count, float *a)
{
    for (int k = 0; k < count; k++)
        a[k] = (float)(k % 17) + (k % 21 == 0 ? 100.0f : 0.0f);
}

int main(int argc, char **argv)
{
    const int runs = 5, n = 20, count = n * n;
    float *const a = malloc((size_t)count * sizeof *a), *const b = malloc((size_t)count * sizeof *b);
    long sum = 0;
    if (argc != 2 || a == NULL || b == NULL)
        return 2;
    fill(count, a);
    fill(count, b);
    for (int run = 0; run < runs && strcmp(argv[1], "swap") != 0; run++) {
        if (strcmp(argv[1], "same") == 0) {
            fill(count, a);
            eliminate(n, (void *)a, 0.5f);
        } else if (strcmp(argv[1], "scalar") == 0) {
            fill(count, a);
            eliminate(n, (void *)a, 0.5f + (float)run);
        } else if (strcmp(argv[1], "few") == 0)
            relax(3, count, a, b);
        else if (strcmp(argv[1], "reduce") == 0)
            norm(10, count, a, &sum);
        else {
            relax_later(10, count, a, b);
#pragma tilek wait
        }
        for (int k = 0; k < count; k += 13)
            printf("%.9g ", a[k]);
        printf("%ld\n", sum);
    }
    if (strcmp(argv[1], "swap") == 0) {
#pragma tilek data copy(a[0:count], b[0:count])
        for (int run = 0; run < runs; run++) {
            relax(10, count, a, b);
            relax(10, count, b, a);
        }
        for (int k = 0; k < count; k += 13)
            printf("%.9g %.9g\n", a[k], b[k]);
    }
    free(a);
    free(b);
    return 0;
}
"""


class Program:
    """The program, built once."""

    def __init__(self, workshop: Workshop) -> None:
        self.cache = workshop.cache
        self.standin = dict(target_environment("cuda", workshop.cache).variables)
        folder = workshop.folder / "graphs"
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "graphs.c"
        source.write_text(PROGRAM)
        self.path = workshop.build_translated(source)

    def run(self, case: str, **more: str) -> StandinCounts:
        """On the stand-in; it has to print what it prints when it runs on the host alone."""
        done = self.start(case, **self.standin | {"TILEK_STANDIN_COUNTS": "1"} | more)
        assert done.returncode == 0, done.stderr
        assert done.stdout == self.start(case, TILEK_TARGET="serial").stdout
        assert "left behind" not in done.stderr and "unloaded" not in done.stderr, done.stderr
        return standin_counts(done.stderr)

    def start(self, case: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = program_environment(target_environment("serial", self.cache), self.cache)
        return subprocess.run(
            (str(self.path), case),
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Program:
    return Program(workshop)


@pytest.fixture(scope="module")
def one_by_one(program: Program) -> StandinCounts:
    """Without graphs: all launches of all runs."""
    result = program.run("same", TILEK_GRAPHS="0")
    assert (result.graphs, result.played) == (0, 0)
    assert result.launches % RUNS == 0 and result.launches >= RUNS * ORDER
    return result


def test_what_comes_again_is_launched_at_once(program: Program, one_by_one: StandinCounts) -> None:
    result = program.run("same")
    assert (result.graphs, result.played) == (1, RUNS - 1)
    assert result.launches * RUNS == one_by_one.launches, "those of the first run alone"


def test_programs_of_all_numbers_have_graphs_too(program: Program) -> None:
    assert program.run("same", TILEK_SPECIALIZE="0").played == RUNS - 1


def test_arrays_that_take_turns(program: Program) -> None:
    result = program.run("swap")
    assert (result.graphs, result.played) == (2, 2 * (RUNS - 1))


def test_queues(program: Program) -> None:
    assert program.run("later").played == RUNS - 1


@pytest.mark.parametrize("case", ["scalar", "few", "reduce"])
def test_runs_without_graphs(program: Program, case: str) -> None:
    result = program.run(case)
    assert result.launches > 0 and (result.graphs, result.played) == (0, 0)


def test_launches_are_timed_one_by_one(program: Program, one_by_one: StandinCounts) -> None:
    result = program.run("same", TILEK_PROFILE="1")
    assert (result.launches, result.graphs) == (one_by_one.launches, 0)
    assert "eliminate" in result.output


def test_what_is_played_is_verified(program: Program) -> None:
    result = program.run("same", TILEK_VERIFY="1", TILEK_TOLERANCE="0")
    assert result.played == RUNS - 1
    assert "a: largest difference 0 absolute" in result.output


@pytest.mark.parametrize(("kind", "graphs"), [("capture", 0), ("endcapture", 0), ("graph", 0), ("play", 1)])
def test_what_cannot_be_recorded_is_launched(
    program: Program, one_by_one: StandinCounts, kind: str, graphs: int
) -> None:
    result = program.run("same", TILEK_STANDIN_FAIL=kind)
    assert (result.launches, result.graphs, result.played) == (one_by_one.launches, graphs, 0)
    assert "warning" not in result.output


def test_a_driver_without_graphs(program: Program, one_by_one: StandinCounts, tmp_path: Path) -> None:
    result = program.run("same", **build_standin(tmp_path / "old", "-DSTANDIN_WITHOUT_GRAPHS"))
    assert (result.launches, result.graphs, result.played) == (one_by_one.launches, 0, 0)


def test_a_device_that_fails_while_it_plays(program: Program, one_by_one: StandinCounts) -> None:
    launch = 2 * one_by_one.launches // RUNS + 3
    expected = program.start("same", TILEK_TARGET="serial").stdout
    failing = {"TILEK_OPENCL_LIBRARY": "none", "TILEK_STRICT": "0", "TILEK_STANDIN_FAIL": f"launch:{launch}"}
    done = program.start("same", **program.standin | failing)
    assert done.returncode == 0 and done.stdout == expected, done.stderr
    assert "unspecified launch failure" in done.stderr
