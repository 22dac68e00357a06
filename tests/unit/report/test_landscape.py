"""The picture of predicted times: which sizes it is over, what is where, and what its caption says; by times made by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from tests.unit.report.pictures import elements, golden, numbers
from tilepragma.driver import translate
from tilepragma.driver.reports import explain_page, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.report.drawing import Figure
from tilepragma.report.landscape import Landscape, landscape_figure, ratio_text
from tilepragma.report.size_values import parse_sizes
from tilepragma.sizes.ranked_layouts import Layout, Ranking

SIDES = (4, 8, 16, 32)


def landscape(
    names: str, time: Callable[..., float], default: tuple[int, ...], *, leave: Callable[..., bool] = lambda *_: False
) -> Landscape:
    """All layouts of SIDES but those to `leave` out."""
    result = itertools.product(SIDES, repeat=len(names.split()))
    return Landscape(
        tuple(names.split()), {each: time(*each) for each in result if not leave(*each)}, default, "a device"
    )


def picture(of: Landscape) -> Figure:
    result = landscape_figure(of)
    assert result is not None
    return result


def bowl(*best: int, weights: tuple[float, ...] = (1.0, 0.5, 0.1)) -> Callable[..., float]:
    """Milliseconds that grow with the distance from the best layout, in the first size the most."""

    def time(*sizes: int) -> float:
        steps = (abs(math.log2(size / goal)) for size, goal in zip(sizes, best, strict=True))
        return 2e-3 * (1 + sum(weight * step for weight, step in zip(weights, steps, strict=False)))

    return time


def test_the_two_sizes_that_matter_most_in_the_plans_order() -> None:
    result = landscape("a b c", bowl(8, 16, 4, weights=(0.1, 0.5, 1.0)), (16, 16, 16))
    assert result.best == (8, 16, 4)
    assert result.spread(2) == pytest.approx(4.0)
    assert (result.axes, result.fixed) == ((1, 2), (0,))
    assert "Other sizes are as in the best layout: a = 8." in picture(result).caption


def test_every_layout_through_the_best_has_its_cell_and_figure() -> None:
    figure = picture(landscape("a b", bowl(8, 16), (16, 16)))
    assert len(elements(figure, "cell")) == 16
    assert elements(figure, "blank") == []
    words = "".join(figure.svg.split())
    for ratio in ("1.00", "1.50", "2.00", "2.50", "3.50"):
        assert f">{ratio}</text>" in words
    assert "over a and b" in figure.caption
    assert "multiples of the best time, 2 ms" in figure.caption


def test_what_is_best_and_what_is_taken_are_framed_where_they_lie() -> None:
    """a goes up, b to the right; each frame lies inside the cell of its layout."""
    figure = picture(landscape("a b", bowl(8, 16), (16, 4)))
    ((best,), (default,)) = (elements(figure, name) for name in ("best", "default"))
    x, y = float(best.get("x", "")), float(best.get("y", ""))
    wide, high = float(best.get("width", "")), float(best.get("height", ""))
    assert (x - 88, x + wide - 132) == (pytest.approx(1.2), pytest.approx(-1.2))
    assert (y + 56, y + high + 28) == (pytest.approx(1.2), pytest.approx(-1.2))
    assert 0 < float(default.get("x", "")) < 44
    assert -84 < float(default.get("y", "")) < -56
    assert default.get("stroke-dasharray") is not None
    assert "default: 6 ms, 3.00 times" in figure.svg  # 1 + 1 step of a + 2 half steps of b


def test_a_default_outside_of_the_picture_is_told() -> None:
    result = landscape("a b c", bowl(8, 16, 4), (8, 16, 32))
    figure = picture(result)
    assert elements(figure, "default") == []
    assert "The default is not in the picture: a = 8, b = 16, c = 32, 1.30 times the best." in figure.caption


def test_layouts_without_a_time_leave_their_cells_empty() -> None:
    figure = picture(landscape("a b", bowl(8, 16), (32, 32), leave=lambda a, b: a * b > 512))
    assert (len(elements(figure, "cell")), len(elements(figure, "blank"))) == (15, 1)
    assert "Empty: not predicted." in figure.caption
    assert "The default is not in the picture: a = 32, b = 32, not predicted." in figure.caption


def test_one_size_is_a_line() -> None:
    figure = picture(landscape("a", bowl(16), (4,)))
    points = elements(figure, "point")
    heights = [float(point.get("cy", "")) for point in points]
    assert [float(point.get("cx", "")) for point in points] == pytest.approx([22, 66, 110, 154])
    assert heights[2] == max(heights)
    assert heights[0] < heights[1] < heights[2] > heights[3] == pytest.approx(heights[1], abs=0.01)
    assert len(elements(figure, "best")) == len(elements(figure, "default")) == 1


def test_a_size_with_one_value_is_no_axis() -> None:
    result = landscape("a b", bowl(8, 4), (8, 4), leave=lambda _, b: b != 4)
    assert result.axes == (0,)
    assert len(elements(picture(result), "point")) == 4


def test_a_single_layout_has_no_picture() -> None:
    assert landscape_figure(Landscape(("a", "b"), {(8, 8): 1e-3}, (8, 8), "a device")) is None


def test_a_kernel_that_takes_no_time() -> None:
    assert ">1.00</text>" in picture(landscape("a b", lambda *_: 0.0, (8, 8))).svg


def test_axes_are_logarithmic_for_values_that_are_no_powers_of_two() -> None:
    values = (3, 6, 12, 48)
    figure = picture(Landscape(("a",), {(value,): 1e-3 for value in values}, (3,), "a device"))
    first, second, third, last = (float(point.get("cx", "")) for point in elements(figure, "point"))
    assert third - second == pytest.approx(second - first, abs=0.02)
    assert last - third == pytest.approx(2 * (second - first), abs=0.02)


def test_many_values_keep_the_picture_narrow_and_its_labels_apart() -> None:
    sizes = range(1, 200)
    figure = picture(Landscape(("a",), {(size,): 1e-3 * size for size in sizes}, (5,), "a device"))
    assert max(float(point.get("cx", "")) for point in elements(figure, "point")) <= 460
    assert all(math.isfinite(value) for value in numbers(figure))
    assert figure.svg.count(">77</text>") == 0


def test_colours_darken_from_the_best_on() -> None:
    """Printed in grey the order is the same."""
    figure = picture(landscape("a b", lambda a, b: 1e-3 * 1.3 ** math.log2(a * b), (4, 4)))
    cells = elements(figure, "cell")
    fills = [
        cell.get("fill", "")
        for cell in sorted(cells, key=lambda cell: float(cell.get("x", "")) - float(cell.get("y", "")) * 44 / 28)
    ]
    light = [
        sum(weight * int(fill[place : place + 2], 16) for weight, place in ((0.21, 1), (0.72, 3), (0.07, 5)))
        for fill in fills
    ]
    assert light == sorted(light, reverse=True)
    assert len(set(fills)) >= 5


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.0, "1.00"), (9.99, "9.99"), (23.14, "23.1"), (99.96, "100"), (1234.4, "1234")]
)
def test_ratios(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text


def test_the_page_has_the_picture_and_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = (Layout((32, 128), 1e-3), Layout((64, 128), 1.5e-3), Layout((64, 256), 2e-3))
    monkeypatch.setattr(
        "tilepragma.report.model_facts.rank_layouts", lambda *_: Ranking(("j_size", "j_i_size"), layouts, layouts[2])
    )
    result = translate(TranslateRequest("t.c", text=golden("smooth").encode(), last="choose_sizes"))
    sizes = parse_sizes(["I=1000", "J=200"])
    page = explain_page(result, kernel_reports(result, sizes), sizes, "t.c")
    assert [name for name, _ in page.figures][0] == "smooth-landscape.svg"
    assert page.figures[0][1] in page.html
    for words in (
        "Planned for this machine&#39;s cores, not calibrated.",
        "Predicted: 1 ms with j_size = 32, j_i_size = 128.",
        "Runners-up: 1.5 ms 64, 128 · 2 ms 64, 256.",
        "Default: 2 ms 64, 256 (2.00 times).",
    ):
        assert words in page.html
