"""Programs with threads and children of their own, odd sizes, early ends: what happens around kernels, on each target."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.programs import Workshop
from tests.support.targets import TargetEnvironment, program_environment

PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000, WORKERS = 6 };

static void scale(int n, double *a, double by)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout) num_gangs(3) num_workers(4)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] = a[i] * by + 1.0;
}

static double total(int n, const double *a)
{
    double sum = 0;
#pragma tilek kernel data(a[0:n], mode:r) reduction(+: sum) num_gangs(3)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < n; ++i)
        sum += a[i];
    return sum;
}

static void *work(void *array)
{
    for (int round = 0; round < 10; ++round)
        scale(N, array, 0.5);
    return NULL;
}

static double arrays[WORKERS][N];

static void from_threads(void)
{
    pthread_t threads[WORKERS];
    for (int k = 0; k < WORKERS; ++k)
        pthread_create(&threads[k], NULL, work, arrays[k]);
    for (int k = 0; k < WORKERS; ++k)
        pthread_join(threads[k], NULL);
}

static void from_openmp(void)
{
#pragma omp parallel for
    for (int k = 0; k < WORKERS; ++k)
        work(arrays[k]);
}

static void from_child(void)
{
    int status = 0;
    pid_t child;
    scale(N, arrays[0], 2.0);
    child = fork();
    if (child == 0) {
        scale(N, arrays[0], 0.5);
        exit(total(N, arrays[0]) == 501000 ? 3 : 4);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    scale(N, arrays[0], 0.5);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (int k = 0; k < WORKERS; ++k)
        for (int i = 0; i < N; ++i)
            arrays[k][i] = i;
    if (strcmp(what, "threads") == 0)
        from_threads();
    if (strcmp(what, "openmp") == 0)
        from_openmp();
    if (strcmp(what, "child") == 0)
        from_child();
    if (strcmp(what, "nothing") == 0) {
        scale(0, NULL, 2.0);
        scale(-7, arrays[0], 2.0);
        scale(-7, NULL, 2.0);
        printf("%g %g\n", total(0, NULL), total(-7, NULL));
    }
    for (int k = 0; k < WORKERS; ++k)
        printf("%.17g\n", total(N, arrays[k]));
    if (strcmp(what, "exit") == 0)
        exit(5);
    fflush(stdout);
    if (strcmp(what, "_exit") == 0)
        _exit(6);
    return 0;
}
"""
STATUSES = {"exit": 5, "_exit": 6}


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> tuple[Path, Path]:
    """The original and the translated program."""
    folder = workshop.folder / "processes"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "processes.c"
    source.write_text(PROGRAM)
    flags = ("-std=c99", "-O1", "-ffp-contract=off", "-fopenmp", "-Wall", "-Wextra", "-Wno-unknown-pragmas")
    return workshop.build_original(source, flags), workshop.build_translated(source, flags)


def run(
    workshop: Workshop, program: Path, target: TargetEnvironment, what: str, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = program_environment(target, workshop.cache, **more)
    return subprocess.run(
        [str(program), what], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("what", ["threads", "openmp", "child", "nothing", "exit", "_exit"])
def test_around_kernels(workshop: Workshop, target: TargetEnvironment, programs: tuple[Path, Path], what: str) -> None:
    original = run(workshop, programs[0], TargetEnvironment("original", ()), what)
    translated = run(workshop, programs[1], target, what, TILEK_STRICT="0")
    assert translated.returncode == original.returncode == STATUSES.get(what, 0), translated.stderr
    assert translated.stdout == original.stdout
    warnings = [line for line in translated.stderr.splitlines() if "warning" in line]
    shared = what == "child" and target.runtime in ("opencl", "cuda")
    assert len(warnings) == shared, "a child cannot use what its parent has opened, and says so once"


@pytest.mark.parametrize("strict", ["0", "1"])
def test_an_absent_device_is_told_once(workshop: Workshop, programs: tuple[Path, Path], strict: str) -> None:
    """The program has two kernels; the second does not ask again."""
    opencl = TargetEnvironment("opencl", (("TILEK_TARGET", "opencl"), ("TILEK_OPENCL_LIBRARY", "/nonexistent")))
    done = run(workshop, programs[1], opencl, "child", TILEK_STRICT=strict)
    (line,) = [line for line in done.stderr.splitlines() if "tilek" in line]
    assert done.returncode == (71 if strict == "1" else 0)
    assert ("it runs on threads instead, and opencl is not tried again" in line) is (strict == "0")
    assert "TILEK_OPENCL_LIBRARY names /nonexistent" in line
