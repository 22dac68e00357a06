"""Options that users of the underlying compiler rely on: many warnings as errors, static programs, checkers, odd names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, TILECC, Failure, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment

PROGRAM = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct grid { size_t n; float *values; };

static double work(size_t n, const float *restrict x, double *restrict y, uint8_t *restrict bits)
{
    double s = 0.0;
#pragma tilek kernel data(x[0:n], mode:r, live:in) data(y[0:n], bits[0:n], mode:rw, live:inout)
#pragma tilek loop independent
    for (size_t i = 0; i < n; i++) {
        y[i] += (double)(sqrtf(x[i]) * 2.0F);
        bits[i] = (uint8_t)(bits[i] ^ (i & 0xFFU));
    }
#pragma tilek kernel data(y[0:n], mode:r) reduction(max: s)
#pragma tilek loop independent
    for (size_t i = 0; i < n; i++)
        s = y[i] > s ? y[i] : s;
    return s;
}

static void fill(struct grid *g)
{
#pragma tilek kernel data(g->values[0:g->n], mode:rw, live:inout) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (size_t i = 0; i < g->n; ++i)
        g->values[i] = (float)i;
}

int main(void)
{
    float values[100] = { 0.0F };
    double largest, y[100] = { 0.0 };
    uint8_t bits[100] = { 0U };
    struct grid g = { 100U, values };
    fill(&g);
    largest = work(g.n, g.values, y, bits);
    printf("%.6f %d\\n", largest, (int)bits[50]);
    return 0;
}
"""
EXPECTED = "19.899748 50\n"
WARNINGS = (
    *("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef"),
    *("-Wmissing-prototypes", "-Wstrict-prototypes", "-Wold-style-definition", "-Wmissing-declarations", "-Wvla"),
    *("-Wredundant-decls", "-Wnested-externs", "-Wcast-align", "-Wcast-qual", "-Wwrite-strings", "-Wc++-compat"),
    *("-Wpointer-arith", "-Wswitch-default", "-Wswitch-enum", "-Wdouble-promotion", "-Wformat=2", "-Wfloat-equal"),
    *("-Wnull-dereference", "-Wbad-function-cast", "-Wdeclaration-after-statement", "-Wno-unknown-pragmas"),
)


def build(workshop: Workshop, folder: Path, *flags: str, source: str = "work.c", program: str = "work") -> Path:
    (folder / source).parent.mkdir(exist_ok=True)
    (folder / source).write_text(PROGRAM)
    command = (*TILECC, *flags, source, "-o", program, "-lm")
    run_command(command, tool_environment(workshop.cache), folder, BUILD_SECONDS)
    return folder / program


THREADS = TargetEnvironment("threads", (("TILEK_TARGET", "threads"),))


@pytest.mark.parametrize("options", ["-std=c99 -O0 -g", "-std=c11 -O2", "-std=gnu17 -O3", "-std=c17 -Os -fPIE -pie"])
def test_no_warning_is_about_generated_code(workshop: Workshop, tmp_path: Path, options: str) -> None:
    assert workshop.run(build(workshop, tmp_path, *options.split(), *WARNINGS), THREADS) == EXPECTED


@pytest.mark.parametrize(
    "options",
    [
        "-flto -O2",
        "-Wl,--gc-sections -Wl,--as-needed -Wl,-z,defs -s -fvisibility=hidden",
        "-fsanitize=address,undefined -g",
    ],
)
def test_ways_to_link(workshop: Workshop, tmp_path: Path, options: str) -> None:
    assert workshop.run(build(workshop, tmp_path, *options.split()), THREADS) == EXPECTED


def test_thread_sanitizer_sees_the_runtime(workshop: Workshop, tmp_path: Path) -> None:
    try:
        program = build(workshop, tmp_path, "-fsanitize=thread", "-g", "-O1")
    except Failure as failure:
        if "libtsan" in str(failure):
            pytest.skip("this compiler comes without libtsan")
        raise
    assert workshop.run(program, THREADS) == EXPECTED


@pytest.mark.parametrize("option", ["-static", "-static-pie"])
def test_static_programs_do_without_devices(workshop: Workshop, tmp_path: Path, option: str) -> None:
    program = build(workshop, tmp_path, option)
    assert workshop.run(program, TargetEnvironment("auto", ())) == EXPECTED
    said = workshop.run(program, TargetEnvironment("opencl", (("TILEK_TARGET", "opencl"),)))
    assert EXPECTED in said
    assert "the program is linked statically" in said


def test_names_with_spaces(workshop: Workshop, tmp_path: Path) -> None:
    program = build(workshop, tmp_path, "-MMD", source="a folder/my work.c", program="my program")
    assert workshop.run(program, THREADS) == EXPECTED
    (depfile,) = tmp_path.glob("*.d")
    words = depfile.read_text().replace("\\\n", " ").replace("\\ ", "?").split()
    assert words[1] == "a?folder/my?work.c"
    assert not any("tilecc-" in word for word in words)
