"""`python -m benchmarks.suite` on a small program of our own in the layout of PolyBench/C, and on a kernel of the suite."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.suite.runs import ONCE_IS_ENOUGH
from tests.run.test_polybench_script import UTILITIES
from tests.support.programs import ROOT, Workshop, tool_environment

HEADER = """
#ifndef N
#ifdef MINI_DATASET
#define TSTEPS 3
#define N 20
#endif
#endif
#ifdef DATA_TYPE_IS_FLOAT
#define DATA_TYPE float
#else
#define DATA_TYPE_IS_DOUBLE
#define DATA_TYPE double
#endif
"""
PROGRAM = """
#include <polybench.h>
#include "jacobi-1d.h"

static void kernel_jacobi_1d(int steps, int n, DATA_TYPE a[N], DATA_TYPE b[N])
{
  int t, i;
#pragma scop
  for (t = 0; t < steps; t++) {
    for (i = 1; i < n - 1; i++)
      b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
    for (@second@ = 1; @second@ < n - 1; @second@++)
      a[@second@] = b[@second@];
  }
#pragma endscop
}

int main(int argc, char **argv)
{
  DATA_TYPE *const a = polybench_alloc_data(N, sizeof(DATA_TYPE)), *const b = polybench_alloc_data(N, sizeof(DATA_TYPE));
  polybench_timer_start();
  a[0] += @added@;
  kernel_jacobi_1d(TSTEPS / 40, N, a, b);
  polybench_timer_stop();
  polybench_free_data(a);
  polybench_free_data(b);
  return argc != 1 || argv == NULL;
}
"""
#: A translator like PPCG in what it takes and leaves: options, then the source.
TRANSLATOR = """#!/bin/sh
for word; do source=$word; done
case " $* " in *" --tile "*) exit 3;; esac
cp "$source" "${source%.c}.ppcg.c"
"""


def copy_of_polybench(folder: Path, added: str = "0.5", second: str = "i") -> Path:
    """A folder with the one program, which adds `added` before its kernel and names an iterator `second`."""
    program = folder / "stencils" / "jacobi-1d"
    program.mkdir(parents=True)
    (folder / "utilities").mkdir()
    (folder / "utilities" / "polybench.h").write_text(UTILITIES)
    (program / "jacobi-1d.h").write_text(HEADER)
    (program / "jacobi-1d.c").write_text(PROGRAM.replace("@added@", added).replace("@second@", second))
    return folder


def run_suite(workshop: Workshop, *options: object) -> subprocess.CompletedProcess[str]:
    fixed = ("--quick", "--repeats", "2", "--targets", "threads", "--threads", "2")
    command = (sys.executable, "-m", "benchmarks.suite", *fixed, *map(str, options))
    environment = tool_environment(workshop.cache)
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def test_a_copy_of_polybench_and_a_tool(workshop: Workshop, tmp_path: Path) -> None:
    folder, report, ppcg = copy_of_polybench(tmp_path / "copy"), tmp_path / "report.json", tmp_path / "ppcg"
    ppcg.write_text(TRANSLATOR)
    ppcg.chmod(0o755)
    chosen = ("--only", "jacobi-1d", "--types", "double", "float", "--ppcg", ppcg)
    done = run_suite(workshop, folder, *chosen, "--json", report)
    assert done.returncode == 0, done.stdout + done.stderr
    whole = json.loads(report.read_text())
    assert [(row["case"], row["type"]) for row in whole["rows"]] == [("jacobi-1d", "double"), ("jacobi-1d", "float")]
    for row in whole["rows"]:
        taken = row["contenders"]
        assert taken["PPCG OpenMP tiled"]["match"].endswith("status 3")
        assert "status 3" in done.stdout
        timed = {name for name, each in taken.items() if each["seconds"]}
        assert timed == {"gcc", "OpenMP by hand", "PPCG OpenMP", "tilepragma threads"}
        assert {taken[name]["match"] for name in timed} <= {"bits", "tolerance"}
        for each in (
            taken[name]["seconds"] for name in timed
        ):  # on a busy machine threads may be slow enough for one round
            assert len(each) == (1 if each[0] > ONCE_IS_ENOUGH * taken["gcc"]["seconds"][0] else 2)
        assert {each["against"] for each in row["ratios"]} == {"gcc", "OpenMP by hand", "best of peers"}
    assert whole["limits"]["bandwidth"] > 1e8
    assert whole["machine"]["peers"] == ["PPCG OpenMP", "PPCG OpenMP tiled"]
    page = tmp_path / "page.md"
    again = run_suite(workshop, "--show", report, "--markdown", page)
    assert again.returncode == 0, again.stdout + again.stderr
    assert done.stdout.endswith(again.stdout)
    assert "| jacobi-1d | float |" in page.read_text()
    assert run_suite(workshop, "--show", page).returncode == 2


def test_wrong_results_are_no_success(workshop: Workshop, tmp_path: Path) -> None:
    # The translated program is another file, of which only such a program takes notice.
    folder = copy_of_polybench(tmp_path / "copy", added="(DATA_TYPE)(__FILE__[sizeof __FILE__ - 6] == 'u')")
    done = run_suite(workshop, folder, "--only", "jacobi-1d")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "jacobi-1d double, tilepragma threads: differs by" in done.stdout
    assert "WRONG" in done.stdout


def test_a_text_that_the_tables_do_not_fit(workshop: Workshop, tmp_path: Path) -> None:
    folder = copy_of_polybench(tmp_path / "copy", second="t")
    done = run_suite(workshop, folder, "--only", "jacobi-1d")
    assert done.returncode == 2
    assert "jacobi-1d: loop 2 should run over i, not t" in done.stdout
    done = run_suite(workshop, folder, "--only", "gemm")
    assert done.returncode == 2
    assert "gemm: no program gemm in that folder" in done.stdout


def test_kernels_of_the_suite_alone(workshop: Workshop) -> None:
    done = run_suite(workshop, "--only", "metafork-reversal", "--exact")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "metafork-reversal" in done.stdout
    assert "-ffp-contract=off" in done.stdout


def test_programs_with_parametric_extents_are_built_once(workshop: Workshop, tmp_path: Path) -> None:
    report, kept = tmp_path / "report.json", tmp_path / "kept"
    chosen = ("--only", "ics-mv", "--parametric", "--march", "x86-64", "--keep", kept, "--json", report)
    done = run_suite(workshop, *chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    machine = json.loads(report.read_text())["machine"]
    assert machine["extents"] == "parameters" and "-march=x86-64" in done.stdout
    programs = [path for path in kept.glob("ics-mv*/*") if path.stat().st_mode & 0o100]
    built = {path: path.stat().st_mtime_ns for path in programs}
    assert built
    done = run_suite(workshop, *chosen, "--reuse")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.stat().st_mtime_ns for path in built} == built


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--only", "gemm"), "no kernel is called gemm"), (("--only", "nonsense"), "no kernel is called nonsense")],
)
def test_kernels_that_are_not_there(workshop: Workshop, options: tuple[str, ...], message: str) -> None:
    done = run_suite(workshop, *options)
    assert done.returncode == 2
    assert message in done.stdout
