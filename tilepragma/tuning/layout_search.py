"""Measures which of a few tile-size layouts is the fastest: the model-driven empirical search of
ICS'08 section 6 over the model's best.

If the model orders layouts, half of the measured ones are its best by estimated prices and those
that tell prices apart. The prices are then fitted to their runs, as the thesis fits its
coefficients to calibration runs of a kernel (5.3.3.2); the other half are the best by fitted
prices.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from random import Random

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.linear_model import most_informative
from tilepragma.sizes.ranked_layouts import Layout, Ranking, Sizes
from tilepragma.tuning.programs import ProgramError

#: Layouts measured again in alternation with the default, and the number of rounds.
FINALISTS, ROUNDS = 3, 5
#: The least number of rounds in which a winner has its gain.
SURE_ROUNDS = 4
#: The share of the layouts that is measured a second time.
_AGAIN = 1 / 3
#: The least gain in the default's time that counts: runs differ by as much.
LEAST_GAIN = 0.02
#: Layouts that tell prices apart are predicted to take at most so many times the best's time: they
#: should have a chance of winning.
_CLOSE = 1.5


@dataclass
class Trial:
    """A layout with its place in the model's order from 1 (None without a model), and the seconds
    of its runs; `failure` says why it could not be measured.
    """

    layout: Layout
    rank: int | None
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def median(self) -> float | None:
        """The median seconds of its runs; None without runs, or if one failed."""
        return statistics.median(self.seconds) if self.seconds and not self.failure else None


@dataclass
class LayoutSearch:
    """The layouts to measure: the program's own, and `others`, to which a fit to the first runs may
    add `more`. They hold the measurements so far at any time.

    If `is_mixed`, launches take several layouts by themselves; the default's is the one with most
    of the time, and may be among the others too, for all launches. `finalists` have run in all
    ROUNDS in alternation with the default, as their last runs. `fit`: the model's order by prices
    fitted to runs of the layouts in `fitted`, in seconds of a run.
    """

    ranking: Ranking
    default: Trial
    others: tuple[Trial, ...]
    more: int = 0
    is_mixed: bool = False
    finalists: tuple[Trial, ...] = ()
    fit: Ranking | None = None
    fitted: frozenset[Sizes] = frozenset()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All layouts, the default first."""
        return (self.default, *self.others)

    @property
    def runs(self) -> int:
        """The most runs."""
        others = len(self.others) + (self.more if self.fit is None else 0)
        return others + 1 + math.ceil((others + 1) * _AGAIN) + ROUNDS * (1 + min(FINALISTS, others))

    @property
    def compared(self) -> tuple[Trial, ...]:
        """The finalists and the default, the fastest first by `ratio`."""
        ratios = ((self.ratio(finalist), finalist) for finalist in (*self.finalists, self.default))
        whole = [(ratio, finalist) for ratio, finalist in ratios if ratio is not None]
        return tuple(trial for _, trial in sorted(whole, key=lambda pair: pair[0])) if self.finalists else ()

    @property
    def winner(self) -> Trial:
        """The fastest of those compared if it gains more than LEAST_GAIN, else the default."""
        best = next(iter(self.compared), self.default)
        ratio = self.ratio(best)
        return best if ratio is not None and ratio <= 1 - LEAST_GAIN else self.default

    def ratio(self, trial: Trial) -> float | None:
        """A finalist's time relative to the default's in all but the worst of its rounds in
        alternation with it; 1 for the default. None for others: they ran at other times.
        """
        if trial is self.default:
            return 1.0 if trial.median is not None else None
        if trial.median is None or all(trial is not finalist for finalist in self.finalists):
            return None
        rounds = zip(trial.seconds[-ROUNDS:], self.default.seconds[-ROUNDS:], strict=True)
        return sorted(seconds / before if before else 1.0 for seconds, before in rounds)[SURE_ROUNDS - 1]


def layout_search(
    ranking: Ranking, most: int, default: Sizes | None = None, besides: Iterable[Sizes] = (), is_mixed: bool = False
) -> LayoutSearch:
    """What to measure with `most` layouts: the best of the ranking if the model orders them, else
    those around its default.

    `default`: the program's own layout, else the ranking's default; the layouts `besides` are
    always measured.
    """
    default_sizes = ranking.default.sizes if default is None else default
    first = Trial(Layout(default_sizes), None) if is_mixed else _trial(ranking, default_sizes)
    out = () if is_mixed else (default_sizes,)
    taken = [sizes for sizes in dict.fromkeys(besides) if sizes not in out]
    known = {*out, *taken}
    free = [row for row, layout in enumerate(ranking.layouts) if layout.sizes not in known]
    most = min(most, len(free))
    extra = 0 if ranking.terms is None else most // 2
    rows = _informative_rows(ranking, known, free, most - extra) if extra else free[:most]
    others = (*taken, *(ranking.layouts[row].sizes for row in rows))
    return LayoutSearch(ranking, first, tuple(_trial(ranking, sizes) for sizes in others), extra, is_mixed)


def _trial(ranking: Ranking, sizes: Sizes) -> Trial:
    return Trial(ranking.predicted(sizes), ranking.rank(sizes))


def _informative_rows(ranking: Ranking, known: Collection[Sizes], free: Sequence[int], count: int) -> list[int]:
    """Rows of layouts: half of `count` are the best, the others tell the prices apart best."""
    best, rest = free[: math.ceil(count / 2)], free[math.ceil(count / 2) :]
    close = [row for row in rest if _seconds(ranking, row) <= _CLOSE * _seconds(ranking, free[0])]
    measured = [row for row, layout in enumerate(ranking.layouts) if layout.sizes in known]
    chosen = list(best)
    if ranking.terms is not None:
        chosen += most_informative(ranking.terms, [*measured, *best], close, count - len(best))
    return chosen + [row for row in rest if row not in chosen][: count - len(chosen)]


def _seconds(ranking: Ranking, row: int) -> float:
    return ranking.layouts[row].seconds or 0.0


def search(
    layouts: LayoutSearch, measure: Callable[[Trial], float], random: Random, notify: Callable[[Trial], None]
) -> None:
    """Measure the default, the others in random order, those that a fit adds, the best third again,
    and the best few in alternation with the default.

    `measure` returns the seconds of a layout, or raises ProgramError; `notify` is called before
    each run. Raises ProgramError if the default fails.
    """

    def take(trial: Trial) -> None:
        notify(trial)
        try:
            trial.seconds.append(measure(trial))
        except ProgramError as error:
            trial.failure = str(error)
            if trial is layouts.default:
                raise

    take(layouts.default)
    for trial in random.sample(layouts.others, len(layouts.others)):
        take(trial)
    extra = _fitted(layouts)
    layouts.others += extra
    for trial in random.sample(extra, len(extra)):
        take(trial)
    for trial in _best(layouts.trials, math.ceil(len(layouts.trials) * _AGAIN)):
        take(trial)
    finalists = _best(layouts.others, FINALISTS)
    for number in range(ROUNDS):
        turn = [layouts.default, *finalists]
        for trial in turn if number % 2 == 0 else reversed(turn):
            if not trial.failure:
                take(trial)
    layouts.finalists = tuple(finalist for finalist in finalists if not finalist.failure)


def _fitted(layouts: LayoutSearch) -> tuple[Trial, ...]:
    """The best unmeasured layouts by fitted prices, or by estimated ones without a fit."""
    ranking = layouts.ranking
    whole = layouts.others if layouts.is_mixed else layouts.trials
    measured = {trial.layout.sizes: trial.median for trial in whole if trial.median}
    fitted = ranking.fitted(measured) if layouts.more else None
    if fitted is not None:
        layouts.fit = fitted
        layouts.fitted = frozenset(layout.sizes for layout in fitted.layouts if layout.sizes in measured)
    known = {trial.layout.sizes for trial in whole}
    free = [layout.sizes for layout in (fitted or ranking).layouts if layout.sizes not in known]
    return tuple(_trial(ranking, sizes) for sizes in free[: layouts.more])


def _best(trials: Sequence[Trial], count: int) -> list[Trial]:
    measured = [(trial.median, trial) for trial in trials if trial.median is not None]
    return [trial for _, trial in sorted(measured, key=lambda pair: pair[0])][:count]
