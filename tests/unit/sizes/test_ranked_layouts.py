"""Layouts that the model orders, and what it chooses for launches whose extents nobody knows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.support.source_plans import plan
from tests.unit.cost.test_host_nest_work import PROCESSOR
from tests.unit.cost.test_launch_work import planned
from tilepragma.ir.directives import Target
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Device
from tilepragma.model.linear_model import most_informative
from tilepragma.plan.dispatch_table import sizes_on_hosts, wrong_choices
from tilepragma.plan.kernel_plan import SizeChoice
from tilepragma.plan.summary import used_sizes
from tilepragma.sizes.model_pick import (
    WORTH,
    WORTH_OF_WAVEFRONTS,
    model_choices,
    with_model_choices,
    worth_of,
)
from tilepragma.sizes.ranked_layouts import MOST_LAYOUTS, rank_layouts

STEPPED = ("sor 1-d", "sor 2-d", "jacobi 1-d diamond", "jacobi 2-d diamond", "lu", "sgemm")
LONG = {
    "sor 1-d": {"n": 65536, "steps": 300},
    "sor 2-d": {"n": 900, "m": 700, "steps": 6},
    "jacobi 1-d diamond": {"n": 65536, "steps": 500},
    "jacobi 2-d diamond": {"n": 1000, "m": 900, "steps": 30},
    "lu": {"n": 500},
    "sgemm": {"n": 500, "m": 600, "p": 700},
}


@pytest.mark.parametrize("name", STEPPED)
def test_layouts_are_in_the_order_of_their_times(name: str) -> None:
    ranking = rank_layouts(planned(name), LONG[name], Target.THREADS, PROCESSOR)
    assert ranking.reason == ""
    times = [layout.seconds for layout in ranking.layouts]
    assert times == sorted(times, key=lambda time: time or 0.0)
    assert len({layout.sizes for layout in ranking.layouts}) == len(times) <= MOST_LAYOUTS
    assert ranking.default in ranking.layouts
    assert ranking.default.sizes == sizes_on_hosts(planned(name), LONG[name], PROCESSOR.cores)


def test_few_steps_of_waves_are_cut_for_all_cores() -> None:
    ranking = rank_layouts(planned("sor 2-d"), {"n": 2000, "m": 2000, "steps": 8}, Target.THREADS, PROCESSOR)
    # As many tiles of time steps as cores, at the least: they are what a wavefront has.
    assert ranking.layouts[0].sizes[ranking.names.index("t_size")] * PROCESSOR.cores <= 8


def test_one_core_needs_no_smaller_steps() -> None:
    arguments = planned("sor 2-d"), {"n": 2000, "m": 2000, "steps": 8}
    alone, together = (rank_layouts(*arguments, target, PROCESSOR) for target in (Target.SERIAL, Target.THREADS))
    steps = alone.names.index("t_size")
    assert alone.layouts[0].sizes[steps] > together.layouts[0].sizes[steps]


@pytest.mark.parametrize(
    ("name", "target", "device", "scalars", "reason"),
    [
        ("sgemm", Target.THREADS, None, {"n": 9, "m": 9, "p": 9}, "this machine is not calibrated"),
        ("sor 2-d", Target.CUDA, None, {"n": 9, "m": 9, "steps": 9}, "the device is not calibrated"),
        ("sor 2-d", Target.OPENCL, PROCESSOR, {"n": 9, "m": 9, "steps": 9}, "not predicted on four cores"),
        ("sor 2-d", Target.CUDA, named_device("h100"), {"n": 9, "m": 9}, "'steps' has no known value"),
        ("sgemm", Target.CUDA, named_device("h100"), {"n": 9, "m": 9, "p": 9}, "no sizes"),
        ("sgemm", Target.THREADS, PROCESSOR, {"n": 9, "m": 9}, "'p' has no known value"),
        ("convolution", Target.THREADS, PROCESSOR, {"n": 9, "m": 9, "q": 3}, "no sizes"),
    ],
    ids=["not calibrated", "no device", "no GPU", "steps of a GPU", "no sizes there", "unknown extent", "no sizes"],
)
def test_without_ground_layouts_are_near_the_default(
    name: str, target: Target, device: Device | None, scalars: dict[str, int], reason: str
) -> None:
    ranking = rank_layouts(planned(name), scalars, target, device)
    assert reason in ranking.reason
    assert all(layout.seconds is None for layout in ranking.layouts)
    assert ranking.layouts[0].sizes == ranking.default.sizes


@pytest.mark.parametrize("target", [Target.CUDA, Target.OPENCL])
@pytest.mark.parametrize("name", ["sor 1-d", "sor 2-d", "jacobi 1-d diamond", "jacobi 1-d overlapped", "lu"])
def test_layouts_of_a_gpu_are_in_the_order_of_their_times(name: str, target: Target) -> None:
    result = planned(name)
    ranking = rank_layouts(result, LONG.get(name, LONG["sor 1-d"]), target, named_device("h100"))
    assert ranking.reason == ""
    times = [layout.seconds or 0.0 for layout in ranking.layouts]
    assert times == sorted(times)
    assert 0 < times[0] <= times[-1] < math.inf
    assert ranking.default in ranking.layouts
    assert ranking.default.sizes == tuple(size.device for size in result.sizes)
    # Sizes of hosts alone stay as they are.
    used = used_sizes(result.device_steps, result.sizes)
    for place, size in enumerate(result.sizes):
        values = {layout.sizes[place] for layout in ranking.layouts}
        assert (len(values) > 1) if size in used else (values == {size.device})


def test_the_default_of_hosts_is_what_a_launch_takes() -> None:
    scalars = {"n": 4096, "m": 4096, "steps": 200}
    own = tuple(size.host for size in planned("sor 2-d").sizes)
    choosing = replace(planned("sor 2-d"), choices=(SizeChoice(None, 300, tuple(2 * each for each in own)),))
    chosen = sizes_on_hosts(choosing, scalars)
    ranking = rank_layouts(choosing, scalars, Target.THREADS, PROCESSOR)
    assert ranking.default.sizes == chosen != own
    on_gpu = rank_layouts(choosing, scalars, Target.CUDA, named_device("h100"))
    assert on_gpu.default.sizes == tuple(size.device for size in choosing.sizes)
    unknown = rank_layouts(choosing, {"n": 4096, "m": 4096}, Target.THREADS, PROCESSOR)
    assert (unknown.default.sizes, unknown.reason) == (own, "'steps' has no known value")


@pytest.mark.parametrize("name", [*STEPPED, "convolution"])
def test_choices_keep_the_rules_of_plans(name: str) -> None:
    result = with_model_choices(planned(name), PROCESSOR)
    assert not list(wrong_choices(result))


def test_choices_are_what_the_model_takes_to_be_much_faster() -> None:
    result = planned("triangles")
    scalars = {"n": 2800}
    chosen = sizes_on_hosts(with_model_choices(result, PROCESSOR), scalars)
    ranking = rank_layouts(result, scalars, Target.THREADS, PROCESSOR, [chosen])
    seconds = {layout.sizes: layout.seconds for layout in ranking.layouts}
    assert chosen != ranking.default.sizes
    assert ranking.default.seconds is not None
    assert (seconds[chosen] or 0.0) < worth_of(result) * ranking.default.seconds


@pytest.mark.parametrize(
    ("name", "worth"),
    [
        ("sor 2-d", WORTH_OF_WAVEFRONTS),
        ("lu", WORTH_OF_WAVEFRONTS),
        ("jacobi 2-d diamond", WORTH_OF_WAVEFRONTS),
        ("jacobi 2-d skewed", WORTH_OF_WAVEFRONTS),
        ("sgemm", WORTH),
    ],
)
def test_what_is_worth_it_hangs_on_the_kind_of_nest(name: str, worth: float) -> None:
    assert worth_of(planned(name)) == worth


def test_tiles_of_time_steps_stay_where_the_model_is_not_trusted() -> None:
    """It was wrong for them where it promised less than two fifths (docs/RESULTS.md)."""
    result = planned("jacobi 2-d diamond")
    scalars = {"n": 1000, "m": 900, "steps": 30}
    ranking = rank_layouts(result, scalars, Target.THREADS, PROCESSOR)
    assert ranking.layouts[0].seconds is not None and ranking.default.seconds is not None
    assert WORTH_OF_WAVEFRONTS < ranking.layouts[0].seconds / ranking.default.seconds < WORTH
    assert sizes_on_hosts(with_model_choices(result, PROCESSOR), scalars) == ranking.default.sizes


def test_what_was_measured_goes_before_the_model() -> None:
    kept = replace(planned("sor 2-d"), recorded_sizes="kept")
    assert with_model_choices(kept, PROCESSOR).choices == ()


def test_lengths_that_nobody_knows_leave_the_defaults() -> None:
    text = """void f(int n, int steps, const int *length, float *a) {
#pragma tilek kernel copy(a[0:length[0]])
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++) a[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.3f;
}"""
    result = plan(text)
    assert result.sizes
    assert model_choices(result, PROCESSOR) == ()


# -- Prices fitted to runs


@pytest.mark.parametrize("name", STEPPED)
def test_runs_put_layouts_in_the_order_of_their_prices(name: str) -> None:
    """Where cores differ from the estimate in the price of each kind of work, runs of a few layouts show which are the fastest."""
    ranking = rank_layouts(planned(name), LONG[name], Target.THREADS, PROCESSOR)
    assert ranking.terms is not None
    prices = np.array([0.6, 1.2, 2.5, 1.0, 8.0, 1.5, 0.8, 1.7])[: len(ranking.terms.names)]
    real = dict(zip([layout.sizes for layout in ranking.layouts], ranking.terms.priced(prices).tolist(), strict=True))
    rows = most_informative(ranking.terms, [0, 1, 2], range(len(real)), 5)
    runs = [ranking.layouts[row].sizes for row in (0, 1, 2, *rows)]
    fitted = ranking.fitted({sizes: real[sizes] for sizes in runs})
    assert fitted is not None
    assert {layout.sizes for layout in fitted.layouts} == real.keys()
    times = [layout.seconds or 0.0 for layout in fitted.layouts]
    assert times == sorted(times)
    best = min(real.values())
    assert real[fitted.layouts[0].sizes] <= min(1.05 * best, 1.01 * real[ranking.layouts[0].sizes])
    assert fitted.default == fitted.predicted(ranking.default.sizes)
    assert times[10] == pytest.approx(real[fitted.layouts[10].sizes], rel=0.2)


def test_runs_that_the_model_did_not_order_fit_nothing() -> None:
    ranking = rank_layouts(planned("sgemm"), LONG["sgemm"], Target.THREADS, None)
    assert ranking.fitted({ranking.default.sizes: 1.0}) is None
    assert ranking.rank(ranking.default.sizes) is None
    ordered = rank_layouts(planned("sgemm"), LONG["sgemm"], Target.THREADS, PROCESSOR)
    assert ordered.fitted({}) is None
    assert ordered.fitted({(3, 3, 3): 1.0}) is None


def test_layouts_that_somebody_chose_are_in_the_order() -> None:
    plain = rank_layouts(planned("sor 2-d"), LONG["sor 2-d"], Target.THREADS, PROCESSOR)
    odd = (3, 7, 11)
    assert plain.rank(odd) is None
    assert plain.predicted(odd).seconds is None
    ranking = rank_layouts(planned("sor 2-d"), LONG["sor 2-d"], Target.THREADS, PROCESSOR, [odd, plain.default.sizes])
    place = ranking.rank(odd)
    assert place is not None
    assert ranking.layouts[place - 1] == ranking.predicted(odd)
    assert ranking.default == plain.default


def test_sizes_that_cores_do_not_use_stay_as_they_are() -> None:
    """Overlapped tiles are for devices; cores have diamonds, and one size."""
    result = planned("jacobi 1-d overlapped")
    used = [size.object.name for size in used_sizes(result.host_steps, result.sizes)]
    for device in (PROCESSOR, None):
        ranking = rank_layouts(result, {"n": 65536, "steps": 500}, Target.THREADS, device)
        assert 0 < len(used) < len(ranking.names)
        free = [place for place, name in enumerate(ranking.names) if name not in used]
        for place in free:
            assert {layout.sizes[place] for layout in ranking.layouts} == {ranking.default.sizes[place]}
        assert len(ranking.layouts) > 5
