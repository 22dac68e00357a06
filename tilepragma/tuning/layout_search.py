"""Which of a few layouts of tile sizes is the fastest, measured: the model-driven empirical search
of ICS'08 section 6 over the model's best.

Where the model orders layouts, half of them are its best by estimated prices and such as tell
prices apart; the prices are then fitted to their runs, as the thesis fits its coefficients to
calibration runs of a kernel (5.3.3.2), and the other half are the best by those.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from random import Random

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.linear_model import telling
from tilepragma.sizes.search import Layout, Ranking, Sizes
from tilepragma.tuning.programs import ProgramError

#: Layouts that are measured again in alternation with the default, and how often.
FINALISTS, ROUNDS = 3, 5
#: The rounds in which a winner has its gain, at least.
SURE_ROUNDS = 4
#: The share of the layouts that is measured a second time.
_AGAIN = 1 / 3
#: What is less of a gain than this share of the default's time is none: runs differ by as much.
LEAST_GAIN = 0.02
#: Layouts that are measured to tell prices apart are predicted to take so many times as long as the
#: best at most: they shall have a chance too.
_CLOSE = 1.5


@dataclass
class Trial:
    """A layout with its place in the model's order, from 1 (None where the model has none), and the
    seconds of its runs.

    `failure` says why it could not be measured.
    """

    layout: Layout
    rank: int | None
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def median(self) -> float | None:
        """The median of its runs in seconds; None where there are none, or one failed."""
        return statistics.median(self.seconds) if self.seconds and not self.failure else None


@dataclass(frozen=True)
class Fit:
    """The model's order by prices that are fitted to runs of these layouts; its seconds are those of all launches of a run."""

    ranking: Ranking
    layouts: frozenset[Sizes]


@dataclass
class LayoutSearch:
    """The layouts to measure: what the program takes by itself, and `others`, to which a fit to the
    runs of the first may add `more`. What was measured so far is in them at any time.

    Where `is_mixed`, launches take several layouts by themselves; that of the default is the one
    most of the time went to, and may be among the others too, for all launches. `finalists` are
    those that have run in all ROUNDS in alternation with the default, as their last runs.
    """

    ranking: Ranking
    default: Trial
    others: tuple[Trial, ...]
    more: int = 0
    is_mixed: bool = False
    finalists: tuple[Trial, ...] = ()
    fit: Fit | None = None

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All of them, the default first."""
        return (self.default, *self.others)

    @property
    def runs(self) -> int:
        """How many runs there are at most."""
        others = len(self.others) + (self.more if self.fit is None else 0)
        return others + 1 + math.ceil((others + 1) * _AGAIN) + ROUNDS * (1 + min(FINALISTS, others))

    @property
    def compared(self) -> tuple[Trial, ...]:
        """The finalists and the default, the fastest first: by `ratio`, which the others have none of."""
        whole = [
            (ratio, finalist)
            for finalist in (*self.finalists, self.default)
            if (ratio := self.ratio(finalist)) is not None
        ]
        return tuple(one for _, one in sorted(whole, key=lambda pair: pair[0])) if self.finalists else ()

    @property
    def winner(self) -> Trial:
        """The fastest of those compared if its gain is more than LEAST_GAIN, else the default."""
        best = next(iter(self.compared), self.default)
        ratio = self.ratio(best)
        return best if ratio is not None and ratio <= 1 - LEAST_GAIN else self.default

    def ratio(self, trial: Trial) -> float | None:
        """The share of the default's time that a finalist took in all but the worst of its rounds
        in alternation with it; 1 of the default. None of others: they ran at other times than the
        default did.
        """
        if trial is self.default:
            return 1.0 if trial.median is not None else None
        if trial.median is None or all(trial is not finalist for finalist in self.finalists):
            return None
        rounds = zip(trial.seconds[-ROUNDS:], self.default.seconds[-ROUNDS:], strict=True)
        return sorted(own / before if before else 1.0 for own, before in rounds)[SURE_ROUNDS - 1]


def layout_search(
    ranking: Ranking, most: int, default: Sizes | None = None, besides: Iterable[Sizes] = (), is_mixed: bool = False
) -> LayoutSearch:
    """What to measure with `most` layouts: the best of the ranking where the model orders them,
    else those around its default.

    `default` is what the program takes by itself, the ranking's default unless it is said; those of
    `besides` are measured in any case.
    """
    own = ranking.default.sizes if default is None else default
    first = Trial(Layout(own), None) if is_mixed else _trial(ranking, own)
    out = () if is_mixed else (own,)
    taken = [sizes for sizes in dict.fromkeys(besides) if sizes not in out]
    known = {*out, *taken}
    free = [row for row, layout in enumerate(ranking.layouts) if layout.sizes not in known]
    most = min(most, len(free))
    more = 0 if ranking.terms is None else most // 2
    rows = _telling(ranking, known, free, most - more) if more else free[:most]
    others = (*taken, *(ranking.layouts[row].sizes for row in rows))
    return LayoutSearch(ranking, first, tuple(_trial(ranking, sizes) for sizes in others), more, is_mixed)


def _trial(ranking: Ranking, sizes: Sizes) -> Trial:
    return Trial(ranking.predicted(sizes), ranking.rank(sizes))


def _telling(ranking: Ranking, known: Collection[Sizes], free: Sequence[int], count: int) -> list[int]:
    """Layouts by their rows: half of `count` are the best, the others those that tell most of what runs of the ones before leave open."""
    best, rest = free[: math.ceil(count / 2)], free[math.ceil(count / 2) :]
    close = [row for row in rest if _seconds(ranking, row) <= _CLOSE * _seconds(ranking, free[0])]
    measured = [row for row, layout in enumerate(ranking.layouts) if layout.sizes in known]
    chosen = list(best)
    if ranking.terms is not None:
        chosen += telling(ranking.terms, [*measured, *best], close, count - len(best))
    return chosen + [row for row in rest if row not in chosen][: count - len(chosen)]


def _seconds(ranking: Ranking, row: int) -> float:
    return ranking.layouts[row].seconds or 0.0


def search(
    layouts: LayoutSearch, measure: Callable[[Trial], float], random: Random, heard: Callable[[Trial], None]
) -> None:
    """Measure the default, the others in random order, then those that a fit to them adds, the best
    third again, and the best few in alternation with the default.

    `measure` gives the seconds of a layout, or raises ProgramError; `heard` is told before each
    run. Raises ProgramError where the default itself fails.
    """

    def take(trial: Trial) -> None:
        heard(trial)
        try:
            trial.seconds.append(measure(trial))
        except ProgramError as error:
            trial.failure = str(error)
            if trial is layouts.default:
                raise

    take(layouts.default)
    for trial in random.sample(layouts.others, len(layouts.others)):
        take(trial)
    more = _fitted(layouts)
    layouts.others += more
    for trial in random.sample(more, len(more)):
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
    """The best layouts by prices fitted to what was measured that were not measured yet; the best by the estimate where nothing could be fitted."""
    ranking = layouts.ranking
    whole = layouts.others if layouts.is_mixed else layouts.trials
    measured = {one.layout.sizes: one.median for one in whole if one.median}
    fitted = ranking.fitted(measured) if layouts.more else None
    if fitted is not None:
        layouts.fit = Fit(fitted, frozenset(layout.sizes for layout in fitted.layouts if layout.sizes in measured))
    known = {one.layout.sizes for one in whole}
    free = [layout.sizes for layout in (fitted or ranking).layouts if layout.sizes not in known]
    return tuple(_trial(ranking, sizes) for sizes in free[: layouts.more])


def _best(trials: Sequence[Trial], count: int) -> list[Trial]:
    measured = [(trial.median, trial) for trial in trials if trial.median is not None]
    return [one for _, one in sorted(measured, key=lambda pair: pair[0])][:count]
