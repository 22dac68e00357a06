"""CUDA programs over the CUDA runtime, on the stand-in for CUDA: a program with kernels and host code in files of their
own, and a peer's kernel beside ours.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu.kernel_cases import KernelCase
from benchmarks.gpu.kernel_runs import sources_of
from benchmarks.gpu.simulated import __main__ as simulated
from benchmarks.gpu.simulated import simulator as simulator_module
from benchmarks.gpu.simulated.peers import Peer, build_cuda, peers_of
from benchmarks.gpu.simulated.simulator import Counts, Simulator
from benchmarks.measure import COMPILER, EXACT, BenchmarkError, checked_output, environment
from tests.cuda_standin.build import build_standin

CASE = KernelCase("elementwise", "reversal", 100, "N")
COUNTS = Counts(launches=1, instructions=800, cycles=9, l1=4, l2=3, dram=2, conflicts=1, occupancy=1.0, registers=14)
HEADER = '#include "cuda.h"\n__global__ void scaled(int n, float factor, const float *x, float *y);\n'
KERNELS = """#include "scaled.hu"
#define LEAST(x, y) ((x) < (y) ? (x) : (y))
__device__ static int end_of(int n) { return LEAST(n, (int)((blockIdx.x + 1) * blockDim.x)); }
__global__ void scaled(int n, float factor, const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < end_of(n))
        y[i] = factor * x[i];
}
"""
HOST = """#include <stdio.h>
#include "scaled.hu"
#define CHECK(call) if ((call) != cudaSuccess) return printf("%s\\n", cudaGetErrorString(cudaGetLastError())), 1
int main(int count, char **arguments)
{
    enum { n = 100 };
    float x[n], y[n], *device_x, *device_y, sum = 0;
    for (int i = 0; i < n; i++)
        x[i] = (float)i;
    CHECK(cudaMalloc(&device_x, sizeof x));
    CHECK(cudaMalloc((void **)&device_y, sizeof y));
    CHECK(cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_y, 0, sizeof y));
    scaled<<<dim3(3), 32>>>(n, 2, device_x, device_y);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(device_x, device_y, sizeof y, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(y, device_x, sizeof y, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
    for (int i = 0; i < n; i++)
        sum += y[i];
    printf("%g of %g\\n", sum, y[95]);
    return 0;
}
"""
REVERSAL = """#include "cuda.h"
__global__ void turned(int n, const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[n - 1 - i];
}
void reversal(int n, float *y, const float *x)
{
    float *device_x, *device_y;
    cudaMalloc((void **)&device_x, n * sizeof(float));
    cudaMalloc((void **)&device_y, n * sizeof(float));
    cudaMemcpy(device_x, x, n * sizeof(float), cudaMemcpyHostToDevice);
    turned<<<(n + 63) / 64, 64>>>(n, device_x, device_y);
    cudaMemcpy(y, device_y, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(device_x);
    cudaFree(device_y);
}
"""


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    folder = tmp_path_factory.mktemp("standin")
    library = Path(build_standin(folder)["TILEK_CUDA_LIBRARY"])
    return Simulator(folder, library, library, folder)


@pytest.fixture
def someone(tmp_path: Path) -> Path:
    """A peer's folder, with a reversal for one size."""
    sources = tmp_path / "someone" / f"reversal-{CASE.n}"
    sources.mkdir(parents=True)
    (sources / "reversal.cu").write_text(REVERSAL)
    return sources.parent


def test_a_program_of_several_files_runs(standin: Simulator, tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name, text in (("scaled.hu", HEADER), ("kernels.cu", KERNELS), ("host.cu", HOST)):
        (sources / name).write_text(text)
    build_cuda(sources, tmp_path / "program", standin)
    # 96 threads for 100 elements: the last four stay 0.
    assert checked_output([str(tmp_path / "program")], environment()) == "9120 of 190\n"


def test_peers_are_those_with_the_kernel(someone: Path, tmp_path: Path) -> None:
    peer = Peer(someone)
    assert str(peer) == "someone"
    assert peers_of(CASE, [peer, Peer(tmp_path)]) == [peer]
    assert peers_of(replace(CASE, n=3), [peer]) == []


def test_rows_of_peers_say_what_differs_and_what_failed(
    standin: Simulator, someone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = (*shlex.split(COMPILER), *EXACT, *sources_of(), "-o", str(tmp_path / simulated.PLAIN), "-lm")
    checked_output(plain, environment())
    monkeypatch.setattr(simulator_module, "read_counts", lambda *_: COUNTS)
    texts = (
        REVERSAL,
        REVERSAL.replace("x[n", "2 * x[n"),
        REVERSAL.replace("cudaFree(", "cudaFreed("),
        "__constant__ int k;",
    )
    outcomes = []
    for text in texts:
        next(someone.glob("*/reversal.cu")).write_text(text)
        outcomes.append(simulated.measure(CASE, Peer(someone), standin, tmp_path, functional=True))
    rows = simulated.table_of(outcomes, functional=True)
    assert [row[:2] for row in rows[:2]] == [["reversal 100", "someone"], ["reversal 100", "someone: OTHER BITS"]]
    assert [row[1].startswith("someone: FAILED: ") for row in rows] == [False, False, True, True]
    assert "cudaFreed" in outcomes[2].failure and "variables in device memory" in rows[3][1]


def test_a_peer_without_the_kernels_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["simulated", "--peer", str(tmp_path)])
    with pytest.raises(SystemExit):
        simulated.main()
    assert f"{tmp_path} has none of the kernels" in capsys.readouterr().err


def test_what_does_not_build_is_named(standin: Simulator, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"has no \.cu files"):
        build_cuda(tmp_path, tmp_path / "program", standin)
    (tmp_path / "k.cu").write_text("template <class T> __global__ void k(T a) { }")
    with pytest.raises(BenchmarkError, match=r"k\.cu\nkernels that are templates are not taken"):
        build_cuda(tmp_path, tmp_path / "program", standin)
