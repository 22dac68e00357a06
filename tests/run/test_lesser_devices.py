"""OpenCL devices that lack something: kernels run there with the results of the plain compiler, or
one warning says what is missing.

`tests/opencl_faults` stands in front of the real library and makes its device a lesser one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.opencl_faults.build import build_faults
from tests.support.programs import FLAGS, PLAIN, Workshop
from tests.support.targets import opencl_present, system_opencl_present, target_environment
from tilepragma.base.wheels import wheel_library

#: Products and sums of rows are staged in array tiles, the relaxation in
#: boxes of 4200 bytes; the sum has a tree in shared memory.
SINGLE = """
#include <stdio.h>
enum { N = 70, M = 50 };
static float a[N][M], b[M][N], c[N][N], x[M], y[N], u[N][N];

static void product(int n, int m, float a[n][m], float b[m][n], float c[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++) c[i][j] += a[i][k] * b[k][j];
}
static void rows(int n, int m, float a[n][m], const float *x, float *restrict y)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) y[i] += a[i][k] * x[k];
}
static void relax(int n, float u[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < 5; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                u[i][j] = 0.5f * u[i][j] + 0.125f * (u[i - 1][j] + u[i][j - 1] + u[i + 1][j] + u[i][j + 1]);
}
static long total(int n, const float *y)
{
    long sum = 0;
#pragma tilek kernel reduction(+: sum)
    for (int i = 0; i < n; i++) sum += (long)y[i];
    return sum;
}
static double sum_of(int n, const float *m)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 0.75 + m[i];
    return sum;
}
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) a[i][k] = (float)((i * 7 + k * 5) % 11), b[k][i] = (float)((i + k * 3) % 7);
    for (int k = 0; k < M; k++) x[k] = (float)(k % 5);
    for (int k = 0; k < N * N; k++) u[k / N][k % N] = (float)(k % 13);
    product(N, M, a, b, c);
    rows(N, M, a, x, y);
    relax(N, u);
    printf("%.17g %.17g %.17g %ld\\n", sum_of(N * N, &c[0][0]), sum_of(N, y), sum_of(N * N, &u[0][0]), total(N, y));
    return 0;
}
"""
KERNELS = ("product", "rows", "relax", "total")

DOUBLE = """
#include <stdio.h>
enum { N = 100 };
struct cell { float u; double w; };
static float a[N];
static struct cell cells[N];

static void scale(int n, float *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[i] = 0.1 * a[i];
}
static void shift(int n, struct cell *cells)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) cells[i].u += 1.0f;
}
static void add(int n, float *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[i] += 0.1f;
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++) a[i] = cells[i].u = (float)i;
    scale(N, a);
    shift(N, cells);
    add(N, a);
    for (int i = 0; i < N; i++) sum = sum * 0.75 + a[i] + cells[i].u;
    printf("%.17g\\n", sum);
    return 0;
}
"""

OVERLAPPED = """
#include <stdio.h>
enum { N = 60 };
static float a[N][N], b[N][N];

static void step(int steps, int n, float a[n][n], float b[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) b[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) a[i][j] = b[i][j];
    }
}
int main(void)
{
    double sum = 0;
    for (int k = 0; k < N * N; k++) a[k / N][k % N] = (float)(k % 17);
    step(5, N, a, b);
    for (int k = 0; k < N * N; k++) sum = sum * 0.75 + a[k / N][k % N];
    printf("%.17g\\n", sum);
    return 0;
}
"""


@pytest.fixture(scope="module")
def lesser(workshop: Workshop) -> dict[str, str]:
    if not opencl_present():
        pytest.skip("no OpenCL here: install the extra [opencl]")
    wheel = None if system_opencl_present() else wheel_library("TILEK_WHEEL_OPENCL")
    return build_faults(workshop.folder / "lesser_devices", wheel) | {
        "TILEK_FAULTS_GPU": "1",
        "TILEK_FAULTS_DOUBLE": "0",
    }


def built(workshop: Workshop, name: str, text: str, **variables: str) -> tuple[str, Path]:
    """What the plain compiler's program prints, and the translated program."""
    source = workshop.folder / f"{name}.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    return workshop.run(workshop.build_original(source, FLAGS), PLAIN), workshop.build_with(source, **variables)


@pytest.fixture(scope="module")
def single(workshop: Workshop) -> tuple[str, Path]:
    return built(workshop, "lesser_single", SINGLE)


@pytest.mark.parametrize(
    ("specialize", "local", "group"), [("1", "16384", "4096"), ("0", "16384", "64"), ("1", "4096", "128")]
)
def test_kernels_run_with_less_shared_memory_and_fewer_workers(
    workshop: Workshop, lesser: dict[str, str], single: tuple[str, Path], specialize: str, local: str, group: str
) -> None:
    """TILEK_STRICT ends a program whose kernel leaves the device, which refuses what it has not."""
    expected, program = single
    target = target_environment("opencl-gpu", workshop.folder.parent)
    device = lesser | {"TILEK_FAULTS_LOCAL": local, "TILEK_FAULTS_GROUP": group}
    said = workshop.run(program, target, TILEK_SPECIALIZE=specialize, TILEK_PROFILE="1", **device)
    lines = [line for line in said.splitlines() if line not in expected.splitlines()]
    assert len(lines) + 1 == len(said.splitlines())
    ran = [line.split()[0] for line in lines if "opencl " in line and not line.startswith("  ")]
    assert sorted(ran) == sorted(KERNELS)
    staged = f"opencl: array tiles of at most {local} bytes are staged, since a gang has no more; 32768 were planned"
    assert said.count(staged) == 3


def test_without_shared_memory_a_warning_says_so(
    workshop: Workshop, lesser: dict[str, str], single: tuple[str, Path]
) -> None:
    expected, program = single
    target = target_environment("opencl-gpu", workshop.folder.parent)
    said = workshop.run(program, target, **(lesser | {"TILEK_FAULTS_LOCAL": "0", "TILEK_STRICT": "0"}))
    assert said.splitlines()[-1] == expected.strip()
    for kernel in KERNELS:
        assert f"kernel {kernel} cannot run on opencl: launch {kernel} needs " in said
    assert said.count("of local memory, and a gang of ") == said.count("it runs on threads instead") == 4


def test_without_double_precision_the_kernels_that_need_it_run_elsewhere(
    workshop: Workshop, lesser: dict[str, str]
) -> None:
    expected, program = built(workshop, "lesser_double", DOUBLE)
    target = target_environment("opencl-gpu", workshop.folder.parent)
    said = workshop.run(program, target, **(lesser | {"TILEK_STRICT": "0", "TILEK_PROFILE": "1"}))
    assert expected.strip() in said.splitlines()
    for kernel in ("scale", "shift"):
        assert f"kernel {kernel} cannot run on opencl: " in said
    assert said.count("has no double precision, which the kernel needs; it runs on threads instead") == 2
    assert any(line.split()[:2] == ["add", "opencl"] for line in said.splitlines())


def test_tiles_of_time_without_room_are_refused_before_the_launch(workshop: Workshop, lesser: dict[str, str]) -> None:
    """Their scratchpads have fixed lengths: planned for 32768 bytes, or for those of a descriptor."""
    expected, program = built(workshop, "lesser_tiles", OVERLAPPED, TILEK_TILES="overlapped")
    target = target_environment("opencl-gpu", workshop.folder.parent)
    device = lesser | {"TILEK_FAULTS_LOCAL": "16384", "TILEK_STRICT": "0", "TILEK_SPECIALIZE": "0"}
    said = workshop.run(program, target, **device)
    assert said.splitlines()[-1] == expected.strip() and said.count("\n") == 2
    assert "needs 32736 bytes of local memory" in said and "translate with --device of a descriptor with so few" in said
