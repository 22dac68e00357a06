"""Every measurement of `tilepragma tune` for a user: one SQLite database in the data folder.

A measurement is committed before the next one begins: a crash of the program or the machine loses
one at most. Other machines get measurements as JSON lines: a header, {"tilepragma measurements":
1}, then an object with the fields of a Measurement each.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import CommandError
from tilepragma.base.user_folders import data_folder

#: The file header's application id ("tlkM") and schema version.
APPLICATION, VERSION = 0x746C6B4D, 1
#: Seconds that a writer waits for another one.
PATIENCE = 30.0
#: The first line of exchanged measurements: its key, and the version of their form.
_HEADER, FORM = "tilepragma measurements", 1
#: Bound of exchanged attempts and threads.
_MOST = 1 << 31

_SCHEMA = """
CREATE TABLE kernels (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, UNIQUE (name, digest));
CREATE TABLE environments (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL, device TEXT NOT NULL, driver TEXT NOT NULL, machine TEXT NOT NULL,
    threads INTEGER NOT NULL, compiler TEXT NOT NULL, options TEXT NOT NULL, program TEXT NOT NULL,
    translator TEXT NOT NULL,
    UNIQUE (target, device, driver, machine, threads, compiler, options, program, translator));
CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    kernel INTEGER NOT NULL REFERENCES kernels (id),
    environment INTEGER NOT NULL REFERENCES environments (id),
    version TEXT NOT NULL, sizes TEXT NOT NULL, attempt INTEGER NOT NULL,
    seconds TEXT NOT NULL, failure TEXT NOT NULL, spent REAL NOT NULL, date TEXT NOT NULL,
    UNIQUE (kernel, environment, version, sizes, attempt));
"""


class MeasurementsError(CommandError):
    """The database cannot be used; the message is a sentence with the reason and the remedy."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=1)


class SharingError(Exception):
    """A file that cannot be merged; the message is a sentence with the line at fault, if any."""


@dataclass(frozen=True)
class KernelKey:
    """A kernel: its name and the digest of its text (sizes/digest.py). `source` is its file's name,
    for readers: a kernel with the same text in another file is the same.
    """

    source: str
    name: str
    digest: str


@dataclass(frozen=True)
class Environment:
    """What times depend on besides kernel, version and sizes; `program` may be empty."""

    target: str
    device: str
    driver: str
    machine: str
    threads: int
    compiler: str
    options: str
    program: str
    translator: str


@dataclass(frozen=True)
class Trial:
    """The n-th `attempt` (from 0) at a version of a kernel at some sizes, both by their texts."""

    version: str
    sizes: str
    attempt: int


@dataclass(frozen=True)
class Outcome:
    """The seconds of the kernel in each of a run's calls, or the `failure`, a clause. `spent`: the
    seconds of the whole run; `date`: when it began (ISO 8601).
    """

    seconds: tuple[float, ...]
    failure: str
    spent: float
    date: str


@dataclass(frozen=True)
class Measurement:
    """A row with all that it refers to."""

    kernel: KernelKey
    environment: Environment
    trial: Trial
    outcome: Outcome


def database_path() -> Path:
    """The path of the user's database. Raises OSError without a home folder."""
    return data_folder() / "measurements.sqlite"


@contextmanager
def opened_to_read(path: Path) -> Iterator[Database]:
    """A database for reading alone, perhaps on a read-only disk. Raises MeasurementsError."""
    with _explained(path):
        log = path.with_name(f"{path.name}-wal")
        # A read-only folder cannot hold SQLite's shared-memory files; a log must be read.
        alone = not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
        address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
        connection = sqlite3.connect(address, PATIENCE, uri=True)
        try:
            if not _pragma(connection, "schema_version"):
                raise MeasurementsError(f"{path} is empty: nothing was measured yet")
            _check(connection, path)
            yield Database(connection, path)
        finally:
            connection.close()


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The database, created if missing, and closed afterwards. Raises MeasurementsError."""
    with _explained(path):
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MeasurementsError(f"{path.parent} cannot be made: {error.strerror}; set TILEK_DATA_DIR") from None
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            _prepare(connection, path)
            yield Database(connection, path)
        finally:
            connection.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check or create the schema. Raises MeasurementsError, sqlite3.Error."""
    if _pragma(connection, "schema_version"):
        _check(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")  # readers and a writer do not wait for each other
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    with transaction(connection):  # several processes may come first; one creates the schema
        if not _pragma(connection, "schema_version"):
            for statement in _SCHEMA.split(";")[:-1]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    _check(connection, path)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION:
        raise MeasurementsError(f"{path} is a database of something else: move it away, or set TILEK_DATA_DIR")
    version = _pragma(connection, "user_version")
    if version != VERSION:
        remedy = "update tilepragma" if version > VERSION else "move it away"
        raise MeasurementsError(f"{path} has schema version {version}, and this tilepragma has {VERSION}: {remedy}")
    [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict.splitlines()[-1])


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, without another writer in between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if "full" in message:
            why = "cannot grow, since the disk is full: make room and run it again; what was measured before is kept"
        elif "disk I/O" in message:
            why = f"cannot be written ({message}): what was measured before is kept; check its disk, and run it again"
        elif "readonly" in message or "unable to open" in message:
            why = f"cannot be written ({message}): set TILEK_DATA_DIR to a folder of yours"
        elif "locked" in message:
            why = f"is in use by another program, and was so for {PATIENCE:.0f} s: run it again"
        elif isinstance(error, sqlite3.OperationalError):
            why = f"cannot be used: {message}"
        else:
            why = f"is damaged ({message}): move it away; 'sqlite3 {path.name} .recover' may save what is in it"
        raise MeasurementsError(f"{path} {why}") from None


@dataclass(frozen=True)
class Database:
    """An open database. Its methods raise sqlite3.Error, which `opened` explains."""

    connection: sqlite3.Connection
    path: Path

    def study(self, kernel: KernelKey, environment: Environment) -> Study:
        """The measurements of a kernel in an environment."""
        with transaction(self.connection):
            return self._study(kernel, environment)

    def _study(self, kernel: KernelKey, environment: Environment) -> Study:
        return Study(
            self.connection,
            self._row("kernels", {"name": kernel.name, "digest": kernel.digest}, {"source": kernel.source}),
            self._row("environments", {name: getattr(environment, name) for name in _names(Environment)}, {}),
        )

    def _row(self, table: str, key: Mapping[str, str | int], attributes: Mapping[str, str | int]) -> int:
        """The number of the row with that key; a new one if there is none."""
        values = {**key, **attributes}
        text = f"INSERT OR IGNORE INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
        self.connection.execute(text, tuple(values.values()))
        where = " AND ".join(f"{name} = ?" for name in key)
        return int(self.connection.execute(f"SELECT id FROM {table} WHERE {where}", tuple(key.values())).fetchone()[0])

    def measurements(self) -> Iterator[Measurement]:
        """All measurements in the order in which they were taken."""
        kernel, environment, trial = (_names(class_) for class_ in (KernelKey, Environment, Trial))
        query = (
            f"SELECT {', '.join((*kernel, *environment, *trial))}, seconds, failure, spent, date FROM measurements"
            " JOIN kernels ON kernels.id = kernel JOIN environments ON environments.id = environment "
            "ORDER BY measurements.id"
        )
        for row in self.connection.execute(query):
            values = iter(row)
            yield Measurement(
                KernelKey(*(next(values) for _ in kernel)),
                Environment(*(next(values) for _ in environment)),
                Trial(*(next(values) for _ in trial)),
                _outcome(tuple(values)),
            )

    def merge(self, measurements: Iterator[Measurement]) -> int:
        """Add another database's measurements, all or none; returns the number of new ones."""
        new = 0
        with transaction(self.connection):
            for measurement in measurements:
                study = self._study(measurement.kernel, measurement.environment)
                known = study.outcomes(measurement.trial.version, measurement.trial.sizes)
                if measurement.outcome not in known.values():
                    attempt = measurement.trial.attempt if measurement.trial.attempt not in known else max(known) + 1
                    study.add(Trial(measurement.trial.version, measurement.trial.sizes, attempt), measurement.outcome)
                    new += 1
        return new


@dataclass(frozen=True)
class Study:
    """The measurements of one kernel in one environment. Its methods raise sqlite3.Error."""

    connection: sqlite3.Connection
    kernel: int
    environment: int

    def find(self, trial: Trial) -> Outcome | None:
        """The outcome of a trial; None if it was not made."""
        return self.outcomes(trial.version, trial.sizes).get(trial.attempt)

    def outcomes(self, version: str, sizes: str) -> dict[int, Outcome]:
        """The outcome of each attempt at a version at some sizes."""
        rows = self.connection.execute(
            "SELECT attempt, seconds, failure, spent, date FROM measurements"
            " WHERE kernel = ? AND environment = ? AND version = ? AND sizes = ? ORDER BY attempt",
            (self.kernel, self.environment, version, sizes),
        )
        return {row[0]: _outcome(row[1:]) for row in rows}

    def trials(self) -> list[tuple[Trial, Outcome]]:
        """All trials, those of each version in the order of attempts."""
        rows = self.connection.execute(
            "SELECT version, sizes, attempt, seconds, failure, spent, date FROM measurements"
            " WHERE kernel = ? AND environment = ? ORDER BY attempt, id",
            (self.kernel, self.environment),
        )
        return [(Trial(*row[:3]), _outcome(row[3:])) for row in rows]

    def add(self, trial: Trial, outcome: Outcome) -> None:
        """Store the outcome of a trial durably; another tuner's earlier outcome stays."""
        key = (self.kernel, self.environment, trial.version, trial.sizes, trial.attempt)
        self.connection.execute(
            "INSERT OR IGNORE INTO measurements (kernel, environment, version, sizes, attempt, seconds, "
            "failure, spent, date) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*key, json.dumps(outcome.seconds), outcome.failure, outcome.spent, outcome.date),
        )

    def forget(self, sizes: Iterable[str]) -> None:
        """Delete the measurements at these sizes, to repeat them."""
        with transaction(self.connection):
            text = "DELETE FROM measurements WHERE kernel = ? AND environment = ? AND sizes = ?"
            self.connection.executemany(text, [(self.kernel, self.environment, size) for size in sizes])


def _outcome(row: tuple[str, str, float, str]) -> Outcome:
    seconds, failure, spent, date = row
    return Outcome(tuple(json.loads(seconds)), failure, spent, date)


def _names(of: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(of))


# -- Kernels


@dataclass(frozen=True)
class MeasuredKernel:
    """The measurements of a kernel in an environment. `left_out`: the number of measurements of the
    same text on the same device and target in older environments, such as with other compiler
    options.
    """

    kernel: KernelKey
    environment: Environment
    trials: tuple[tuple[Trial, Outcome], ...]
    left_out: int

    @property
    def days(self) -> tuple[str, str]:
        """The first and the last day of the measurements, `2026-11-22`."""
        dates = [outcome.date[:10] for _, outcome in self.trials]
        return min(dates), max(dates)

    @property
    def failures(self) -> int:
        """The number of failed trials."""
        return sum(bool(outcome.failure) for _, outcome in self.trials)


def measured_kernels(measurements: Iterable[Measurement]) -> list[MeasuredKernel]:
    """A kernel for each name, target, device and text, in its latest environment, sorted."""
    groups: dict[tuple[str, str, str, str], dict[Environment, list[Measurement]]] = {}
    for measurement in measurements:
        kernel, environment = measurement.kernel, measurement.environment
        key = (kernel.name, environment.target, environment.device, kernel.digest)
        groups.setdefault(key, {}).setdefault(environment, []).append(measurement)
    kernels = []
    for _, environments in sorted(groups.items()):
        newest = max(environments, key=lambda environment: max(row.outcome.date for row in environments[environment]))
        measured = environments[newest]
        others = sum(len(group) for group in environments.values()) - len(measured)
        trials = tuple((measurement.trial, measurement.outcome) for measurement in measured)
        kernels.append(MeasuredKernel(measured[0].kernel, newest, trials, others))
    return kernels


# -- Exchange


def lines_of(measurements: Iterable[Measurement]) -> Iterator[str]:
    """The lines of a file, each with its end."""
    yield json.dumps({_HEADER: FORM}) + "\n"
    for measurement in measurements:
        yield json.dumps(asdict(measurement), ensure_ascii=False) + "\n"


def measurements_of(lines: Iterable[str]) -> Iterator[Measurement]:
    """The measurements in a file. Raises SharingError if it is of another kind or damaged."""
    numbered = enumerate(lines, 1)
    _, first = next(numbered, (1, ""))
    header = _object(first, 1)
    if header.get(_HEADER) != FORM:
        other = f"has version {header.get(_HEADER)}, not {FORM}"
        problem = other if _HEADER in header else "is no export of tilepragma tune"
        raise SharingError(f"line 1: it {problem}")
    for number, line in numbered:
        whole = _object(line, number)
        yield Measurement(
            _part(KernelKey, whole.get("kernel"), number),
            _part(Environment, whole.get("environment"), number),
            _part(Trial, whole.get("trial"), number),
            _checked(_part(Outcome, whole.get("outcome"), number), number),
        )


_Part = TypeVar("_Part", KernelKey, Environment, Trial, Outcome)


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SharingError(f"line {number}: it is no JSON object, so the file is cut off or damaged")
    return value


#: The JSON types of a field, by the annotation in its class.
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "tuple[float, ...]": (list,),
}


def _part(of: type[_Part], document: object, number: int) -> _Part:
    known = {field.name: _TYPES[str(field.type)] for field in fields(of)}
    entries = document if isinstance(document, dict) else {}
    for name, types in known.items():
        entry = entries.get(name)
        is_counted = types != (int,) or (isinstance(entry, int) and 0 <= entry < _MOST)
        if not isinstance(entry, types) or isinstance(entry, bool) or not is_counted:
            raise SharingError(f"line {number}: '{name}' is missing or invalid")
    return of(**{name: entries[name] for name in known})


def _checked(outcome: Outcome, number: int) -> Outcome:
    every = (*outcome.seconds, outcome.spent)
    if not all(isinstance(second, (int, float)) and 0 <= second < float("inf") for second in every):
        raise SharingError(f"line {number}: a time is no finite number from 0")
    return Outcome(tuple(map(float, outcome.seconds)), outcome.failure, float(outcome.spent), outcome.date)
