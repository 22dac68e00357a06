"""Generated threads against gcc's OpenMP with schedule(static): the same loops, flags and threads, in alternating runs.

The ratio is OpenMP's time over ours: 1 is parity, the goal is at least 0.95. The last columns say how many loops gcc's
vectoriser reports in the original and in the emitted source.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
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
    printf("%.9f\n", seconds[repeats / 4]);
    fprintf(stderr, "%g\n", (double)b[(size_t)(n / 2) * (size_t)m + 7]);
    free(a);
    free(b);
    return 0;
}
"""

HEAD = """
__attribute__((noinline)) /* the repetitions must not merge with the loop */
void run(int n, int m, float A[n][m], float B[n][m])
{{
#ifdef OURS
#pragma tilek kernel data(A[0:n][0:m], mode:r, live:in) data(B[0:n][0:m], mode:rw, live:inout) num_threads({threads})
#pragma tilek loop tile(thread) tile(dynamic)
#endif
    DISTRIBUTED
"""

BODIES = {
    "triad": (
        """    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            B[i][j] = A[i][j] * 0.5f + B[i][j];
}
""",
        1000,
        1000,
        200,
    ),
    "stencil": (
        """    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < m - 1; ++j)
            B[i][j] = 0.2f * (A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
}
""",
        1500,
        1500,
        100,
    ),
    "product": (
        """    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < m; ++j)
                B[i][j] += A[i][k] * A[k][j];
}
""",
        500,
        500,
        5,
    ),
    "row sums": (
        """    for (int i = 0; i < n; ++i) {
        float sum = 0.0f;
        for (int j = 0; j < m; ++j)
            sum += A[i][j] * A[i][m - 1 - j];
        B[i][0] = sum;
    }
}
""",
        2000,
        1000,
        50,
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
    body, n, m, launches = BODIES[name]
    text = PROGRAM.replace("@kernel@", HEAD.format(threads=threads) + body)
    for place, value in (("@n@", n), ("@m@", m), ("@repeats@", launches)):
        text = text.replace(place, str(value))
    (folder / "loop.c").write_text(text)
    output_of((*TILECC, *FLAGS, "-DOURS", "-o", "ours", "loop.c"), folder)
    output_of((COMPILER, *FLAGS, "-DPLAIN_OPENMP", "-fopenmp", "-o", "openmp", "loop.c"), folder)
    output_of((COMPILER, *FLAGS, "-o", "serial", "loop.c"), folder)
    output_of((*TILEPRAGMA, "translate", "-DOURS", "loop.c", "-o", "loop.tk.c"), folder)
    include = output_of((*TILEPRAGMA, "--cflags"), folder).split()
    settings = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true", "TILEK_TARGET": "threads"}
    programs = ("serial", "openmp", "ours")
    serial, openmp, ours = alternate(
        repeats,
        *(lambda program=program: float(output_of((f"./{program}",), folder, **settings)) for program in programs),
    )
    loops = vectorised(folder, "loop.c"), vectorised(folder, "loop.tk.c", "-DOURS", *include)
    return name, f"{1e3 * serial:.3f}", f"{1e3 * openmp:.3f}", f"{1e3 * ours:.3f}", f"{openmp / ours:.2f}", *loops


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--repeats", type=int, default=7)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = [measure(Path(name), arguments.threads, arguments.repeats, body) for body in BODIES]
    columns = ("loop", "serial ms", "OpenMP ms", "tilepragma ms", "ratio", "vectorised, original", "emitted")
    show(f"threads: {arguments.threads}; ratio = OpenMP / tilepragma, medians", columns, rows)


if __name__ == "__main__":
    main()
