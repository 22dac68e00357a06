"""Algorithm 1: the tile map is a bijection, the figures are the paper's where counts divide, and C agrees with Python."""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.algorithm1 import TileNumbers, Tiling, TilingError, tile_numbers
from tilepragma.ir.directives import TileKind
from tilepragma.user_tiles.chain_checks import INT64_MAX, reach_all, trip_count

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
STATIC, SIZE, DYNAMIC, THREAD, GANG, WORKER = (
    TileKind.STATIC,
    TileKind.SIZE,
    TileKind.DYNAMIC,
    TileKind.THREAD,
    TileKind.GANG,
    TileKind.WORKER,
)

#: Tiles in declaration order as (kind, argument), with at most one dynamic tile.
tile_lists = st.lists(
    st.tuples(st.sampled_from([STATIC, SIZE, THREAD, GANG, WORKER, DYNAMIC]), st.integers(1, 7)), min_size=1, max_size=5
).filter(lambda tiles: sum(kind is DYNAMIC for kind, _ in tiles) <= 1)


def numbers(trip: int, tiles: list[tuple[TileKind, int]]) -> Tiling:
    return tile_numbers(trip, [kind for kind, _ in tiles], [argument for _, argument in tiles])


def points(tiling: Tiling) -> list[int]:
    """Every sum of tile iterators, in execution order."""
    ranges = [range(0, tile.count * tile.stride, tile.stride) for tile in tiling.tiles]
    return [sum(combination) for combination in itertools.product(*ranges)]


def tile_lengths(step: int, tiles: tuple[TileNumbers, ...]) -> tuple[tuple[int, int], ...]:
    """The paper's (length, stride) of each tile: length = stride * count, both times the loop's step."""
    return tuple((tile.count * tile.stride * step, tile.stride * step) for tile in tiles)


def paper(length: int, step: int, tiles: list[tuple[TileKind, int]]) -> list[tuple[int, int]]:
    """Algorithm 1 as printed, i and j advancing and "not dynamic" for "static" (the errata); `length` is upper - lower."""
    result = [(0, 0)] * len(tiles)
    left, i = length, 0
    while i < len(tiles) and tiles[i][0] is not DYNAMIC:
        result[i] = (left, left // tiles[i][1])
        left = left // tiles[i][1]
        i += 1
    stride, j = step, len(tiles) - 1
    while j >= i and tiles[j][0] is not DYNAMIC:
        result[j] = (stride * tiles[j][1], stride)
        stride = stride * tiles[j][1]
        j -= 1
    if j >= 0 and tiles[j][0] is DYNAMIC:
        result[j] = (left, stride)
    return result


@given(st.integers(0, 300), tile_lists)
def test_the_tile_map_is_a_bijection_onto_the_iterations(trip: int, tiles: list[tuple[TileKind, int]]) -> None:
    try:
        tiling = numbers(trip, tiles)
    except TilingError:
        assert DYNAMIC not in [kind for kind, _ in tiles]
        appended = numbers(trip, [*tiles, (DYNAMIC, 0)])
        assert appended.tiles[-1].count > 1
        return
    visited = points(tiling)
    assert len(set(visited)) == len(visited)
    guarded = [point for point in visited if point < trip]
    assert sorted(guarded) == list(range(trip))
    assert tiling.exact == (len(visited) == trip)


@given(st.integers(0, 300), tile_lists)
def test_tiles_reach_all_iterations_where_their_map_does(trip: int, tiles: list[tuple[TileKind, int]]) -> None:
    tiles = [(kind, argument) for kind, argument in tiles if kind is not DYNAMIC]
    try:
        numbers(trip, tiles)
    except TilingError:
        assert not reach_all(trip, tiles)
    else:
        assert reach_all(trip, tiles)


@given(st.integers(0, 300), tile_lists)
def test_counts_that_the_user_gave_are_exact(trip: int, tiles: list[tuple[TileKind, int]]) -> None:
    assume(DYNAMIC in [kind for kind, _ in tiles])
    for (kind, argument), tile in zip(tiles, numbers(trip, tiles).tiles, strict=True):
        if kind not in (DYNAMIC, SIZE):
            assert tile.count == argument


@given(st.integers(1, 64), st.integers(-4, 4).filter(bool), tile_lists)
def test_divisible_counts_give_the_papers_figures(dynamic: int, step: int, tiles: list[tuple[TileKind, int]]) -> None:
    tiles = [(STATIC, argument) if kind is SIZE else (kind, argument) for kind, argument in tiles]
    assume(DYNAMIC in [kind for kind, _ in tiles])
    trip = dynamic * math.prod(argument for kind, argument in tiles if kind is not DYNAMIC)
    tiling = numbers(trip, tiles)
    assert tiling.exact
    assert list(tile_lengths(step, tiling.tiles)) == paper(trip * step, step, tiles)


@given(st.integers(1, 200), st.integers(1, 40), st.integers(1, 6))
def test_a_size_tile_before_the_dynamic_one_makes_blocks_of_that_size(trip: int, size: int, inner: int) -> None:
    blocks = numbers(trip, [(SIZE, size), (DYNAMIC, 0)]).tiles
    assert (blocks[0].stride, blocks[0].count, blocks[1].count) == (size, -(-trip // size), size)
    rounded = numbers(trip, [(SIZE, size), (DYNAMIC, 0), (STATIC, inner)]).tiles
    assert rounded[0].stride == -(-size // inner) * inner


@given(st.integers(0, 200), st.integers(1, 40))
def test_a_size_tile_after_the_dynamic_one_is_a_static_tile(trip: int, size: int) -> None:
    assert numbers(trip, [(DYNAMIC, 0), (SIZE, size)]) == numbers(trip, [(DYNAMIC, 0), (STATIC, size)])


#: Loops that the original implementation of TileK ran wrongly, with what is right: lower, upper, step,
#: tiles, (count, stride) each.
FACTS = {
    "10_static_dynamic": ((0, 10, 1), [(STATIC, 4), (DYNAMIC, 0)], [(4, 3), (3, 1)]),
    "11_static_dynamic_out_of_bounds": ((0, 11, 1), [(STATIC, 4), (DYNAMIC, 0)], [(4, 3), (3, 1)]),
    "10_dynamic_static": ((0, 10, 1), [(DYNAMIC, 0), (STATIC, 4)], [(3, 4), (4, 1)]),
    "10_thread_dynamic_lost_2": ((0, 10, 1), [(THREAD, 4), (DYNAMIC, 0)], [(4, 3), (3, 1)]),
    "1_to_14_gang_worker_ran_nothing": ((1, 15, 1), [(GANG, 4), (WORKER, 4), (DYNAMIC, 0)], [(4, 4), (4, 1), (1, 1)]),
    "3_static_dynamic_looped_forever": ((0, 3, 1), [(STATIC, 4), (DYNAMIC, 0)], [(4, 1), (1, 1)]),
    "4_static_dynamic_static": ((0, 4, 1), [(STATIC, 2), (DYNAMIC, 0), (STATIC, 4)], [(2, 4), (1, 4), (4, 1)]),
    "16_by_2_static_dynamic": ((0, 16, 2), [(STATIC, 2), (DYNAMIC, 0)], [(2, 4), (4, 1)]),
    "64_dynamic_gang_worker_duplicates": (
        (0, 64, 1),
        [(DYNAMIC, 0), (GANG, 4), (WORKER, 4)],
        [(4, 16), (4, 4), (4, 1)],
    ),
    "decreasing_ran_nothing": ((10, 0, -1), [(STATIC, 4), (DYNAMIC, 0)], [(4, 3), (3, 1)]),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts_about_the_original_implementation(name: str) -> None:
    (lower, upper, step), tiles, wanted = FACTS[name]
    trip = trip_count(lower, upper, step, "<" if step > 0 else ">")
    tiling = numbers(trip, tiles)
    assert [(tile.count, tile.stride) for tile in tiling.tiles] == wanted
    values = [lower + step * point for point in points(tiling) if point < trip]
    assert sorted(values) == sorted(range(lower, upper, step))


@given(
    st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool), st.sampled_from(["<", "<=", ">", ">="])
)
def test_trip_count_counts_the_iterations(lower: int, upper: int, step: int, comparison: str) -> None:
    compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}[comparison]
    value, count = lower, 0
    while compare(value, upper) and count < 1000:
        value += step
        count += 1
    assert trip_count(lower, upper, step, comparison) == (-1 if count == 1000 else count)


@given(st.integers(-50, 50), st.integers(-50, 50), st.sampled_from([-1, 1]))
def test_trip_count_of_unequal(lower: int, upper: int, step: int) -> None:
    distance = (upper - lower) * step
    assert trip_count(lower, upper, step, "!=") == (distance if distance >= 0 else -1)


@pytest.mark.parametrize(
    ("trip", "tiles"),
    [
        (-1, [(DYNAMIC, 0)]),
        (5, [(STATIC, 0), (DYNAMIC, 0)]),
        (5, [(STATIC, 4)]),
        (5, [(DYNAMIC, 0), (DYNAMIC, 0)]),
        (5, [(STATIC, INT64_MAX), (STATIC, 2), (DYNAMIC, 0)]),
    ],
)
def test_tiles_that_cannot_be(trip: int, tiles: list[tuple[TileKind, int]]) -> None:
    with pytest.raises(TilingError):
        numbers(trip, tiles)


class _Tile(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("stride", ctypes.c_int64)]


KINDS = [STATIC, SIZE, DYNAMIC, THREAD, GANG, WORKER]
COMPARISONS = {"<": "<", "<=": "l", ">": ">", ">=": "g", "!=": "!"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    output = tmp_path_factory.mktemp("tile") / "libtile.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-ftrapv", "-shared", "-fPIC"]
    sources = [f"-I{RUNTIME / 'include'}", str(RUNTIME / "launch" / "tile.c")]
    subprocess.run([compiler, *flags, *sources, "-o", str(output)], check=True)
    result = ctypes.CDLL(str(output))
    result.tilek_trip.restype = ctypes.c_int64
    result.tilek_trip.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_char]
    return result


edges = st.one_of(
    st.integers(-100, 100), st.sampled_from([-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1, 2**62, -(2**62)])
)
int64 = st.one_of(edges, st.integers(-(2**63), 2**63 - 1))


@given(int64, int64, int64.filter(bool), st.sampled_from(sorted(COMPARISONS)))
@settings(max_examples=500)
def test_c_counts_trips_as_python_does(
    library: ctypes.CDLL, lower: int, upper: int, step: int, comparison: str
) -> None:
    result = library.tilek_trip(lower, upper, step, COMPARISONS[comparison].encode())
    assert result == trip_count(lower, upper, step, comparison)


any_tiles = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.one_of(st.integers(-1, 9), st.sampled_from([INT64_MAX, 2**62, 2**31, 2**32 + 1, 3 * 2**61])),
    ),
    min_size=1,
    max_size=6,
)
trips = st.one_of(st.integers(-1, 400), st.sampled_from([INT64_MAX, INT64_MAX - 1, 2**62 + 3, 2**32]))


@given(trips, any_tiles)
@settings(max_examples=800)
def test_c_computes_tiles_as_python_does(library: ctypes.CDLL, trip: int, tiles: list[tuple[TileKind, int]]) -> None:
    size = len(tiles)
    kinds = (ctypes.c_int * size)(*(KINDS.index(kind) for kind, _ in tiles))
    arguments = (ctypes.c_int64 * size)(*(argument for _, argument in tiles))
    found, exact = (_Tile * size)(), ctypes.c_int(-1)
    status = library.tilek_tiles(ctypes.c_int64(trip), size, kinds, arguments, found, ctypes.byref(exact))
    try:
        wanted = numbers(trip, tiles)
    except TilingError:
        assert status != 0
        return
    assert status == 0
    assert [(tile.count, tile.stride) for tile in found] == [(tile.count, tile.stride) for tile in wanted.tiles]
    assert bool(exact.value) == wanted.exact


@given(st.integers(1, 400), tile_lists, st.integers(-5, 5).filter(bool))
def test_c_gives_the_papers_lengths_as_python_does(
    library: ctypes.CDLL, trip: int, tiles: list[tuple[TileKind, int]], step: int
) -> None:
    tiles = [*(tile for tile in tiles if tile[0] is not DYNAMIC), (DYNAMIC, 0)]
    wanted = numbers(trip, tiles)
    size = len(tiles)
    given_tiles = (_Tile * size)(*(_Tile(tile.count, tile.stride) for tile in wanted.tiles))
    lengths, strides = (ctypes.c_int64 * size)(), (ctypes.c_int64 * size)()
    library.tilek_lengths(ctypes.c_int64(step), size, given_tiles, lengths, strides)
    assert list(zip(lengths, strides, strict=True)) == list(tile_lengths(step, wanted.tiles))
