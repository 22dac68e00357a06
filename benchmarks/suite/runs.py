"""Running the contenders of a case in turn, on the same random data, and comparing what they leave."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy

from benchmarks.measure import environment
from benchmarks.polybench_programs import Program, arrays_in
from benchmarks.suite.contenders import GCC, OURS, Built, Contender
from benchmarks.suite.results import MOST_TOLERANCE, TOLERANCE, WIDTH, Measurement, Row

#: A contender is stopped when it takes this many times as long as the original, and never before
#: the second number of seconds.
PATIENCE, LEAST_SECONDS = 60.0, 120.0
FIRST_SECONDS = 1200.0
#: One that takes this many times as long as the original is timed in one round only.
ONCE_IS_ENOUGH = 20.0
#: Runs in one process of a contender that warms up; the last one counts.
RUNS_WHEN_WARM = 2
_WRONG_DATA = "cannot be compared: the original leaves no finite number"


class RunError(Exception):
    """A program that failed; the message says how."""


class StoppedError(RunError):
    """A program that took too long."""


@dataclass(frozen=True)
class Run:
    """One process: seconds between start and stop of the clock `each` time that it ran the kernel,
    those of the whole process, the hash of each array in the end, and what it said on standard
    error.
    """

    each: tuple[float, ...]
    process: float
    hashes: tuple[str, ...]
    said: str

    @property
    def seconds(self) -> float:
        """Those of the last run, when all was warm."""
        return self.each[-1]


def run(contender: Contender, settings: str, limit: float, dump: str = "-") -> Run:
    """One process. Raises RunError, and StoppedError after `limit` seconds."""
    runs = (settings,) * (RUNS_WHEN_WARM if contender.warm and dump == "-" else 1)
    before = os.times().elapsed
    try:
        done = subprocess.run(
            (str(contender.program), dump, *runs),
            cwd=contender.program.parent,
            env=environment(**contender.environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise StoppedError(f"stopped after {limit:.0f} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RunError("; ".join([f"status {done.returncode}", *said[-3:]]))
    lines = [line.split() for line in done.stdout.strip().splitlines()]
    each = tuple(float(words[1]) for words in lines)
    return Run(each, os.times().elapsed - before, tuple(lines[-1][2:]), done.stderr)


def difference(program: Program, wanted: Path, found: Path, scratch: tuple[str, ...]) -> float:
    """The largest difference of two dumps, relative to the largest element of its array; infinite
    where one is no number and the other is. Raises RunError where the first holds no finite number
    to compare.
    """
    largest = 0.0
    for (_, name, left), (_, _, right) in zip(arrays_in(program, wanted), arrays_in(program, found), strict=True):
        if name in scratch or left.tobytes() == right.tobytes():
            continue
        one, other = left.astype(numpy.float64), right.astype(numpy.float64)
        finite = numpy.isfinite(one)
        if not finite.any():
            raise RunError(_WRONG_DATA)
        if (finite != numpy.isfinite(other)).any():
            return float("inf")
        scale = float(numpy.abs(one[finite]).max()) or 1.0
        largest = max(largest, float(numpy.abs(one - other)[finite].max()) / scale)
    return largest


def launch_seconds(trace: dict[str, Any]) -> float:
    """The sum of the launches in a trace of TILEK_PROFILE, whose durations are in microseconds."""
    return 1e-6 * math.fsum(event["dur"] for event in trace["traceEvents"] if event["cat"] == "kernel")


class CaseRuns:
    """The runs of one case, and what came of them in `row`. Launches alone are not timed in a quick run."""

    def __init__(self, built: Built, program: Program, quick: bool, scratch: Path) -> None:
        case, type_ = built.case, built.type
        self.built, self.program, self.scratch, self.profiled = built, program, scratch, not quick
        self.settings = f"type={type_},seed={case.seed},time=1"
        flops, elements = case.count(case.flops, quick), case.count(case.moved, quick)
        self.row = Row(case.name, case.group, type_, dict(case.numbers(quick)), flops, elements * WIDTH[type_])
        self.row.contenders = {name: Measurement(match=f"not built: {why}") for name, why in built.failures.items()}
        self.limit = FIRST_SECONDS

    def take(self, rounds: int, progress: Callable[[str], None]) -> Row:
        """Each contender once to compare its results (and to warm up), then `rounds` times in turn."""
        original = next((each for each in self.built.contenders if each.name == GCC), None)
        if original is None:
            return self.row
        fit = self._compare_all(original, progress)
        for number in range(rounds):
            for contender in fit if number == 0 else [each for each in fit if not self._slow(each)]:
                progress(contender.name)
                try:
                    taken = run(contender, self.settings, self.limit)
                except RunError as error:
                    self.row.contenders[contender.name].match = f"failed: {error}"
                    continue
                self.row.contenders[contender.name].seconds.append(taken.seconds)
        for contender in fit if self.profiled else ():
            if contender.name.startswith(OURS) and contender.warm:
                self.row.contenders[contender.name].kernels = self._kernels(contender)
        return self.row

    def _slow(self, contender: Contender) -> bool:
        """Whether one round says enough of a contender."""
        original, own = self.row.contenders[GCC].seconds, self.row.contenders[contender.name].seconds
        return not own or bool(original and own[0] > ONCE_IS_ENOUGH * original[0])

    def _kernels(self, contender: Contender) -> float | None:
        """Seconds of the launches in one run, by the runtime's own profile."""
        trace = self.scratch / "trace.json"
        watched = replace(contender, environment=contender.environment | {"TILEK_PROFILE": str(trace)})
        try:
            run(watched, self.settings, self.limit)
            return launch_seconds(json.loads(trace.read_text())) / RUNS_WHEN_WARM
        except (RunError, OSError, ValueError):
            return None
        finally:
            trace.unlink(missing_ok=True)

    def _compare_all(self, original: Contender, progress: Callable[[str], None]) -> list[Contender]:
        """The contenders that can be timed: those that ran, with right results or not."""
        fit: list[Contender] = []
        wanted: Run | None = None
        dump = self.scratch / "wanted.dump"
        # A run that was ended may have left that of another case, where the folder is the user's.
        dump.unlink(missing_ok=True)
        for contender in sorted(self.built.contenders, key=lambda each: each is not original):
            progress(contender.name)
            measurement = self.row.contenders[contender.name] = Measurement()
            try:
                taken = run(contender, self.settings, self.limit)
                if wanted is None:
                    wanted, self.limit = taken, max(LEAST_SECONDS, PATIENCE * taken.process)
                    measurement.match = "bits"
                else:
                    measurement.match, measurement.difference = self._compared(original, wanted, contender, taken, dump)
                fit.append(contender)
            except RunError as error:
                measurement.match = f"failed: {error}"
        dump.unlink(missing_ok=True)
        return fit

    def _compared(
        self, original: Contender, wanted: Run, contender: Contender, taken: Run, dump: Path
    ) -> tuple[str, float]:
        arrays = self.program.arrays
        names = [arrays[k] if k < len(arrays) else "" for k in range(len(wanted.hashes))]
        unlike = [name for name, one, other in zip(names, wanted.hashes, taken.hashes, strict=True) if one != other]
        if not set(unlike) - set(self.built.case.scratch):
            return "bits", 0.0
        if not dump.exists():
            run(original, self.settings, self.limit, str(dump))
        result = self.scratch / "found.dump"
        try:
            run(contender, self.settings, self.limit, str(result))
            apart = difference(self.program, dump, result, self.built.case.scratch)
        finally:
            result.unlink(missing_ok=True)
        allowed = min(TOLERANCE[self.row.type] * self.built.case.condition, MOST_TOLERANCE)
        return ("tolerance" if apart <= allowed else f"differs by {apart:.1e}"), apart
