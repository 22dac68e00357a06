"""Programs in C90: what is generated for them draws no warning there, and computes the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, COMPILER, TILECC, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment
from tilepragma.codegen.c90 import as_c90

PROGRAM = """\
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 120 };
struct point { double x, y; };

static int restrict = 3, inline_ = 4;
static double a[N][N], b[N][N];
static float c[N], d[N];
static struct point points[N];

static double mean(const double *v, int i)
{
    return (v[i - 1] + v[i + 1]) / 2;
}

int main(void)
{
    int i, j, t, n = N;
    unsigned u;
    long k;
    double sum = 0, *v = (double *)malloc(N * sizeof *v);
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++)
            a[i][j] = b[i][j] = (i * 7 + j * 3) % 11;
        c[i] = (float)i;
        v[i] = i;
    }
#pragma tilek kernel
    for (t = 0; t < 10; t++) {
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++)
                b[i][j] = (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) / 4;
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++)
                a[i][j] = b[i][j];
    }
#pragma tilek kernel data(v[0:N])
#pragma tilek loop independent
    for (u = 1; u < N - 1; u++) {
        double m = mean(v, (int)u);
        d[u] = (float)(m + sqrt(c[u]));
        points[u].y = m;
    }
#pragma tilek kernel
    for (t = 0; t < 5; t++)
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++)
                a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]) / 5;
#pragma tilek kernel
    for (k = N - 1; k >= 0; k -= 2)
        c[k] += (float)k / 3.0f;
#pragma tilek kernel
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            b[i][j] = 0;
            for (t = 0; t < n; t++)
                b[i][j] += a[i][t] * a[t][j];
        }
#pragma tilek data copy(c)
    {
#pragma tilek kernel async(1)
        for (i = 0; i < n; i++)
            c[i] += 0x10;
#pragma tilek wait
    }
    for (i = 0; i < n; i++)
        sum += b[i][n - 1 - i] + c[i] + d[i] + points[i].y;
    printf("%.17g %d\\n", sum, restrict + inline_);
    free(v);
    return 0;
}
"""
STRICT = (
    "-pedantic-errors",
    "-Wall",
    "-Wextra",
    "-Wlong-long",
    "-Wshadow",
    "-Wc++-compat",
    "-Werror",
    "-Wno-unknown-pragmas",
)
THREADS = TargetEnvironment("threads", (("TILEK_TARGET", "threads"),))


@pytest.mark.parametrize(
    ("compiler", "dialect"), [(COMPILER, "-ansi"), (COMPILER, "-std=iso9899:199409"), ("clang", "-std=gnu89")]
)
def test_no_warning_in_c90(workshop: Workshop, tmp_path: Path, compiler: str, dialect: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "p.c").write_text(PROGRAM)
    flags = (dialect, "-O1", "-ffp-contract=off", *STRICT)
    environment = {**tool_environment(workshop.cache), "TILEK_CC": compiler}
    run_command((compiler, *flags, "p.c", "-o", "original", "-lm"), environment, tmp_path, BUILD_SECONDS)
    said = run_command((*TILECC, *flags, "p.c", "-o", "p", "-lm"), environment, tmp_path, BUILD_SECONDS)
    assert said == ""
    assert workshop.run(tmp_path / "p", THREADS) == workshop.run(tmp_path / "original", THREADS)


def test_iterators_are_declared_before_their_loops() -> None:
    """Within braces, before what a compiler is told of the loop; texts and the user's loops stay."""
    text = """\
for (int i = 0; i < n; ++i) {
    #pragma GCC unroll 4
    for (unsigned long j = i; j < n; ++j)
        if (a[j])
            for (k = 0; k < n; ++k) f("for (int i = 0;)"); /* for (int i = 0;) restrict */
        else {
            restrict_ = p;
        }
}
double *restrict q;
"""
    expected = """\
{ int i; for (i = 0; i < n; ++i) {
{ unsigned long j;
    #pragma GCC unroll 4
    for (j = i; j < n; ++j)
        if (a[j])
            for (k = 0; k < n; ++k) f("for (int i = 0;)"); /* for (int i = 0;) restrict */
        else {
            restrict_ = p;
        } }
} }
double *__restrict__ q;
"""
    assert as_c90(text) == expected
