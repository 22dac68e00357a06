"""The number of integer points in boxes cut by half-spaces, for many boxes in parallel.

    { x : low_k <= x_k <= high_k, c + sum f_k x_k >= 0 for each cut }

Cuts that leave a box whole are dropped. Bounds on one sum of variables are counted in closed form:
of the points z of a box [0, L_1) x ... x [0, L_d) those with z_1 + ... + z_d <= u are

    sum over subsets T of the variables of (-1)^|T| binomial(u - sum_T L + d, d)

and any other box is split along one variable.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.parameter_batch import Numbers, ragged, summed

Factors = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cut:
    """constant + factors . x >= 0, with a constant for each box."""

    factors: Factors
    constant: Numbers

    def at(self, index: Numbers) -> Cut:
        """The cut of the boxes at `index`."""
        return Cut(self.factors, self.constant[index])


@dataclass(frozen=True, eq=False)
class Boxes:
    """Bounds of the variables, a row a variable, and the cuts."""

    low: Numbers
    high: Numbers
    cuts: tuple[Cut, ...]

    def at(self, index: Numbers) -> Boxes:
        """The boxes at `index`."""
        return Boxes(self.low[:, index], self.high[:, index], tuple(cut.at(index) for cut in self.cuts))

    @property
    def lengths(self) -> Numbers:
        """The number of values of each variable."""
        return np.asarray(np.maximum(self.high - self.low + 1, 0), dtype=np.int64)


def points_in(boxes: Boxes) -> Numbers:
    """The points of each box. Linear in the number of boxes if only cuts of one sum meet a box."""
    boxes = _narrowed(boxes)
    least = np.array([_extreme(cut, boxes.low, boxes.high) for cut in boxes.cuts])
    most = np.array([_extreme(cut, boxes.high, boxes.low) for cut in boxes.cuts])
    some = np.all(boxes.lengths > 0, axis=0) & np.all(most >= 0, axis=0)
    points = np.zeros(boxes.low.shape[1], dtype=np.int64)
    if not boxes.cuts:
        return np.where(some, np.prod(boxes.lengths, axis=0), 0)
    meets = (least < 0) & some
    chosen = _common_sum([cut.factors for cut, met in zip(boxes.cuts, meets, strict=True) if met.any()])
    same_sum = np.array([_same_sum(cut.factors, chosen) for cut in boxes.cuts])
    split = np.any(meets[~same_sum], axis=0)
    index = np.flatnonzero(some & ~split)
    of_chosen = tuple(cut for cut, met in zip(boxes.cuts, same_sum, strict=True) if met)
    points[index] = _with_sum(Boxes(boxes.low, boxes.high, of_chosen).at(index), chosen)
    index = np.flatnonzero(split)
    if len(index):
        kept = tuple(cut for cut, met in zip(boxes.cuts, meets, strict=True) if met.any())
        points[index] = _split(Boxes(boxes.low, boxes.high, kept).at(index))
    return points


def _narrowed(boxes: Boxes) -> Boxes:
    """The boxes with cuts of one variable as bounds."""
    low, high = boxes.low.copy(), boxes.high.copy()
    cuts = []
    for cut in boxes.cuts:
        used = [place for place, factor in enumerate(cut.factors) if factor]
        if len(used) != 1:
            cuts.append(cut)
            continue
        (place,) = used
        factor = cut.factors[place]
        if factor > 0:
            low[place] = np.maximum(low[place], -(cut.constant // factor))
        else:
            high[place] = np.minimum(high[place], cut.constant // -factor)
    return Boxes(low, high, tuple(cuts))


def _extreme(cut: Cut, towards: Numbers, away: Numbers) -> Numbers:
    """The cut's least value if `towards` are lower bounds; the greatest if they are upper ones."""
    value = cut.constant
    for place, factor in enumerate(cut.factors):
        if factor:
            value = value + factor * (towards if factor > 0 else away)[place]
    return value


def _common_sum(factors: Sequence[Factors]) -> Factors:
    """The sum or difference of variables that most of these cuts bound; empty without one."""
    sums = [factor if factor > tuple(-f for f in factor) else tuple(-f for f in factor) for factor in factors]
    units = [sum_ for sum_ in sums if any(sum_) and all(f in (-1, 0, 1) for f in sum_)]
    return max(units, key=units.count, default=())


def _same_sum(factors: Factors, chosen: Factors) -> bool:
    return factors in (chosen, tuple(-factor for factor in chosen))


def _with_sum(boxes: Boxes, chosen: Factors) -> Numbers:
    """The points of non-empty boxes that only cuts of one sum meet."""
    lengths, count = boxes.lengths, boxes.low.shape[1]
    if not boxes.cuts or not any(chosen):
        return np.asarray(np.prod(lengths, axis=0), dtype=np.int64)
    least, most = np.full(count, -(2**62)), np.full(count, 2**62)
    for cut in boxes.cuts:
        if cut.factors == chosen:
            least = np.maximum(least, -cut.constant)
        else:
            most = np.minimum(most, cut.constant)
    used = [place for place, factor in enumerate(chosen) if factor]
    base = sum(boxes.low[place] if chosen[place] > 0 else -boxes.high[place] for place in used)
    edges = lengths[used]
    every = np.prod(edges, axis=0)
    whole = edges.sum(axis=0) - len(used)
    within = np.where(most - base >= whole, every, _up_to(np.minimum(most - base, whole), edges))
    within = within - np.where(least - base <= 0, 0, _up_to(np.clip(least - base - 1, -1, whole), edges))
    others = np.prod(np.delete(lengths, used, axis=0), axis=0)
    return np.asarray(np.maximum(within, 0) * others, dtype=np.int64)


def _up_to(greatest: Numbers, edges: Numbers) -> Numbers:
    """Points of boxes with these edges whose coordinates sum to at most `greatest`."""
    dimensions = len(edges)
    points = np.zeros(len(greatest), dtype=np.int64)
    for taken in itertools.product((0, 1), repeat=dimensions):
        rest = greatest - sum(edge for edge, is_taken in zip(edges, taken, strict=True) if is_taken)
        product = np.ones(len(greatest), dtype=np.int64)
        for offset in range(1, dimensions + 1):
            product = product * (rest + offset)
        points += (-1) ** sum(taken) * np.where(rest >= 0, product // math.factorial(dimensions), 0)
    return points


def _split(boxes: Boxes) -> Numbers:
    """The points, summed over the shortest variable that two cuts share (or that one has)."""
    met = [sum(cut.factors[place] != 0 for cut in boxes.cuts) for place in range(len(boxes.low))]
    shared = [place for place, number in enumerate(met) if number >= min(2, max(met))]
    split = min(shared, key=lambda place: int(boxes.lengths[place].sum()))
    lengths = boxes.lengths[split]
    points = np.zeros(boxes.low.shape[1], dtype=np.int64)
    for index, step in ragged(lengths):
        value = boxes.low[split][index] + step
        points += summed(index, points_in(_at_value(boxes.at(index), split, value)), len(points))
    return points


def _at_value(boxes: Boxes, place: int, value: Numbers) -> Boxes:
    """The boxes of the other variables at this value of one variable."""
    cuts = tuple(
        Cut(
            (*cut.factors[:place], *cut.factors[place + 1 :]),
            cut.constant + cut.factors[place] * value,
        )
        for cut in boxes.cuts
    )
    constant = tuple(cut for cut in cuts if not any(cut.factors))
    holds = np.all([cut.constant >= 0 for cut in constant], axis=0) if constant else np.ones(len(value), dtype=bool)
    low, high = np.delete(boxes.low, place, axis=0), np.delete(boxes.high, place, axis=0)
    return Boxes(low, np.where(holds, high, low - 1), tuple(cut for cut in cuts if any(cut.factors)))
