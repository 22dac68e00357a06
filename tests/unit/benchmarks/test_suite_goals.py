"""The figures that are to be reached, from what a run measured."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from benchmarks.suite import tables
from benchmarks.suite.contenders import FORMS, LITERALS, our_name
from benchmarks.suite.goals import Goal, goals
from benchmarks.suite.results import Limits, Measurement, Row
from benchmarks.suite.stored import Report

LARGE = {"TSTEPS": 20, "N": 4000}


def row(
    case: str, type_: str = "double", group: str = "PolyBench/C", sizes: dict[str, int] | None = None, **seconds: float
) -> Row:
    """A row of right results; names of contenders are spelled with underscores for spaces."""
    made = Row(case, group, type_, sizes or {"N": 10}, 1.0, 1.0)
    made.contenders = {name.replace("_", " "): Measurement([value], "bits") for name, value in seconds.items()}
    return made


def reached(figure: str, *rows: Row, machine: dict[str, Any] | None = None, gpu: dict[str, Any] | None = None) -> Goal:
    """The one goal whose figure holds these words."""
    report = Report(machine or {}, Limits(1.0, {}), rows, ("threads", "opencl"), gpu)
    (found,) = [goal for goal in goals(report) if figure in goal.figure]
    return found


def test_the_mean_of_polybench_names_types_and_who_is_absent() -> None:
    rows = (
        row("a", gcc=8.0, OpenMP_by_hand=4.0, tilepragma_threads=1.0),
        row("b", "float", gcc=1.0, PLUTO=0.5, tilepragma_threads=0.5),
        row("own", group="thesis", gcc=1.0, tilepragma_threads=100.0),
    )
    goal = reached("PolyBench/C over the best", *rows, machine={"peers": ["PLUTO"]})
    assert (goal.reached, goal.met) == (2.0, True)
    assert goal.note == "double 4.00 (1), float 1.00 (1)"
    assert "(PPCG not installed)" in goal.figure


def test_every_kernel_under_the_least_is_named() -> None:
    rows = [row(name, gcc=speed, tilepragma_threads=1.0) for name, speed in (("a", 0.5), ("b", 0.95), ("c", 0.8))]
    goal = reached("threads, least", *rows)
    assert (goal.reached, goal.met, goal.note) == (0.5, False, "below: a double 0.50, c double 0.80")
    goal = reached("threads, least", rows[1])
    assert (goal.met, goal.note) == (True, "b double 0.95")
    goal = reached("threads, least")
    assert (goal.reached, goal.met) == (None, None)


@pytest.mark.parametrize(("ours", "met"), [(1.0, True), (1.3, False)])
def test_the_large_stencil_against_openmp_and_gcc(ours: float, met: bool) -> None:
    made = row("jacobi-2d-large", sizes=LARGE, gcc=5.0, OpenMP_by_hand=2.5, tilepragma_threads=ours)
    assert reached("over OpenMP by hand", made).met is met
    assert reached("double, over gcc", made).met is met


def test_other_sizes_decide_nothing() -> None:
    made = row("product", "float", "product", {"N": 800}, OpenBLAS=1.0, gcc=9.0, tilepragma_threads=1.0)
    goal = reached("over OpenBLAS", made)
    assert (goal.reached, goal.met) == (1.0, None)
    assert "other sizes: N=800" in goal.note
    made.sizes["N"] = 2048
    assert reached("over OpenBLAS", made).met is True
    assert reached("over OpenBLAS", made, machine={"quick": True}).met is None


def test_opencl_against_ppcg_and_gcc() -> None:
    rows = (
        row("a", gcc=2.0, PPCG_OpenCL=8.0, tilepragma_opencl=2.0),
        row("own", group="thesis", gcc=0.7, tilepragma_opencl=1.0),
    )
    goal = reached("PPCG's OpenCL, geometric mean", *rows, machine={"peers": ["PPCG OpenCL"]})
    assert (goal.reached, goal.met) == (4.0, True)
    assert reached("OpenCL over gcc", *rows).note == "below: own double 0.70"
    goal = reached("PPCG's OpenCL, geometric mean", rows[1])
    assert goal.met is None and "PPCG not installed" in goal.note


def parametric(literals: float, parameters: float, unspecialized: float) -> Row:
    made = row("gemm")
    names = [our_name("opencl", form) for form in FORMS]
    for name, seconds in zip(names, (literals, parameters, unspecialized), strict=True):
        made.contenders[name] = Measurement([seconds], "bits")
    return made


def test_what_parameters_cost() -> None:
    goal = reached("specialised", parametric(1.0, 1.01, 1.2))
    assert goal.reached == pytest.approx(1.0) and goal.met is True
    goal = reached("TILEK_SPECIALIZE=0", parametric(1.0, 1.01, 1.2))
    assert goal.reached == pytest.approx(20.0) and goal.met is False
    assert "gemm double 1.20" in goal.note
    wrong = parametric(1.0, 1.0, 1.0)
    wrong.contenders[our_name("opencl", LITERALS)].match = "differs by 1e+00"
    assert reached("specialised", wrong).note == "not measured"


def test_a_gpu_is_there_or_not() -> None:
    assert reached("array reversal").note == "no GPU here"
    figures = {"reversal": {"value": 1.2, "note": "slow"}, "sgemm": {"value": None, "note": "libcublas is absent"}}
    measured = {"comparable": True, "figures": figures}
    assert reached("array reversal", gpu=measured).met is False
    some = {"comparable": True, "figures": {"reversal": {"value": 1.2, "note": "slow", "whole": False}}}
    assert reached("array reversal", gpu=some).met is None
    assert (reached("cublasSgemm", gpu=measured).note, reached("streaming", gpu=measured).note) == (
        "libcublas is absent",
        "not measured",
    )
    measured["comparable"] = False
    assert reached("array reversal", gpu=measured).met is None


def test_tables_show_goals_and_costs() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    tables.show(console, Report({}, Limits(1.0, {}), (parametric(1.0, 1.5, 3.0),), ("opencl",)))
    text = console.export_text()
    for cell in ("1.500 (1.50)", "3.000 (3.00)", "<= 2 %", "50.00 %", "NO", "open"):
        assert cell in text


def test_tables_for_a_page() -> None:
    made = row("a", gcc=2.0, tilepragma_threads=1.0)
    made.contenders["PLUTO"] = Measurement(match="not built: no\nway")
    text = tables.as_markdown(
        Report({"threads": 2, "flags": "-O3"}, Limits(1e9, {"double": 2e9}), (made,), ("threads",))
    )
    assert text.startswith("2 threads, -O3; a copy moves 1.0 GB/s, multiply-adds 2 GFLOP/s double\n\n### seconds")
    assert "| kernel | type | gcc | PLUTO | tilepragma threads |\n| --- | --- | ---: | ---: | ---: |\n" in text
    assert "| a | double | 2.000 | failed | 1.000 |\n" in text
    assert "| threads, least of these | >= 0.9 | 2.00 | yes | a double 2.00 |\n" in text
    assert text.endswith("\n- a double, PLUTO: not built: no way\n")
