"""In which order iterations run: a kernel logs them, and a short model of Algorithm 1 says what the log must be."""

from __future__ import annotations

import itertools
import math
import struct
from dataclasses import dataclass

import pytest

from tests.support.cases import Case, CaseFile
from tests.support.programs import Suite, Workshop
from tests.support.targets import TargetEnvironment


@dataclass(frozen=True)
class Tile:
    """One undistributed tile: its static count (None: dynamic) and its order number."""

    count: int | None
    order: int

    @property
    def clause(self) -> str:
        kind = "dynamic" if self.count is None else f"static, {self.count}"
        return f"tile[{self.order}]({kind})"


@dataclass(frozen=True)
class Order:
    """A nest of two loops 0 <= i < n, 0 <= j < m under tiles."""

    name: str
    n: int
    m: int
    i: tuple[Tile, ...]
    j: tuple[Tile, ...]


def static(count: int, order: int) -> Tile:
    return Tile(count, order)


def dynamic(order: int) -> Tile:
    return Tile(None, order)


ORDERS = (
    Order("listing1", 8, 6, (static(2, 0), dynamic(2)), (static(3, 1), dynamic(3))),
    Order("figure2", 6, 8, (static(3, 0), dynamic(2)), (static(2, 1), dynamic(3))),
    Order("indivisible", 7, 5, (static(2, 0), dynamic(2)), (static(3, 1), dynamic(3))),
    Order("interchanged", 5, 7, (dynamic(1),), (dynamic(0),)),
    Order("inner_static", 10, 3, (dynamic(0), static(4, 2)), (dynamic(1),)),
    Order("three_tiles", 11, 4, (static(2, 1), dynamic(0), static(2, 3)), (dynamic(2),)),
    Order("few", 3, 2, (static(4, 0), dynamic(1)), (dynamic(2),)),
)


def strides(trip: int, tiles: tuple[Tile, ...]) -> list[tuple[int, int]]:
    """Count and stride of each tile: static counts exact, the dynamic one ceil(trip / product), strides products of inner counts."""
    product = math.prod(tile.count for tile in tiles if tile.count is not None)
    counts = [math.ceil(trip / product) if tile.count is None else tile.count for tile in tiles]
    return [(count, math.prod(counts[k + 1 :])) for k, count in enumerate(counts)]


def expected(order: Order) -> list[tuple[int, int]]:
    """The iterations in execution order: tiles of both loops sorted by number, points outside the bounds left out."""
    tiles = [
        (tile.order, loop, count, stride)
        for loop, trip, of_loop in ((0, order.n, order.i), (1, order.m, order.j))
        for tile, (count, stride) in zip(of_loop, strides(trip, of_loop), strict=True)
    ]
    tiles.sort(key=lambda tile: tile[0])
    visited = []
    for point in itertools.product(*(range(0, count * stride, stride) for _, _, count, stride in tiles)):
        i = sum(value for value, tile in zip(point, tiles, strict=True) if tile[1] == 0)
        j = sum(value for value, tile in zip(point, tiles, strict=True) if tile[1] == 1)
        if i < order.n and j < order.m:
            visited.append((i, j))
    return visited


def case(order: Order) -> Case:
    text = f"""
static void {order.name}(int n, int m, int *log, int *next)
{{
    int i, j;
#pragma tilek kernel data(log[0:2*n*m], mode:rw) data(next[0:1], mode:rw) independent
#pragma tilek loop {" ".join(tile.clause for tile in order.i)}
    for (i = 0; i < n; i++)
#pragma tilek loop {" ".join(tile.clause for tile in order.j)}
        for (j = 0; j < m; j++) {{
            log[next[0]++] = i;
            log[next[0]++] = j;
        }}
}}

CASE({order.name})
{{
    int log[2 * {order.n} * {order.m}] = {{0}}, next = 0;
    {order.name}({order.n}, {order.m}, log, &next);
    check_record("log", log, sizeof log);
    check_record("next", &next, sizeof next);
}}
"""
    return Case(order.name, "order", text)


FILE = CaseFile("order.c", '#include "check.h"\n', tuple(case(order) for order in ORDERS))


@pytest.fixture(scope="module")
def suite(workshop: Workshop) -> Suite:
    return Suite(workshop, FILE)


def test_listing_1_is_the_erratum_of_the_paper() -> None:
    log = expected(ORDERS[0])
    assert log[:9] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (0, 2)]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.name)
def test_iterations_run_in_the_order_of_the_tiles(suite: Suite, target: TargetEnvironment, order: Order) -> None:
    records = dict(suite.translated(case(order), target))
    numbers = struct.unpack(f"={len(records['log']) // 4}i", records["log"])
    assert list(zip(numbers[::2], numbers[1::2], strict=True)) == expected(order)
    assert struct.unpack("=i", records["next"]) == (2 * order.n * order.m,)


def test_figure_2_is_the_sequence_the_paper_prints() -> None:
    assert expected(ORDERS[1])[:5] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
