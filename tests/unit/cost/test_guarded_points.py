"""Points of cut boxes, against going through them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilepragma.cost.guarded_points import Boxes, Cut, points_in

CUTS = {
    "none": [],
    "one variable": [(0, 2, 0), (-3, 0, 0)],
    "sum": [(1, 1, 1), (-1, -1, -1)],
    "difference": [(1, -1, 0), (-1, 1, 0)],
    "part of a sum": [(1, 0, 1), (0, 1, 0), (-1, 0, -1)],
    "two sums": [(1, 1, 0), (0, 1, 1), (-1, -1, 0)],
    "factors": [(2, 1, 0), (-1, -2, 1), (1, 1, 1), (-1, -1, -1)],
    "triangle": [(1, -1, 0), (0, 1, -1)],
}


@pytest.mark.parametrize("factors", CUTS.values(), ids=CUTS)
def test_points_are_those_of_an_enumeration(factors: list[tuple[int, ...]]) -> None:
    generator = np.random.default_rng(7)
    count = 40
    low = generator.integers(-4, 3, (3, count))
    high = low + generator.integers(-1, 6, (3, count))
    cuts = tuple(Cut(each, generator.integers(-3, 9, count)) for each in factors)
    result = points_in(Boxes(low, high, cuts))
    for place in range(count):
        ranges = (range(low[k, place], high[k, place] + 1) for k in range(3))
        inside = [
            x
            for x in itertools.product(*ranges)
            if all(cut.constant[place] + np.dot(cut.factors, x) >= 0 for cut in cuts)
        ]
        assert result[place] == len(inside)
    assert result.any()
    assert len(set(result.tolist())) > 5
