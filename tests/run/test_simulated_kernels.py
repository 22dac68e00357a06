"""The kernels of benchmarks.gpu.simulated on the stand-in for CUDA: tilek's and the hand-written ones leave the plain
program's bits. And what the benchmark reads of a simulator's run, and says where none is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.gpu.simulated.__main__ import NAIVE, OURS, PROGRAMS, TILED, build, codes_of, result_of
from benchmarks.gpu.simulated.cases import CASES
from benchmarks.gpu.simulated.simulator import Counts, SimulatorError, read_counts
from tests.support.targets import target_environment

KERNELS = sorted({case.kernel for case in CASES})


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """The hash that a program prints."""
    folder = tmp_path_factory.mktemp("simulated")
    build(folder)
    variables = dict(target_environment("cuda", folder).variables) | {"SIMULATED_CUDA": str(PROGRAMS / "naive.cu")}

    def run(code: str, *arguments: str) -> str:
        command = [str(folder / code), *arguments]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=True)
        return result_of(done.stdout)

    return run


@pytest.mark.parametrize("kernel", KERNELS)
def test_codes_leave_the_bits_of_the_plain_program(result: Callable[..., str], kernel: str) -> None:
    case = next(case for case in CASES if case.kernel == kernel)
    arguments = (kernel, "19", "2")
    expected = result("plain", *arguments)
    assert {code: result(code, *arguments) for code in codes_of(case)} == dict.fromkeys(codes_of(case), expected)
    assert {OURS, NAIVE} <= set(codes_of(case)) and (TILED in codes_of(case)) == (kernel == "product")


def test_counts_are_sums_over_launches(tmp_path: Path) -> None:
    launches, log = tmp_path / "launches.json", tmp_path / "log.txt"
    launches.write_text(
        '{"kernel": "a", "registers": 12, "occupancy": 0.5, "cycles": 100, "instructions": 7}\n'
        '{"kernel": "a", "registers": 14, "occupancy": 1.0, "cycles": 50, "instructions": 5}\n'
    )
    log.write_text(
        "\tL1D_total_cache_accesses = 10\ntotal dram reads = 3\ntotal dram writes = 1\n"
        "\tL1D_total_cache_accesses = 30\ngpgpu_n_shmem_bkconflict = 4\nL2_total_cache_accesses = 20\n"
        "total dram reads = 6\ntotal dram writes = 2\n"
    )
    expected = Counts(
        launches=2, instructions=12, cycles=150, l1=30, l2=20, dram=8, conflicts=4, occupancy=1.0, registers=14
    )
    assert read_counts(launches, log) == expected


def test_a_run_without_launches_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="nothing was launched"):
        read_counts(tmp_path / "launches.json", tmp_path / "log.txt")


def test_what_is_missing_is_named() -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GPGPUSIM_ROOT", "CUDA_INSTALL_PATH")
    }
    command = (sys.executable, "-m", "benchmarks.gpu.simulated", "--only", "axpy")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "GPGPUSIM_ROOT is not set" in done.stdout and "CUDA_INSTALL_PATH is not set" in done.stdout
