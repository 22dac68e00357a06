"""What plans have to do, counted from their bounds, against their steps run point by point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tests.support.plan_runs import run_steps
from tests.support.source_plans import plan
from tests.support.work_checks import check_launch
from tilepragma.cost.launch_work import LaunchWork, plan_work
from tilepragma.cost.tile_traffic import GangTile, boxed_traffic, counted_traffic, tile_traffic
from tilepragma.ir.directives import Target, TemporalTiles
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.plan.array_bytes import array_bytes
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.planner.planner import PlanOptions

SOR_1D = """void f(int n, int steps, float a[n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      a[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.3f;
}"""
SOR_2D = """void f(int n, int m, int steps, float a[n][m]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]) * 0.2f;
}"""
JACOBI_1D = """void f(int n, int steps, double *a, double *b) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) b[i] = 0.3 * (a[i - 1] + a[i] + a[i + 1]);
    for (int i = 1; i < n - 1; i++) a[i] = 0.3 * (b[i - 1] + b[i] + b[i + 1]);
  }
}"""
JACOBI_2D = """void f(int n, int m, int steps, double a[n][m], double b[n][m]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++) b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++) a[i][j] = 0.2 * (b[i][j] + b[i - 1][j] + b[i + 1][j] + b[i][j - 1] + b[i][j + 1]);
  }
}"""
LU = """void f(int n, double a[n][n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[k][j];
      a[i][j] /= a[j][j];
    }
    for (int j = i; j < n; j++)
      for (int k = 0; k < i; k++) a[i][j] -= a[i][k] * a[k][j];
  }
}"""
SGEMM = """void f(int n, int m, int p, float a[n][p], float b[p][m], float c[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < p; k++) c[i][j] += a[i][k] * b[k][j];
}"""
CONVOLUTION = """void f(int n, int m, int q, float in[n + q][m + q], float w[q][q], float out[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float s = 0;
      for (int k = 0; k < q; k++)
        for (int l = 0; l < q; l++) s += in[i + k][j + l] * w[k][l];
      out[i][j] = s;
    }
}"""
TRIANGLES = """void f(int n, double a[n][n], double b[n][n]) {
#pragma tilek kernel
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++)
      for (int j = k + 1; j < n; j += 2) {
        if (b[i][j] > 0) a[i][j] = 0;
        a[i][j] -= a[i][k] * a[k][j];
      }
}"""
SKEWED, DIAMOND, OVERLAPPED = TemporalTiles.SKEWED, TemporalTiles.DIAMOND, TemporalTiles.OVERLAPPED
CASES = {
    "sor 1-d": (SOR_1D, None, {"n": 41, "steps": 13}),
    "sor 2-d": (SOR_2D, None, {"n": 13, "m": 11, "steps": 5}),
    "jacobi 1-d": (JACOBI_1D, None, {"n": 29, "steps": 9}),
    "jacobi 1-d skewed": (JACOBI_1D, SKEWED, {"n": 29, "steps": 9}),
    "jacobi 1-d diamond": (JACOBI_1D, DIAMOND, {"n": 29, "steps": 9}),
    "jacobi 1-d overlapped": (JACOBI_1D, OVERLAPPED, {"n": 13, "steps": 5}),
    "jacobi 2-d skewed": (JACOBI_2D, SKEWED, {"n": 13, "m": 11, "steps": 3}),
    "jacobi 2-d diamond": (JACOBI_2D, DIAMOND, {"n": 13, "m": 11, "steps": 3}),
    "lu": (LU, None, {"n": 17}),
    "sgemm": (SGEMM, None, {"n": 35, "m": 33, "p": 3}),
    "convolution": (CONVOLUTION, None, {"n": 13, "m": 11, "q": 3}),
    "triangles": (TRIANGLES, None, {"n": 17}),
}
PLANS: dict[str, KernelPlan] = {}


def planned(name: str) -> KernelPlan:
    if name not in PLANS:
        source, temporal, _ = CASES[name]
        defaults = PlanOptions() if temporal is None else PlanOptions(temporal=temporal)
        PLANS[name] = plan(source, defaults)
    return PLANS[name]


def sizes_of(found: KernelPlan, cases: int) -> dict[str, np.ndarray]:
    """Odd sizes that are different from one another, and shorter and longer than the loops."""
    generator = np.random.default_rng(len(found.sizes))
    return {size.object.name: generator.choice([1, 3, 4, 5, 7, 9, 64], cases) for size in found.sizes}


def work_of(name: str, scalars: dict[str, int], sizes: dict[str, np.ndarray], target: Target) -> tuple[LaunchWork, ...]:
    return plan_work(planned(name), scalars, sizes, target)


@pytest.mark.parametrize("target", [Target.THREADS, Target.CUDA], ids=["host", "device"])
@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_the_steps(name: str, target: Target) -> None:
    sizes = sizes_of(planned(name), 3)
    work = work_of(name, CASES[name][2], sizes, target)
    steps = planned(name).host_steps if target is Target.THREADS else planned(name).device_steps
    for case in range(work[0].cases):
        numbers = {**CASES[name][2], **{key: int(value[case]) for key, value in sizes.items()}}
        runs = run_steps(steps, numbers)
        for launch in work:
            check_launch(launch, case, [run for run in runs if run.name == launch.name])


def test_what_depends_on_data_is_not_counted() -> None:
    found = plan("""void f(int n, int *first, int *last, float *a) {
#pragma tilek kernel
  for (int i = 0; i < n; i++) {
    float s = 0;
    for (int k = first[i]; k < last[i]; k++) s += k;
    a[i] = s;
  }
}""")
    with pytest.raises(UncountableError, match=r"^'first\[i\]' depends on data$"):
        plan_work(found, {"n": 9}, {}, Target.CUDA)
    with pytest.raises(UncountableError, match="^'n' has no known value$"):
        plan_work(found, {}, {}, Target.CUDA)


def launches_of(
    found: KernelPlan, scalars: Mapping[str, Values], target: Target, sizes: Mapping[str, Values] | None = None
) -> list[int]:
    work = plan_work(found, scalars, sizes or {}, target)
    return [int(each) for launch in work for each in launch.launches]


def test_sizes_that_are_not_given_are_those_of_the_launch() -> None:
    """A choice holds for arrays up to 200 bytes; the other case has larger ones."""
    found = planned("sor 1-d")
    small = SizeChoice(200, None, tuple(5 for _ in found.sizes))
    choosing = replace(found, choices=(small,))
    scalars = {"n": np.array([41, 401]), "steps": 13}
    own = {size.object.name: np.array([5, size.host]) for size in found.sizes}
    said = {"t_size": 7, "t_i_size": 7}
    assert launches_of(choosing, scalars, Target.THREADS) == launches_of(found, scalars, Target.THREADS, own)
    assert launches_of(choosing, scalars, Target.THREADS, said) == launches_of(found, scalars, Target.THREADS, said)
    numbers = {"n": 41, "steps": 13}
    (on_host, chosen), (on_device, same) = (
        [launches_of(each, numbers, target) for each in (found, choosing)] for target in (Target.THREADS, Target.CUDA)
    )
    assert on_host != chosen
    assert on_device == same
    with pytest.raises(UncountableError, match="^'steps' has no known value$"):
        plan_work(choosing, {"n": 41}, {}, Target.THREADS)


def test_launches_of_a_long_loop_are_looked_at_in_samples() -> None:
    numbers = {"n": 4001, "m": 3999, "steps": 51}
    sizes = {"t_size": np.array([4, 7]), "t_i_size": np.array([16, 9]), "t_j_size": np.array([16, 32])}
    some, every = (plan_work(planned("sor 2-d"), numbers, sizes, Target.CUDA, most) for most in (64, 10000))
    (sampled,), (exact,) = some, every
    assert not sampled.exact
    assert exact.exact
    assert len(sampled.repeats) == 2 * 64
    assert list(sampled.launches) == list(exact.launches)
    tiles = [np.add.reduceat(each.repeats * each.tiles(), each.starts) for each in (sampled, exact)]
    assert np.allclose(*tiles, rtol=0.002)


def test_a_gang_reads_what_its_workers_share_once() -> None:
    work = work_of("convolution", {"n": 29, "m": 31, "q": 3}, {}, Target.CUDA)
    (launch,) = work
    found = tile_traffic(GangTile(launch.place, launch.tile.order, {0: 8, 1: 4}))
    elements = {each.array.host: (int(each.read[0]), int(each.written[0])) for each in found}
    assert elements == {"in": (10 * 6, 0), "w": (9, 0), "out": (0, 8 * 4)}


def test_traffic_of_many_sizes_is_a_polynomial() -> None:
    generator = np.random.default_rng(3)
    sizes = {name: generator.integers(8, 40, 300) for name in ("t_size", "t_i_size", "t_j_size")}
    (launch,) = work_of("sor 2-d", {"n": 1999, "m": 2001, "steps": 99}, sizes, Target.CUDA)
    (found,) = tile_traffic(GangTile(launch.place, launch.tile.order, {}))
    t, i, j = sizes.values()
    assert list(found.written) == list(i * j + (t - 1) * (i + j - 1))


@pytest.mark.parametrize("name", ["sor 1-d", "sor 2-d", "lu"])
def test_tiles_without_points_are_left_out(name: str) -> None:
    sizes = {size.object.name: np.array([3, 4]) for size in planned(name).sizes}
    (launch,) = work_of(name, CASES[name][2], sizes, Target.CUDA)
    assert launch.nonempty is not None
    for case in range(2):
        numbers = {**CASES[name][2], **{key: int(value[case]) for key, value in sizes.items()}}
        runs = run_steps(planned(name).device_steps, numbers)
        begun = [sum(tile.points > 0 for tile in run.tiles) for run in runs]
        ends = np.append(launch.starts, len(launch.repeats))
        assert launch.nonempty[ends[case] : ends[case + 1]].tolist() == begun


def test_bytes_of_arrays_are_those_of_their_sections() -> None:
    found = array_bytes(planned("convolution"), {"n": 10, "m": 6, "q": 3})
    assert {each.array.host: each.bytes for each in found} == {"in": 4 * 12 * 8, "w": 4 * 9, "out": 4 * 60}
    with pytest.raises(UncountableError, match="'m' has no known value"):
        array_bytes(planned("convolution"), {"n": 10})


def test_bytes_of_sections_that_the_user_calculates_are_known() -> None:
    found = array_bytes(
        plan("""
        void f(int n, int m, float *a) {
        #pragma tilek kernel data(a[0:n * (m + 2)])
          for (int i = 0; i < n * m; i++) a[i] = 1;
        }"""),
        {"n": 10, "m": 6},
    )
    assert [each.bytes for each in found] == [4 * 80]


@pytest.mark.parametrize(
    ("name", "target", "more"),
    [
        ("jacobi 2-d skewed", Target.THREADS, 0.01),
        ("sgemm", Target.THREADS, 0.5),
        ("convolution", Target.CUDA, 0.0),
        ("jacobi 1-d overlapped", Target.CUDA, 0.05),
        ("sor 2-d", Target.THREADS, 0.1),
        ("jacobi 2-d diamond", Target.THREADS, 1.0),
    ],
)
def test_boxes_hold_all_that_a_tile_touches(name: str, target: Target, more: float) -> None:
    scalars = {"n": 400, "m": 300, "p": 40, "q": 3, "steps": 40}
    sizes = {size.object.name: np.array([8, 12]) for size in planned(name).sizes}
    (launch, *_) = work_of(name, scalars, sizes, target)
    tile = GangTile(launch.place, launch.tile.order, {0: 4} if target is Target.CUDA else {})
    exact, boxes = (
        np.sum([array.read + array.written for array in traffic(tile)], axis=0)
        for traffic in (counted_traffic, boxed_traffic)
    )
    assert np.all(boxes >= exact)
    assert np.all(boxes <= exact * (1 + more))


def test_tiles_that_are_done_in_two_ways_all_have_points() -> None:
    found = plan("""void f(int n, double l[n][n], double *x, const double *b) {
#pragma tilek kernel
  for (int i = 0; i < n; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++) x[i] -= l[i][j] * x[j];
    x[i] = x[i] / l[i][i];
  }
}""")
    work = plan_work(found, {"n": 60}, {size.object.name: np.array([7]) for size in found.sizes}, Target.THREADS)
    for launch in work:
        numbers = {"n": 60, **{size.object.name: 7 for size in found.sizes}}
        runs = [run for run in run_steps(found.host_steps, numbers) if run.name == launch.name]
        check_launch(launch, 0, runs)


def test_points_of_very_long_triangles_are_counted_in_samples() -> None:
    n = 40001
    (launch,) = work_of("lu", {"n": n}, {}, Target.CUDA)
    assert not launch.exact
    inner = sum(i * (i - 1) // 2 + (n - i) * i for i in range(n))
    assert launch.points[0] == pytest.approx(inner + n * (n - 1) // 2, rel=1e-4)
