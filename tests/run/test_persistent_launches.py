"""All wavefronts in one launch whose gangs wait for each other: on the CUDA stand-in, which has them there at once and runs one as far as it can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.programs import Workshop
from tests.support.standin_counts import StandinCounts, standin_counts
from tests.support.targets import cuda_device_present, program_environment, target_environment

pytestmark = pytest.mark.skipif(
    cuda_device_present(), reason="a CUDA device is here, and nobody puts its gangs in order"
)

PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void relax(int steps, int n, double u[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
}

static void relax_cube(int steps, int n, float u[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    u[i][j][k] = 0.1f * (u[i - 1][j][k] + u[i + 1][j][k] + u[i][j - 1][k] + u[i][j + 1][k] + u[i][j][k - 1] + u[i][j][k + 1]);
}

static void align(int n, int score[n][n], const int *a, const int *b)
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
            score[i][j] = score[i - 1][j - 1] + (a[i] == b[j] ? 3 : -1);
            if (score[i][j] < score[i - 1][j] - 2)
                score[i][j] = score[i - 1][j] - 2;
            if (score[i][j] < score[i][j - 1] - 2)
                score[i][j] = score[i][j - 1] - 2;
        }
}

static double relax_once(int n, double u[n][n])
{
    double change = 0, old;
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            old = u[i][j];
            u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
            change = fmax(change, fabs(u[i][j] - old));
        }
    return change;
}

static void accumulate(int queue, int n, int sum[n][n])
{
#pragma tilek kernel async(queue)
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            sum[i][j] = (sum[i][j] + sum[i - 1][j] + 3 * sum[i][j - 1]) % 1000;
}

int main(int argc, char **argv)
{
    const int runs = 3, n = atoi(argv[2]);
    const size_t count = (size_t)n * n * (strcmp(argv[1], "cube") == 0 ? n : 1);
    double *const u = malloc(count * sizeof *u);
    float *const v = malloc(count * sizeof *v);
    int *const s = calloc(count, sizeof *s), *const a = malloc(sizeof(int) * n), *const b = malloc(sizeof(int) * n);
    if (argc != 3 || u == NULL || v == NULL || s == NULL || a == NULL || b == NULL)
        return 2;
    for (size_t k = 0; k < count; k++) {
        u[k] = (double)(k * 7919 % 1009);
        v[k] = (float)(k * 7919 % 1009);
    }
    for (int k = 0; k < n; k++) {
        a[k] = k * 31 % 4;
        b[k] = k * 17 % 5;
    }
    for (int run = 0; run < runs; run++)
        if (strcmp(argv[1], "cube") == 0)
            relax_cube(9, n, (void *)v);
        else if (strcmp(argv[1], "align") == 0)
            align(n, (void *)s, a, b);
        else if (strcmp(argv[1], "once") == 0)
            printf("%.17g\n", relax_once(n, (void *)u));
        else if (strcmp(argv[1], "sizes") == 0)
            align(run == 1 ? n : n / 2, (void *)s, a, b);
        else if (strcmp(argv[1], "queues") == 0) {
            for (int k = 0; k < n / 2; k++)
                s[k] = s[count / 2 + k] = k % 7;
            accumulate(1, n / 2, (void *)s);
            accumulate(2, n / 2, (void *)(s + count / 2));
#pragma tilek wait
        }
        else
            relax(20, n, (void *)u);
    for (size_t k = 0; k < count; k += 7)
        printf("%.17g %.9g %d\n", u[k], v[k], s[k]);
    free(u);
    free(v);
    free(s);
    free(a);
    free(b);
    return 0;
}
"""
RUNS = 3
#: Two tiles of time steps by three of rows: every column has a gang of its own among the eight that
#: are there at once.
FEW_COLUMNS = "relax.t_size=10,relax.t_i_size=32,relax.t_j_size=8"


class Program:
    """The program, built once."""

    def __init__(self, workshop: Workshop) -> None:
        self.cache = workshop.cache
        self.standin = dict(target_environment("cuda", workshop.cache).variables)
        folder = workshop.folder / "persistent"
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "persistent.c"
        source.write_text(PROGRAM)
        self.path = workshop.build_translated(source)

    def start(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = program_environment(target_environment("serial", self.cache), self.cache)
        return subprocess.run(
            (str(self.path), *arguments),
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def run(self, case: str, size: int, **more: str) -> StandinCounts:
        """On the stand-in; it has to print what it prints when it runs on the host alone."""
        done = self.on_standin(case, size, **more)
        assert done.returncode == 0, done.stderr
        assert done.stdout == self.start(case, str(size)).stdout
        assert "left behind" not in done.stderr and "warning" not in done.stderr, done.stderr
        return standin_counts(done.stderr)

    def on_standin(self, case: str, size: int, **more: str) -> subprocess.CompletedProcess[str]:
        return self.start(case, str(size), **self.standin | {"TILEK_STANDIN_COUNTS": "1"} | more)


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Program:
    return Program(workshop)


@pytest.mark.parametrize("order", ["forward", "reverse"])
@pytest.mark.parametrize(("case", "size"), [("plane", 70), ("plane", 131), ("align", 150), ("once", 150)])
def test_wavefronts_in_one_launch_are_those_of_the_host(program: Program, case: str, size: int, order: str) -> None:
    result = program.run(case, size, CUDA_STANDIN_ORDER=order)
    assert (result.launches, result.cooperative) == (RUNS, RUNS)
    assert result.graphs == 0, "what a launch is given differs from run to run"


def test_flags_of_one_run_serve_the_next(program: Program) -> None:
    """Of more columns, and of other wavefronts."""
    assert program.run("sizes", 300, CUDA_STANDIN_ORDER="reverse").cooperative == RUNS


def test_queues_have_flags_of_their_own(program: Program) -> None:
    assert program.run("queues", 300, CUDA_STANDIN_ORDER="reverse").cooperative == 2 * RUNS


def test_columns_of_three_coordinates(program: Program) -> None:
    sizes = ",".join(f"relax_cube.{row}_size={size}" for row, size in (("t", 4), ("t_i", 8), ("t_j", 9), ("t_k", 8)))
    assert program.run("cube", 21, TILEK_SIZES=sizes, CUDA_STANDIN_ORDER="reverse").cooperative == RUNS


def test_all_numbers_as_arguments(program: Program) -> None:
    assert program.run("plane", 70, TILEK_SPECIALIZE="0", CUDA_STANDIN_ORDER="reverse").cooperative == RUNS


@pytest.mark.parametrize("sizes", ["relax.t_size=1", "relax.t_size=64,relax.t_i_size=7,relax.t_j_size=5", FEW_COLUMNS])
def test_tiles_of_other_sizes(program: Program, sizes: str) -> None:
    assert program.run("plane", 70, TILEK_SIZES=sizes, CUDA_STANDIN_ORDER="reverse").cooperative == RUNS


@pytest.mark.parametrize(
    "left_out",
    [
        "t_i_block_2_seen = tilek_await(&tilek_flags[column - 1], before)",
        "t_block_2_seen = tilek_await(&tilek_flags[column - t_i_block_2_columns], before)",
    ],
)
def test_the_standin_shows_a_wait_that_is_missing(program: Program, tmp_path: Path, left_out: str) -> None:
    """In its adverse order; so that the runs above say something."""
    wrong = {"TILEK_STANDIN_BLANK": left_out, "TILEK_CACHE_DIR": str(tmp_path), "CUDA_STANDIN_ORDER": "reverse"}
    done = program.on_standin("plane", 70, TILEK_SIZES=FEW_COLUMNS, **wrong)
    assert done.returncode == 0, done.stderr
    assert standin_counts(done.stderr).cooperative == RUNS
    assert done.stdout != program.start("plane", "70").stdout


def test_the_standin_shows_gangs_that_wait_for_ever(program: Program, tmp_path: Path) -> None:
    wrong = {"TILEK_STANDIN_BLANK": "tilek_post(&tilek_flags[column], before + 1)", "TILEK_CACHE_DIR": str(tmp_path)}
    done = program.on_standin("plane", 70, **wrong)
    assert "blocks wait for what nobody does" in done.stderr


@pytest.mark.parametrize(
    "without",
    [
        {"TILEK_PERSISTENT": "0"},
        {"TILEK_STANDIN_FAIL": "cooperative"},
        {"TILEK_STANDIN_FAIL": "timeout"},
        {"TILEK_STANDIN_FAIL": "resident"},
        {"TILEK_SIZES": "relax.t_size=64,relax.t_i_size=64,relax.t_j_size=32"},
    ],
    ids=["switched off", "no cooperative launches", "kernels are timed out", "no room for a gang", "few wavefronts"],
)
def test_wavefronts_are_launched_one_by_one(program: Program, without: dict[str, str]) -> None:
    result = program.run("plane", 70, TILEK_GRAPHS="0", **without)
    assert result.cooperative == 0 and result.launches > RUNS


def test_fewer_gangs_than_the_device_said_do_as_well(program: Program) -> None:
    result = program.run("plane", 70, TILEK_STANDIN_FAIL="toolarge:1")
    assert result.cooperative == RUNS


def test_without_memory_for_flags_wavefronts_are_launched_one_by_one(program: Program) -> None:
    """The first memory that the device gives is the array's, the second the flags'; there is more for the runs after that."""
    result = program.run("plane", 70, TILEK_STANDIN_FAIL="alloc:2")
    assert result.cooperative == RUNS - 1 and result.launches > 2 * RUNS
    assert "cannot run on cuda" not in result.output


def test_boxes_that_never_arrived_are_brought_again(program: Program) -> None:
    """The third copy of the program is that of the boxes, behind those of the flags and the array. The run goes on on cores."""
    done = program.on_standin("plane", 70, TILEK_STANDIN_FAIL="copyin:3", TILEK_STRICT="0")
    assert done.stdout == program.start("plane", "70").stdout
    assert standin_counts(done.stderr).cooperative == RUNS - 1
    assert "cannot run on cuda" in done.stderr


def test_a_launch_that_fails_leaves_the_data_as_they_were(program: Program) -> None:
    done = program.on_standin("plane", 70, TILEK_STANDIN_FAIL="launch:2", TILEK_STRICT="0")
    assert done.returncode == 0, done.stderr
    assert "cannot run on cuda" in done.stderr
    assert done.stdout == program.start("plane", "70").stdout


def test_profiles_count_one_step(program: Program) -> None:
    result = program.run("plane", 70, TILEK_PROFILE="1")
    (row,) = [line.split() for line in result.output.splitlines() if line.startswith("  relax ")]
    assert row[1:3] == ["cuda", str(RUNS)]
