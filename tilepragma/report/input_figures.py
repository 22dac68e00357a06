"""Pictures of versions over inputs, as in the TileK paper.

Its Figure 6 shows shares of the best over sorted inputs, its Figure 7 what several ways to choose a
version reach overall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.performance_spread import Spread
from tilepragma.report.chart import (
    LOOKS,
    WIDTH,
    Scale,
    draw_curve,
    draw_field,
    draw_legend,
    log_scale,
    marker,
    new_sheet,
    plain,
    wrapped,
)
from tilepragma.report.palette import FAINT, HAIRLINE, INK, SMALL, TEXT
from tilepragma.report.scene import Figure
from tilepragma.report.svg import path

_HIGH = 190.0
#: The height of a range with one line of text, and of each further line.
_ROW, _LINE = 44.0, 14.0
#: Beyond this ratio of greatest to least, an axis is logarithmic.
_WIDE = 20.0


@dataclass(frozen=True)
class Curve:
    """The share, from 0 to 1, of the best that `name` reaches at each input."""

    name: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Range:
    """The `spread` of `name`'s performance over all inputs."""

    name: str
    spread: Spread


def shares_figure(curves: Sequence[Curve], caption: str) -> Figure:
    """Each curve's shares in ascending order, over the percentage of inputs; all have some."""
    sheet = new_sheet()
    across, up = Scale(0.0, 100.0, WIDTH), Scale(0.0, 100.0, _HIGH)
    draw_field(
        sheet, across, up, ("% of the inputs, each curve sorted by itself", "share of the fastest version"), True
    )
    for curve, look in zip(curves, LOOKS, strict=False):
        ordered = sorted(curve.shares)
        last = max(len(ordered) - 1, 1)
        points = [(across.at(100.0 * k / last), -up.at(100.0 * share)) for k, share in enumerate(ordered)]
        draw_curve(sheet, points if len(points) > 1 else [points[0], (WIDTH, points[0][1])], look)
    draw_legend(sheet, [(look, curve.name) for curve, look in zip(curves, LOOKS, strict=False)], 48.0)
    title = "Share of the fastest version over sorted inputs"
    return Figure("inputs", title, caption, sheet.finished((), title, caption))


def ranges_figure(ranges: Sequence[Range], unit: str, caption: str) -> Figure:
    """The mean of each range on a line from least to greatest, in `unit`; values above 0."""
    sheet = new_sheet()
    least, most = min(range_.spread.least for range_ in ranges), max(range_.spread.most for range_ in ranges)
    is_log = most > _WIDE * least
    across = log_scale([least, most], WIDTH) if is_log else Scale(0.0, 1.08 * most, WIDTH)
    names = [wrapped(range_.name, TEXT - 1, WIDTH + 42.0) for range_ in ranges]
    bottom = sum(map(_height, names))
    sheet.reach.extend([(-42.0, 0.0), (WIDTH + 8, 0.0)])
    free = -math.inf
    for value in across.ticks():
        x = across.at(value)
        sheet.draw(path([(x, 4.0), (x, bottom)], stroke=FAINT, stroke_width=HAIRLINE, opacity=0.55))
        if x >= free:
            sheet.label((x, bottom + 9.0), plain(value))
            free = x + 30.0
    y = 0.0
    for spread_range, lines, look in zip(ranges, names, LOOKS, strict=False):
        y += _height(lines) - 14.0
        for above, words in enumerate(reversed(lines)):
            sheet.label((-42.0, y - 17.0 - _LINE * above), words, TEXT - 1, anchor="start")
        ends = [(across.at(spread_range.spread.least), y), (across.at(spread_range.spread.most), y)]
        sheet.draw(path(ends, stroke=look.colour, stroke_width=2.2, class_="range"), *ends)
        for x, _ in ends:
            sheet.draw(path([(x, y - 5), (x, y + 5)], stroke=look.colour, stroke_width=2.2))
        sheet.draw(marker(look, (across.at(spread_range.spread.mean), y), 5.0, "mean"))
        sheet.label((-6.0, y), f"{spread_range.spread.mean:.3g}", SMALL, anchor="end", fill=INK)
        y += 14.0
    words = f"{unit}{', logarithmic' if is_log else ''}: mean (sign, number), least and most"
    sheet.label((WIDTH / 2, bottom + 26.0), words, SMALL + 0.5, font_style="italic")
    title = "What ways to choose a version reach"
    return Figure("adaptive", title, caption, sheet.finished((), title, caption))


def _height(lines: Sequence[str]) -> float:
    """The height of a range and its lines of text."""
    return _ROW + _LINE * (len(lines) - 1)
