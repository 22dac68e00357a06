"""Generated threads against gcc's OpenMP with schedule(static): the same loops, flags and threads,
in alternating runs.

A run gives the median time of its launches, the table the median over the runs. The ratio is
OpenMP's time over ours: 1 is parity, the goal is at least 0.95. The last columns say how many loops
gcc's vectoriser reports in the original and in the emitted source (which holds the original too, as
the fallback).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measure import COMPILER, TILECC, TILEPRAGMA, alternate, environment, output_of, show

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-std=c99")

PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef PLAIN_OPENMP
#define DISTRIBUTED _Pragma("omp parallel for schedule(static)")
#else
#define DISTRIBUTED
#endif

@kernel@

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(void)
{
    const int n = @n@, m = @m@, repeats = @repeats@;
    float *const a = malloc(sizeof(float) * (size_t)n * (size_t)m);
    float *const b = malloc(sizeof(float) * (size_t)n * (size_t)m);
    if (a == NULL || b == NULL)
        return 2;
    for (size_t k = 0; k < (size_t)n * (size_t)m; ++k) {
        a[k] = (float)(k % 1013) * 0.01f;
        b[k] = 0.0f;
    }
    run(n, m, (float (*)[m])a, (float (*)[m])b);
    double seconds[@repeats@];
    for (int k = 0; k < repeats; ++k) {
        const double start = now();
        run(n, m, (float (*)[m])a, (float (*)[m])b);
        seconds[k] = now() - start;
    }
    qsort(seconds, (size_t)repeats, sizeof seconds[0], compare);
    printf("%.9f\n", seconds[repeats / 2]);
    fprintf(stderr, "%g\n", (double)b[(size_t)(n / 2) * (size_t)m + 7]);
    free(a);
    free(b);
    return 0;
}
"""

HEAD = """
__attribute__((noipa)) /* the loop must not see the sizes, nor merge with the repetitions */
void run(int n, int m, float A[n][m], float B[n][m])
{{
    {declarations}
#pragma tilek kernel data({read}, mode:r, live:in) data({written}, mode:rw, live:inout) num_threads({threads})
#pragma tilek loop tile(thread) tile(dynamic)
    DISTRIBUTED
{loop}}}
"""


@dataclass(frozen=True)
class Case:
    """A loop over A and B (n x m floats), how often a run repeats it, and the kernel's data."""

    n: int
    m: int
    launches: int
    loop: str
    declarations: str = ""
    read: str = "A[0:n][0:m]"
    written: str = "B[0:n][0:m]"


CASES = {
    "axpy": Case(
        2000,
        2000,
        60,
        """    for (int i = 0; i < count; ++i)
        y[i] = 0.5f * x[i] + y[i];
""",
        "const int count = n * m;\n    const float *x = &A[0][0];\n    float *y = &B[0][0];",
        "x[0:count]",
        "y[0:count]",
    ),
    "jacobi": Case(
        2000,
        2000,
        60,
        """    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < m - 1; ++j)
            B[i][j] = 0.2f * (A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
""",
    ),
    "conv2d": Case(
        2000,
        2000,
        40,
        """    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < m - 1; ++j)
            B[i][j] = 2.34 * A[i - 1][j - 1] + 4.64 * A[i - 1][j + 1] - 7.93 * A[i - 1][j] + 1.26 * A[i][j - 1]
                    + 0.64 * A[i + 1][j] + 1.34 * A[i][j + 1] - 2.17 * A[i - 1][j + 1] + 7.22 * A[i + 1][j - 1]
                    - 9.59 * A[i][j];
""",
    ),
    "sgemm": Case(
        500,
        500,
        8,
        """    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < m; ++j)
                B[i][j] += A[i][k] * A[k][j];
""",
    ),
    "row sums": Case(
        2000,
        1000,
        40,
        """    for (int i = 0; i < n; ++i) {
        float sum = 0.0f;
        for (int j = 0; j < m; ++j)
            sum += A[i][j] * A[i][m - 1 - j];
        B[i][0] = sum;
    }
""",
    ),
}


def vectorised(folder: Path, source: str, *more: str) -> str:
    """How many distinct lines with a vectorised loop gcc reports inside the kernels."""
    command = (COMPILER, *FLAGS, *more, "-fopt-info-vec-optimized", "-S", "-o", os.devnull, source)
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "?"
    return str(len(set(re.findall(r"^(\S+:\d+:\d+): optimized: loop vectorized", done.stderr, re.MULTILINE))))


def measure(folder: Path, threads: int, repeats: int, name: str) -> tuple[str, ...]:
    case = CASES[name]
    function = HEAD.format(
        declarations=case.declarations, read=case.read, written=case.written, threads=threads, loop=case.loop
    )
    text = PROGRAM.replace("@kernel@", function)
    for place, value in (("@n@", case.n), ("@m@", case.m), ("@repeats@", case.launches)):
        text = text.replace(place, str(value))
    (folder / "loop.c").write_text(text)
    output_of((*TILECC, *FLAGS, "-o", "ours", "loop.c"), folder)
    output_of((COMPILER, *FLAGS, "-DPLAIN_OPENMP", "-fopenmp", "-o", "openmp", "loop.c"), folder)
    output_of((COMPILER, *FLAGS, "-o", "serial", "loop.c"), folder)
    output_of((*TILEPRAGMA, "translate", "loop.c", "-o", "loop.tk.c"), folder)
    include = output_of((*TILEPRAGMA, "--cflags"), folder).split()
    settings = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true", "TILEK_TARGET": "threads"}
    programs = ("serial", "openmp", "ours")
    serial, openmp, ours = alternate(
        repeats,
        *(lambda program=program: float(output_of((f"./{program}",), folder, **settings)) for program in programs),
    )
    loops = vectorised(folder, "loop.c"), vectorised(folder, "loop.tk.c", *include)
    return name, f"{1e3 * serial:.3f}", f"{1e3 * openmp:.3f}", f"{1e3 * ours:.3f}", f"{openmp / ours:.2f}", *loops


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--repeats", type=int, default=9)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = [measure(Path(name), arguments.threads, arguments.repeats, body) for body in CASES]
    columns = ("loop", "serial ms", "OpenMP ms", "tilepragma ms", "ratio", "vectorised, original", "emitted")
    show(f"threads: {arguments.threads}; ratio = OpenMP / tilepragma, medians", columns, rows)


if __name__ == "__main__":
    main()
