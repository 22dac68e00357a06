"""The GPU's benchmark at tiny sizes on the stand-in for CUDA: everything that it needs is in the folder that it writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.__main__ import pack
from benchmarks.gpu.cases import CASES, GpuCase
from tests.support.programs import ROOT
from tests.support.targets import target_environment

#: Of five shapes; others take seconds on the stand-in.
KERNELS = ("metafork-reversal.float", "product.float", "jacobi-2d.float", "lu.float", "alignment.float")
COMPARED = ("lu.float", "alignment.float")

#: Figures that no other kernel has a part in.
WHOLE = {"sgemm", "jacobi-2d"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gpu")
    pack(made, [case for case in CASES if case.name in KERNELS], tiny=True)
    return made


def run(folder: Path, *options: object, **more: str) -> subprocess.CompletedProcess[str]:
    variables = dict(target_environment("cuda", folder).variables)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = (sys.executable, "-I", str(folder / "run.py"), "--tiny", "--runs", "2", *map(str, options))
    return subprocess.run(
        command,
        env=environment | variables | more,
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_every_figure_is_measured(folder: Path) -> None:
    report = folder / "gpu.json"
    done = run(folder, "--json", report)
    assert done.returncode == 0, done.stdout + done.stderr
    whole = json.loads(report.read_text())
    assert set(whole["results"]) == set(KERNELS)
    assert all(each["median"] > 0 for each in whole["results"].values())
    assert all(len(whole["results"][name]["seconds"]) == (4 if name in COMPARED else 1) for name in KERNELS)
    assert set(whole["figures"]) == {"reversal", "sgemm", "jacobi-2d", "graphs", "persistent"}
    assert all(each["value"] is None or each["value"] > 0 for each in whole["figures"].values())
    assert {name for name, each in whole["figures"].items() if each["whole"]} == WHOLE
    assert whole["machine"]["copy"] > 0 and not whole["comparable"]
    command = (sys.executable, "-m", "benchmarks.suite", "--show", "/dev/null", "--gpu", str(report))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no results of the suite" in done.stdout


def test_wrong_results_are_no_success(folder: Path) -> None:
    done = run(folder, "--only", "metafork-reversal", TILEK_STANDIN_FAIL="launch")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "metafork-reversal.float    failed" in done.stdout


def test_what_cannot_be_run_is_said(folder: Path) -> None:
    done = run(folder, "--runs", "1")
    assert done.returncode == 2 and "--runs must be 2" in done.stderr
    done = run(folder, "--only", "nothing")
    assert done.returncode == 2 and "no kernel is called nothing" in done.stderr
    shutil.copytree(folder, folder.parent / "fresh", ignore=shutil.ignore_patterns("libtilek.a"))
    done = run(folder.parent / "fresh", "--cc", "no-such-compiler")
    assert done.returncode == 2 and "no-such-compiler" in done.stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counts_are_of_the_sizes(case: GpuCase) -> None:
    assert case.count(case.moved, check=False) > 1e8 > case.count(case.moved, check=True) > 0
    assert case.numbers(True).keys() == case.numbers(False).keys()
