"""Samples of the calibration program, their typical values and spreads, and tables of costs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from tilepragma.base.frozen_values import dataclass

#: A larger spread is reported: something else ran at the same time.
WIDE_SPREAD = 0.2
#: Measurements in amounts a second; the others are in seconds.
RATES = frozenset({"clock", "rate", "stream", "cached", "shared"})


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
        return Findings(
            tuple(
                min((series, better.get(series.word, series)), key=lambda candidate: candidate.spread)
                for series in self.series
            )
        )

    def failures(self) -> list[Series]:
        """The failed measurements."""
        return [series for series in self.series if series.failure]

    def wide(self) -> list[Series]:
        """The measurements with a wide spread, the widest first."""
        return sorted(
            (series for series in self.series if series.spread > WIDE_SPREAD), key=lambda series: -series.spread
        )


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
