"""Pictures of measurements: each value where its axis has it, and legends that say all names; by numbers made by hand."""

from __future__ import annotations

import math

import pytest

from tests.unit.report.pictures import elements, numbers
from tilepragma.base.performance_spread import Spread
from tilepragma.model.device import Memory, Processor
from tilepragma.report.charts import (
    WIDTH,
    KernelPoint,
    Lane,
    Scale,
    lanes_of,
    log_scale,
    ranges_figure,
    roofline_figure,
    share_of_roof,
    shares_figure,
    timeline_figure,
    united,
    wrapped,
)
from tilepragma.report.drawing import text_width
from tilepragma.report.landscape import landscape_figure, measured_landscape

GIGA = 1e9
#: 100 GFLOP/s in single precision, 10 GB/s from memory: the ridge is at 10 operations for each
#: byte.
DEVICE = Processor(
    "a machine",
    4,
    32,
    64,
    1e9,
    100 * GIGA,
    50 * GIGA,
    (Memory("L1", 32768, 1, None), Memory("DRAM", 2**34, 4, 10 * GIGA)),
)


def point(intensity: float, gigaflops: float, double: bool = False) -> KernelPoint:
    return KernelPoint(1e9, 1e9 / intensity, 1.0 / gigaflops, double)


def test_scales() -> None:
    assert Scale(0.0, 100.0, 200.0).at(25.0) == 50.0
    assert Scale(0.0, 100.0, 200.0).ticks() == [0, 20, 40, 60, 80, 100]
    logs = Scale(1.0, 100.0, 200.0, is_log=True)
    assert (logs.at(10.0), logs.at(1e9), logs.at(0.1)) == (pytest.approx(100.0), 200.0, 0.0)
    assert logs.ticks() == [1, 2, 5, 10, 20, 50, 100]
    wide = log_scale([1e-6, 1e6], 200.0)
    assert all(wide.low < tick < wide.high for tick in wide.ticks())


def test_words_are_wrapped_and_none_is_lost() -> None:
    words = "TILEK_TILES=diamond t_i_size=8 t_j_size=256 t_k_size=256"
    lines = wrapped(words, 11.0, 200.0)
    assert " ".join(lines) == words
    assert len(lines) > 1
    assert all(text_width(line, 11.0) <= 200.0 for line in lines)


def test_each_curve_is_sorted_by_itself() -> None:
    figure = shares_figure({"a": (1.0, 0.25, 0.5), "b < c": (0.5, 0.5, 0.5)}, "What to do.")
    first, second = (element.get("d") for element in elements(figure, "curve"))
    assert first == f"M0 -47.5L{WIDTH / 2:g} -95L{WIDTH:g} -190"
    assert second == f"M0 -95L{WIDTH / 2:g} -95L{WIDTH:g} -95"
    assert "b &lt; c" in figure.svg
    assert "<desc>What to do.</desc>" in figure.svg
    assert len(elements(figure, "sample")) == 2


def test_ranges_from_the_least_to_the_most() -> None:
    figure = ranges_figure({"a": Spread(5.0, 2.0, 10.0), "b": Spread(4.0, 1.0, 8.0)}, "GFLOP/s", "")
    scale = WIDTH / 10.8
    means = [float(element.get("cx", "nan")) for element in elements(figure, "mean")[:1]]
    assert means == [pytest.approx(5.0 * scale, abs=0.01)]
    assert [element.get("d", "").split("L")[0] for element in elements(figure, "range")] == [
        f"M{value * scale:.2f} 30" if value == 2.0 else f"M{value * scale:.2f} 74" for value in (2.0, 1.0)
    ]
    assert "logarithmic" not in figure.svg
    assert "GFLOP/s, logarithmic" in ranges_figure({"a": Spread(5.0, 0.1, 10.0)}, "GFLOP/s", "").svg


def test_the_lower_roof() -> None:
    assert share_of_roof(point(20.0, 25.0), DEVICE) == (pytest.approx(0.25), "arithmetic")
    assert share_of_roof(point(20.0, 25.0, double=True), DEVICE) == (pytest.approx(0.5), "arithmetic")
    assert share_of_roof(point(2.0, 5.0), DEVICE) == (pytest.approx(0.25), "DRAM")


def test_roofline_has_every_run_and_every_known_roof() -> None:
    figure = roofline_figure(
        [("sgemm", [point(20.0, 25.0), point(40.0, 50.0)]), ("copy", [point(1.0, 9.0)])], DEVICE, ""
    )
    assert len(elements(figure, "roof")) == 2  # nobody has measured L1
    assert (len(elements(figure, "point")), len(elements(figure, "input"))) == (2, 1)
    assert "DRAM, 10 GB/s" in figure.svg
    assert "arithmetic, 100 GFLOP/s in single precision" in figure.svg
    assert all(math.isfinite(value) for value in numbers(figure))


def test_both_precisions_have_their_roofs() -> None:
    figure = roofline_figure([("a", [point(20.0, 25.0)]), ("b", [point(20.0, 25.0, double=True)])], DEVICE, "")
    assert len(elements(figure, "roof")) == 3
    assert "50 GFLOP/s in double precision" in figure.svg


def test_measured_sizes_that_matter_most_with_the_fastest_of_the_others() -> None:
    times = {(8, 8, 1): 4.0, (16, 8, 1): 1.0, (16, 8, 2): 1.5, (8, 32, 2): 2.0, (32, 8, 1): 9.0}
    result = measured_landscape(("a", "b", "c"), times, (8, 8, 1), "a machine", "At n=5.")
    assert result is not None
    assert result.names == ("a", "b")
    assert result.seconds == {(8, 8): 4.0, (16, 8): 1.0, (8, 32): 2.0, (32, 8): 9.0}
    figure = landscape_figure(result)
    assert figure is not None
    assert figure.name == "measured"
    assert "Measured on a machine" in figure.caption
    assert "At n=5. Each cell is the fastest of all c. Empty: not measured." in figure.caption
    assert elements(figure, "default") == []
    assert (len(elements(figure, "cell")), len(elements(figure, "blank"))) == (4, 2)


def test_the_default_among_measured_sizes() -> None:
    result = measured_landscape(("a", "b"), {(8, 8): 2.0, (16, 8): 1.0, (16, 4): 3.0}, (8, 8), "a machine", "")
    assert result is not None
    figure = landscape_figure(result)
    assert figure is not None
    assert "default: 2 s, 2.00 times" in figure.svg
    assert measured_landscape(("a",), {(8,): 1.0}, (8,), "a machine", "") is None


def test_spans_are_united_and_short_lanes_put_together() -> None:
    assert united([(3, 4), (0, 1), (0.5, 2)]) == [(0, 2), (3, 4)]
    assert Lane("a", "kernel", ((0.0, 1.0), (0.5, 2.0))).busy == 2.0
    spans = {("kernel", f"k{number}"): [(float(number), number + 0.1 * number)] for number in range(1, 13)}
    lanes = lanes_of(spans)
    assert [lane.name for lane in lanes] == [*(f"k{number}" for number in range(5, 13)), "all others"]
    assert len(lanes[-1].spans) == 4


def test_a_timeline_has_a_bar_where_something_went_on() -> None:
    lanes = lanes_of({("kernel", "sweep on opencl"): [(0.0, 0.5), (0.5, 0.6)], ("copy in", "copy in"): [(0.75, 1.0)]})
    figure = timeline_figure(lanes, "")
    bars = [(float(each.get("x", "")), float(each.get("width", ""))) for each in elements(figure, "span")]
    assert bars == [pytest.approx((0.0, 205.2)), pytest.approx((256.5, 85.5))]
    assert "sweep on opencl: 600 ms, 2 times" in figure.svg
    assert "s since the first activity" in figure.svg
