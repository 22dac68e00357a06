"""Sums of floors, and rounds of two-dimensional tile spaces, against sums over every term and wavefront."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.thesis.plane_tiles import floor_sums, plane_rounds
from tests.thesis.skewed_tiles import SkewedNest, fewest_rounds, skewed_wavefronts, tile_rounds


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(0, 99), st.integers(0, 99)),
        min_size=1,
        max_size=9,
    )
)
def test_sums_of_floors(terms: list[tuple[int, int, int, int]]) -> None:
    columns = (np.array(column, dtype=np.float64) for column in zip(*terms, strict=True))
    assert floor_sums(*columns).tolist() == [sum((a * i + b) // m for i in range(n)) for n, m, a, b in terms]


@settings(max_examples=400, deadline=None)
@given(
    st.integers(1, 70),
    st.integers(1, 90),
    st.integers(0, 3),
    st.integers(1, 7),
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=9),
)
def test_rounds_in_closed_form(steps: int, width: int, skew: int, units: int, sizes: list[tuple[int, int]]) -> None:
    array = np.array(sizes)
    nest = SkewedNest((steps, width), (skew,))
    counted = skewed_wavefronts(nest, array).rounds(units)
    assert plane_rounds((steps, width), skew, array, units) == pytest.approx(counted, rel=1e-12)
    assert (fewest_rounds(nest, array, units) <= counted * (1 + 1e-12)).all()


def test_rounds_on_the_scale_of_the_thesis() -> None:
    nest = SkewedNest((16384, 1048576), (1,))
    sizes = np.array([[348, 2584], [511, 2053], [300, 3500], [2051, 512], [1, 4000]])
    counted = skewed_wavefronts(nest, sizes).rounds(30)
    assert tile_rounds(nest, sizes, 30) == pytest.approx(counted, rel=1e-12)


def test_sums_beyond_what_is_exact_are_close() -> None:
    """2^40 steps over 2^40 elements in single points: 2^80 tiles, and 1.5 million million wavefronts' last rounds among them."""
    rounds = plane_rounds((1 << 40, 1 << 40), 1, np.array([[1, 1], [1 << 20, 1 << 22]]), 108)
    assert rounds[0] == pytest.approx(2**80 / 108, rel=1e-6)
    nest = SkewedNest((1 << 40, 1 << 40), (1,))
    assert rounds[1] >= fewest_rounds(nest, np.array([[1 << 20, 1 << 22]]), 108)[0]
    assert rounds[1] == pytest.approx(2**38 / 108, rel=1e-3)


@settings(deadline=None)
@given(
    st.tuples(st.integers(1, 12), st.integers(1, 30), st.integers(1, 30)),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5),
    st.integers(1, 7),
)
def test_fewest_rounds_of_more_dimensions(
    extents: tuple[int, int, int], sizes: list[tuple[int, int, int]], units: int
) -> None:
    nest = SkewedNest(extents, (1, 1))
    array = np.array(sizes)
    assert (fewest_rounds(nest, array, units) <= tile_rounds(nest, array, units) * (1 + 1e-12)).all()
