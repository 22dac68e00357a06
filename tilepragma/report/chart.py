"""Axes, curves and legends of measurements' pictures, all as wide as a phone's screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.geometry import PLANE
from tilepragma.report.palette import FAINT, HAIRLINE, INK, LINE, PAPER, SMALL, TEXT
from tilepragma.report.sheet import Sheet
from tilepragma.report.svg import Node, Point, Style, node, path, polygon, text, text_width

WIDTH = 300.0
"""of the field between the axes, in user units"""
#: Room for the numbers left of the field, and for a line of a legend.
_LEFT, _LINE_HEIGHT = 42.0, 17.0
_LEGEND = 11.0
_DECADE = (1.0, 2.0, 5.0)


class Look(NamedTuple):
    """How a curve looks: its colour, its dashes and its marker (lines without points have none)."""

    colour: str
    dashes: str
    marker: str


#: Okabe and Ito's colours, darkened for thin lines on white. In grey, dashes and markers tell the
#: curves apart.
LOOKS = (
    Look("#0060a8", "", "disc"),
    Look("#b84500", "7 3", "square"),
    Look("#00795a", "2 2.5", "up"),
    Look("#8e3a80", "9 3 2 3", "diamond"),
    Look("#5a5f66", "4 2", "down"),
    Look("#8a6a00", "1 2", "ring"),
)


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` along `length` user units, from where 0 of the sheet is."""

    low: float
    high: float
    length: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """A value's position; values outside lie at the ends."""
        low, high, clipped = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, clipped = math.log(low), math.log(high), math.log(clipped)
        return self.length * (clipped - low) / (high - low) if high > low else self.length / 2

    def ticks(self) -> list[float]:
        """About five round values; on a logarithmic axis, those of each decade."""
        if not self.is_log:
            step = _round_up((self.high - self.low) / 5)
            first = math.ceil(self.low / step - 1e-9)
            return [round(k * step, 12) for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        every = max(1, math.ceil(len(decades) / 6))
        parts = _DECADE if len(decades) <= 3 else (1.0,)
        values = [part * 10.0**power for power in decades if power % every == 0 for part in parts]
        return [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]


def log_scale(values: Sequence[float], length: float) -> Scale:
    """A logarithmic scale with all these values, which are positive, and a margin."""
    return Scale(min(values) / 1.25, max(values) * 1.25, length, is_log=True)


def _round_up(step: float) -> float:
    """The next of 1, 2, 5, 10 … at a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(part * power for part in (*_DECADE, 10.0) if part * power >= step * 0.999)


def plain(value: float) -> str:
    """`0.05`, `1000`, `2e+06`."""
    return f"{value:g}"


def new_sheet() -> Sheet:
    """An empty sheet in user units."""
    return Sheet(PLANE, 1.0)


def draw_field(sheet: Sheet, across: Scale, up: Scale, names: tuple[str, str], percent: bool = False) -> None:
    """Rules with their numbers: `across` at the bottom, `up` at the left, each with its name."""
    sheet.draw(
        path([(0, 0), (across.length, 0)], stroke=INK, stroke_width=HAIRLINE), (-_LEFT, 0.0), (across.length + 8, 0.0)
    )
    for value in up.ticks():
        y = -up.at(value)
        sheet.draw(path([(0, y), (across.length, y)], stroke=FAINT, stroke_width=HAIRLINE, opacity=0.55))
        sheet.label((-5.0, y), plain(value) + (" %" if percent else ""), anchor="end")
    free = -math.inf
    for value in across.ticks():
        x, words = across.at(value), plain(value)
        half = text_width(words, SMALL) / 2 + 3
        if x - half >= free:
            sheet.draw(path([(x, 0), (x, 4)], stroke=INK, stroke_width=HAIRLINE))
            sheet.label((x, 11.0), words)
            free = x + half
    sheet.label((across.length / 2, 27.0), names[0], TEXT - 1, font_style="italic")
    sheet.label((-_LEFT, -up.length - 14.0), names[1], TEXT - 1, anchor="start", font_style="italic")


def draw_curve(sheet: Sheet, points: Sequence[Point], look: Look, marks: int = 8) -> None:
    """A line through points, with `marks` markers, the first and the last point among them."""
    sheet.draw(
        path(points, fill="none", stroke=look.colour, stroke_linejoin="round", class_="curve", **_stroke(look)),
        *points,
    )
    count = min(marks, len(points))
    places = {round(k * (len(points) - 1) / max(count - 1, 1)) for k in range(count)}
    for place in sorted(places):
        sheet.draw(marker(look, points[place]))


def _stroke(look: Look) -> Style:
    dashed: Style = {"stroke_dasharray": look.dashes} if look.dashes else {}
    return {"stroke_width": LINE + 0.3, **dashed}


def marker(look: Look, centre: Point, radius: float = 3.4, name: str = "mark") -> Node:
    """The marker of a curve."""
    x, y = centre
    if look.marker in ("disc", "ring"):
        fill = PAPER if look.marker == "ring" else look.colour
        return node("circle", cx=x, cy=y, r=radius, fill=fill, stroke=look.colour, stroke_width=1.2, class_=name)
    shapes = {
        "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "up": ((0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        "down": ((0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
        "diamond": ((0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)),
    }
    corners = [(x + radius * a, y + radius * b) for a, b in shapes[look.marker]]
    return polygon(corners, fill=look.colour, stroke=PAPER, stroke_width=0.6, class_=name)


def draw_legend(sheet: Sheet, entries: Sequence[tuple[Look, str]], below: float) -> None:
    """A line for each curve, or several where its text is long, from `below` downwards."""
    room = WIDTH + 8 - 30.0 + _LEFT
    y = below
    for look, words in entries:
        line = [(-_LEFT, y), (-_LEFT + 24, y)]
        sheet.draw(path(line, stroke=look.colour, **_stroke(look)), (-_LEFT, y - 8), (-_LEFT, y + 8))
        if look.marker:
            sheet.draw(marker(look, (-_LEFT + 12, y), name="sample"))
        for part in wrapped(words, _LEGEND, room):
            sheet.draw(text((-_LEFT + 30, y + 0.36 * _LEGEND), part, _LEGEND, fill=INK), (-_LEFT, y), (-_LEFT, y + 8))
            y += _LINE_HEIGHT - 3
        y += 3


def wrapped(words: str, size: float, room: float) -> list[str]:
    """Text in lines that are no wider than `room`; longer single words keep their line."""
    lines: list[str] = []
    for word in words.split(" "):
        if lines and text_width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]
