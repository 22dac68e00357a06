"""The kernels of benchmarks.gpu.simulated on the stand-in for CUDA: tilek's and the hand-written ones leave the plain
program's bits. And what the benchmark reads of a simulator's run, and says where none is there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu.kernel_cases import CASES, NAIVE, OURS, TILED, KernelCase
from benchmarks.gpu.kernel_runs import hashes_of
from benchmarks.gpu.simulated import __main__ as simulated
from benchmarks.gpu.simulated import simulator as simulator_module
from benchmarks.gpu.simulated.__main__ import Outcome
from benchmarks.gpu.simulated.simulator import CONFIGURATIONS, TESTED, Counts, Simulator, read_counts
from benchmarks.measure import BenchmarkError, checked_output
from tests.cuda_standin.build import build_standin
from tests.support.targets import target_environment

KERNELS = {case.kernel: case for case in CASES}
COUNTS = Counts(launches=1, instructions=80, cycles=9, l1=4, l2=3, dram=2, conflicts=1, occupancy=1.0, registers=14)
AXPY = KernelCase("elementwise", "axpy", 8, "N")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs."""
    made = tmp_path_factory.mktemp("simulated")
    simulated.build(made, contract=False)
    return made


@pytest.mark.parametrize("kernel", KERNELS)
def test_codes_leave_the_bits_of_the_plain_program(folder: Path, kernel: str) -> None:
    variables = os.environ | dict(target_environment("cuda", folder).variables)

    def result(code: str) -> str:
        return hashes_of(checked_output(simulated.command_of(folder, code, kernel, 19, 2), variables, folder))

    codes = KERNELS[kernel].codes
    assert {code: result(code) for code in codes} == dict.fromkeys(codes, result(simulated.PLAIN))


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
    with pytest.raises(BenchmarkError, match="nothing was launched"):
        read_counts(tmp_path / "launches.json", tmp_path / "log.txt")


def test_rows_say_what_differs_and_what_failed() -> None:
    outcomes = [
        Outcome(AXPY, OURS, COUNTS, same=False),
        Outcome(AXPY, NAIVE, replace(COUNTS, instructions=40), same=True),
        Outcome(AXPY, TILED, None, same=False, failure="axpy\nended with status 2\nno such kernel"),
    ]
    rows = simulated.table_of(outcomes, functional=False)
    assert [row[1] for row in rows] == ["ours: OTHER BITS", "naive", "tiled: FAILED: no such kernel"]
    assert [row[3:5] for row in rows] == [["10.00", "5.75"], ["5.00", ""], ["", ""]]
    assert {len(row) for row in rows} == {len(simulated.COLUMNS + simulated.TIMED_COLUMNS)}
    assert {len(row) for row in simulated.table_of(outcomes, functional=True)} == {len(simulated.COLUMNS)}


def test_a_failing_run_costs_its_own_row(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command, with the stand-in for CUDA in the simulator's place."""
    standin = build_standin(tmp_path / "standin")
    configuration = tmp_path / TESTED / "gpgpusim.config"
    configuration.parent.mkdir(parents=True)
    configuration.write_text("-gpgpu_n_mem 32\n")
    libraries = (Path(standin[name]) for name in ("TILEK_CUDA_LIBRARY", "TILEK_NVRTC_LIBRARY"))
    simulator = Simulator(tmp_path, *libraries, tmp_path / "ptxas")
    monkeypatch.setattr(simulated, "find_simulator", lambda _: simulator)
    monkeypatch.setattr(simulated, "build", lambda made, contract: shutil.copytree(folder, made, dirs_exist_ok=True))
    monkeypatch.setattr(simulator_module, "read_counts", lambda *_: COUNTS)
    monkeypatch.setattr(simulated, "CASES", (KernelCase("elementwise", "nothing", 8, "N"), AXPY))
    report = tmp_path / "report.json"
    monkeypatch.setattr(sys, "argv", ["simulated", "--functional", "--markdown", "--json", str(report)])
    assert simulated.main() == 1
    said = capsys.readouterr()
    assert "| nothing 8 | ours: FAILED: " in said.out and "| axpy 8 | naive | 1 | 10.00 |" in said.out
    assert "nothing 8, naive: " in said.err and "no such kernel" in said.err
    stored = json.loads(report.read_text())
    assert [(each["case"]["kernel"], each["code"], each["same"]) for each in stored] == [
        ("nothing", OURS, False),
        ("nothing", NAIVE, False),
        ("axpy", OURS, True),
        ("axpy", NAIVE, True),
    ]
    assert stored[0]["counts"] is None and "no such kernel" in stored[0]["failure"]
    assert stored[2]["counts"]["instructions"] == 80 and stored[2]["configuration"] == CONFIGURATIONS[0].name
    assert "-gpgpu_n_mem 8" in (simulator.folder / "gpgpusim.config").read_text()


def test_what_is_missing_is_named() -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GPGPUSIM_ROOT", "CUDA_INSTALL_PATH")
    }
    command = (sys.executable, "-m", "benchmarks.gpu.simulated", "--only", "axpy")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "GPGPUSIM_ROOT is not set" in done.stdout and "CUDA_INSTALL_PATH is not set" in done.stdout
