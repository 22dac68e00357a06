"""Trials of versions of a kernel, each in a process of its own, recorded at once."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.tuning.database import Outcome, Study, Trial
from tilepragma.tuning.exploration import Take
from tilepragma.tuning.programs import NotBuiltError, ProgramError, ProgramMissingError, run

#: The version without tuning.
DEFAULT = "default"
#: The longest run of a version relative to the default's, and in any case so many seconds; the
#: longest first run of the default.
PATIENCE, LEAST_SECONDS, FIRST_SECONDS = 5.0, 5.0, 600.0
#: Counted calls after the first one: as many as fit this number of seconds, within limits. Short
#: kernels get more, by the second pair, of which the first half does not count either: threads
#: still sleep, caches and branch predictors are cold. For a product of 12 us (two threads, 12
#: processes) the lower quartile of 50 calls varies by up to 32 % between processes, that of 500
#: calls by 5 %, and the first 200 calls take up to 1.4 times as long as later ones.
_SECONDS, _FEWEST, _MOST = 0.2, 1, 5
_SHORT_SECONDS, _MOST_SHORT = 0.008, 300
#: Short kernels refill their arrays only after so many calls, and the first call after that does
#: not count: the filling thread's caches hold the arrays, while in a program that calls the kernel
#: repeatedly each part is with the thread that works on it. The arrays are not filled once for all
#: calls: a kernel that adds up or scales its results would leave the usual range of numbers.
_CALLS_A_FILL = 4
_SIZE = re.compile(r"\w+=\d+")


class LostError(Exception):
    """Nothing can be measured any more: a device or the program is gone."""


@dataclass(frozen=True)
class Version:
    """A way to run a kernel: a `build` of the source (or "") and tile sizes (or none)."""

    build: str = ""
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        """Its name in the database and for people."""
        return " ".join((*filter(None, [self.build]), *(f"{name}={size}" for name, size in self.sizes))) or DEFAULT


def version_of(text: str) -> Version:
    """The version of a name."""
    words = [] if text == DEFAULT else text.split(" ")
    sizes = [word for word in words if _SIZE.fullmatch(word)]
    build = " ".join(word for word in words if word not in sizes)
    return Version(build, tuple((name, int(size)) for name, _, size in (word.partition("=") for word in sizes)))


@dataclass(frozen=True)
class Bench:
    """Runs versions of one kernel on one target.

    `kernel` is its name, `key` its identity in profiles. `versions` and `points` are the trials'
    versions and sizes by their texts. `command` returns the command of a build at some sizes, for
    so many calls, and so many after each fill of the arrays. `has_calls`: programs take a number of
    calls, of which the first does not count; `keeps_arrays`: most calls of short kernels reuse the
    arrays of the call before. `embedded`: the builds that are versions in one program, with their
    texts (ir/kernel_versions.py), in the order of their numbers from 1.
    """

    kernel: str
    key: tuple[str, str]
    target: str
    versions: Mapping[str, Version]
    points: Mapping[str, Mapping[str, int]]
    command: Callable[[str, Mapping[str, int], int, int], list[str]]
    has_calls: bool
    keeps_arrays: bool = False
    embedded: Mapping[str, str] = field(default_factory=dict)

    def seconds(self, trial: Trial, default: Outcome | None) -> tuple[float, ...]:
        """The kernel's seconds in each call, given the default's outcome. Raises ProgramError."""
        version = self.versions[trial.version]
        calls = calls_in_a_run(default.seconds if default is not None else ()) if self.has_calls else 1
        fill = calls_a_fill(calls, self.keeps_arrays)
        words = self.command(version.build, self.points[trial.sizes], calls, fill)
        number = 1 + list(self.embedded).index(version.build) if version.build in self.embedded else 0
        variables = {"TILEK_TARGET": self.target}
        if version.sizes:
            variables["TILEK_SIZES"] = ",".join(f"{self.kernel}.{name}={size}" for name, size in version.sizes)
        if version.sizes or number:
            variables["TILEK_VERSION"] = str(number)  # whose sizes they are
        limit = FIRST_SECONDS if default is None else max(LEAST_SECONDS, PATIENCE * default.spent)
        times = run(words, variables, limit).times_on(self.key, self.target)
        if self.embedded and times.versions != (self.embedded.get(version.build, ""),):
            raise ProgramError(
                f"ran {' and '.join(version or 'the plan itself' for version in times.versions)} in its place"
            )
        return counted_calls(times.calls(calls), fill) if self.has_calls else (times.seconds,)

    def check(self) -> None:
        """Run the default once more. Raises LostError if it fails now."""
        numbers = next(iter(self.points.values()))
        try:
            words = self.command("", numbers, 1, 1)
            run(words, {"TILEK_TARGET": self.target}, FIRST_SECONDS).times_on(self.key, self.target)
        except ProgramError as error:
            raise LostError(str(error)) from None

    def measure(self, trial: Trial, study: Study) -> tuple[float, ...]:
        """The seconds of a trial, given the study's outcome of the default. Raises ProgramError."""
        return self.seconds(trial, study.outcomes(DEFAULT, trial.sizes).get(0))


def calls_in_a_run(known: Sequence[float]) -> int:
    """Calls of a run including the first, estimated from the seconds of some."""
    if not known:
        return 1 + _FEWEST
    longest = max(*known, 1e-9)
    usual, short = min(int(_SECONDS / longest), _MOST), min(int(_SHORT_SECONDS / longest), _MOST_SHORT)
    return 1 + max(usual, short, _FEWEST)


def calls_a_fill(calls: int, keeps_arrays: bool) -> int:
    """The number of calls after which a run refills the arrays."""
    return _CALLS_A_FILL if keeps_arrays and calls > 1 + _MOST else 1


def counted_calls(seconds: Sequence[float], fill: int) -> tuple[float, ...]:
    """The counted calls of a run whose arrays were filled before each `fill` of them."""
    first = 1 + max(len(seconds) - 1 - _MOST, 0) // 2
    return tuple(second for place, second in enumerate(seconds) if place >= first and (fill == 1 or place % fill))


def recorded(
    study: Study,
    measure: Callable[[Trial], tuple[float, ...]],
    check: Callable[[], None],
    monotonic: Callable[[], float],
    now: Callable[[], str],
) -> Take:
    """Trials that are made once: outcomes in the study are reused, others are measured and added.

    `measure` returns the seconds of a trial's calls, or raises ProgramError, which is an outcome
    too, unless `check` then raises LostError. `monotonic` returns seconds, `now` a date.
    """

    def take(trial: Trial) -> Outcome:
        known = study.find(trial)
        if known is not None:
            return known
        seconds: tuple[float, ...] = ()
        failure, date, began = "", now(), monotonic()
        try:
            seconds = measure(trial)
        except ProgramMissingError:
            raise
        except ProgramError as error:
            failure = str(error)
            if not isinstance(error, NotBuiltError):
                check()
        outcome = Outcome(seconds, failure, monotonic() - began, date)
        study.add(trial, outcome)
        return outcome

    return take


@contextmanager
def alone(database: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Excludes other tuners of this database, which would disturb measurements; calls `waiting` if
    one runs. Raises OSError if the lock file cannot be made.
    """
    with database.with_suffix(".lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
