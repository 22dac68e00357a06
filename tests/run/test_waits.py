"""How often the host waits for a CUDA device, and enters its context, counted by the stand-in: never between the launches of host loops."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.programs import Workshop
from tests.support.standin_counts import StandinCounts, standin_counts
from tests.support.targets import cuda_device_present, program_environment, target_environment

pytestmark = pytest.mark.skipif(cuda_device_present(), reason="a CUDA device is here, and nobody counts its waits")

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

static void relax(int steps, int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                b[i][j] = 0.25f * (a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i][j] = b[i][j];
    }
}

static void eliminate(int n, float a[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++)
            a[i][k] /= a[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 1, n = 40, m = 40;
    float *const a = malloc((size_t)n * m * sizeof *a), *const b = malloc((size_t)n * m * sizeof *b);
    if (a == NULL || b == NULL)
        return 2;
    for (int k = 0; k < n * m; k++) {
        a[k] = (float)(k % 17) + (k % (m + 1) == 0 ? 100.0f : 0.0f);
        b[k] = 0.5f;
    }
    if (argc > 2)
        eliminate(n, (void *)a);
    else
        relax(steps, n, m, (void *)a, (void *)b);
    printf("%.9g\n", a[n * m / 2 + 5]);
    free(a);
    free(b);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Path:
    folder = workshop.folder / "waits"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "waits.c"
    source.write_text(PROGRAM)
    return workshop.build_translated(source)


def counts(workshop: Workshop, program: Path, *arguments: str) -> StandinCounts:
    target = target_environment("cuda", workshop.cache)
    environment = program_environment(target, workshop.cache, TILEK_STANDIN_COUNTS="1")
    done = subprocess.run(
        (str(program), *arguments), env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return standin_counts(done.stderr)


def test_time_steps_follow_each_other_without_a_wait(workshop: Workshop, program: Path) -> None:
    few, many = (counts(workshop, program, steps) for steps in ("3", "50"))
    assert (few.launches, many.launches) == (6, 100)
    assert few.copies == many.copies == 4, "two arrays in, two out"
    assert few.waits == many.waits == few.copies + 1, "one for each copy, and one for all launches"
    assert few.entries == many.entries, "the context is entered once for all launches"


def test_wavefronts_and_changing_bounds_need_no_wait_either(workshop: Workshop, program: Path) -> None:
    result = counts(workshop, program, "1", "eliminate")
    assert result.launches > 3
    assert (result.copies, result.waits) == (2, 3)
