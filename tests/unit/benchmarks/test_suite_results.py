"""What the benchmark suite makes of measured seconds: medians, ratios, means, shares, JSON, tables."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.suite import tables
from benchmarks.suite.plot import bars, ticks
from benchmarks.suite.results import (
    BEST,
    Limits,
    Measurement,
    Ratio,
    Row,
    best_peer,
    geometric_mean,
    means,
    ratio,
)
from benchmarks.suite.runs import launch_seconds
from benchmarks.suite.stored import Report, StoredError, as_json, read

LIMITS = Limits(10e9, {"double": 100e9})


def row(case: str = "gemm", **seconds: list[float]) -> Row:
    """A row of right results; names of contenders are spelled with underscores for spaces."""
    made = Row(case, "PolyBench/C", "double", {"N": 10}, flops=8e9, moved=2e9)
    made.contenders = {name.replace("_", " "): Measurement(list(each), "bits") for name, each in seconds.items()}
    return made


def test_a_ratio_is_of_medians_and_its_spread_of_rounds() -> None:
    result = ratio(row(gcc=[4.0, 6.0, 5.0], tilepragma_threads=[2.0, 1.0, 4.0]), "threads", "gcc")
    assert result is not None
    assert (result.value, result.least, result.most) == (2.5, 1.25, 6.0)


def test_the_best_peer_has_the_least_median_and_right_results() -> None:
    made = row(gcc=[4.0], OpenMP_by_hand=[2.0], OpenBLAS=[0.1], tilepragma_threads=[1.0])
    assert best_peer(made) == "OpenMP by hand"
    made.contenders["OpenMP by hand"].match = "differs by 1e+00"
    assert best_peer(made) == "gcc"
    result = ratio(made, "threads", BEST)
    assert result is not None
    assert result.value == 4.0


@pytest.mark.parametrize("name", ["gcc", "tilepragma threads"])
@pytest.mark.parametrize("fault", ["differs by 1e+00", "failed: status 1"])
def test_wrong_results_have_no_ratio(name: str, fault: str) -> None:
    made = row(gcc=[4.0], tilepragma_threads=[1.0])
    made.contenders[name].match = fault
    assert ratio(made, "threads", "gcc") is None
    assert means([made], ["threads"]) == []


def test_means_are_geometric_by_group() -> None:
    rows = [row("a", gcc=[4.0], tilepragma_threads=[1.0]), row("b", gcc=[1.0], tilepragma_threads=[1.0])]
    (mean,) = [each for each in means(rows, ["threads"]) if each.against == "gcc"]
    assert (mean.group, mean.type, mean.count) == ("PolyBench/C", "all", 2)
    assert math.isclose(mean.value, 2.0)
    assert (mean.least, mean.least_case) == (1.0, "b double")
    rows[1].type = "float"
    kinds = {(each.group, each.type) for each in means(rows, ["threads"])}
    assert kinds == {("PolyBench/C", "all"), ("PolyBench/C", "double"), ("PolyBench/C", "float")}
    with pytest.raises(ValueError, match="no values"):
        geometric_mean([])


def test_the_share_is_of_what_takes_longer() -> None:
    assert math.isclose(LIMITS.share("double", 8e9, 2e9, 0.4), 0.5)  # 0.2 s for the data, 0.08 s for the arithmetic
    assert math.isclose(LIMITS.share("double", 40e9, 2e9, 0.8), 0.5)
    assert math.isclose(LIMITS.share("int", 40e9, 2e9, 0.4), 0.5)  # no limit of arithmetic is known


def test_limits_of_the_cores_say_nothing_of_a_gpu() -> None:
    limits = Limits(10e9, {}, ("cuda",))
    made = row(gcc=[4.0], tilepragma_cuda=[1.0])
    contenders = as_json(Report({}, limits, (made,), ("cuda",)))["rows"][0]["contenders"]
    assert contenders["gcc"]["share"] == 0.05
    assert contenders["tilepragma cuda"]["share"] is None
    assert "20%" not in shown([made], ["cuda"], limits)
    assert "20%" in shown([made], ["cuda"])


def test_json_holds_rates_and_ratios() -> None:
    made = row(gcc=[4.0], tilepragma_threads=[2.0, 1.0, 3.0])
    made.contenders["PLUTO"] = Measurement(match="not built: no")
    report = Report({"cores": 2}, LIMITS, (made,), ("threads",))
    whole = json.loads(json.dumps(as_json(report)))
    (written,) = whole["rows"]
    ours = written["contenders"]["tilepragma threads"]
    assert (ours["median"], ours["gflops"], ours["gbs"], ours["share"]) == (2.0, 4.0, 1.0, 0.1)
    assert "median" not in written["contenders"]["PLUTO"]
    assert [(each["against"], each["value"]) for each in written["ratios"]] == [("gcc", 2.0), (BEST, 2.0)]
    assert [mean["against"] for mean in whole["means"]] == ["gcc", BEST]
    assert written["best"] == "gcc"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = row(gcc=[4.0], tilepragma_opencl=[2.0, 1.0])
    made.contenders["tilepragma opencl"].kernels = 0.5
    made.contenders["PLUTO"] = Measurement(match="not built: no")
    report = Report({"threads": 2}, LIMITS, (made,), ("opencl",), {"figures": {}})
    file = tmp_path / "report.json"
    file.write_text(json.dumps(as_json(report)))
    assert read(file) == report
    file.write_text('{"rows": []}')
    with pytest.raises(StoredError, match="no results of the suite"):
        read(file)


def shown(rows: list[Row], targets: list[str], limits: Limits = LIMITS) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    tables.show(console, Report({}, limits, tuple(rows), tuple(targets)))
    return console.export_text()


def test_tables_name_times_ratios_and_faults() -> None:
    made = row(gcc=[4.0, 4.0], tilepragma_threads=[2.0, 1.0], tilepragma_opencl=[8.0, 8.0])
    made.contenders["tilepragma opencl"].kernels = 7.25
    made.contenders["OpenMP by hand"] = Measurement([1.0], "differs by 1e+00", 1.0)
    text = shown([made], ["threads", "opencl"])
    for cell in (
        "1.500 ±33%",
        "2.67 (2.00-4.00)",
        "0.50 (0.50-0.50)",
        "7.250",
        "bits",
        "OpenMP by hand: differs by 1e+00",
    ):
        assert cell in text
    assert "WRONG" not in text  # of ours nothing is
    made.contenders["tilepragma threads"].match = "differs by 2e-01"
    assert "WRONG" in shown([made], ["threads"])


def test_the_picture_has_a_bar_for_each_ratio() -> None:
    rows = [row("a", gcc=[4.0], tilepragma_threads=[1.0]), row("b", gcc=[1.0])]
    drawn = bars(rows, "threads")
    assert [(title, each.value) for title, each in drawn] == [("a double", 4.0)]
    assert ticks(each for _, each in drawn) == [1.0, 2.0, 4.0]
    assert ticks([Ratio("threads", "gcc", 0.5, 0.3, 0.9)]) == [0.25, 0.5, 1.0]


def test_launches_of_a_trace() -> None:
    events = [{"cat": "kernel", "dur": 1500.0}, {"cat": "copy in", "dur": 900.0}, {"cat": "kernel", "dur": 500.0}]
    assert math.isclose(launch_seconds({"traceEvents": events}), 0.002)
