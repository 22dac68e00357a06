"""Times as sums over kinds of work at prices, estimated or fitted to runs (thesis 5.3.3.2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.execution_time import Numbers

#: The weight of a factor's relative distance from the common factor against a run's relative error.
_RIDGE = 0.01
#: Runs with larger relative errors count less, since something else ran; and the number of
#: reweightings.
_LARGE, _ROUNDS = 0.05, 6


@dataclass(frozen=True, eq=False)
class Terms:
    """Kinds of work by their `names`, and their estimated seconds, a row for each layout."""

    names: tuple[str, ...]
    seconds: Numbers

    @property
    def estimate(self) -> Numbers:
        """The estimated time of each layout."""
        return np.asarray(self.seconds.sum(axis=1))

    def priced(self, factors: Numbers) -> Numbers:
        """The time of each layout, with each kind of work's estimate multiplied by its factor."""
        return np.asarray(self.seconds @ factors)


def fit(terms: Terms, times: Numbers) -> Numbers:
    """The non-negative factors with the least squares of relative errors over measured times.

    Runs rarely distinguish all kinds of work: undetermined factors stay near one common factor, the
    estimate's overall error. Raises ValueError for invalid times.
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


def most_informative(terms: Terms, measured: Sequence[int], free: Sequence[int], count: int) -> list[int]:
    """`count` of the `free` layouts, by rows, whose runs best determine the prices that runs of the
    `measured` ones leave open.

    A run is an equation: the shares x of the kinds of work in its time, times their prices. After
    equations X the next is the one with the largest x (X^T X + ridge)^-1 x^T, the variance of its
    time given them (a sequential D-optimal design). Fewer if there are fewer.
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
    """The non-negative least squares solution: the best over the (few) sets of non-zero entries."""
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
