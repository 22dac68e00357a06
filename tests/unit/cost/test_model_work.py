"""What the execution-time model is given for plans, against the model's own closed forms of skewed nests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.source_plans import plan
from tests.thesis.box_wavefronts import intra_tile_wavefronts, warps_of_boxes
from tests.thesis.skewed_tiles import SkewedNest, inter_tile_wavefronts, tile_rounds
from tilepragma.cost.launch_work import plan_work
from tilepragma.cost.model_work import LaunchModel, launch_model, roofline_demand
from tilepragma.ir.directives import Target
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.plan.array_bytes import array_bytes

ONE = """void f(int n, int steps, float a[n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      a[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.3f;
}"""
TWO = """void f(int n, int m, int steps, float a[n][m]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]) * 0.2f;
}"""
PRODUCT = """void f(int n, int m, int p, float a[n][p], float b[p][m], float c[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < p; k++) c[i][j] += a[i][k] * b[k][j];
}"""
DEVICE = named_device("a100")
UNITS = 30


def models(source: str, scalars: dict[str, int], sizes: dict[str, np.ndarray]) -> LaunchModel:
    (only,) = plan_work(plan(source), scalars, sizes, Target.CUDA)
    assert isinstance(DEVICE, Gpu)
    return launch_model(only, replace(DEVICE, multiprocessors=UNITS), (32, 8, 1))


@pytest.mark.parametrize(
    ("source", "scalars", "names"),
    [
        (ONE, {"n": 30002, "steps": 500}, ("t_size", "t_i_size")),
        (TWO, {"n": 1202, "m": 1002, "steps": 100}, ("t_size", "t_i_size", "t_j_size")),
    ],
    ids=["1-d", "2-d"],
)
def test_successive_over_relaxation_is_counted_as_in_closed_form(
    source: str, scalars: dict[str, int], names: tuple[str, ...]
) -> None:
    generator = np.random.default_rng(2)
    boxes = generator.integers(4, 40, (50, len(names)))
    result = models(source, scalars, dict(zip(names, boxes.T, strict=True)))
    extents = (scalars["steps"], *(scalars[name] - 2 for name in ("n", "m") if name in scalars))
    nest = SkewedNest(extents, (1,) * (len(extents) - 1))
    assert list(result.work.points) == list(np.prod(boxes, axis=1))
    assert list(result.work.steps) == list(intra_tile_wavefronts(boxes))
    assert list(result.work.warps) == list(warps_of_boxes(boxes, 32))
    # The user's loops begin at 1, so that tiles lie otherwise by a point.
    assert np.abs(result.work.wavefronts - inter_tile_wavefronts(nest, boxes)).max() <= len(names)
    off = np.abs(result.work.rounds / tile_rounds(nest, boxes, UNITS) - 1)
    assert np.median(off) < 0.01
    assert np.percentile(off, 90) < 0.05


def test_an_element_of_the_product_is_one_point_of_a_gang() -> None:
    result = models(PRODUCT, {"n": 256, "m": 256, "p": 64}, {})
    # 64 x 128 elements a gang of 8 x 32 workers, 64 products each.
    assert result.work.points[0] == 64 * 128 * 64
    assert result.work.warps[0] == 64 * 128 * 64 / 32
    assert result.work.transfers[0] == 64 * 64 + 64 * 128 + 2 * 64 * 128
    assert result.work.rounds[0] == 1
    assert result.work.shared[0] > 0
    assert result.traffic is not None


@pytest.mark.parametrize(("size", "cached"), [(256, True), (8192, False)])
def test_a_product_asks_the_far_memory_for_arrays_once_where_they_fit_before_it(size: int, cached: bool) -> None:
    result = plan(PRODUCT)
    scalars = {"n": size, "m": size, "p": size}
    model = models(PRODUCT, scalars, {})
    arrays = array_bytes(result, scalars)
    assert arrays is not None
    assert isinstance(DEVICE, Gpu)
    demand = roofline_demand(model, DEVICE, arrays)
    assert demand.operations[0] == 2 * size**3
    near, middle, far = (int(each[0]) for each in demand.traffic)
    assert near == 4 * 4 * size**3
    assert demand.filled[0] == 1
    tiles = (size / 64) * (size / 128)
    elements = 64 * size + size * 128 + 2 * 64 * 128
    # Each row of a tile may begin anywhere in a transaction.
    assert 4 * tiles * elements <= middle < 1.5 * 4 * tiles * elements
    assert far == (4 * 4 * size**2 if cached else middle)
