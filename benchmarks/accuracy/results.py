"""What was measured of a problem at one size, and how right predictions of it are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilepragma.model.execution_time import Numbers
from tilepragma.model.linear_model import Terms, fit
from tilepragma.sizes.ranked_layouts import Sizes as TileSizes

#: Layouts that prices are fitted to; they do not count among the predicted ones.
CALIBRATIONS = 12


@dataclass(frozen=True)
class Sample:
    """A layout and the least of its measured `seconds`."""

    layout: TileSizes
    seconds: float


@dataclass(frozen=True)
class Measured:
    """A problem at `sizes` on a target. `named` has the layouts "default" (of the plan), "chosen"
    (what the plan takes where the model has chosen for it) and "first" (the first in the model's
    order at just these sizes), all measured as often; `noise` is how far a run of the default is
    from their median at most, relatively, but for one in twenty. `wrong`: layouts whose results
    were not those of the default.
    """

    program: str
    type: str
    held_out: bool
    sizes: dict[str, int]
    target: str
    names: tuple[str, ...]
    random: tuple[Sample, ...]
    named: dict[str, Sample]
    noise: float
    wrong: tuple[TileSizes, ...] = ()

    @property
    def title(self) -> str:
        numbers = " ".join(f"{name}={value}" for name, value in self.sizes.items() if name != "REPEATS")
        return f"{self.program} {numbers}"

    @property
    def best(self) -> float:
        """Seconds of the fastest random layout."""
        return min(each.seconds for each in self.random)

    @property
    def times(self) -> Numbers:
        """Seconds of the random layouts."""
        return np.array([each.seconds for each in self.random])

    @property
    def worst(self) -> float:
        """How many times the best one's time the slowest takes."""
        return float(self.times.max()) / self.best


@dataclass(frozen=True)
class Errors:
    """Relative errors of predictions: |predicted / measured - 1|."""

    median: float
    most_but_five: float
    most: float


@dataclass(frozen=True)
class Judged:
    """Predictions of the random layouts, `estimate` from the machine's description alone and
    `fitted` after a few runs of each problem; what the layout that they take to be fastest among
    all needs, of the time of the one that is.
    """

    measured: Measured
    estimate: Numbers
    fitted: Numbers
    errors: Errors
    fitted_errors: Errors
    pick: float
    fitted_pick: float

    def share(self, name: str) -> float:
        """The time of a named layout, of the best random one's."""
        return self.measured.named[name].seconds / self.measured.best


def judge(measured: Measured, terms: Terms) -> Judged:
    """`terms`: of the random layouts, in their order."""
    times = measured.times
    some = np.arange(len(times)) % max(1, len(times) // CALIBRATIONS) == 0
    fitted = terms.priced(fit(Terms(terms.names, terms.seconds[some]), times[some]))
    others = ~some if not some.all() else some
    return Judged(
        measured,
        terms.estimate,
        fitted,
        _errors(terms.estimate, times),
        _errors(fitted[others], times[others]),
        float(times[np.argmin(terms.estimate)]) / measured.best,
        float(times[np.argmin(fitted)]) / measured.best,
    )


def _errors(predicted: Numbers, times: Numbers) -> Errors:
    errors = np.abs(predicted / times - 1)
    return Errors(float(np.median(errors)), float(np.percentile(errors, 95)), float(errors.max()))
