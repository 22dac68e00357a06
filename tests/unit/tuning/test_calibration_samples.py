"""Typical values, spreads and tables of costs; the calibration program as a child: its lines, its end, and what a user's
variables must not change.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilepragma.base.quantities import seconds
from tilepragma.tuning import calibration_samples
from tilepragma.tuning.calibration_samples import (
    CalibrationError,
    Findings,
    ListedDevice,
    Series,
    ascending,
    parsed,
    rows,
    run,
    run_again,
    scaled,
    size,
)

SUBJECT = ListedDevice("opencl", 2, "a device", kind="cpu", compute_units=2)


def test_slow_samples_move_nothing() -> None:
    series = Series("launch:2", (1.0, 1.02, 0.98, 1.0, 50.0))
    assert series.typical == 1.0
    assert series.spread == pytest.approx(0.02)


def test_what_is_typical_holds_where_most_samples_are_disturbed() -> None:
    assert Series("launch:2", (1.0, 1.0, 1.0, 5.0, 6.0, 7.0, 8.0, 9.0)).typical == pytest.approx(1.0)
    assert Series("stream:64", (9.0, 9.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0)).typical == pytest.approx(9.0)
    assert Series("vector", (64.0,)).typical == 64.0


def test_the_spread_is_that_of_the_middle_half() -> None:
    assert Series("clock", (1.0, 2.0, 3.0, 4.0, 5.0)).spread == pytest.approx(2 / 3)
    assert Series("vector", (64.0,)).spread == 0.0


def test_lines_of_the_program() -> None:
    assert parsed("stream:4096\t1e9\t2.5e9\n") == Series("stream:4096", (1e9, 2.5e9))
    assert parsed("barrier:4096\t-\tgangs have 1024 workers at most\n") == Series(
        "barrier:4096", (), "gangs have 1024 workers at most"
    )
    for line in ("", "clock\n", "clock\tfast\n"):
        with pytest.raises(ValueError):
            parsed(line)


def test_a_table_is_in_order_and_chance_is_evened_out() -> None:
    table = ascending([(64, 3.0), (1, -0.5), (16, 4.0), (4, 1.0), (256, 9.0)])
    assert table == ((1, 0.0), (4, 1.0), (16, 3.5), (64, 3.5), (256, 9.0))


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(-1e3, 1e3)), max_size=30))
def test_tables_ascend_and_change_only_what_does_not(pairs: list[tuple[int, float]]) -> None:
    table = ascending(pairs)
    assert [number for number, _ in table] == sorted({number for number, _ in pairs})
    costs = [cost for _, cost in table]
    assert all(cost >= 0 for cost in costs)
    assert all(after >= before - 1e-9 for before, after in zip(costs, costs[1:], strict=False))
    # The mean of all stays: chance moves cost from one number to another and makes none.
    raised = [max(cost, 0.0) for cost in dict(pairs).values()]
    assert sum(costs) == pytest.approx(sum(raised), abs=1e-6)


def test_costs_are_those_of_one_kind() -> None:
    result = Findings(
        (
            Series("wavefront:16", (3e-6, 1e-6, 2e-6)),
            Series("launch:2", (9e-6,)),
            Series("wavefront:1", (1e-6,)),
            Series("wavefront:64", (), "no memory"),
        )
    )
    assert result.costs("wavefront") == ((1, 1e-6), (16, 1.5e-6))
    assert result.value("launch", 2) == 9e-6
    assert result.value("wavefront", 64) is None
    assert [each.word for each in result.failures()] == ["wavefront:64"]
    assert [each.word for each in result.wide()] == ["wavefront:16"]


def test_the_steadier_of_two_runs_is_taken() -> None:
    calm, wild = Series("clock", (1.0, 1.0, 1.0)), Series("clock", (1.0, 2.0, 9.0))
    other, failed = Series("vector", (64.0,)), Series("clock", (), "lost")
    assert Findings((wild, other)).steadier(Findings((calm,))) == Findings((calm, other))
    assert Findings((calm, other)).steadier(Findings((wild,))) == Findings((calm, other))
    assert Findings((wild,)).steadier(Findings((failed,))) == Findings((wild,))


def test_rows_for_people() -> None:
    result = Findings(
        (
            Series("attribute:16", (4.0,)),
            Series("rate:4", (2.5e12, 2.5e12)),
            Series("stream:24576", (1e9, 2e9, 3e9)),
            Series("barrier:1", (2e-8,)),
            Series("copy_in:1048576", (3e-5,)),
            Series("cached:4194304", (), "no memory"),
        )
    )
    assert rows(result, {"stream:24576": "L1"}) == [
        ("floats", "2.5 TFLOP/s", "0%"),
        ("L1", "2.5 GB/s", "50% !"),
        ("barrier of 1 thread", "20 ns", ""),
        ("copy of 1 MiB to the device", "30 us", ""),
        ("reads of 4 MiB again and again", "not measured: no memory", ""),
    ]


def test_amounts_for_people() -> None:
    assert [scaled(value, "B/s") for value in (5e3, 1.234e9, 33.48e12)] == ["5e+03 B/s", "1.23 GB/s", "33.5 TB/s"]
    assert [seconds(value) for value in (2.0, 1.5e-3, 4e-5, 7e-9, -3e-6)] == ["2 s", "1.5 ms", "40 us", "7 ns", "-3 us"]
    assert [size(count) for count in (12, 24576, 3 << 19, 1 << 30)] == ["12 bytes", "24 KiB", "1.5 MiB", "1 GiB"]


def program(folder: Path, text: str) -> Path:
    """A shell script in place of the program."""
    path = folder / "calibrate"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def test_series_are_heard_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_VERIFY", "1")
    monkeypatch.setenv("TILEK_TARGET", "serial")
    script = program(tmp_path, 'printf "$2\\t$1\\n$3\\t-\\tno\\nseen$TILEK_VERIFY$TILEK_TARGET$TILEK_DEVICE\\t1\\n"')
    heard: list[Series] = []
    result = run(script, SUBJECT, ["clock", "rate:4", "third"], 2.5, heard.append)
    assert result.series == tuple(heard)
    assert result.series == (Series("clock", (2.5,)), Series("rate:4", (), "no"), Series("seenopencl2", (1.0,)))


def test_the_last_thing_said_is_the_reason(tmp_path: Path) -> None:
    script = program(tmp_path, 'printf "clock\\t1\\n"; echo first >&2; echo the device is lost >&2; exit 71')
    with pytest.raises(CalibrationError, match=r"ended with status 71 at rate:4: the device is lost$"):
        run(script, SUBJECT, ["clock", "rate:4"], 1, lambda _: None)


def test_signals_and_nonsense(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"ended by signal 9 \(SIGKILL\) at clock"):
        run(program(tmp_path, "kill -9 $$"), SUBJECT, ["clock"], 1, lambda _: None)
    with pytest.raises(CalibrationError, match="no line of samples"):
        run(program(tmp_path, "echo hello; sleep 30"), SUBJECT, ["clock"], 1, lambda _: None)
    with pytest.raises(CalibrationError, match="cannot be started"):
        run(tmp_path / "absent", SUBJECT, ["clock"], 1, lambda _: None)


def test_a_program_that_falls_silent_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration_samples, "PATIENCE", 0.3)
    with pytest.raises(CalibrationError, match=r"signal 9 \(SIGKILL\) at rate:4"):
        run(program(tmp_path, 'printf "clock\\t1\\n"; exec sleep 30'), SUBJECT, ["clock", "rate:4"], 1, lambda _: None)


def test_what_spreads_is_measured_again(tmp_path: Path) -> None:
    result = Findings((Series("clock", (1.0, 2.0, 9.0)), Series("rate:4", (3.0, 3.0))))
    script = program(tmp_path, 'printf "$2\\t7\\t7\\n"')  # of one word alone
    again = run_again(script, SUBJECT, result, 1)
    assert again == Findings((Series("clock", (7.0, 7.0)), Series("rate:4", (3.0, 3.0))))
    assert run_again(program(tmp_path, "exit 1"), SUBJECT, result, 1) == result
    assert run_again(tmp_path / "absent", SUBJECT, again, 1) == again
