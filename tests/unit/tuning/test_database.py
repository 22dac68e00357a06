"""The database of measurements: what is kept, by whom it can be read, and what is said where it cannot be used."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tilepragma.tuning.database import (
    VERSION,
    Environment,
    KernelKey,
    Measurement,
    MeasurementsError,
    Outcome,
    SharingError,
    Trial,
    lines_of,
    measurements_of,
    opened,
    opened_to_read,
)
from tilepragma.tuning.measuring import alone

HERE = Environment("threads", "a processor", "", "a processor", 4, "cc 1", "-O2", "", "0")
KERNEL = KernelKey("a.c", "k", "digest")
OUTCOME = Outcome((0.5, 0.25), "", 1.5, "2026-11-23T01:00:00+00:00")
FAILED = Outcome((), "was ended by signal 11 (SIGSEGV)", 0.1, "2026-11-23T01:00:01+00:00")


def trial(number: int, attempt: int = 0) -> Trial:
    return Trial(f"i_size={number}", "n=512", attempt)


def fill(path: Path, count: int, environment: Environment = HERE) -> None:
    with opened(path) as database:
        study = database.study(KERNEL, environment)
        for number in range(count):
            study.add(trial(number), OUTCOME)


def count(path: Path) -> int:
    with opened(path) as database:
        return len(list(database.measurements()))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "measurements.sqlite"


def test_what_is_measured_is_found_again(path: Path) -> None:
    with opened(path) as database:
        study = database.study(KERNEL, HERE)
        assert study.find(trial(1)) is None
        study.add(trial(1), OUTCOME)
        study.add(trial(1, 1), FAILED)
    with opened(path) as database:
        study = database.study(replace(KERNEL, source="renamed.c"), HERE)
        assert study.find(trial(1)) == OUTCOME
        assert study.outcomes("i_size=1", "n=512") == {0: OUTCOME, 1: FAILED}
        assert list(database.measurements()) == [
            Measurement(KERNEL, HERE, trial(1), OUTCOME),
            Measurement(KERNEL, HERE, trial(1, 1), FAILED),
        ]


@pytest.mark.parametrize("changed", [{"driver": "2"}, {"options": "-O3"}, {"device": "another"}, {"threads": 8}])
def test_another_environment_is_another_measurement(path: Path, changed: dict[str, str]) -> None:
    fill(path, 1)
    with opened(path) as database:
        assert database.study(KERNEL, replace(HERE, **changed)).find(trial(0)) is None
        assert database.study(replace(KERNEL, digest="other"), HERE).find(trial(0)) is None


def test_what_is_to_be_measured_anew_is_forgotten(path: Path) -> None:
    fill(path, 3)
    fill(path, 2, replace(HERE, target="opencl"))
    with opened(path) as database:
        study = database.study(KERNEL, HERE)
        study.add(replace(trial(0), sizes="n=1024"), OUTCOME)
        study.forget(["n=512", "n=7"])
        assert study.trials() == [(replace(trial(0), sizes="n=1024"), OUTCOME)]
    assert count(path) == 2 + 1


def _fill_until_killed(path: Path) -> None:
    with opened(path) as database:
        study = database.study(KERNEL, HERE)
        for number in range(5):
            study.add(trial(number), OUTCOME)
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_tuner_that_is_killed_loses_nothing(path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_fill_until_killed, args=(path,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert count(path) == 5


def test_several_at_once_keep_all(path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=fill, args=(path, 20, replace(HERE, threads=own))) for own in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert count(path) == 60


def test_of_two_tuners_one_waits(path: Path) -> None:
    path.parent.mkdir()
    waits, measures = threading.Event(), threading.Event()

    def second() -> None:
        with alone(path, waits.set):
            measures.set()

    with alone(path, lambda: pytest.fail("there is no other")):
        other = threading.Thread(target=second)
        other.start()
        assert waits.wait(60)
        assert not measures.is_set()
    other.join(60)
    assert measures.is_set()


def test_a_full_disk_keeps_what_was_measured(path: Path) -> None:
    fill(path, 5)
    with pytest.raises(MeasurementsError, match="disk is full: make room and run it again"), opened(path) as database:
        [pages] = database.connection.execute("PRAGMA page_count").fetchone()
        database.connection.execute(f"PRAGMA max_page_count = {pages}")
        study = database.study(KERNEL, HERE)
        for number in range(5, 5000):
            study.add(Trial("x" * 100, f"n={number}", 0), OUTCOME)
    assert count(path) > 5
    fill(path, 6)


def test_a_damaged_database_is_left_as_it_is(path: Path) -> None:
    fill(path, 200)
    whole = path.read_bytes()
    damaged = whole[:4096] + b"\x5a" * 8192 + whole[12288:]
    path.write_bytes(damaged)
    with pytest.raises(MeasurementsError, match=r"is damaged \(.*move it away"), opened(path):
        pass
    path.write_text("something else, as long as a header of a database must be" * 10)
    with pytest.raises(MeasurementsError, match="is damaged"), opened(path):
        pass
    assert path.read_text().startswith("something else")


@pytest.mark.parametrize(("version", "remedy"), [(VERSION + 1, "update tilepragma"), (0, "move it away")])
def test_a_database_of_another_version(path: Path, version: int, remedy: str) -> None:
    fill(path, 1)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with (
        pytest.raises(MeasurementsError, match=f"has schema version {version}, and this tilepragma has .*: {remedy}"),
        opened(path),
    ):
        pass


def test_a_database_of_somebody_else(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    with pytest.raises(MeasurementsError, match="is a database of something else"), opened(path):
        pass


def test_what_cannot_be_written_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, 3)
    before = sorted(path.parent.iterdir())
    monkeypatch.setattr(os, "access", lambda *_: False)
    with opened_to_read(path) as database:
        assert len(list(database.measurements())) == 3
        assert sorted(path.parent.iterdir()) == before, "files beside it could not be made"


def test_reading_changes_nothing(path: Path) -> None:
    fill(path, 1)
    with pytest.raises(MeasurementsError, match="cannot be written"), opened_to_read(path) as database:
        database.study(KERNEL, HERE)
    path.write_bytes(b"")
    with pytest.raises(MeasurementsError, match="is empty: nothing was measured yet"), opened_to_read(path):
        pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(MeasurementsError, match="cannot be made: .*set TILEK_DATA_DIR"),
        opened(tmp_path / "file" / "more" / "a.sqlite"),
    ):
        pass


# -- Sharing


def test_what_is_exported_is_merged_once(path: Path, tmp_path: Path) -> None:
    fill(path, 3)
    with opened(path) as database:
        lines = list(lines_of(database.measurements()))
    other = tmp_path / "other.sqlite"
    with opened(other) as database:
        database.study(KERNEL, HERE).add(trial(1), FAILED)
        assert database.merge(measurements_of(lines)) == 3
        assert database.merge(measurements_of(lines)) == 0
        assert database.study(KERNEL, HERE).outcomes("i_size=1", "n=512") == {0: FAILED, 1: OUTCOME}
    with opened(path) as database, opened(other) as there:
        assert database.merge(there.measurements()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "line 1: it is no JSON object"),
        (lambda lines: ["{}\n"], "line 1: it is no export of tilepragma tune"),
        (lambda lines: ['{"tilepragma measurements": 2}\n'], "line 1: it has version 2, not 1"),
        (lambda lines: [*lines[:2], lines[2][:50]], "line 3: it is no JSON object, so the file is cut off"),
        (
            lambda lines: [lines[0], lines[1].replace('"attempt"', '"tempt"')],
            "line 2: 'attempt' is missing or invalid",
        ),
        (
            lambda lines: [lines[0], lines[1].replace('"attempt": 0', '"attempt": 99999999999999999999')],
            "line 2: 'attempt' is missing or invalid",
        ),
        (lambda lines: [lines[0], lines[1].replace("0.25", "-1")], "line 2: a time is no finite number from 0"),
        (lambda lines: [lines[0], lines[1].replace("0.25", '"x"')], "line 2: a time is no finite number from 0"),
    ],
)
def test_a_file_that_is_not_right_is_not_merged_at_all(path: Path, change: object, message: str) -> None:
    assert callable(change)
    fill(path, 3)
    with opened(path) as database:
        lines = list(lines_of(database.measurements()))
        with pytest.raises(SharingError, match=message):
            database.merge(measurements_of(change(lines)))
