"""What the calibration program found: series of samples, their typical values and spreads, and tables of costs made of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from tilepragma.base.frozen_values import dataclass

#: A spread beyond this is worth a word: something else ran at the same time.
WIDE_SPREAD = 0.2
#: Measurements whose samples are amounts a second; those of the others are seconds.
RATES = frozenset({"clock", "rate", "stream", "cached", "shared"})


@dataclass(frozen=True)
class Series:
    """The samples of one measurement, in the order they were taken: bytes, operations or cycles a
    second, or seconds.

    `word` is what was asked for (`stream:24576`). There are none where it failed, and `failure`
    says why.
    """

    word: str
    samples: tuple[float, ...]
    failure: str = ""

    @property
    def typical(self) -> float:
        """The median of the faster half. There are samples.

        What else runs on a machine only makes a run slower: of all samples the median holds while
        fewer than half are disturbed, of the faster half while fewer than three quarters are; on a
        quiet machine the two are hardly apart.
        """
        low, _, high = self._quartiles()
        return high if self.word.partition(":")[0] in RATES else low

    @property
    def spread(self) -> float:
        """How far the middle half of the samples lies apart, relative to the median; 0 for one sample."""
        low, median, high = self._quartiles()
        return abs((high - low) / median) if median else 0.0

    def _quartiles(self) -> tuple[float, float, float]:
        if len(self.samples) < 2:
            return (self.samples[0],) * 3 if self.samples else (0.0,) * 3
        low, median, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return low, median, high


@dataclass(frozen=True)
class Findings:
    """All that was found on one device."""

    series: tuple[Series, ...]

    def value(self, measure: str, argument: int = 0) -> float | None:
        """The typical value of one measurement; None where it was not made or failed."""
        found = [one for one in self.series if one.word == word(measure, argument) and one.samples]
        return found[0].typical if found else None

    def costs(self, measure: str) -> tuple[tuple[int, float], ...]:
        """Seconds by argument, of all measurements of one kind, as `ascending` makes them."""
        parts = [(one.word.partition(":"), one) for one in self.series if one.samples]
        return ascending((int(argument), one.typical) for (name, _, argument), one in parts if name == measure)

    def steadier(self, again: Findings) -> Findings:
        """These, but for what spreads less in `again`."""
        better = {one.word: one for one in again.series if one.samples}
        return Findings(
            tuple(min((one, better.get(one.word, one)), key=lambda each: each.spread) for one in self.series)
        )

    def failures(self) -> list[Series]:
        """The measurements that failed."""
        return [one for one in self.series if one.failure]

    def wide(self) -> list[Series]:
        """The measurements whose spread is wide, the widest first."""
        return sorted((one for one in self.series if one.spread > WIDE_SPREAD), key=lambda one: -one.spread)


def word(measure: str, argument: int = 0) -> str:
    """A measurement as the program takes it."""
    return f"{measure}:{argument}" if argument else measure


def parsed(line: str) -> Series:
    """A line of the program. Raises ValueError where it is none."""
    asked, *columns = line.rstrip("\n").split("\t")
    if columns[:1] == ["-"]:
        return Series(asked, (), " ".join(columns[1:]) or "for no reason that it says")
    if not columns:
        raise ValueError(f"no line of samples: {line!r}")
    return Series(asked, tuple(float(column) for column in columns))


def ascending(pairs: Iterable[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """A table of costs in the order of its numbers, none below 0 and none below that of a smaller
    number.

    More threads or blocks never make a barrier cheaper: where samples say so, they differ by
    chance, and the costs around get their mean (isotonic regression). Of several costs of one
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
