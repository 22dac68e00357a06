"""Pictures of measurements: versions over inputs, rooflines, and runs over time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.performance_spread import Spread
from tilepragma.base.quantities import seconds
from tilepragma.model.device import Device
from tilepragma.report.drawing import (
    FAINT,
    HAIRLINE,
    INK,
    LINE,
    PAPER,
    SMALL,
    TEXT,
    Figure,
    Node,
    Sheet,
    Stroke,
    Style,
    node,
    path,
    polygon,
    text,
    text_width,
)
from tilepragma.report.geometry import PLANE, Point
from tilepragma.report.size_values import byte_text

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

    @property
    def stroke(self) -> Style:
        """The attributes of its line."""
        return Stroke(self.colour, LINE + 0.3, self.dashes).shaft


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


def draw_field(sheet: Sheet, across: Scale, up: Scale, names: tuple[str, str], percent: bool = False) -> None:
    """Rules with their numbers: `across` at the bottom, `up` at the left, each with its name."""
    bottom = path([(0, 0), (across.length, 0)], stroke=INK, stroke_width=HAIRLINE)
    sheet.draw(bottom, (-_LEFT, 0.0), (across.length + 8, 0.0))
    for value in up.ticks():
        y = -up.at(value)
        sheet.draw(path([(0, y), (across.length, y)], stroke=FAINT, stroke_width=HAIRLINE, opacity=0.55))
        sheet.label((-5.0, y), f"{value:g}{' %' if percent else ''}", anchor="end")
    free = -math.inf
    for value in across.ticks():
        x, words = across.at(value), f"{value:g}"
        half = text_width(words, SMALL) / 2 + 3
        if x - half >= free:
            sheet.draw(path([(x, 0), (x, 4)], stroke=INK, stroke_width=HAIRLINE))
            sheet.label((x, 11.0), words)
            free = x + half
    sheet.label((across.length / 2, 27.0), names[0], TEXT - 1, font_style="italic")
    sheet.label((-_LEFT, -up.length - 14.0), names[1], TEXT - 1, anchor="start", font_style="italic")


def draw_curve(sheet: Sheet, points: Sequence[Point], look: Look) -> None:
    """A line through points, with 8 markers at most, the first and the last point among them."""
    style: Style = {"stroke": look.colour, "stroke_linejoin": "round", "class_": "curve", **look.stroke}
    sheet.draw(path(points, fill="none", **style), *points)
    count = min(8, len(points))
    for place in sorted({round(k * (len(points) - 1) / max(count - 1, 1)) for k in range(count)}):
        sheet.draw(marker(look, points[place]))


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
        sheet.draw(path(line, **look.stroke), (-_LEFT, y - 8), (-_LEFT, y + 8))
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


# -- input figures


_SHARES_HIGH = 190.0
#: The height of a range with one line of text, and of each further line.
_RANGE_ROW, _LINE = 44.0, 14.0
#: Beyond this ratio of greatest to least, an axis is logarithmic.
_WIDE = 20.0


def shares_figure(curves: Mapping[str, Collection[float]], caption: str) -> Figure:
    """Each curve's shares of the best, from 0 to 1, in ascending order, over the percentage of
    inputs; all have some.
    """
    sheet = Sheet(PLANE, 1.0)
    across, up = Scale(0.0, 100.0, WIDTH), Scale(0.0, 100.0, _SHARES_HIGH)
    names = "% of the inputs, each curve sorted by itself", "share of the fastest version"
    draw_field(sheet, across, up, names, percent=True)
    for shares, look in zip(curves.values(), LOOKS, strict=False):
        ordered = sorted(shares)
        last = max(len(ordered) - 1, 1)
        points = [(across.at(100.0 * k / last), -up.at(100.0 * share)) for k, share in enumerate(ordered)]
        draw_curve(sheet, points if len(points) > 1 else [points[0], (WIDTH, points[0][1])], look)
    draw_legend(sheet, [(look, name) for name, look in zip(curves, LOOKS, strict=False)], 48.0)
    title = "Share of the fastest version over sorted inputs"
    return Figure("inputs", title, caption, sheet.finished((), title, caption))


def ranges_figure(ranges: Mapping[str, Spread], unit: str, caption: str) -> Figure:
    """The mean of each range on a line from least to greatest, in `unit`; values above 0."""
    sheet = Sheet(PLANE, 1.0)
    least = min(spread.least for spread in ranges.values())
    most = max(spread.most for spread in ranges.values())
    is_log = most > _WIDE * least
    across = log_scale([least, most], WIDTH) if is_log else Scale(0.0, 1.08 * most, WIDTH)
    names = [wrapped(name, TEXT - 1, WIDTH + 42.0) for name in ranges]
    heights = [_RANGE_ROW + _LINE * (len(lines) - 1) for lines in names]
    bottom = sum(heights)
    sheet.reach.extend([(-42.0, 0.0), (WIDTH + 8, 0.0)])
    free = -math.inf
    for value in across.ticks():
        x = across.at(value)
        sheet.draw(path([(x, 4.0), (x, bottom)], stroke=FAINT, stroke_width=HAIRLINE, opacity=0.55))
        if x >= free:
            sheet.label((x, bottom + 9.0), f"{value:g}")
            free = x + 30.0
    y = 0.0
    for spread, lines, height, look in zip(ranges.values(), names, heights, LOOKS, strict=False):
        y += height - 14.0
        for above, words in enumerate(reversed(lines)):
            sheet.label((-42.0, y - 17.0 - _LINE * above), words, TEXT - 1, anchor="start")
        ends = [(across.at(spread.least), y), (across.at(spread.most), y)]
        sheet.draw(path(ends, stroke=look.colour, stroke_width=2.2, class_="range"), *ends)
        for x, _ in ends:
            sheet.draw(path([(x, y - 5), (x, y + 5)], stroke=look.colour, stroke_width=2.2))
        sheet.draw(marker(look, (across.at(spread.mean), y), 5.0, "mean"))
        sheet.label((-6.0, y), f"{spread.mean:.3g}", SMALL, anchor="end", fill=INK)
        y += 14.0
    words = f"{unit}{', logarithmic' if is_log else ''}: mean (sign, number), least and most"
    sheet.label((WIDTH / 2, bottom + 26.0), words, SMALL + 0.5, font_style="italic")
    title = "What ways to choose a version reach"
    return Figure("adaptive", title, caption, sheet.finished((), title, caption))


# -- roofline figure


_ROOFLINE_HIGH = 210.0
_GIGA = 1e9
#: Of the roofs of memories, from the furthest to the nearest.
_DASHES = ("9 3", "5 3", "3 3", "1.5 2.5")


@dataclass(frozen=True)
class KernelPoint:
    """A run of a kernel. It has floating-point `operations`, `bytes` with each array moved once,
    and `seconds`; all above 0. `double`: whether some array has elements of double precision.
    """

    operations: float
    bytes: float
    seconds: float
    double: bool

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds


def share_of_roof(point: KernelPoint, device: Device) -> tuple[float, str] | None:
    """A run's share of the lower of two roofs, and its name; None where one is not measured."""
    memory = device.memories[-1]
    if memory.bandwidth is None:
        return None
    by_memory, by_arithmetic = memory.bandwidth * point.intensity, peak(device, point.double)
    return point.rate / min(by_memory, by_arithmetic), memory.name if by_memory < by_arithmetic else "arithmetic"


def peak(device: Device, double: bool) -> float:
    """Operations a second of arithmetic alone."""
    return device.double_rate if double else device.float_rate


def roofline_figure(groups: Sequence[tuple[str, Sequence[KernelPoint]]], device: Device, caption: str) -> Figure:
    """A device's roofs, and points of kernels by name; each kernel's last point is the largest."""
    sheet = Sheet(PLANE, 1.0)
    points = [point for _, group in groups for point in group]
    tops = {double: peak(device, double) for double in sorted({point.double for point in points})}
    top = max(tops.values())
    furthest = [memory.bandwidth for memory in device.memories[-1:] if memory.bandwidth]
    across = log_scale([*(point.intensity for point in points), *(top / bandwidth for bandwidth in furthest)], WIDTH)
    up = log_scale([*(top.rate / _GIGA for top in points), *(top / _GIGA for top in tops.values())], _ROOFLINE_HIGH)
    draw_field(sheet, across, up, ("operations for each byte, each array moved once", "GFLOP/s"))
    entries = [*_draw_arithmetic(sheet, tops, across, up), *_draw_memories(sheet, device, top, across, up)]
    looks = [LOOKS[place % len(LOOKS)] for place in range(len(groups))]
    for (_, runs), look in zip(groups, looks, strict=True):
        for run in runs[:-1]:
            sheet.draw(marker(look, (across.at(run.intensity), -up.at(run.rate / _GIGA)), 2.2, "input"))
        last = runs[-1]
        sheet.draw(marker(look, (across.at(last.intensity), -up.at(last.rate / _GIGA)), 5.5, "point"))
    draw_legend(sheet, [*((look, name) for (name, _), look in zip(groups, looks, strict=True)), *entries], 48.0)
    title = f"Roofline of {device.name}"
    return Figure("roofline", title, caption, sheet.finished((), title, caption))


def _draw_arithmetic(sheet: Sheet, tops: Mapping[bool, float], across: Scale, up: Scale) -> list[tuple[Look, str]]:
    """Draw the roof of each precision that kernels have; the legend's entries."""
    entries = []
    for double, top in tops.items():
        y = -up.at(top / _GIGA)
        sheet.draw(path([(0, y), (across.length, y)], stroke=INK, stroke_width=LINE, class_="roof"), (0.0, y))
        words = f"arithmetic, {top / _GIGA:.3g} GFLOP/s in {'double' if double else 'single'} precision"
        entries.append((Look(INK, "", ""), words))
    return entries


def _draw_memories(sheet: Sheet, device: Device, top: float, across: Scale, up: Scale) -> list[tuple[Look, str]]:
    """Draw the roof of each measured memory, up to arithmetic's; the legend's entries."""
    entries = []
    for memory, dashes in zip(reversed(device.memories), _DASHES, strict=False):
        if memory.bandwidth is None:
            continue
        # The line bandwidth * intensity, from the left or lower end of the field to the roof of
        # arithmetic.
        first = max(across.low, up.low * _GIGA / memory.bandwidth)
        last = min(across.high, top / memory.bandwidth)
        if first < last:
            ends = [(across.at(x), -up.at(x * memory.bandwidth / _GIGA)) for x in (first, last)]
            dashed: Style = {"stroke_dasharray": dashes} if dashes else {}
            sheet.draw(path(ends, stroke=INK, stroke_width=LINE, class_="roof", **dashed))
            room = f" ({byte_text(memory.size)})" if memory is not device.memories[-1] else ""
            entries.append((Look(INK, dashes, ""), f"{memory.name}{room}, {memory.bandwidth / _GIGA:.3g} GB/s"))
    return entries


# -- timeline figure


#: Rows at most; the shortest activities share one row.
_MOST, OTHERS = 9, "all others"
_LANE_ROW, _BAR = 34.0, 13.0
#: Spans nearer than this, in user units, are one bar.
_NEAR = 0.4
#: The colours of kernels, of copies and of compilation.
_COLOURS = {"kernel": LOOKS[0].colour, "copy in": LOOKS[1].colour, "copy out": LOOKS[1].colour}
_OTHER = LOOKS[4].colour


@dataclass(frozen=True)
class Lane:
    """The spans of activity `name`, of a `kind`: seconds since the first activity's begin."""

    name: str
    kind: str
    spans: tuple[tuple[float, float], ...]

    @property
    def busy(self) -> float:
        """Seconds in which at least one span is active."""
        return math.fsum(end - begin for begin, end in united(self.spans))


def lanes_of(spans: Mapping[tuple[str, str], Sequence[tuple[float, float]]]) -> list[Lane]:
    """A lane for each (kind, name), by its first begin; of too many, the shortest share one."""
    lanes = [Lane(name, kind, tuple(lane_spans)) for (kind, name), lane_spans in spans.items()]
    if len(lanes) > _MOST:
        longest = sorted(lanes, key=lambda lane: -lane.busy)[: _MOST - 1]
        rest = [lane for lane in lanes if lane not in longest]
        together = Lane(OTHERS, "other", tuple(span for lane in rest for span in lane.spans))
        lanes = [*(lane for lane in lanes if lane in longest), together]
    return lanes


def united(spans: Iterable[tuple[float, float]], gap: float = 0.0) -> list[tuple[float, float]]:
    """The spans in order; those that overlap or are nearer than `gap` are joined."""
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1] + gap:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


def whole_of(lanes: Sequence[Lane]) -> float:
    """Seconds from the first activity's begin to the last one's end."""
    return max(end for lane in lanes for _, end in lane.spans)


def timeline_figure(lanes: Sequence[Lane], caption: str) -> Figure:
    """The picture of a run that has activities."""
    sheet = Sheet(PLANE, 1.0)
    whole = whole_of(lanes) or 1e-9
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
    unit, length = next((pair for pair in units if whole >= pair[1]), ("ns", 1e-9))
    across = Scale(0.0, whole / length, WIDTH + 42.0)
    bottom = _LANE_ROW * len(lanes)
    sheet.reach.extend([(0.0, 0.0), (across.length + 10, bottom)])
    for value in across.ticks():
        x = across.at(value)
        sheet.draw(path([(x, 0), (x, bottom)], stroke=FAINT, stroke_width=HAIRLINE, opacity=0.55))
        sheet.label((x, bottom + 9.0), f"{value:g}")
    sheet.label((across.length / 2, bottom + 26.0), f"{unit} since the first activity", TEXT - 1, font_style="italic")
    for row, lane in enumerate(lanes):
        y = _LANE_ROW * row
        words = f"{lane.name}: {seconds(lane.busy)}, {len(lane.spans)} time{'' if len(lane.spans) == 1 else 's'}"
        sheet.label((0.0, y + 8.0), words, SMALL + 0.5, anchor="start")
        for begin, end in united(lane.spans, _NEAR * whole / across.length):
            left, right = across.at(begin / length), across.at(end / length)
            style: Style = {"height": _BAR, "fill": _COLOURS.get(lane.kind, _OTHER), "class_": "span"}
            sheet.draw(node("rect", x=left, y=y + 16.0, width=max(right - left, 0.6), **style))
    title = "A run over time"
    return Figure("timeline", title, caption, sheet.finished((), title, caption))
