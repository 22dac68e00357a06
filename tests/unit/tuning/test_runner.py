"""The calibration program as a child: its lines, its end, and what a user's variables must not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.tuning import runner
from tilepragma.tuning.calibration_samples import Findings, Series
from tilepragma.tuning.calibration_target import CalibrationError, CalibrationTarget
from tilepragma.tuning.runner import run, run_again

SUBJECT = CalibrationTarget("opencl", 2, "a device", False, 2, 0)


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
    found = run(script, SUBJECT, ["clock", "rate:4", "third"], 2.5, heard.append)
    assert found.series == tuple(heard)
    assert found.series == (Series("clock", (2.5,)), Series("rate:4", (), "no"), Series("seenopencl2", (1.0,)))


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
    monkeypatch.setattr(runner, "PATIENCE", 0.3)
    with pytest.raises(CalibrationError, match=r"signal 9 \(SIGKILL\) at rate:4"):
        run(program(tmp_path, 'printf "clock\\t1\\n"; exec sleep 30'), SUBJECT, ["clock", "rate:4"], 1, lambda _: None)


def test_what_spreads_is_measured_again(tmp_path: Path) -> None:
    found = Findings((Series("clock", (1.0, 2.0, 9.0)), Series("rate:4", (3.0, 3.0))))
    script = program(tmp_path, 'printf "$2\\t7\\t7\\n"')  # of one word alone
    again = run_again(script, SUBJECT, found, 1)
    assert again == Findings((Series("clock", (7.0, 7.0)), Series("rate:4", (3.0, 3.0))))
    assert run_again(program(tmp_path, "exit 1"), SUBJECT, found, 1) == found
    assert run_again(tmp_path / "absent", SUBJECT, again, 1) == again
