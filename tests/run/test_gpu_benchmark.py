"""The GPU's benchmark at tiny sizes on the stand-in for CUDA: everything that it needs is in the folder that it writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.__main__ import TIMED_KERNELS, pack
from benchmarks.gpu.cases import CASES, GpuCase
from tests.support.programs import ROOT
from tests.support.targets import target_environment

#: Of five shapes; others take seconds on the stand-in.
KERNELS = ("metafork-reversal.float", "product.float", "jacobi-2d.float", "lu.float", "alignment.float")
COMPARED = ("lu.float", "alignment.float")

#: To compare: of two programs, the second with a variant.
COMPARED_KERNELS = ("reversal", "sgemm")
#: In the place of NVIDIA's tools, which need a device: ncu runs the program and reports as many
#: launches as it repeats the kernel, each with 1 200 for every metric; nvcc leaves the CUDA out.
NCU = """#!{python}
import subprocess, sys
options = sys.argv[1:]
program = next(k for k, option in enumerate(options) if option.endswith(".run"))
done = subprocess.run(options[program:])
metrics = options[options.index("--metrics") + 1].split(",")
rows = [["ID", "Kernel Name", *metrics], ["", "", *["unit"] * len(metrics)]]
rows += [[number, "kernel", *["1,200"] * len(metrics)] for number in range(int(options[-1].rpartition("REPEATS=")[2]))]
with open(options[options.index("--log-file") + 1], "w") as log:
    print("==PROF== Connected to process", file=log)
    for row in rows:
        print(",".join(f'"{{cell}}"' for cell in row), file=log)
sys.exit(done.returncode)
"""
NVCC = """#!{python}
import subprocess, sys
taken = [option for option in sys.argv[1:] if option[-2:] == ".o" or option[:2] == "-l"]
sys.exit(subprocess.run(["cc", "-o", sys.argv[sys.argv.index("-o") + 1], *taken]).returncode)
"""

#: Figures that no other kernel has a part in.
WHOLE = {"sgemm", "jacobi-2d"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, peer = tmp_path_factory.mktemp("gpu"), tmp_path_factory.mktemp("peers") / "peer"
    (peer / "reversal").mkdir(parents=True)
    (peer / "reversal" / "reversal.cu").write_text("/* CUDA */\n")
    kernels = [case for case in TIMED_KERNELS if case.kernel in COMPARED_KERNELS][:2]
    pack(made, [case for case in CASES if case.name in KERNELS], kernels, [peer], tiny=True)
    return made


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PATH with the tools in front."""
    made = tmp_path_factory.mktemp("tools")
    for name, text in (("ncu", NCU), ("nvcc", NVCC)):
        (made / name).write_text(text.format(python=sys.executable))
        (made / name).chmod(0o755)
    return f"{made}{os.pathsep}{os.environ['PATH']}"


def run(folder: Path, *options: object, **more: str) -> subprocess.CompletedProcess[str]:
    variables = dict(target_environment("cuda", folder).variables)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = (sys.executable, "-E", "-s", str(folder / "run.py"), "--tiny", "--runs", "2", *map(str, options))
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
    done = run(folder, "--json", report, "--only", *(name.partition(".")[0] for name in KERNELS))
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


def rows_of(text: str) -> list[list[str]]:
    """Kernel, code and the rest of the rows of the comparison."""
    lines = text[text.index("\nkernel ") + 1 :].splitlines()[1:]
    return [[line[:22].strip(), line[23:39].strip(), *line[39:].split()] for line in lines]


def test_kernels_are_compared_by_what_ncu_counts(folder: Path, tools: str) -> None:
    report = folder / "compared.json"
    done = run(folder, "--only", *COMPARED_KERNELS, "--json", report, PATH=tools)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = rows_of(done.stdout)
    expected = {"reversal 67": ["naive", "ours", "peer"], "sgemm 67": ["naive", "tiled", "ours", "ours fused"]}
    assert {title: [row[1] for row in rows if row[0] == title] for title in expected} == expected
    # 1 200 ns for 67 points or 67 cubed multiply-adds; the device's DRAM has two metrics.
    assert {tuple(row[2:]) for row in rows if row[0] == "reversal 67"} == {
        ("1.2", "1.00", "0.06", "17.91", "17.91", "17.91", "35.82", "1200", "12.00", "same")
    }
    stored = json.loads(report.read_text())["comparison"]
    assert [(each["kernel"], each["code"]) for each in stored] == [tuple(row[:2]) for row in rows]
    assert all(each["seconds"] == [pytest.approx(1.2e-6)] and each["same"] for each in stored)


def test_a_kernel_that_cannot_be_compared_costs_its_own_row(folder: Path, tools: str, tmp_path: Path) -> None:
    (tmp_path / "nvcc").write_text("#!/bin/sh\necho no CUDA here >&2\nexit 1\n")
    (tmp_path / "nvcc").chmod(0o755)
    done = run(folder, "--only", "reversal", PATH=f"{tmp_path}{os.pathsep}{tools}")
    assert done.returncode == 1, done.stdout + done.stderr
    assert [row[1] for row in rows_of(done.stdout)][:2] == ["naive", "ours"]
    assert "peer: FAILED: no CUDA here" in done.stdout


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
