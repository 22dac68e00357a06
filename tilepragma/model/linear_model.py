"""Times that are sums of what there is of each kind of work, each at its price: estimated, or fitted to runs (thesis 5.3.3.2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.execution_time import Numbers

#: How much a factor's relative distance from that of all weighs against a run's relative error.
_RIDGE = 0.01
#: Relative errors beyond which runs count less, since something else ran; and how often their
#: weights are found anew.
_LARGE, _ROUNDS = 0.05, 6


@dataclass(frozen=True, eq=False)
class Terms:
    """Kinds of work by their `names`, and the seconds that each is estimated to take, a row for each layout."""

    names: tuple[str, ...]
    seconds: Numbers

    @property
    def estimate(self) -> Numbers:
        """The time of each layout, where nothing was measured."""
        return np.asarray(self.seconds.sum(axis=1))

    def priced(self, factors: Numbers) -> Numbers:
        """The time of each layout, where a kind of work takes so many times its estimate."""
        return np.asarray(self.seconds @ factors)


def fit(terms: Terms, times: Numbers) -> Numbers:
    """The factors, none below 0, with the least squares of relative errors over measured times of
    the layouts.

    Runs seldom tell all kinds of work apart: what they leave open stays near one factor for all,
    that by which the estimate is off on the whole. Raises ValueError for times that are none.
    """
    if not len(times) or not np.all(np.isfinite(times) & (times > 0)):
        raise ValueError("a time is a number above 0")
    equations = terms.seconds / times[:, None]
    whole = float(np.exp(np.mean(np.log(np.maximum(equations.sum(axis=1), np.finfo(np.float64).tiny)))))
    columns = equations.shape[1]
    weight = _RIDGE * np.sqrt(len(times))
    trust = np.ones(len(times))
    factors = np.full(columns, 1 / whole)
    for _ in range(_ROUNDS):
        matrix = np.vstack([equations * trust[:, None], weight * whole * np.eye(columns)])
        factors = _nonnegative(matrix, np.concatenate([trust, np.full(columns, weight)]))
        errors = np.abs(equations @ factors - 1)
        trust = np.sqrt(np.minimum(1.0, _LARGE / np.maximum(errors, np.finfo(np.float64).tiny)))
    return factors


def telling(terms: Terms, measured: Sequence[int], free: Sequence[int], count: int) -> list[int]:
    """`count` of the `free` layouts, by their rows, whose runs tell most of the prices that runs of
    the `measured` ones leave open.

    A run is an equation: the shares x that kinds of work have in its time, times their prices.
    Behind equations X the next is the one with the largest x (X^T X + ridge)^-1 x^T, the variance
    of its time by what they tell (a D-optimal design, one run after another). Fewer where there are
    fewer.
    """
    shares = terms.seconds / np.maximum(terms.estimate, np.finfo(np.float64).tiny)[:, None]
    left = list(free)
    chosen: list[int] = []
    while left and len(chosen) < count:
        known = shares[[*measured, *chosen]]
        ridge = _RIDGE**2 * max(len(known), 1) * np.eye(shares.shape[1])
        covariance = np.linalg.inv(known.T @ known + ridge)
        variances = np.einsum("ij,jk,ik->i", shares[left], covariance, shares[left])
        chosen.append(left.pop(int(np.argmax(variances))))
    return chosen


def _nonnegative(matrix: Numbers, wanted: Numbers) -> Numbers:
    """The least squares solution without an entry below 0: the best over all sets of entries that are not 0, of which there are few."""
    columns = matrix.shape[1]
    best, least = np.zeros(columns), float("inf")
    for number in range(columns, 0, -1):
        for chosen in itertools.combinations(range(columns), number):
            solution = np.linalg.lstsq(matrix[:, chosen], wanted, rcond=None)[0]
            if np.any(solution < 0):
                continue
            error = float(np.sum((matrix[:, chosen] @ solution - wanted) ** 2))
            if error < least:
                best, least = np.zeros(columns), error
                best[list(chosen)] = solution
    return best
