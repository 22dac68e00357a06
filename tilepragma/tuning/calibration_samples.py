"""The calibration program (runtime/tools/calibrate.c) on one device: its samples, their typical
values and spreads, tables of costs, and rows for people.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.tuning.programs import ProgramMissingError, ending, last_line, streamed

#: A larger spread is reported: something else ran at the same time.
WIDE_SPREAD = 0.2
#: Units of measurements in amounts a second; the others are in seconds.
RATES = {"rate": "FLOP/s", "clock": "Hz", "stream": "B/s", "cached": "B/s", "shared": "B/s"}
#: Seconds for one number, its program's compilation included, before the device is given up.
PATIENCE = 60.0
#: Variables of the user's programs that would change a launch's usual cost.
_FOREIGN = (
    "TILEK_VERIFY",
    "TILEK_PROFILE",
    "TILEK_SIZES",
    "TILEK_OPENCL_FORM",
    "TILEK_GRAPHS",
    "TILEK_SPECIALIZE",
    "TILEK_NUM_THREADS",
)
_WORDS = {"clock": "clock", "vector": "vector", "rate:4": "floats", "rate:8": "doubles"}
_COUNTS = {"launch": "block", "wavefront": "block", "barrier": "thread"}
_DATA = {
    "stream": "stream of {}",
    "cached": "reads of {} again and again",
    "copy_in": "copy of {} to the device",
    "copy_out": "copy of {} from the device",
}


class CalibrationError(Exception):
    """A device could not be measured; the message says why."""


@dataclass(frozen=True)
class ListedDevice:
    """A device of a target, `number` None and `name` the reason if absent. `memory` in bytes."""

    target: str
    number: int | None
    name: str
    driver: str = ""
    kind: str = ""
    compute_units: int = 0
    memory: int = 0

    @property
    def key(self) -> str:
        """The name of its descriptor: `threads`, `opencl-0`."""
        return self.target if self.target == "threads" else f"{self.target}-{self.number}"

    @property
    def is_gpu(self) -> bool:
        """Whether its kind is that of GPUs."""
        return self.kind == "gpu"


@dataclass(frozen=True)
class Series:
    """The samples of one measurement in order: bytes, operations or cycles a second, or seconds.

    `word` is the request (`stream:24576`). A failed measurement has no samples, and `failure` says
    why.
    """

    word: str
    samples: tuple[float, ...]
    failure: str = ""

    @property
    def typical(self) -> float:
        """The median of the faster half of the samples (at least one).

        Other programs only slow runs down. The median of all samples is right while fewer than half
        are disturbed, that of the faster half while fewer than three quarters are; on a quiet
        machine the two hardly differ.
        """
        low, _, high = self._quartiles()
        return high if self.word.partition(":")[0] in RATES else low

    @property
    def spread(self) -> float:
        """The interquartile range relative to the median; 0 for one sample."""
        low, median, high = self._quartiles()
        return abs((high - low) / median) if median else 0.0

    def _quartiles(self) -> tuple[float, float, float]:
        if len(self.samples) < 2:
            return (self.samples[0],) * 3 if self.samples else (0.0,) * 3
        low, median, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return low, median, high


@dataclass(frozen=True)
class Findings:
    """The findings on one device."""

    series: tuple[Series, ...]

    def value(self, measure: str, argument: int = 0) -> float | None:
        """The typical value of one measurement; None if it was not made or failed."""
        matches = [series for series in self.series if series.word == word(measure, argument) and series.samples]
        return matches[0].typical if matches else None

    def costs(self, measure: str) -> tuple[tuple[int, float], ...]:
        """Seconds by argument of all measurements of one kind, made monotonic by `ascending`."""
        parts = [(series.word.partition(":"), series) for series in self.series if series.samples]
        return ascending((int(argument), series.typical) for (name, _, argument), series in parts if name == measure)

    def steadier(self, again: Findings) -> Findings:
        """These findings, with those of `again` that spread less."""
        better = {series.word: series for series in again.series if series.samples}
        pairs = ((series, better.get(series.word, series)) for series in self.series)
        return Findings(tuple(min(pair, key=lambda candidate: candidate.spread) for pair in pairs))

    def failures(self) -> list[Series]:
        """The failed measurements."""
        return [series for series in self.series if series.failure]

    def wide(self) -> list[Series]:
        """The measurements with a wide spread, the widest first."""
        wide = (series for series in self.series if series.spread > WIDE_SPREAD)
        return sorted(wide, key=lambda series: -series.spread)


def word(measure: str, argument: int = 0) -> str:
    """A measurement as an argument of the program."""
    return f"{measure}:{argument}" if argument else measure


def parsed(line: str) -> Series:
    """Parses a line of the program. Raises ValueError."""
    asked, *columns = line.rstrip("\n").split("\t")
    if columns[:1] == ["-"]:
        return Series(asked, (), " ".join(columns[1:]) or "for no reason that it says")
    if not columns:
        raise ValueError(f"no line of samples: {line!r}")
    return Series(asked, tuple(float(column) for column in columns))


def ascending(pairs: Iterable[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """A table of costs by ascending numbers, non-negative and monotonic.

    More threads or blocks never make a barrier cheaper: where samples say so, they differ by
    chance, and the neighbouring costs get their mean (isotonic regression). Of several costs of one
    number the last counts.
    """
    table = sorted(dict(pairs).items())
    pools: list[tuple[float, int]] = []
    for _, cost in table:
        mean, size = max(cost, 0.0), 1
        while pools and pools[-1][0] > mean:
            before, others = pools.pop()
            mean, size = (before * others + mean * size) / (others + size), others + size
        pools.append((mean, size))
    costs: Sequence[float] = [mean for mean, size in pools for _ in range(size)]
    return tuple((number, cost) for (number, _), cost in zip(table, costs, strict=True))


# -- The program


def run(
    program: Path,
    subject: ListedDevice,
    words: Sequence[str],
    milliseconds: float,
    notify: Callable[[Series], None],
) -> Findings:
    """Measure `words` on the subject, each for about `milliseconds`; `notify` receives each series.
    Raises CalibrationError if the program cannot be started, fails, or falls silent.
    """
    command = [str(program), f"{milliseconds:.3f}", *words]
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    environment = kept | {"TILEK_TARGET": subject.target, "TILEK_DEVICE": str(subject.number), "TILEK_STRICT": "1"}
    try:
        with streamed(command, environment) as (process, lines, errors):
            series = _listen(process, lines, notify)
            status = process.wait()
            if status != 0 or len(series) != len(words):
                where = f" at {words[len(series)]}" if len(series) < len(words) else ""
                raise CalibrationError(f"the calibration program {ending(status)}{where}{last_line(errors())}")
    except ProgramMissingError as missing:
        raise CalibrationError(f"the calibration program cannot be started: {missing.__cause__}") from None
    return Findings(tuple(series))


def run_again(program: Path, subject: ListedDevice, findings: Findings, milliseconds: float) -> Findings:
    """The findings, with wide spreads measured once more and the steadier of both taken."""
    wide = [series.word for series in findings.wide()]
    try:
        return findings.steadier(run(program, subject, wide, milliseconds, lambda _: None)) if wide else findings
    except CalibrationError:
        return findings


def _listen(process: subprocess.Popen[str], lines: Iterable[str], notify: Callable[[Series], None]) -> list[Series]:
    """The program's lines, until it ends, or is killed for being silent too long."""
    series = []
    watch = _watch(process)
    try:
        for line in lines:
            watch.cancel()
            series.append(parsed(line))
            notify(series[-1])
            watch = _watch(process)
    except ValueError as error:
        raise CalibrationError(str(error)) from None
    finally:
        watch.cancel()
    return series


def _watch(process: subprocess.Popen[str]) -> threading.Timer:
    timer = threading.Timer(PATIENCE, process.kill)
    timer.daemon = True
    timer.start()
    return timer


# -- Rows


def rows(findings: Findings, labels: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """One row a measurement without attributes; `labels` name those whose words say too little."""
    shown = (series for series in findings.series if not series.word.startswith("attribute:"))
    return [(labels.get(series.word) or _label(series.word), _amount(series), _spread(series)) for series in shown]


def _label(word: str) -> str:
    measure, _, argument = word.partition(":")
    if word in _WORDS:
        return _WORDS[word]
    if measure in _COUNTS:
        return f"{measure} of {argument} {_COUNTS[measure]}" + "s" * (argument != "1")
    if measure in _DATA:
        return _DATA[measure].format(size(int(argument)))
    return "shared memory" if measure == "shared" else word


def _amount(series: Series) -> str:
    if series.failure:
        return f"not measured: {series.failure}"
    measure = series.word.partition(":")[0]
    if measure == "vector":
        return f"{series.typical:.0f} bytes"
    if measure in RATES:
        return scaled(series.typical, RATES[measure])
    return seconds(series.typical)


def _spread(series: Series) -> str:
    if len(series.samples) < 2:
        return ""
    return f"{series.spread:.0%}" + (" !" if series.spread > WIDE_SPREAD else "")


def scaled(value: float, unit: str) -> str:
    """`1.25 TB/s`."""
    for prefix, power in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= power:
            amount = value / power
            return f"{amount:.3g} {prefix}{unit}" if value < 1e3 * power else f"{amount:.0f} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def size(count: int) -> str:
    """`24 KiB`."""
    for unit, length in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= length:
            return f"{count / length:.4g} {unit}"
    return f"{count} bytes"
