"""Trials of versions of a kernel, each in a process of its own, kept as soon as they are made."""

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

#: The version that is taken where nobody tunes.
DEFAULT = "default"
#: A version may take so many times as long as the default, and always the second number of seconds;
#: the default the third, at its first run.
PATIENCE, LEAST_SECONDS, FIRST_SECONDS = 5.0, 5.0, 600.0
#: Calls besides the first one, whose time does not count: as many as this number of seconds holds,
#: within limits. Of short kernels more, as many as the second pair says, of which the first half
#: does not count either: threads sleep still, caches and branch predictors know nothing. Of a
#: product of 12 us (two threads, 12 processes) the lower quartile of 50 calls lies up to 32 % apart
#: from process to process, that of 500 calls 5 %, and the first 200 calls take up to 1.4 times as
#: long as those behind them.
_SECONDS, _FEWEST, _MOST = 0.2, 1, 5
_SHORT_SECONDS, _MOST_SHORT = 0.008, 300
#: The arrays of short kernels are filled anew after so many calls only, and the first one after
#: that does not count: it finds them in the caches of the thread that filled them, where a program
#: that calls the kernel again and again has each part with the thread that works on it. Not once
#: for all calls: what a kernel adds up or scales again and again leaves the range of usual numbers.
_CALLS_A_FILL = 4
_SIZE = re.compile(r"\w+=\d+")


class LostError(Exception):
    """Nothing can be measured any more, not even what ran before: a device is gone, or the program. The message is a clause on the program."""


@dataclass(frozen=True)
class Version:
    """A way to run a kernel: a `build` of the source (empty: as it stands) and tile sizes for its launches (none: what they take by themselves)."""

    build: str = ""
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        """How it is named, in the database and for people."""
        return " ".join((*filter(None, [self.build]), *(f"{name}={size}" for name, size in self.sizes))) or DEFAULT


def version_of(text: str) -> Version:
    """The version of a name."""
    words = [] if text == DEFAULT else text.split(" ")
    sizes = [word for word in words if _SIZE.fullmatch(word)]
    build = " ".join(word for word in words if word not in sizes)
    return Version(build, tuple((name, int(size)) for name, _, size in (word.partition("=") for word in sizes)))


@dataclass(frozen=True)
class Bench:
    """What runs versions of one kernel on one target.

    `kernel` is its name, `key` how profiles name it. `versions` and `points` are what trials name
    by their texts. `command` gives the words that run a build of the source where the user's
    parameters have some values, for so many calls, and so many after each fill of the arrays. Where
    programs can be told so (`has_calls`), runs are asked for several calls, and the first one does
    not count; `keeps_arrays`: most calls of short kernels have what the one before left. `embedded`
    are the builds that are versions in one program, with the texts of these
    (ir/kernel_versions.py), in the order of their numbers from 1.
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
        """The kernel's seconds in each call; `default` is what came of the first run of the default. Raises ProgramError."""
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
        return that_count(times.calls(calls), fill) if self.has_calls else (times.seconds,)

    def check(self) -> None:
        """Run the default where it ran when all began. Raises LostError where it does so no more."""
        numbers = next(iter(self.points.values()))
        try:
            words = self.command("", numbers, 1, 1)
            run(words, {"TILEK_TARGET": self.target}, FIRST_SECONDS).times_on(self.key, self.target)
        except ProgramError as error:
            raise LostError(str(error)) from None

    def measure(self, trial: Trial, study: Study) -> tuple[float, ...]:
        """The same, with what the study knows of the default. Raises ProgramError."""
        return self.seconds(trial, study.outcomes(DEFAULT, trial.sizes).get(0))


def calls_in_a_run(known: Sequence[float]) -> int:
    """Calls of a run, the first one included, where these are the seconds of some."""
    if not known:
        return 1 + _FEWEST
    each = max(*known, 1e-9)
    usual, short = min(int(_SECONDS / each), _MOST), min(int(_SHORT_SECONDS / each), _MOST_SHORT)
    return 1 + max(usual, short, _FEWEST)


def calls_a_fill(calls: int, keeps_arrays: bool) -> int:
    """After how many of so many calls of a run the arrays are filled anew."""
    return _CALLS_A_FILL if keeps_arrays and calls > 1 + _MOST else 1


def that_count(seconds: Sequence[float], fill: int) -> tuple[float, ...]:
    """Those of the calls of a run, whose arrays were filled before each `fill` of them, whose time counts."""
    first = 1 + max(len(seconds) - 1 - _MOST, 0) // 2
    return tuple(second for place, second in enumerate(seconds) if place >= first and (fill == 1 or place % fill))


def recorded(
    study: Study,
    measure: Callable[[Trial], tuple[float, ...]],
    check: Callable[[], None],
    monotonic: Callable[[], float],
    now: Callable[[], str],
) -> Take:
    """Trials that are made once: what the study has of them is taken, all others are measured and
    kept in it.

    `measure` gives the seconds of a trial's calls, or raises ProgramError, which is an outcome too,
    unless `check` then raises LostError. `monotonic` are seconds, `now` is a date.
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
        except NotBuiltError as error:
            failure = str(error)
        except ProgramError as error:
            failure = str(error)
            check()
        outcome = Outcome(seconds, failure, monotonic() - began, date)
        study.add(trial, outcome)
        return outcome

    return take


@contextmanager
def alone(database: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """While no other tuner of this database measures, since two at once would disturb each other;
    `waiting` is called where one does.

    Raises OSError where the file that says so cannot be made.
    """
    with database.with_suffix(".lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
