"""A run over time, a row for each activity: kernels, copies and compilation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.report.chart import LOOKS, WIDTH, Scale, new_sheet, plain
from tilepragma.report.palette import FAINT, HAIRLINE, SMALL, TEXT
from tilepragma.report.scene import Figure
from tilepragma.report.svg import node, path

#: Rows at most; the shortest activities share one row.
_MOST, OTHERS = 9, "all others"
_ROW, _BAR = 34.0, 13.0
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
    sheet = new_sheet()
    whole = whole_of(lanes) or 1e-9
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
    unit, length = next((pair for pair in units if whole >= pair[1]), ("ns", 1e-9))
    across = Scale(0.0, whole / length, WIDTH + 42.0)
    bottom = _ROW * len(lanes)
    sheet.reach.extend([(0.0, 0.0), (across.length + 10, bottom)])
    for value in across.ticks():
        x = across.at(value)
        sheet.draw(path([(x, 0), (x, bottom)], stroke=FAINT, stroke_width=HAIRLINE, opacity=0.55))
        sheet.label((x, bottom + 9.0), plain(value))
    sheet.label((across.length / 2, bottom + 26.0), f"{unit} since the first activity", TEXT - 1, font_style="italic")
    for row, lane in enumerate(lanes):
        y = _ROW * row
        words = f"{lane.name}: {seconds(lane.busy)}, {len(lane.spans)} time{'' if len(lane.spans) == 1 else 's'}"
        sheet.label((0.0, y + 8.0), words, SMALL + 0.5, anchor="start")
        for begin, end in united(lane.spans, _NEAR * whole / across.length):
            left, right = across.at(begin / length), across.at(end / length)
            sheet.draw(
                node(
                    "rect",
                    x=left,
                    y=y + 16.0,
                    width=max(right - left, 0.6),
                    height=_BAR,
                    fill=_COLOURS.get(lane.kind, _OTHER),
                    class_="span",
                )
            )
    title = "A run over time"
    return Figure("timeline", title, caption, sheet.finished((), title, caption))
