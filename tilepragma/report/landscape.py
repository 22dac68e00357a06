"""Times over tile sizes: the sizes worth showing, and a map or a line of ratios to the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.report.drawing import (
    FAINT,
    HAIRLINE,
    INK,
    LINE,
    PAPER,
    SMALL,
    TEXT,
    Box,
    Figure,
    LegendEntry,
    Node,
    Sheet,
    Style,
    node,
    path,
    rectangle,
    shaded,
    text,
    text_width,
    time_colour,
)
from tilepragma.report.geometry import PLANE

#: Shorter times count as equal: a kernel without work takes none.
_SHORTEST = 1e-12


@dataclass(frozen=True)
class Landscape:
    """Times of tile sizes. `seconds` has the time of every predicted layout, by the values of the
    sizes called `names`. `default` is a layout, if the model has a time for it. `device` is the
    name of the device. `is_measured`: the times were measured on it, by `measured_landscape`; all
    sizes are shown, and `note` is a sentence for the caption on what else they depend on.
    """

    names: tuple[str, ...]
    seconds: Mapping[tuple[int, ...], float]
    default: tuple[int, ...]
    device: str
    is_measured: bool = False
    note: str = ""

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The layout with the least time; the first of several."""
        return min(self.seconds, key=self.seconds.__getitem__)

    def ratio(self, layout: tuple[int, ...]) -> float:
        """Its time as a multiple of the best one's."""
        least = max(self.seconds[self.best], _SHORTEST)
        return max(self.seconds[layout], least) / least

    def through_best(self, places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        """Ratios of the layouts that differ from the best at `places` only, by the sizes there."""
        others = [place for place in range(len(self.names)) if place not in places]
        return {
            tuple(layout[place] for place in places): self.ratio(layout)
            for layout in self.seconds
            if all(layout[place] == self.best[place] for place in others)
        }

    def spread(self, place: int) -> float:
        """The ratio to the best of the worst value of one size, with the others as in the best."""
        return max(self.through_best((place,)).values())

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The ordered places of the two sizes with the widest spreads, fewer if sizes are fixed."""
        if self.is_measured:
            return tuple(range(len(self.names)))
        free = [place for place in range(len(self.names)) if len(self.through_best((place,))) > 1]
        return tuple(sorted(sorted(free, key=self.spread, reverse=True)[:2]))

    @property
    def fixed(self) -> tuple[int, ...]:
        """The places of the sizes that a picture over `axes` holds at the best layout's values."""
        return tuple(place for place in range(len(self.names)) if place not in self.axes)

    def text(self, layout: tuple[int, ...], places: tuple[int, ...] | None = None) -> str:
        """`i_size = 32, j_size = 8`: all of a layout's sizes, or those at some places."""
        chosen = range(len(self.names)) if places is None else places
        return ", ".join(f"{self.names[place]} = {layout[place]}" for place in chosen)


def measured_landscape(
    names: tuple[str, ...], seconds: Mapping[tuple[int, ...], float], default: tuple[int, ...], device: str, note: str
) -> Landscape | None:
    """The two most important sizes of measured layouts, with the least time over all others.
    Measurements are too scattered for a cut. None where there is a single layout. `default` may be
    empty: not known.
    """
    places = [place for place in range(len(names)) if len({layout[place] for layout in seconds}) > 1]
    spreads = {place: _least(seconds, (place,)) for place in places}
    widest = sorted(places, key=lambda place: max(spreads[place].values()) / min(spreads[place].values()), reverse=True)
    shown = tuple(sorted(widest[:2]))
    if not shown:
        return None
    if len(places) > len(shown):
        others = " and ".join(names[place] for place in places if place not in shown)
        note = f"{note} Each cell is the fastest of all {others}."
        default = ()  # the time of its cell need not be its own
    default = tuple(default[place] for place in shown) if default else ()
    return Landscape(tuple(names[place] for place in shown), _least(seconds, shown), default, device, True, note)


def _least(seconds: Mapping[tuple[int, ...], float], places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The least positive time for each combination of the sizes at some places."""
    least: dict[tuple[int, ...], float] = {}
    for layout, time in seconds.items():
        short = tuple(layout[place] for place in places)
        least[short] = min(max(time, _SHORTEST), least.get(short, math.inf))
    return least


def ratio_text(ratio: float) -> str:
    """`1.14`, `23.1`, `150`: three digits."""
    return f"{ratio:.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}"


# -- landscape figure


#: The upper ratios of all colours but the last. They are closest where layouts are worth choosing.
_BOUNDS = (1.05, 1.1, 1.25, 1.5, 2.0, 4.0)
#: Lengths in user units: of an axis for each of its values, and at most.
_WIDE, _HIGH, _LONGEST = 44.0, 28.0, 340.0
#: In maps with more cells, cells without a time get no frame.
_MOST_CELLS = 400
_FIGURE = 11.0
"""size of the figures in cells"""
#: Of the line: its height, and the ratios that may have a rule.
_LINE_HIGH = 170.0
_RULES = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4)
_BEST: Style = {"stroke": INK, "stroke_width": 2.4}
_DEFAULT: Style = {"stroke": INK, "stroke_width": 1.6, "stroke_dasharray": "4 2.5"}


@dataclass(frozen=True)
class _Axis:
    """Ascending values on a logarithmic axis; intervals end half way between values, from 0."""

    values: tuple[int, ...]
    per_value: float

    @cached_property
    def places(self) -> tuple[float, ...]:
        """The positions of the axis's start, of the values, and of its end."""
        logs = [math.log2(value) for value in self.values]
        before, after = (logs[1] - logs[0], logs[-1] - logs[-2]) if len(logs) > 1 else (1.0, 1.0)
        ends = logs[0] - before / 2, logs[-1] + after / 2
        scale = min(self.per_value * len(logs), _LONGEST) / (ends[1] - ends[0])
        return tuple(scale * (log - ends[0]) for log in (ends[0], *logs, ends[1]))

    @property
    def length(self) -> float:
        """From its start to its end."""
        return self.places[-1]

    def at(self, value: int) -> float:
        """A value's position."""
        return self.places[self.values.index(value) + 1]

    def interval(self, value: int) -> tuple[float, float]:
        """The start and the end of a value's interval."""
        place = self.values.index(value)
        before, position, after = self.places[place : place + 3]
        start = before if place == 0 else (before + position) / 2
        return start, after if place + 1 == len(self.values) else (position + after) / 2

    def labelled(self, room: float) -> Iterator[tuple[float, str]]:
        """Values with positions, at least `room` apart; 0: with room for their digits."""
        free = -math.inf
        for value in self.values:
            half = (room or text_width(str(value), SMALL) + 4) / 2
            if self.at(value) - half >= free:
                yield self.at(value), str(value)
                free = self.at(value) + half


def landscape_figure(landscape: Landscape) -> Figure | None:
    """The landscape's picture; None for a single layout."""
    if not landscape.axes:
        return None
    sheet = Sheet(PLANE, 1.0)
    cells = landscape.through_best(landscape.axes)
    across = _Axis(tuple(sorted({cell[-1] for cell in cells})), _WIDE)
    for x, words in across.labelled(0):
        sheet.label((x, 10.0), words)
    sheet.label((across.length / 2, 27.0), landscape.names[landscape.axes[-1]], TEXT, font_style="italic")
    if len(landscape.axes) == 1:
        _draw_line(sheet, landscape, across, {value: ratio for (value,), ratio in cells.items()})
        entries, blank = _marks(landscape), False
    else:
        up = _Axis(tuple(sorted({cell[0] for cell in cells})), _HIGH)
        _draw_map(sheet, landscape, across, up, {(x, y): ratio for (y, x), ratio in cells.items()})
        entries, blank = [_scale(), *_marks(landscape)], len(cells) < len(across.values) * len(up.values)
    caption = _caption(landscape, blank)
    name, how = ("measured", "Measured") if landscape.is_measured else ("landscape", "Predicted")
    return Figure(name, f"{how} times of tile sizes", caption, sheet.finished(entries, f"{how} times", caption))


def _caption(landscape: Landscape, blank: bool) -> str:
    named = " and ".join(landscape.names[place] for place in landscape.axes)
    how = "measured" if landscape.is_measured else "predicted"
    best = seconds(landscape.seconds[landscape.best])
    words = [f"{how.capitalize()} on {landscape.device}, as multiples of the best time, {best}, over {named}."]
    if landscape.note:
        words.append(landscape.note)
    if landscape.fixed:
        words.append(f"Other sizes are as in the best layout: {landscape.text(landscape.best, landscape.fixed)}.")
    if blank:
        words.append(f"Empty: not {how}.")
    if not _shows_default(landscape) and not landscape.is_measured:
        default = landscape.text(landscape.default)
        has_default = landscape.default in landscape.seconds
        takes = f"{ratio_text(landscape.ratio(landscape.default))} times the best" if has_default else "not predicted"
        words.append(f"The default is not in the picture: {default}, {takes}.")
    return " ".join(words)


def _shows_default(landscape: Landscape) -> bool:
    agrees = all(landscape.default[place] == landscape.best[place] for place in landscape.fixed)
    return agrees and landscape.default in landscape.seconds


# -- two sizes


def _draw_map(
    sheet: Sheet, landscape: Landscape, across: _Axis, up: _Axis, cells: dict[tuple[int, int], float]
) -> None:
    rows = {y: up.interval(y) for y in up.values}
    columns = {x: across.interval(x) for x in across.values}
    boxes = {
        (x, y): Box(left, -top, right, -bottom)
        for x, (left, right) in columns.items()
        for y, (bottom, top) in rows.items()
    }
    figures = all(_has_room(boxes[cell], ratio_text(ratio)) for cell, ratio in cells.items())
    is_crowded = len(boxes) > _MOST_CELLS
    for cell, box in boxes.items():
        if cell in cells or not is_crowded:
            _draw_cell(sheet, box, cells.get(cell), figures)
    for y, words in up.labelled(SMALL + 2):
        sheet.label((-6.0, -y), words, anchor="end")
    name = landscape.names[landscape.axes[0]]
    sheet.label((-24.0, -up.length - 12.0), name, TEXT, anchor="start", font_style="italic")
    first, second = landscape.axes
    best = boxes[landscape.best[second], landscape.best[first]]
    sheet.draw(_frame(_inside(best, 1.2), "best", _BEST))
    if _shows_default(landscape):
        default = boxes[landscape.default[second], landscape.default[first]]
        sheet.draw(_frame(_inside(default, 3.6), "default", _DEFAULT))


def _inside(box: Box, margin: float) -> Box:
    """Smaller by the margin on each side, or by a quarter of its shorter side."""
    return box.grown(-min(margin, 0.25 * min(box.right - box.left, box.bottom - box.top)))


def _has_room(box: Box, words: str) -> bool:
    return text_width(words, _FIGURE) <= box.right - box.left - 10 and box.bottom - box.top >= _FIGURE + 8


def _draw_cell(sheet: Sheet, box: Box, ratio: float | None, figure: bool) -> None:
    style: Style = {"fill": PAPER, "stroke": shaded(FAINT, 1.6), "stroke_width": HAIRLINE, "class_": "blank"}
    if ratio is not None:
        style |= {"fill": _colour(ratio), "stroke": PAPER, "class_": "cell"}
    sheet.draw(rectangle(box, **style), (box.left, box.top), (box.right, box.bottom))
    if figure and ratio is not None:
        place = (box.left + box.right) / 2, (box.top + box.bottom) / 2 + 0.36 * _FIGURE
        sheet.draw(text(place, ratio_text(ratio), _FIGURE, fill=INK, text_anchor="middle"))


def _colour(ratio: float) -> str:
    """Light near the best. The darkest colour is left out, since numbers stand on it."""
    return time_colour(sum(ratio > bound for bound in _BOUNDS), len(_BOUNDS) + 2)


def _scale() -> LegendEntry:
    """All colours with their upper ratios."""
    words = [*(f"≤ {bound:g}" for bound in _BOUNDS), f"> {_BOUNDS[-1]:g}"]
    drawn: list[Node] = []
    left = 0.0
    for ratio, word in zip((*_BOUNDS, math.inf), words, strict=True):
        right = left + text_width(word, SMALL) + 6
        drawn.append(rectangle(Box(left, -8, right, 8), fill=_colour(ratio), stroke=PAPER, stroke_width=HAIRLINE))
        drawn.append(text(((left + right) / 2, 0.36 * SMALL), word, SMALL, fill=INK, text_anchor="middle"))
        left = right
    return LegendEntry(tuple(drawn), "times the best", left)


# -- one size


def _draw_line(sheet: Sheet, landscape: Landscape, across: _Axis, ratios: dict[int, float]) -> None:
    most = max(1.1, *ratios.values())

    def height(ratio: float) -> float:
        return -10.0 - (_LINE_HIGH - 20.0) * math.log(ratio) / math.log(most)

    free = math.inf
    for rule in _RULES:
        if rule <= most and height(rule) <= free:
            sheet.draw(path([(0.0, height(rule)), (across.length, height(rule))], stroke=FAINT, stroke_width=HAIRLINE))
            sheet.label((-6.0, height(rule)), f"{rule:g}", anchor="end")
            free = height(rule) - SMALL - 2
    sheet.label((-24.0, -_LINE_HIGH - 12.0), "times the best", TEXT, anchor="start", font_style="italic")
    points = {value: (across.at(value), height(ratios[value])) for value in across.values}
    sheet.draw(path(list(points.values()), fill="none", stroke=INK, stroke_width=LINE), *points.values())
    for x, y in points.values():
        sheet.draw(node("circle", cx=x, cy=y, r=3.0, fill=INK, class_="point"))
    (place,) = landscape.axes
    sheet.draw(_frame(Box(*points[landscape.best[place]] * 2).grown(7.0), "best", _BEST))
    if _shows_default(landscape):
        sheet.draw(_frame(Box(*points[landscape.default[place]] * 2).grown(10.5), "default", _DEFAULT))


# -- both


def _marks(landscape: Landscape) -> list[LegendEntry]:
    """The best and the default, as far as the picture shows them, with their times."""
    best, default = landscape.seconds[landscape.best], landscape.seconds.get(landscape.default)
    entries = [_mark(f"best: {seconds(best)}", _BEST)]
    if default is not None and _shows_default(landscape):
        ratio = ratio_text(landscape.ratio(landscape.default))
        entries.append(_mark(f"default: {seconds(default)}, {ratio} times", _DEFAULT))
    return entries


def _mark(words: str, style: Style) -> LegendEntry:
    return LegendEntry((_frame(Box(0, -6, 20, 6), "sample", style),), words, 20.0)


def _frame(box: Box, name: str, style: Style) -> Node:
    return rectangle(box, fill="none", class_=name, **style)
