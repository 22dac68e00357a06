"""`tilepragma bench`: programs made of a source, plain and translated, whose seconds and results it compares."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import TILEPRAGMA, Workshop
from tests.support.programs import tool_environment as tools
from tilepragma.codegen.calling_program import CallingProgram, CallTimes

SOURCE = """\
#include <stdio.h>

void add(int n, double a[n], const double b[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; ++i)
        a[i] += b[i];
    printf("no line end");
}

double apart(int n, const float *x)
{
    float found = 0;
#pragma tilek kernel reduction(+: found)
    for (int i = 0; i < n; ++i)
        found += x[i] - x[n - 1 - i];
    return found;
}

static float sum(int n, const float *x)
{
    float found = 0;
#pragma tilek kernel reduction(+: found)
    for (int i = 0; i < n; ++i)
        found += x[i];
    return found;
}

void ends(int n, double a[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; ++i)
        a[i] = 1;
    if (n > 20)
        *(volatile int *)0 = 1;
}

int main(void)
{
    double a[3] = {0};
#pragma tilek kernel
    for (int i = 0; i < 3; ++i)
        a[i] = i;
    return a[2] != 2;
}
"""


def bench(workshop: Workshop, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "in.c").write_text(SOURCE)
    return subprocess.run(
        [*TILEPRAGMA, "bench", "in.c", "--target", "threads", "--json", "found.json", *options],
        env=tools(workshop.cache) | {"TILEK_NUM_THREADS": "4"},  # whose parts of a sum are added up in another order
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_functions_are_timed_and_compared(workshop: Workshop, tmp_path: Path) -> None:
    done = bench(workshop, tmp_path, "--sizes", "n=10:3010:+3000", "-O1")
    result = json.loads((tmp_path / "found.json").read_text())["functions"]
    assert set(result) == {"add", "apart", "sum", "ends"}
    for name in ("add", "sum"):
        assert [(row["sizes"], row["program"]) for row in result[name]] == [
            ("n=10", "original"),
            ("n=10", "threads"),
            ("n=3010", "original"),
            ("n=3010", "threads"),
        ]
        assert all(row["seconds"] and not row["failure"] for row in result[name])
        assert name in done.stdout
    assert all(row["same_bits"] and not row["difference"] for row in result["add"])
    original, translated = result["sum"][2:]
    assert not original["difference"]
    assert 0 < float(translated["difference"]) < 1e-5
    assert not translated["same_bits"]
    # A sum of what cancels out, in another order: its times stand, and what is wrong is said.
    apart = result["apart"][3]
    assert apart["seconds"] and float(apart["difference"]) > 1e-5 and "status 70" in apart["beyond_tolerance"]
    assert "threads at n=3010 differs by more than TILEK_TOLERANCE: the program ended with status 70" in done.stdout
    # What fails costs its own rows, and the exit status.
    assert [bool(row["failure"]) for row in result["ends"]] == [False, False, True, True]
    assert "threads at n=3010: the program was ended by signal 11" in done.stdout
    assert "the function 'main' is not measured: it is the program's own main" in done.stderr
    assert done.returncode == 1


def test_a_number_that_is_missing_is_asked_for(workshop: Workshop, tmp_path: Path) -> None:
    done = bench(workshop, tmp_path, "--kernel", "sum")
    assert (done.returncode, done.stdout) == (1, "")
    assert "say --sizes n=" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--target", "gpu"), "unknown target 'gpu'"),
        (("--json", "nowhere/found.json"), "there is no such folder"),
        (("--sizes", "m=3"), "no kernel depends on that name; parameters are n"),
        (("--kernel", "summ"), "did you mean 'sum'"),
    ],
)
def test_wrong_usage(workshop: Workshop, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    done = bench(workshop, tmp_path, *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_what_a_program_says_is_found_among_its_own_lines() -> None:
    text = "n tilek-seconds 3\ntilek-seconds 1e-3\nelse\ntilek-seconds 0.5\ntilek-digest 0f\n"
    assert CallingProgram.call_times(text) == CallTimes((1e-3, 0.5), "0f")
    assert CallingProgram.call_times("") == CallTimes((), "")
