"""The geometry of launches as the model sees it, beside the cases that the runtime's own test decides (tests/runtime/steps_cases.c)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.source_plans import plan
from tilepragma.cost.device_geometry import LaunchGeometry, launch_geometries
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.loop_tree import Axis
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu

RUNTIME_CASES = Path(__file__).resolve().parents[2] / "runtime" / "steps_cases.c"
PRODUCT = """
void f(int n, float c[n][n], float a[n][n], float b[n][n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int k = 0; k < n; k++) s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
}"""
PLANE = """
void f(int n, float a[n][n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i][j] = a[i][j] + 1;
}"""


def cases_of(test: str) -> list[list[int]]:
    """The rows of the table `cases` in a test of the runtime."""
    text = RUNTIME_CASES.read_text()
    body = text[text.index(f"void {test}(void)") :]
    table = re.search(r"cases\[\]\[\d\] = \{(.*?)\};", body)
    assert table is not None
    return [[int(number) for number in row.split(",")] for row in re.findall(r"\{([^{}]*)\}", table[1])]


def decided(text: str, trip: int, multiprocessors: int) -> LaunchGeometry:
    gpu = named_device("v100")
    assert isinstance(gpu, Gpu)
    (geometry,) = launch_geometries(plan(text), {"n": trip}, replace(gpu, multiprocessors=multiprocessors))
    return geometry


def points(geometry: LaunchGeometry, dimension: int) -> int:
    """The points of a worker along a dimension."""
    for tiled, tiles in zip(geometry.launch.loops, geometry.tiles, strict=True):
        if any(tile.axis == Axis(AxisKind.WORKER, dimension) for tile in tiled.tiles):
            kinds = [tile.kind for tile in tiled.tiles]
            return tiles[kinds.index(TileKind.STATIC)][0]
    raise AssertionError("a loop has workers along the dimension")


@pytest.mark.parametrize("case", cases_of("steps_points"))
def test_products_have_the_points_of_the_runtime(case: list[int]) -> None:
    trip, multiprocessors, gangs_j, gangs_i, points_i, points_j = case
    geometry = decided(PRODUCT, trip, multiprocessors)
    assert geometry.grid == (gangs_j, gangs_i, 1)
    assert (points(geometry, 1), points(geometry, 0)) == (points_i, points_j)


@pytest.mark.parametrize("case", [case for case in cases_of("steps_spread") if case[2] and case[0]])
def test_small_launches_have_the_workers_of_the_runtime(case: list[int]) -> None:
    trip, multiprocessors, _, workers_j, workers_i, _ = case
    assert decided(PLANE, trip, multiprocessors).group == (workers_j, workers_i, 1)
