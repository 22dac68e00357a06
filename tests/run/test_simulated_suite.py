"""The suite's programs as ours and as PPCG's in the simulator, with the stand-in for CUDA in its place, and a script in
PPCG's: it leaves a kernel for a scop that it knows.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu.simulated import simulator as simulator_module
from benchmarks.gpu.simulated import suite
from benchmarks.gpu.simulated.simulator import TESTED, Counts, Simulator
from benchmarks.gpu.simulated.suite import COLUMNS, Comparison, Run, row_of
from tests.cuda_standin.build import build_standin

COUNTS = Counts(
    launches=2, instructions=4000000, cycles=1500, l1=4, l2=3, dram=2500, conflicts=1, occupancy=1.0, registers=9
)
PROGRAM = "thesis-jacobi-1d-3"
#: Its text has macros expanded and numbers for sizes.
PPCG = (
    r"""#!{python}
import re, sys
from pathlib import Path
name = sys.argv[-1]
text = Path(name).read_text()
begin, end = text.index("#pragma scop"), text.index("#pragma endscop")
assert sys.argv[1] == "--target=cuda" and "EXTENT" not in text
names = re.search(r"float (\w+)\[31\], float (\w+)\[31\]", text)
host = """
    + '"""'
    + r"""
  float *x, *y;
  cudaMalloc((void **)&x, 31 * sizeof(float));
  cudaMalloc((void **)&y, 31 * sizeof(float));
  cudaMemcpy(x, FIRST, 31 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, SECOND, 31 * sizeof(float), cudaMemcpyHostToDevice);
  unchanged<<<1, 1>>>(x);
  cudaMemcpy(FIRST, x, 31 * sizeof(float), cudaMemcpyDeviceToHost);
"""
    + '"""'
    + r"""
host = host.replace("FIRST", names[1]).replace("SECOND", names[2])
stem = Path(name).stem
Path(f"{{stem}}_kernel.hu").write_text('#include "cuda.h"\n__global__ void unchanged(float *x);\n')
Path(f"{{stem}}_kernel.cu").write_text(f'#include "{{stem}}_kernel.hu"\n__global__ void unchanged(float *x) {{{{ }}}}\n')
Path(f"{{stem}}_host.cu").write_text(f'#include "{{stem}}_kernel.hu"\n' + text[:begin] + host + text[end + 15:])
"""
)


def test_rows_say_what_differs_and_what_failed() -> None:
    slower = replace(COUNTS, cycles=3000)
    row = row_of(Comparison("mvt", {"N": 8}, Run(COUNTS, same=True), Run(slower, same=True)))
    assert row == ["mvt 8", "2", "2", "4.00", "4.00", "2.5", "2.5", "1 500", "3 000", "2.00", "same"]
    assert len(row) == len(COLUMNS)
    row = row_of(Comparison("mvt", {"N": 8}, Run(COUNTS), Run(None, failure="why")))
    assert row[2] == row[8] == row[9] == "" and row[10] == "ours differs, PPCG failed"


def test_programs_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standin = build_standin(tmp_path / "standin")
    configuration = tmp_path / TESTED / "gpgpusim.config"
    configuration.parent.mkdir(parents=True)
    configuration.write_text("")
    simulator = Simulator(
        tmp_path,
        Path(standin["TILEK_CUDA_LIBRARY"]),
        Path(standin["TILEK_NVRTC_LIBRARY"]),
        tmp_path,
    )
    ppcg = tmp_path / "ppcg"
    ppcg.write_text(PPCG.format(python=sys.executable))
    ppcg.chmod(0o755)
    report = tmp_path / "report.json"
    monkeypatch.setattr(suite, "find_simulator", lambda _: simulator)
    monkeypatch.setattr(simulator_module, "read_counts", lambda *_: COUNTS)
    monkeypatch.setattr(suite, "SIZES", {PROGRAM: "STEPS=3 N=31", "mvt": "N=8"})
    monkeypatch.setattr(sys, "argv", ["suite", "--ppcg", str(ppcg), "--json", str(report)])
    status = suite.main()
    said = capsys.readouterr()
    # The script's kernel leaves the arrays as they were: PPCG's row says so, ours is right.
    assert status == 0, said.out + said.err
    assert f"| {PROGRAM} 3 31 | 2 | 2 |" in said.out and said.out.count("\n| ") == 2
    assert "| 1.00 | PPCG differs |" in said.out and "geometric mean 1.00 of 1" in said.out
    (stored,) = json.loads(report.read_text())
    assert stored["ours"]["same"] and stored["ppcg"] == {
        "counts": stored["ours"]["counts"],
        "same": False,
        "failure": "",
    }


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["suite", "--ppcg", "no-such-tool"])
    with pytest.raises(SystemExit):
        suite.main()
    assert "no-such-tool is not found" in capsys.readouterr().err
