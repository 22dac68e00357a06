"""The MetaFork slides' tables: figures as printed, speed-ups from known seconds, and runs that fail or differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.metafork import measuring
from benchmarks.metafork.measuring import Built, Measuring, lines_of
from benchmarks.metafork.programs import PROGRAMS, Program
from benchmarks.metafork.results import TILES, UNSAID, WORKERS, Line, Measured, as_json, remarks, table
from benchmarks.suite.contenders import Contender
from benchmarks.suite.runs import Run, RunError
from tilepragma.tuning.programs import KernelTimes

REVERSAL, JACOBI, PRODUCT, LU = PROGRAMS


@pytest.mark.parametrize(
    ("program", "best"), [(REVERSAL, (256,)), (JACOBI, (128,)), (PRODUCT, (8, 8)), (LU, (64, 8, 8))]
)
def test_the_figures_are_the_slides(program: Program, best: tuple[int, ...]) -> None:
    assert program.printed_best == best
    for speeds in (*program.printed.values(), program.ppcg[1]):
        assert len(speeds) == len(program.printed_sizes)
    assert all(len(block) == len(program.parameters) for block in (*program.printed, program.ppcg[0]))
    # In the slides PPCG's fixed block is 2.3 times as fast as the best parametric one on the
    # product, and nowhere else faster.
    ratio = program.ppcg[1][-1] / program.printed[best][-1]
    assert ratio == pytest.approx(2.28, abs=0.01) if program is PRODUCT else ratio < 1


def test_blocks_are_said_at_launch() -> None:
    assert LU.settings(512, (32, 8, 4)) == "type=float,seed=1,time=1,N=512,STEPS=0,B=32,D=8,E=4"
    assert PRODUCT.settings(512, (32, 8)).endswith("B=32,D=8,E=1")
    assert LU.tile_sizes((32, 8, 4)) == "k_size=32,i_2_size=8,j_size=4"
    assert [line.form for line in lines_of(REVERSAL, "threads")] == [UNSAID, *[WORKERS] * 6]
    assert {line.form for line in lines_of(LU, "threads")} == {UNSAID, TILES}
    assert {line.form for line in lines_of(LU, "opencl")} == {UNSAID, WORKERS}


def test_a_blocks_label_is_the_slides() -> None:
    labels = [Line(WORKERS, block).label for block in ((32,), (16, 32), (32, 8, 8))]
    assert labels == ["32", "16 * 32", "32, 8 * 8"]


def some() -> Measured:
    result = Measured("reversal", "opencl", {23: [4.0, 8.0, 6.0]})
    result.ours = {
        Line(UNSAID): {23: [3.0]},
        Line(WORKERS, (16,)): {23: [2.0, 1.0, 1.5]},
        Line(WORKERS, (32,)): {23: [2.0]},
        Line(WORKERS, (64,)): {23: []},
    }
    result.compiled = 1
    return result


def test_a_speed_up_is_of_medians() -> None:
    result = some()
    assert result.speedup(Line(WORKERS, (16,)), 23) == 4.0
    assert result.speedup(Line(WORKERS, (64,)), 23) is None
    assert result.speedup(Line(WORKERS, (16,)), 24) is None
    assert result.best(WORKERS, 23) == Line(WORKERS, (16,))
    assert result.best(TILES, 23) is None


def test_the_slides_stand_beside() -> None:
    result = some()
    result.wrong.append("B workers 32 at 2^23: results are not those of the original, bit for bit")
    head, rows = table(REVERSAL, result, [23])
    assert head == ["block", "how", "2^23", "slides 2^23", "slides 2^24", "slides 2^25", "slides 2^26"]
    assert rows[0] == ["32", "PPCG", "", "8.312", "8.121", "8.204", "8.040"]
    assert rows[1] == ["", UNSAID, "2.000", "", "", "", ""]
    assert rows[2] == ["16", WORKERS, "4.000", "3.558", "3.666", "3.450", "3.445"]
    assert rows[4][2] == ""
    said = remarks(REVERSAL, result, [23])
    assert said[0] == "reversal on opencl, B workers: best at 2^23 is 16 (slides: 256)"
    assert said[1] == "reversal on opencl: kernels compiled for all blocks and sizes: 1"
    assert "bit for bit" in said[2]
    stored = json.loads(json.dumps(as_json({}, [result])))["programs"][0]
    assert stored["ours"][1] == {"form": WORKERS, "block": [16], "seconds": {"23": [2.0, 1.0, 1.5]}}


def test_runs_that_fail_or_differ_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, tuple[str, str]] = {}

    def run(contender: Contender, settings: str, limit: float) -> Run:
        asked[contender.name] = (settings, contender.environment.get("TILEK_SIZES", ""))
        if contender.name == "64":
            raise RunError("status 1")
        return Run((9.0, 4.0), 20.0, ("other" if contender.name == "32" else "same",), "")

    times = KernelTimes(5.0, ("threads",), True, launches=(2.0, 1.0, 0.5, 0.5))
    monkeypatch.setattr(measuring, "run", run)
    monkeypatch.setattr(measuring, "kernel_times", lambda trace: {("jacobi.c", "kernel"): times})
    built = Built(tmp_path / "original", dict.fromkeys((UNSAID, WORKERS, TILES), tmp_path / "ours"))
    one = Measuring(JACOBI, built, "threads", tmp_path, Measured("jacobi", "threads"))
    heard: list[None] = []
    one.round(13, lambda: heard.append(None))
    result = one.found
    assert len(heard) == 8
    assert result.original == {13: [4.0]}, "the second run of a process counts"
    assert result.speedup(Line(TILES, (16,)), 13) == 4.0, "its launches together"
    assert asked["16"] == (JACOBI.settings(2**13, (16,)), "t_i_size=16")
    assert result.failed == ["TILEK_SIZES 64 at 2^13 status 1"]
    assert result.wrong == ["TILEK_SIZES 32 at 2^13: results are not those of the original, bit for bit"]
