"""Checks of launches that do not hold: reported once a kernel with the values, an error of strict programs; what is ordinary is not reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import FLAGS, PLAIN, TILECC, Failure, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
static double a[1000];
static void scale(double *a, int n, int w, int s)
{
#pragma tilek kernel if (s != 7)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < w; j++) a[i * s + j] = 2 * a[i * s + j] + i;
}
static void shift(double *a, const double *b, int n)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[i] = b[i] + 1;
}
static void add(double **to, double **from, const double *more, int n, int m)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) to[i][j] += 0.5 * from[i][j] + more[j];
}
/* Rows of `to` begin with a's last element and go down, those of `from` go up; `width` is the distance of two rows. */
static void add_rows(int width, int first, int more)
{
    double *to[20], *from[20];
    for (int i = 0; i < 20; i++) {
        to[i] = a + 990 - (i + 1) * width;
        from[i] = a + first + i * 10;
    }
    add(to, from, a + more, 20, 10);
}
int main(int argc, char **argv)
{
    for (int i = 0; i < 1000; i++) a[i] = i % 11;
    scale(a, 10, 20, 20);
    if (atoi(argv[1]) == 0) { /* nothing runs, or the user wants the original */
        scale(a, 0, 20, 5);
        scale(a, 10, 0, -1);
        scale(a, 10, 20, 7);
        shift(a + 1, a, 0);
    }
    if (atoi(argv[1]) == 1)
        for (int k = 10; k < 13; k++) scale(a, 10, 20, k);
    if (atoi(argv[1]) == 2)
        for (int k = 0; k < 2; k++) shift(a + 1, a, 50);
    if (atoi(argv[1]) >= 3)
        for (int k = 0; k < 2; k++)
            switch (atoi(argv[1])) {
            case 3: add_rows(10, 0, 990); break;
            case 4: add_rows(9, 0, 990); break;
            case 5: add_rows(10, 595, 990); break;
            case 6: add_rows(10, 0, 901); break;
            }
    shift(a + 100, a, 50);
    double sum = 0;
    for (int i = 0; i < 1000; i++) sum += a[i] * i;
    printf("%.17g\\n", sum);
    return 0;
}
"""
TARGET = TargetEnvironment("threads", (("TILEK_TARGET", "threads"),))
REPORTS = {
    "0": "",
    "1": "kernel scale runs as the original loop: its launch check 's >= w' does not hold (s = 10, w = 20)",
    "2": "kernel shift runs as the original loop: a and b share memory",
    "3": "",
    "4": "kernel add runs as the original loop: rows of to share memory",
    "5": "kernel add runs as the original loop: to and from share memory",
    "6": "kernel add runs as the original loop: to and more share memory",
}


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> tuple[Path, Path]:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "launch_checks.c"
    source.write_text(SOURCE)
    flags = (*FLAGS, "-w")
    return workshop.build_original(source, flags), workshop.build_translated(source, flags)


@pytest.mark.parametrize("case", REPORTS)
def test_failing_checks_are_reported_once(workshop: Workshop, programs: tuple[Path, Path], case: str) -> None:
    expected = workshop.run(programs[0], PLAIN, case)
    said = workshop.run(programs[1], TARGET, case)
    assert said.count("does not hold") + said.count("share memory") == bool(REPORTS[case])
    assert REPORTS[case] in said and expected in said


@pytest.mark.parametrize("case", REPORTS)
def test_failing_checks_end_strict_programs(workshop: Workshop, programs: tuple[Path, Path], case: str) -> None:
    if not REPORTS[case]:
        workshop.run(programs[1], TARGET, case, TILEK_STRICT="1")
        return
    with pytest.raises(Failure) as failure:
        workshop.run(programs[1], TARGET, case, TILEK_STRICT="1")
    assert failure.value.status == 71 and f"error: {REPORTS[case]}" in str(failure.value)


def test_rows_that_are_apart_run_in_parallel(workshop: Workshop, programs: tuple[Path, Path]) -> None:
    said = workshop.run(programs[1], TARGET, "3", TILEK_PROFILE="1", TILEK_STRICT="1")
    row = next(line for line in said.splitlines() if line.startswith("add "))
    assert row.split()[1:3] == ["threads", "2"]


def test_a_check_that_never_holds_is_named_at_translation(workshop: Workshop) -> None:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "never_holds.c"
    source.write_text(
        "double a[100];\nvoid f(unsigned m) {\n#pragma tilek kernel\nfor (int i = -4; i < m; i++) a[i + 4] = i;\n}\n"
        "int main(void) { f(9); return 0; }\n"
    )
    command = (*TILECC, str(source), "-o", str(source.with_suffix(".translated")))
    said = run_command(command, tool_environment(workshop.cache), source.parent, 100)
    assert "never_holds.c:4:1: warning:" in said and "its launch check '0 >= 4' never holds" in said
