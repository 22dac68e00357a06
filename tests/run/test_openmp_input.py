"""OpenMP's lines as input: `openmp_lines.c` runs on every target with the bits of the plain program,
and what stays OpenMP's is said.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, PLAIN, TILECC, TILEPRAGMA, Workshop, tool_environment
from tests.support.targets import TargetEnvironment

SOURCE = Path(__file__).parent / "openmp_lines.c"
FLAGS = ("-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-unknown-pragmas")
OPENMP = "-fopenmp"
TARGETS = ("serial", "threads", "opencl", "cuda")
#: The kernels of `openmp_lines.c`; devices do not hold the arrays of some.
KERNELS = (
    "heat",
    "counted",
    "short_rows",
    "sums",
    "sums_2",
    "kept",
    "together",
    "together_2",
    "smooth",
    "user",
    "both",
)
WITHOUT_EXTENTS = ("gather", "scatter", "together_3")

pytestmark = pytest.mark.xdist_group("openmp")


def run(workshop: Workshop, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = tool_environment(workshop.cache) | variables
    return subprocess.run(
        words, capture_output=True, text=True, env=environment, timeout=BUILD_SECONDS, check=False, cwd=workshop.folder
    )


@pytest.fixture(scope="module")
def source(workshop: Workshop) -> Path:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    path = workshop.folder / SOURCE.name
    path.write_text(SOURCE.read_text())
    return path


@pytest.fixture(scope="module")
def programs(workshop: Workshop, source: Path) -> tuple[Path, Path]:
    return workshop.build_original(source, FLAGS), workshop.build_translated(source, (*FLAGS, OPENMP, "--tilek-openmp"))


def test_every_target_has_the_bits_of_the_plain_program(
    workshop: Workshop, programs: tuple[Path, Path], target: TargetEnvironment
) -> None:
    expected = workshop.run(programs[0], PLAIN)
    said = workshop.run(programs[1], target, TILEK_STRICT="0", TILEK_PROFILE="1").splitlines()
    assert expected.strip().splitlines()[-1] in said
    # A private variable keeps the value that it had before the region.
    assert "last 5, usual threads 1" in said
    ran = dict(line.split()[:2] for line in said if line.split()[1:2] and line.split()[1] in TARGETS)
    assert set(ran) == {*KERNELS, *WITHOUT_EXTENTS}
    assert {ran[name] for name in KERNELS} == {target.name.partition("-")[0]}


def test_lines_for_vectors_stay_in_force(workshop: Workshop, source: Path) -> None:
    said = run(workshop, *TILECC, "--tilek-openmp", "--tilek-keep", "--tilek-target=threads", OPENMP, "-c", source.name)
    assert said.returncode == 0
    text = source.with_suffix(".tilek.c").read_text()
    kernel = text[text.index("static void tilek_short_rows_host") :].partition("\n}\n")[0]
    lines = [line.strip() for line in kernel.splitlines() if "pragma" in line]
    assert lines == ["#pragma omp simd", "#pragma omp simd safelen(8) reduction(+ : sum)"]


def test_what_stays_is_said(workshop: Workshop, source: Path) -> None:
    said = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, *FLAGS, OPENMP)
    assert said.returncode == 0
    assert "tilepragma does not translate 'omp atomic' in a loop" in said.stderr
    stays = re.findall(r":(\d+):\d+: note: this line stays OpenMP's(?:: (.*))?", said.stderr)
    words = [why for _, why in sorted(stays, key=lambda line: int(line[0]))]
    inner = "its loop needs the threads of an 'omp parallel' that stays"
    assert words == [
        "",
        "a line in it stays OpenMP's",
        "tilepragma does not translate 'omp sections'",
        inner,
        "each thread has a 'pair' of its own",
        inner,
        "each thread has a 'same' of its own",
        inner,
        "the value of 'last' before the region may be read behind it",
        inner,
        "its function needs several threads: threads that stay OpenMP's call it",
        "its function needs several threads: threads of other files may call it, as it is not static",
        "each thread calls 'omp_get_thread_num'",
        "'count_up', which it calls, needs its threads",
        "what is around it is parallel already",
    ]
    # Without OpenMP in the compiler, what stays runs on one core, which is a warning.
    plain = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, *FLAGS)
    assert plain.stderr.count("warning: this line stays OpenMP's") == 15
    assert plain.stderr.count("without -fopenmp it runs on one core") == 15


def test_a_false_promise_is_disproved(workshop: Workshop) -> None:
    """The program is what the compiler alone would build."""
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "false_promise.c"
    loop = "    for (int i = 1; i < n; i++) x[i] = x[i - 1] + 1;\n"
    source.write_text(f"void f(int n, double *x)\n{{\n#pragma omp parallel for\n{loop}}}\n")
    said = run(workshop, *TILECC, "--tilek-openmp", "--tilek-keep", OPENMP, "-c", source.name)
    assert said.returncode == 0
    message = "iterations of this loop depend on each other, though the line says that they may run in any order"
    assert f"false_promise.c:3:1: warning: {message}" in said.stderr
    assert "an iteration writes 'x' here" in said.stderr and "a later one reads the same element here" in said.stderr
    assert "#pragma omp parallel for" in (workshop.folder / "false_promise.tilek.c").read_text()


@pytest.mark.parametrize("value", ["0", "1"])
def test_the_environment_asks_for_it_too(workshop: Workshop, source: Path, value: str) -> None:
    said = run(workshop, *TILEPRAGMA, "explain", source.name, *FLAGS, OPENMP, TILEK_OPENMP=value)
    assert said.returncode == 0 and ("kernel heat" in said.stdout) is (value == "1")


#: Regions that one thread cannot stand for, each with the reason, and those that it can ("").
REGIONS = {
    "double *p;\n posix_memalign((void **)&p, 64, 64);\n @ { p[i % 4] = x[i]; y[i] = p[i % 4]; }": (
        "each thread has a 'p' of its own"
    ),
    "struct work w;\n w.n = 3;\n @ { w.buf[i % 4] = x[i]; y[i] += w.buf[i % 4] + w.n; }": (
        "each thread has a 'w' of its own"
    ),
    "double t[4];\n @ t[i % 4] = x[i];\n @ y[i] = t[0];": "each thread has a 't' of its own",
    "own[0] = 1;\n @ y[i] = x[i];": "each thread has a 'own' of its own (threadprivate)",
    "@ s += x[i];\n s += 1;": "each thread changes its 's' outside the loops",
    '@ y[i] = x[i];\n printf("%d", n);': "each thread calls 'printf'",
    "@ y[i] = x[i];\n tell();": "each thread calls 'puts'",
    "@ y[i] = x[i];\n#pragma omp critical\n count++;": "tilepragma does not translate 'omp critical' in a region",
    "y[0] = 1;": "it has no loop under 'omp for'",
    "struct work w;\n @ { for (int j = 0; j < 4; j++) w.buf[j] = x[i] + j; y[i] += w.buf[i % 4]; }": "",
    "double t[2];\n @ { t[0] = x[i]; t[1] = 1; y[i] = t[i % 2]; }\n @ { t[0] = y[i]; y[i] = t[0]; }": "",
    "@ { z[0] = x[i]; z[1] = 2; y[i] = z[i % 2]; }": "",
    "double t[2] = {1, 2};\n @ y[i] = t[i % 2];": "",
    'double *p = x, *q = y, top = sqrt(n);\n @ q[i] = p[i] + top;\n#pragma omp single\n printf("%d", n);': "",
}
REGION = """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
struct work { double buf[4]; int n; };
static double own[2]; static int count;
#pragma omp threadprivate(own)
static void tell(void) { puts("a thread"); }
double f(int n, double *x, double *y)
{
    double s = 0, z[2];
#pragma omp parallel reduction(+: s) private(z)
    {
"""


@pytest.mark.parametrize("text", REGIONS)
def test_what_keeps_a_region(workshop: Workshop, text: str) -> None:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "region.c"
    loop = "\n#pragma omp for\n for (int i = 0; i < n; i++)"
    source.write_text(f"{REGION} {text.replace('@', loop)}\n }}\n tell();\n count += own[0];\n return s;\n}}\n")
    said = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, OPENMP)
    assert said.returncode == 0
    first = re.search(r"region\.c:11:1: note: this line stays OpenMP's: (.*)", said.stderr)
    assert (first[1] if first is not None else "") == REGIONS[text]
    assert ("stays OpenMP's" in said.stderr) is bool(REGIONS[text])


PARTS = """\
static void part(int n, const double *from, double *to)
{
#pragma omp for
    for (int i = 0; i < n; i++) to[i] += from[i] + 1;
}
"""
WHOLE = """\
#include <stdio.h>
#include "part.h"
#ifdef _OPENMP
#include <omp.h>
#endif
static double x[1000], y[1000];
int main(void)
{
    double sum = 0;
#pragma omp parallel
    {
        part(1000, x, y);
#ifdef APART
        if (omp_get_thread_num() > 1000) y[0] = 0;
#endif
    }
    for (int i = 0; i < 1000; i++) sum += y[i] * (i % 7);
    printf("%g\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize("apart", [False, True])
def test_a_region_calls_a_function_of_a_header(workshop: Workshop, apart: bool) -> None:
    """Where the region stays OpenMP's, so does the function's loop: each thread would run all of it."""
    folder = workshop.folder / f"header_{apart}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part.h").write_text(PARTS)
    (folder / "whole.c").write_text(WHOLE)
    flags = ("-O1", OPENMP, *(("-DAPART",) if apart else ()))
    said = run(workshop, *TILECC, "--tilek-openmp", *flags, f"{folder.name}/whole.c", "-o", f"{folder.name}/whole")
    assert said.returncode == 0
    assert ("part.h:3:1: note: this line stays OpenMP's" in said.stderr) is apart
    ran = run(workshop, str(folder / "whole"), OMP_NUM_THREADS="3", TILEK_TARGET="threads", TILEK_PROFILE="1")
    assert ran.stdout == "2997\n"
    assert ("part " in ran.stderr) is not apart


def test_functions_of_a_loop_act_on_no_other_iteration(workshop: Workshop) -> None:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "acting.c"
    source.write_text(
        "static void bump(int *to)\n{\n#pragma omp atomic\n    *to += 1;\n}\n"
        "void f(int n, const int *places, int *to)\n{\n#pragma omp parallel for\n"
        "    for (int i = 0; i < n; i++) bump(&to[places[i]]);\n}\n"
    )
    said = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, OPENMP)
    assert "acting.c:8:1: note: this line stays OpenMP's" in said.stderr
    assert "acting.c:3:1: note: tilepragma does not translate 'omp atomic' in a loop" in said.stderr


@pytest.mark.parametrize(
    ("inside", "stays"),
    [
        ("#pragma omp atomic\n sum += x[i];", False),
        ("#pragma omp atomic update\n bins[i % 8] -= 1;", False),
        ("#pragma omp critical\n if (x[i] > most) most = x[i];", False),
        ("#pragma omp critical (name)\n { sum = sum + x[i]; }", False),
        ("#pragma omp atomic capture\n { bins[0] = sum; sum += 1; }", True),
        ("#pragma omp atomic write\n sum = x[i];", True),
        ("#pragma omp critical\n { sum += x[i]; most += 1; }", True),
        ("#pragma omp critical\n sum += bins[0]++;", True),
        ("#pragma omp critical\n for (int j = 0; j < 3; j++) sum += x[j];", True),
        ("#pragma omp critical\n { double t = x[i]; sum += t; }", True),
        ("#pragma omp atomic\n sum += x[i]; x[i] = sum;", True),
    ],
)
def test_single_updates_that_a_line_protects_are_reductions(workshop: Workshop, inside: str, stays: bool) -> None:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "protected.c"
    source.write_text(
        "int bins[8];\ndouble f(int n, double *x)\n{\n    double sum = 0, most = 0;\n#pragma omp parallel for\n"
        f"    for (int i = 0; i < n; i++) {{\n{inside}\n    }}\n    return sum + most;\n}}\n"
    )
    said = run(workshop, *TILEPRAGMA, "check", "--openmp", source.name, OPENMP)
    assert ("this line stays OpenMP's" in said.stderr) == stays


def test_a_loop_that_no_kernel_holds_stays_whole(workshop: Workshop) -> None:
    """A kernel for each loop inside would leave the line's loop to one core."""
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "partly.c"
    source.write_text(
        "#include <assert.h>\nvoid f(int n, int m, double *x, double (*y)[50])\n{\n#pragma omp parallel for\n"
        "    for (int i = 0; i < n; i++) {\n        int k = i % 3;\n        assert(k >= 0);\n"
        "        for (int j = 0; j < m; j++) y[i][j] = y[i][j] * x[i];\n    }\n}\n"
    )
    said = run(workshop, *TILECC, "--tilek-openmp", "--tilek-keep", OPENMP, "-c", source.name)
    assert said.returncode == 0 and "partly.c:4:1: note: this line stays OpenMP's" in said.stderr
    assert "#pragma omp parallel for" in (workshop.folder / "partly.tilek.c").read_text()


def test_macros_keep_all_lines(workshop: Workshop) -> None:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "macros.c"
    source.write_text(
        '#define TEAM _Pragma("omp parallel")\nstatic void f(int n, double *x)\n{\n    TEAM {\n#pragma omp for\n'
        "        for (int i = 0; i < n; i++) x[i] += 1;\n    }\n}\nvoid g(double *x) { f(9, x); }\n"
    )
    said = run(workshop, *TILECC, "--tilek-openmp", "--tilek-keep", OPENMP, "-c", source.name)
    assert said.returncode == 0
    assert "macros.c:4:5: note: this macro makes lines of OpenMP, so that all" in said.stderr
    assert "#pragma omp for" in (workshop.folder / "macros.tilek.c").read_text()


def test_the_environment_takes_no_other_word(workshop: Workshop, source: Path) -> None:
    said = run(workshop, *TILECC, "-c", source.name, TILEK_OPENMP="yes")
    assert said.returncode == 2 and "TILEK_OPENMP=yes: the value is 0 or 1" in said.stderr
