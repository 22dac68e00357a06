"""MPI programs through their compiler wrapper: every rank runs its kernels, and any number of ranks computes the same bits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, FLAGS, RUN_SECONDS, TILECC, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment, program_environment, target_environment

#: Jacobi's method on rows that are distributed over the ranks, with a row of each neighbour beside
#: them.
PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 37, COLUMNS = 53, STEPS = 12 };

static int first_row(int rank, int ranks)
{
    return rank * ROWS / ranks;
}

static void sweep(int rows, double (*restrict next)[COLUMNS], double (*restrict grid)[COLUMNS])
{
#pragma tilek kernel
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < COLUMNS - 1; j++)
            next[i][j] = 0.3 * grid[i][j] + 0.175 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int first = first_row(rank, ranks), rows = first_row(rank + 1, ranks) - first;
    const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    double(*grid)[COLUMNS] = calloc((size_t)rows + 2, sizeof *grid), (*next)[COLUMNS] = calloc((size_t)rows + 2, sizeof *next);
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < COLUMNS; j++)
            next[i][j] = grid[i][j] = ((first + i) * 31 + j * 17) % 101 / 7.0;
    for (int step = 0; step < STEPS; step++) {
        MPI_Sendrecv(grid[1], COLUMNS, MPI_DOUBLE, above, 1, grid[rows + 1], COLUMNS, MPI_DOUBLE, below, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(grid[rows], COLUMNS, MPI_DOUBLE, below, 2, grid[0], COLUMNS, MPI_DOUBLE, above, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        sweep(rows, next, grid);
        double(*const old)[COLUMNS] = grid;
        grid = next;
        next = old;
    }
    if (rank > 0) {
        MPI_Send(grid[1], rows * COLUMNS, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    } else {
        double whole[ROWS][COLUMNS];
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < COLUMNS; j++)
                whole[i][j] = grid[i + 1][j];
        for (int other = 1; other < ranks; other++) {
            const int start = first_row(other, ranks);
            MPI_Recv(whole[start], (first_row(other + 1, ranks) - start) * COLUMNS, MPI_DOUBLE, other, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                printf("%a\\n", whole[i][j]);
    }
    free(grid);
    free(next);
    MPI_Finalize();
    return 0;
}
"""
#: For machines with fewer cores than ranks, and for containers where everyone is root.
LAUNCHER = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def folder_of(name: str) -> Path | None:
    """Where an MPI has its mpicc and mpirun: the wheel that .ci/environment installs in a folder of its own, else the system's for one of them."""
    system = shutil.which("mpicc") if name == "openmpi" else None
    folders = (Path(sys.prefix, name, "bin"), *([Path(system).parent] if system else []))
    return next((each for each in folders if (each / "mpicc").is_file() and (each / "mpirun").is_file()), None)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_ranks_compute_the_same_bits(workshop: Workshop, shared_scratch: Path, tmp_path: Path, name: str) -> None:
    folder = folder_of(name)
    if folder is None:
        pytest.skip(f"no {name} here: its wheel is not installed")
    (tmp_path / "jacobi.c").write_text(PROGRAM)
    environment = {**tool_environment(workshop.cache), "TILEK_CC": str(folder / "mpicc")}
    flags = [flag for flag in FLAGS if flag not in ("-Wpedantic", "-Werror")]  # headers of MPI are not ours
    run_command((str(folder / "mpicc"), *flags, "jacobi.c", "-o", "original"), environment, tmp_path, BUILD_SECONDS)
    run_command((*TILECC, *flags, "jacobi.c", "-o", "jacobi"), environment, tmp_path, BUILD_SECONDS)

    def run(program: str, ranks: int, variables: dict[str, str]) -> list[str]:
        command = [str(folder / "mpirun"), "-n", str(ranks), f"./{program}"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**variables, **LAUNCHER},
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        assert "tilek:" not in done.stderr
        return done.stdout.split()

    expected = run("original", 1, dict(os.environ))
    assert len(expected) == 37 * 53
    opencl = target_environment("opencl", shared_scratch)
    threads = TargetEnvironment(
        "threads", (("TILEK_TARGET", "threads"), ("TILEK_NUM_THREADS", "2"), ("TILEK_STRICT", "1"))
    )
    for target in (threads, *([opencl] if opencl.absent is None else [])):
        for ranks in (1, 2, 3, 4) if target is threads else (1, 3):
            assert run("jacobi", ranks, program_environment(target, workshop.cache)) == expected, (target.name, ranks)
