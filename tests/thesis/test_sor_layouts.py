"""The thesis's SOR solvers in closed form, against enumeration of every point, and the thesis's bounds of their reuse."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from tests.thesis.box_wavefronts import widest_wavefront
from tests.thesis.sor_layouts import Sor, elements_met, elements_staged, tile_sizes

SIZES = [
    *[(1, 1), (3, 5), (7, 3), (1, 9), (9, 1)],
    *[(1, 1, 1), (3, 5, 7), (7, 3, 5), (2, 1, 4), (5, 5, 5)],
    *[(1, 1, 1, 1), (3, 5, 7, 3), (5, 1, 2, 3), (2, 3, 3, 5)],
]


def read(size: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Elements that a tile reads: at hyperplane coordinates (t, y) the element y - t and its neighbours."""
    met = set()
    for t, *place in product(*map(range, size)):
        element = [y - t for y in place]
        met.add(tuple(element))
        for d, side in product(range(len(element)), (-1, 1)):
            met.add(tuple(x + side * (k == d) for k, x in enumerate(element)))
    return met


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_elements_of_a_tile(size: tuple[int, ...]) -> None:
    met = read(size)
    spans = [max(axis) - min(axis) + 1 for axis in zip(*met, strict=True)]
    assert elements_met(np.array([size])).tolist() == [len(met)]
    assert elements_staged(np.array([size])).tolist() == [np.prod(spans)]


@pytest.mark.parametrize(
    ("sor", "size"),
    [
        (Sor(9, (13,), 2, 4), (3, 5)),
        (Sor(7, (11,), 3, 2), (5, 3)),
        (Sor(7, (9, 11), 2, 4), (3, 3, 5)),
        (Sor(5, (7, 5, 6), 2, 3), (2, 3, 2, 3)),
    ],
    ids=str,
)
def test_work_is_what_enumeration_counts(sor: Sor, size: tuple[int, ...]) -> None:
    work = sor.work(np.array([size]))
    inside = Counter(sum(point) for point in product(*map(range, size)))
    assert work.steps[0] == len(inside)
    assert work.warps[0] == sum(-(-h // sor.warp) for h in inside.values())
    assert work.points[0] == sum(inside.values())
    assert work.widest[0] == max(inside.values())
    assert work.transfers[0] == len(read(size))
    tiles: Counter[tuple[int, ...]] = Counter()
    for t in range(sor.steps):
        for place in product(*map(range, sor.extents)):
            skewed = (t, *(x + t for x in place))
            tiles[tuple(y // s for y, s in zip(skewed, size, strict=True))] += 1
    assert work.wavefronts[0] == len({sum(tile) for tile in tiles})
    full = Counter(sum(tile) for tile, points in tiles.items() if points == work.points[0])
    every = Counter(sum(tile) for tile in tiles)
    if len(size) == 2:
        share = (tiles.total() / work.points[0] - full.total()) / (every.total() - full.total())
        rounds = sum(
            (1 - share) * -(-full[w] // sor.units) + share * -(-every[w] // sor.units) for w in range(len(every))
        )
        assert work.rounds[0] == pytest.approx(rounds)


@pytest.mark.parametrize(
    ("edges", "bound"),
    [
        ((40,), 40),
        ((12, 18), 12 * 18 / (12 + 18)),
        ((6, 8, 10), 6 * 8 * 10 / (6 * 8 + 6 * 10 + 8 * 10)),
    ],
    ids=["s2", "s2 s3 / (s2 + s3)", "s2 s3 s4 / (s2 s3 + s2 s4 + s3 s4)"],
)
def test_upper_bounds_of_reuse(edges: tuple[int, ...], bound: float) -> None:
    """Thesis 5.5.2: D = L_tile / N_mem is bounded from above by these, when s_1 goes to infinity."""
    heights = np.array([1, 2, 3, 10, 100, 10**4, 10**7])
    sizes = np.column_stack((heights, *(np.full_like(heights, edge) for edge in edges)))
    reuse = np.prod(sizes, axis=1) / elements_met(sizes)
    assert (reuse < bound).all()
    assert (np.diff(reuse) > 0).all()
    assert reuse[-1] > 0.75 * bound, "what a border of one element takes of it"


def test_the_bound_of_the_1_d_solver_is_its_limit() -> None:
    assert 10**7 * 40 / elements_met(np.array([[10**7, 40]]))[0] == pytest.approx(40, rel=1e-5)


@pytest.mark.parametrize(("dimensions", "reuse"), [(2, 3.0), (3, 1.0), (4, 0.2)])
def test_listed_sizes_are_those_the_constraints_leave(dimensions: int, reuse: float) -> None:
    room, widest = (60, 6) if dimensions == 2 else (150 if dimensions == 3 else 125, 9)
    listed = {tuple(size) for size in tile_sizes(dimensions, room, reuse, widest).tolist()}
    every = np.array(list(product(range(1, 60 if dimensions < 4 else 13), repeat=dimensions)))
    kept = (elements_staged(every) <= room) & (np.prod(every, axis=1) >= reuse * elements_met(every))
    kept &= widest_wavefront(every) <= widest
    assert listed == {tuple(size) for size in every[kept].tolist()}
    assert listed
