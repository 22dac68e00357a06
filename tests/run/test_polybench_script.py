"""benchmarks/polybench.py on a small program of our own in the layout of PolyBench/C."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import ROOT, Workshop, tool_environment

UTILITIES = """
#include <stdlib.h>
#define POLYBENCH_LOOP_BOUND(constant, parameter) parameter
#define POLYBENCH_1D(array, constant, parameter) array[parameter]
#define POLYBENCH_ARRAY(array) *array
#define POLYBENCH_1D_ARRAY_DECL(array, type, constant, parameter) \\
    type (*array)[parameter] = polybench_alloc_data(parameter, sizeof(type))
#define POLYBENCH_FREE_ARRAY(array) polybench_free_data(array)
void *polybench_alloc_data(unsigned long long count, int size);
void polybench_free_data(void *base);
void polybench_timer_start(void);
void polybench_timer_stop(void);
"""
HEADER = """
#ifndef STEPS
#ifdef MINI_DATASET
#define STEPS 3
#define N 20
#endif
#ifdef SMALL_DATASET
#define STEPS 6
#define N 50
#endif
#endif
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)
#define DATA_TYPE_IS_DOUBLE
"""
PROGRAM = """
#include <polybench.h>
#include "smooth.h"

static void kernel_smooth(int steps, int n, double POLYBENCH_1D(a, N, n), double POLYBENCH_1D(b, N, n))
{
  int t, i;
#pragma scop
  for (t = 0; t < steps; t++) {
    for (i = 1; i < _PB_N - 1; i++)
      b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1];
    for (i = 1; i < _PB_N - 1; i++)
      a[i] = b[i];
  }
#pragma endscop
}

int main(int argc, char **argv)
{
  int n = N, steps = STEPS;
  POLYBENCH_1D_ARRAY_DECL(a, double, N, n);
  POLYBENCH_1D_ARRAY_DECL(b, double, N, n);
  polybench_timer_start();
  (*a)[0] += @added@;
  kernel_smooth(steps, n, POLYBENCH_ARRAY(a), POLYBENCH_ARRAY(b));
  polybench_timer_stop();
  POLYBENCH_FREE_ARRAY(a);
  POLYBENCH_FREE_ARRAY(b);
  return argc != 1 || argv == NULL;
}
"""


def run_script(workshop: Workshop, folder: Path, added: str) -> tuple[int, str, list[dict[str, object]]]:
    """Status, output and JSON of the script over a folder with the one program."""
    (folder / "utilities").mkdir()
    (folder / "stencils" / "smooth").mkdir(parents=True)
    (folder / "utilities" / "polybench.h").write_text(UTILITIES)
    (folder / "stencils" / "smooth" / "smooth.h").write_text(HEADER)
    (folder / "stencils" / "smooth" / "smooth.c").write_text(PROGRAM.replace("@added@", added))
    report = folder / "report.json"
    script = str(ROOT / "benchmarks" / "polybench.py")
    command = (sys.executable, script, str(folder), "--target", "serial", "--target", "threads", "--json", str(report))
    environment = tool_environment(workshop.cache)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout + done.stderr, json.loads(report.read_text()) if report.is_file() else []


def test_a_program_that_matches(workshop: Workshop, tmp_path: Path) -> None:
    status, output, report = run_script(workshop, tmp_path, "0.5")
    assert status == 0, output
    (row,) = report
    assert (row["name"], row["targets"]) == ("smooth", {"serial": "ok", "threads": "ok"})
    assert "Analysis, planning and proof" in " ".join(output.split())


def test_a_program_that_does_not(workshop: Workshop, tmp_path: Path) -> None:
    # The translated program is another file, of which only such a program takes notice.
    status, output, report = run_script(workshop, tmp_path, "sizeof __FILE__")
    assert status == 1, output
    assert str(report[0]["targets"]).count("differs: a in") == 2


@pytest.mark.parametrize("made", [False, True], ids=["missing", "empty"])
def test_a_folder_that_is_no_polybench(workshop: Workshop, tmp_path: Path, made: bool) -> None:
    if made:
        (tmp_path / "copy").mkdir()
    command = (sys.executable, str(ROOT / "benchmarks" / "polybench.py"), str(tmp_path / "copy"))
    environment = tool_environment(workshop.cache)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "not a copy of PolyBench/C" in " ".join(done.stdout.split())
