"""Any call of a device's library may fail, of CUDA's driver on the stand-in and of a real OpenCL:
each call of a program in turn. Results are right, with a warning, or the program ends with status
71 and one error.

TILEPRAGMA_FAULTS=all: each call of OpenCL; else one call of each function.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.opencl_faults.build import build_faults
from tests.support.programs import FLAGS, PLAIN, Failure, Workshop
from tests.support.targets import (
    TargetEnvironment,
    cuda_device_present,
    opencl_present,
    system_opencl_present,
    target_environment,
)
from tilepragma.base.wheels import wheel_library

SOURCE = """
#include <stdio.h>
enum { N = 20, ROUNDS = 2 };
double a[N][N], b[N][N], c[N * N];

static void eliminate(int n, double m[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++) m[i][k] = m[i][k] / m[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++) m[i][j] -= m[i][k] * m[k][j];
    }
}
static void sweep(int n, double m[n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) m[i][j] = 0.5 * (m[i - 1][j] + m[i][j - 1]);
}
static long total(int n, const long *values)
{
    long sum = 0;
#pragma tilek kernel
    for (int i = 0; i < n; i++) sum += values[i];
    return sum;
}
static void scale(int n, double *m, double by, int queue)
{
    (void)queue;
#pragma tilek kernel async(queue)
    for (int i = 0; i < n; i++) m[i] = m[i] * by + i;
}
static void fill(int n, double m[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) m[i][j] = (i * 7 + j * 5) % 11 + (i == j) * 30;
}
static double sum_of(const double *m)
{
    double sum = 0;
    for (int i = 0; i < N * N; i++) sum = sum * 0.75 + m[i];
    return sum;
}
int main(void)
{
    static long values[N];
    for (int round = 0; round < ROUNDS; round++) {
        fill(N, a);
        eliminate(N, a);
        printf("%.17g\\n", sum_of(&a[0][0]));
    }
    fill(N, b);
#pragma tilek data copy(b)
    {
        sweep(N, b);
        sweep(N, b);
#pragma tilek update self(b[0:2])
    }
    printf("%.17g\\n", sum_of(&b[0][0]));
    for (int i = 0; i < N; i++) values[i] = i * i;
    printf("%ld\\n", total(N, values));
    for (int i = 0; i < 3; i++) scale(N * N, c, 0.5, 1);
#pragma tilek wait
    printf("%.17g\\n", sum_of(c));
    return 0;
}
"""


#: All wavefronts of a launch are one launch.
COOPERATIVE_SOURCE = """
#include <math.h>
#include <stdio.h>
enum { N = 80 };
static double u[N][N];

static double relax_once(int n, double m[n][n])
{
    double change = 0, old;
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            old = m[i][j];
            m[i][j] = 0.25 * (m[i - 1][j] + m[i + 1][j] + m[i][j - 1] + m[i][j + 1]);
            change = fmax(change, fabs(m[i][j] - old));
        }
    return change;
}
int main(void)
{
    double sum = 0;
    for (int k = 0; k < N * N; k++) u[k / N][k % N] = k * 7919 % 1009;
    printf("%.17g\\n", relax_once(N, u));
#pragma tilek data copy(u)
    for (int k = 0; k < 2; k++) printf("%.17g\\n", relax_once(N, u));
    for (int k = 0; k < N * N; k++) sum = sum * 0.75 + u[k / N][k % N];
    printf("%.17g\\n", sum);
    return 0;
}
"""

COMPILER_SOURCE = """
#include <stdio.h>
int main(void)
{
    static int a[100];
#pragma tilek kernel
    for (int i = 0; i < 100; i++) a[i] = i * i;
    printf("%d\\n", a[99]);
    return 0;
}
"""

#: Without the kernel that PoCL compiles longest.
OPENCL_SOURCE = re.sub(
    r"(?s)static void eliminate.*?(?=static void sweep)|    for \(int round.*?(?=    fill\(N, b\);)", "", SOURCE
)

#: What cannot be given back where the call before that fails.
LEFT = ("stand-in: left behind: ", "stand-in: a module was unloaded before ")
CALLED = "faults: call of "


def judge(
    workshop: Workshop, program: Path, target: TargetEnvironment, expected: list[str], most_warnings: int, **more: str
) -> tuple[str | None, bool]:
    """What is wrong with a run in which a call fails (None where nothing is), and whether it has warned."""
    status = 0
    try:
        said = workshop.run(program, target, **more)
    except Failure as failure:
        said, status = failure.output, failure.status
    lines = [line for line in said.splitlines() if not line.startswith(LEFT)]
    errors, warnings = (sum(f"tilek: {word}: " in line for line in lines) for word in ("error", "warning"))
    results = [line for line in lines if "tilek: " not in line]
    right = status == 0 and errors == 0 and warnings <= most_warnings and results == expected
    ended = status == 71 and errors == 1 and results == expected[: len(results)]
    if more.get("TILEK_STRICT") == "1":
        right = right and warnings == 0
    return None if right or ended else f"status {status}\n{said}", warnings > 0


@pytest.mark.skipif(cuda_device_present(), reason="a CUDA device is here, which does as it likes")
@pytest.mark.parametrize("launches", ["single", "cooperative"])
def test_any_call_of_the_driver_may_fail(workshop: Workshop, tmp_path: Path, launches: str) -> None:
    source = tmp_path / f"{launches}.c"
    source.write_text(SOURCE if launches == "single" else COOPERATIVE_SOURCE)
    programs = workshop.build_original(source, FLAGS), workshop.build_translated(source, FLAGS)
    cuda = target_environment("cuda", workshop.folder.parent)
    expected = workshop.run(programs[0], PLAIN).splitlines()
    more = {"TILEK_OPENCL_LIBRARY": "none", "TILEK_STRICT": "0"}
    for _ in range(2):  # the second time compiled kernels are there
        whole = workshop.run(programs[1], cuda, TILEK_STANDIN_FAIL="any:0", TILEK_STANDIN_COUNTS="1", **more)
    match = re.search(r"stand-in: (\d+) calls", whole)
    assert match is not None and [line for line in whole.splitlines() if not line.startswith("stand-in")] == expected
    assert (", 0 cooperative" in whole) == (launches == "single")
    count, wrong, warned = int(match[1]), [], 0
    for call in range(1, count + 1):
        fault, has_warned = judge(
            workshop, programs[1], cuda, expected, most_warnings=1, TILEK_STANDIN_FAIL=f"any:{call}", **more
        )
        warned += has_warned
        if fault is not None:
            wrong.append(f"call {call} of {count}: {fault}")
    assert warned > count // 2, f"{warned} of {count} calls fail"
    assert not wrong, f"{len(wrong)} of {count} calls:\n" + "\n".join(wrong[:10])


@pytest.mark.skipif(cuda_device_present(), reason="a CUDA device is here, which does as it likes")
def test_any_call_of_the_compiler_may_fail(workshop: Workshop, tmp_path: Path) -> None:
    """Of NVRTC, with nothing compiled yet. What fails is not kept: the next run of the program is right without a warning."""
    source = tmp_path / "compiler_faults.c"
    source.write_text(COMPILER_SOURCE)
    expected = workshop.run(workshop.build_original(source, FLAGS), PLAIN).splitlines()
    program, cuda = workshop.build_translated(source, FLAGS), target_environment("cuda", workshop.folder.parent)

    def cold(call: int) -> dict[str, str]:
        cache = tmp_path / f"cache{call}"
        cache.mkdir(mode=0o700)
        return {"TILEK_OPENCL_LIBRARY": "none", "TILEK_STRICT": "0", "TILEK_CACHE_DIR": str(cache)}

    counted = re.search(r"stand-in: (\d+) calls", workshop.run(program, cuda, TILEK_STANDIN_FAIL="nvrtc:0", **cold(0)))
    assert counted is not None and int(counted[1]) >= 6
    wrong, warned = [], 0
    for call in range(1, int(counted[1]) + 1):
        more = cold(call)
        fault, has_warned = judge(workshop, program, cuda, expected, 1, TILEK_STANDIN_FAIL=f"nvrtc:{call}", **more)
        warned += has_warned
        if fault is None and workshop.run(program, cuda, **more).splitlines() != expected:
            fault = "the next run"
        if fault is not None:
            wrong.append(f"call {call}: {fault}")
    assert warned > 3 and not wrong, "\n".join(wrong)


def calls_to_fail(names: list[str], of_each: str) -> list[int]:
    """Numbers, from 1, of the calls of these functions that are made to fail in turn: the first or the last of each function."""
    numbered = list(enumerate(names, 1))
    if os.environ.get("TILEPRAGMA_FAULTS") == "all":
        return [number for number, _ in numbered]
    if of_each == "first":
        numbered.reverse()
    return sorted({name: number for number, name in numbered}.values())


@pytest.fixture(scope="module")
def opencl_programs(workshop: Workshop) -> tuple[Path, Path]:
    workshop.folder.mkdir(parents=True, exist_ok=True)
    source = workshop.folder / "opencl_faults.c"
    source.write_text(OPENCL_SOURCE)
    return workshop.build_original(source, FLAGS), workshop.build_translated(source, FLAGS)


@pytest.fixture(scope="module")
def opencl_faults(workshop: Workshop) -> dict[str, str]:
    if not opencl_present():
        pytest.skip("no OpenCL here: install the extra [opencl]")
    wheel = None if system_opencl_present() else wheel_library("TILEK_WHEEL_OPENCL")
    return build_faults(workshop.folder / "opencl_faults", wheel)


@pytest.mark.parametrize(
    ("form", "of_each", "strict", "error"),
    [("opencl", "first", "0", "5"), ("opencl-gpu", "last", "1", "36")],  # CL_OUT_OF_RESOURCES, CL_INVALID_COMMAND_QUEUE
)
def test_any_call_of_opencl_may_fail(
    workshop: Workshop,
    opencl_programs: tuple[Path, Path],
    opencl_faults: dict[str, str],
    form: str,
    of_each: str,
    strict: str,
    error: str,
) -> None:
    expected, program = workshop.run(opencl_programs[0], PLAIN).splitlines(), opencl_programs[1]
    target = target_environment(form, workshop.folder.parent)
    trace = (
        {"TILEK_PROFILE": str(workshop.folder / "faults.json")} if form == "opencl-gpu" else {}
    )  # launches have events
    chosen = opencl_faults | trace | {"TILEK_STRICT": strict, "TILEK_FAULTS_ERROR": error}
    for _ in range(2):  # the second time compiled kernels are there
        whole = workshop.run(program, target, TILEK_FAULTS_CALL="0", **chosen).splitlines()
    names = [line.removeprefix(CALLED) for line in whole if line.startswith(CALLED)]
    calls = calls_to_fail(names, of_each)
    assert len(calls) > 15 and expected == [line for line in whole if not line.startswith(CALLED)]
    wrong = []
    for call in calls:
        # A device that does not tell what it can compute is warned of for each of the three
        # kernels.
        fault, _ = judge(workshop, program, target, expected, 3, TILEK_FAULTS_CALL=str(call), **chosen)
        if fault is not None:
            wrong.append(f"call {call} of {len(names)}, {names[call - 1]}: {fault}")
    assert not wrong, f"{len(wrong)} of {len(calls)} calls:\n" + "\n".join(wrong[:10])
