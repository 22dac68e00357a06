"""Programs that call a function on random numbers: compiled and run as they are, with what finds accesses outside of arrays."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.programs import COMPILER
from tilepragma.base.refusals import RefusalError
from tilepragma.codegen.calling_program import CallingProgram
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import calling_program, source_text

#: Prints what it is called with, first and last elements too; an access outside of an array is
#: found by the sanitizer.
SOURCE = """\
#include <stdio.h>
void f(int n, long m, float ***a, double b[n][m + 1], int *restrict c, unsigned char (*d)[m], float alpha, int unused)
{
#pragma tilek kernel data(c[2:n])
    for (int i = 0; i < n; i++)
        for (int j = 1; j < m; j++) {
            for (int k = 0; k < 3; k++)
                a[i][j][k] *= 2;
            b[i][j] = alpha + c[i + 2] + d[i][j - 1];
        }
    printf("%d %ld %.9g %d %d\\n", n, m, alpha, unused, 0 < a[n - 1][m - 1][2] && a[n - 1][m - 1][2] < 2);
    for (int i = 0; i < n + 2; i++)
        if (c[i] < 0 || c[i] >= 3)
            puts("no subscript of any array");
}
int main(void) { puts("the user's"); return 1; }
"""


def made(folder: Path, text: str, plan: int = 0) -> CallingProgram:
    (folder / "a.c").write_text(text)
    result = translate(TranslateRequest(str(folder / "a.c"), last="choose_sizes"))
    calling = calling_program(result, result.plans[plan])
    (folder / "called.c").write_bytes(calling.text(source_text(result)))
    return calling


def test_the_function_is_called_on_arrays_that_are_large_enough(tmp_path: Path) -> None:
    calling = made(tmp_path, SOURCE)
    flags = (
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wno-unknown-pragmas",
        "-Werror",
        "-fsanitize=address",
        "-Dmain=tilek_users_main",
    )
    subprocess.run([COMPILER, *flags, "-o", "called", "called.c"], cwd=tmp_path, check=True)
    numbers = {"n": 4, "m": 6}
    assert calling.bytes(numbers) == 4 * 6 * 3 * 4 + 4 * 7 * 8 + 6 * 4 + 4 * 6
    done = subprocess.run(
        ["./called", *calling.command_line(numbers, 2)],
        cwd=tmp_path,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "4 6 0.75 1 1\n" * 2
    assert subprocess.run(["./called"], cwd=tmp_path, check=False).returncode == 2


def test_all_kernels_of_the_function_count(tmp_path: Path) -> None:
    two = """\
void f(int n, float *a, float *b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[i] = 1;
#pragma tilek kernel
    for (int i = 0; i < n; i++) { a[i + 5] = 1; b[i] = 2; }
}
"""
    for plan in (0, 1):
        assert made(tmp_path, two, plan).command_line({"n": 10}, 1) == ("1", "1", "10", "10", "15", "10")


def test_numbers_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(RefusalError, match="depends on n and m, of which no number is known: say --sizes n="):
        made(tmp_path, SOURCE).command_line({}, 1)


@pytest.mark.parametrize(
    ("parameters", "body", "message"),
    [
        ("int n, float *a, char *name", "a[i] = 1;", "has a parameter 'name' that is neither a number nor an array"),
        ("int n, float *a, struct { int x; } *s", "a[i] = s->x;", "has a parameter 's' that is"),
        ("int n, struct p *a", "a[i].x = 1;", "has a parameter 'a' that is no array of numbers"),
    ],
)
def test_functions_that_cannot_be_called(tmp_path: Path, parameters: str, body: str, message: str) -> None:
    text = f"struct p {{ float x; }};\nvoid f({parameters})\n{{\n#pragma tilek kernel\n    for (int i = 0; i < n; i++)\n        {body}\n}}\n"
    with pytest.raises(RefusalError, match=message):
        made(tmp_path, text)


def test_a_kernel_in_main(tmp_path: Path) -> None:
    text = "int main(void)\n{\n    float a[9];\n#pragma tilek kernel\n    for (int i = 0; i < 9; i++) a[i] = 1;\n    return a[3] > 0;\n}\n"
    with pytest.raises(RefusalError, match="is the program's own main"):
        made(tmp_path, text)


def test_an_extent_that_a_local_variable_says(tmp_path: Path) -> None:
    text = "void f(int n, float *a)\n{\n    int m = n * n;\n#pragma tilek kernel\n    for (int i = 0; i < m; i++) a[i] = 1;\n}\n"
    with pytest.raises(RefusalError, match="has an array 'a' whose extent is not known: 'm' has no known value"):
        made(tmp_path, text).command_line({"n": 4}, 1)


def test_a_call_whose_value_nobody_needs_is_timed_too(tmp_path: Path) -> None:
    calling = made(
        tmp_path,
        """\
static double sum(int n, const double *x)
{
    double found = 0;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        found += x[i];
    return found;
}
""",
    )
    (tmp_path / "timed.c").write_bytes(calling.timed_text((tmp_path / "a.c").read_bytes()))
    (tmp_path / "clock.c").write_bytes(calling.clock_text)
    subprocess.run([COMPILER, "-std=c99", "-O3", "-w", "-o", "timed", "timed.c", "clock.c"], cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "timed"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert [line for line in symbols.splitlines() if line.split()[-1] == "sum"], "the compiler left the calls out"


def test_calls_have_the_same_numbers_or_what_the_one_before_left(tmp_path: Path) -> None:
    calling = made(
        tmp_path,
        """\
void shift(int n, double *x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        x[i] += 1;
}
""",
    )
    (tmp_path / "clock.c").write_bytes(calling.clock_text)
    (tmp_path / "timed.c").write_bytes(calling.timed_text((tmp_path / "a.c").read_bytes()))
    subprocess.run([COMPILER, "-std=c99", "-w", "-o", "timed", "timed.c", "clock.c"], cwd=tmp_path, check=True)
    digests = []
    for calls, calls_a_fill in ((1, 1), (3, 1), (3, 2), (2, 2), (4, 2), (3, 3)):
        command = ["./timed", *calling.command_line({"n": 4}, calls, calls_a_fill)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        said = calling.call_times(done.stdout)
        assert len(said.seconds) == calls
        digests.append(said.digest)
    assert digests[0] == digests[1] == digests[2], "one call since they were filled"
    assert digests[0] != digests[3] == digests[4] != digests[5] != digests[0]


def test_sections_may_be_products(tmp_path: Path) -> None:
    pragma = "#pragma tilek kernel data(a[0:n*m], mode:rw, live:inout) data(b[n:(n-1)*m/2], mode:r, live:in)"
    loop = "for (int i = 0; i < n; i++) a[i * m] += b[n + i];"
    calling = made(tmp_path, f"void f(int n, int m, double *a, const double *b)\n{{\n{pragma}\n    {loop}\n}}\n")
    assert calling.bytes({"n": 4, "m": 6}) == 8 * (4 * 6 + 4 + 3 * 6 // 2)
