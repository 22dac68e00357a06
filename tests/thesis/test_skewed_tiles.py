"""Counts in closed form against enumeration of every point."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.thesis import box_wavefronts, skewed_tiles
from tests.thesis.skewed_tiles import SkewedNest
from tilepragma.model.execution_time import sums


def widths(size: tuple[int, ...]) -> list[int]:
    """H of each intra-tile wavefront, by enumeration."""
    sums = Counter(sum(point) for point in product(*map(range, size)))
    return [sums[k] for k in sorted(sums)]


BOXES = [
    *[(7,), (32,), (65,)],
    *[(1, 1), (1, 9), (9, 1), (5, 3), (33, 70), (64, 64), (65, 31)],
    *[(1, 1, 1), (3, 5, 7), (7, 5, 3), (9, 2, 2), (13, 11, 12), (1, 17, 4), (5, 5, 9), (6, 6, 10)],
    *[(1, 1, 1, 1), (3, 5, 2, 7), (7, 3, 5, 5), (4, 4, 4, 4)],
]


@pytest.mark.parametrize("size", BOXES, ids=str)
def test_wavefronts_of_a_box(size: tuple[int, ...]) -> None:
    sizes = np.array([size])
    all_widths, starts = box_wavefronts.wavefront_widths(sizes)
    assert [int(width) for width in all_widths if width] == widths(size)
    assert starts.tolist() == [0]
    assert box_wavefronts.intra_tile_wavefronts(sizes).tolist() == [len(widths(size))]
    assert box_wavefronts.widest_wavefront(sizes).tolist() == [max(widths(size))]
    for warp in (1, 3, 32):
        warps = sum(-(-width // warp) for width in widths(size))
        assert box_wavefronts.warps_of_boxes(sizes, warp).tolist() == [warps]
        assert box_wavefronts.fewest_warps(sizes, warp)[0] <= warps


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(1, 9)] * 3), min_size=1, max_size=6))
def test_boxes_do_not_run_into_each_other(boxes: list[tuple[int, int, int]]) -> None:
    sizes = np.array(boxes)
    assert box_wavefronts.warps_of_boxes(sizes, 4).tolist() == [
        sum(-(-width // 4) for width in widths(size)) for size in boxes
    ]
    assert box_wavefronts.widest_wavefront(sizes).tolist() == [max(widths(size)) for size in boxes]


def points_of(nest: SkewedNest) -> list[tuple[int, ...]]:
    return [
        (t, *(x + skew * t for x, skew in zip(point, nest.skews, strict=True)))
        for t in range(nest.extents[0])
        for point in product(*map(range, nest.extents[1:]))
    ]


def tiles_of(nest: SkewedNest, size: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """Points of each tile, by enumeration."""
    return Counter(tuple(x // s for x, s in zip(point, size, strict=True)) for point in points_of(nest))


def ranges_of(tiles: Counter[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Per tile of time the product of the ranges of its tiles in the other dimensions."""
    covered: set[tuple[int, ...]] = set()
    for row in {tile[0] for tile in tiles}:
        columns = zip(*(tile[1:] for tile in tiles if tile[0] == row), strict=True)
        covered |= set(product([row], *(range(min(column), max(column) + 1) for column in columns)))
    return covered


CASES = [
    (SkewedNest((7, 11), (1,)), (3, 5)),
    (SkewedNest((13, 9), (2,)), (5, 3)),
    (SkewedNest((13, 9), (1,)), (1, 1)),
    (SkewedNest((5, 17), (0,)), (2, 4)),
    (SkewedNest((3, 5), (1,)), (7, 9)),
    (SkewedNest((7, 9, 11), (1, 1)), (3, 3, 5)),
    (SkewedNest((6, 9, 7), (1, 2)), (4, 2, 3)),
    (SkewedNest((9, 13, 15), (1, 1)), (2, 3, 4)),
    (SkewedNest((5, 7, 5, 6), (1, 1, 1)), (2, 3, 2, 3)),
    (SkewedNest((4, 9, 9, 9), (1, 0, 1)), (3, 3, 3, 2)),
]


@pytest.mark.parametrize(("nest", "size"), CASES, ids=str)
def test_tiles_of_a_skewed_nest(nest: SkewedNest, size: tuple[int, ...]) -> None:
    tiles = tiles_of(nest, size)
    launched = Counter(sum(tile) for tile in ranges_of(tiles))
    full = Counter(sum(tile) for tile, points in tiles.items() if points == np.prod(size))
    wavefronts = skewed_tiles.skewed_wavefronts(nest, np.array([size]))
    assert sums(wavefronts.repeats, wavefronts.starts).tolist() == [max(launched) + 1]
    assert wavefronts.tiles.tolist() == [launched[k] for k in range(max(launched) + 1)]
    assert wavefronts.full.tolist() == [full[k] for k in range(max(launched) + 1)]
    if border := launched.total() - full.total():
        inside = full.total() * np.prod(size)
        assert wavefronts.share[0] == pytest.approx((nest.points - inside) / (border * np.prod(size)))


def test_every_tile_of_two_dimensions_has_a_point() -> None:
    tiles = tiles_of(SkewedNest((13, 9), (2,)), (5, 3))
    assert ranges_of(tiles) == set(tiles)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.lists(st.tuples(*[st.integers(1, 6)] * 3), min_size=1, max_size=5),
)
def test_layouts_do_not_run_into_each_other(
    extents: tuple[int, int, int], skews: tuple[int, int], sizes: list[tuple[int, int, int]]
) -> None:
    nest = SkewedNest(extents, skews)
    together = skewed_tiles.skewed_wavefronts(nest, np.array(sizes))
    alone = [skewed_tiles.skewed_wavefronts(nest, np.array([size])) for size in sizes]
    assert together.tiles.tolist() == [count for layout in alone for count in layout.tiles.tolist()]
    assert together.full.tolist() == [count for layout in alone for count in layout.full.tolist()]
    assert together.share.tolist() == [layout.share[0] for layout in alone]
    tiles = tiles_of(nest, sizes[0])
    assert int(alone[0].tiles.sum()) == len(ranges_of(tiles))
    assert int(alone[0].full.sum()) == sum(points == np.prod(sizes[0]) for points in tiles.values())


def test_many_sizes_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    nest = SkewedNest((9, 13, 15), (1, 1))
    sizes = np.array(list(product((1, 2, 5), repeat=3)))
    whole = skewed_tiles.tile_rounds(nest, sizes, 2)
    parts = []
    counted = skewed_tiles.skewed_wavefronts
    monkeypatch.setattr(skewed_tiles, "ENTRIES", 100)
    monkeypatch.setattr(skewed_tiles, "skewed_wavefronts", lambda *given: parts.append(given) or counted(*given))
    assert skewed_tiles.tile_rounds(nest, sizes, 2).tolist() == whole.tolist()
    assert len(parts) > 3
    assert skewed_tiles.tile_rounds(nest, sizes[:0], 2).tolist() == []
