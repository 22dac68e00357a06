"""A sheet to draw a picture on: its projection, its nodes, and its extent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.geometry import Projection, Vector
from tilepragma.report.palette import HAIRLINE, INK, KINDS, LINE, PAPER, PERHAPS, SMALL, TEXT
from tilepragma.report.svg import (
    Box,
    Node,
    Point,
    Style,
    around,
    curve,
    document,
    group,
    line,
    node,
    path,
    polygon,
    text,
    text_width,
)

_MARGIN = 10.0
_HEAD = 6.5


@dataclass(frozen=True)
class LegendEntry:
    """A sample, drawn around (0, 0) and up to `width` wide, and its meaning."""

    sample: tuple[Node, ...]
    words: str
    width: float = 26.0


@dataclass
class Sheet:
    """`scale` is an iteration's length in user units; `nodes` are drawn, `reach` is shown."""

    projection: Projection
    scale: float
    nodes: list[Node] = field(default_factory=list)
    reach: list[Point] = field(default_factory=list)

    def at(self, place: Vector) -> Point:
        """The sheet's point for a point of space."""
        x, y = self.projection((*place, *(0.0,) * (3 - len(place))))
        return self.scale * x, self.scale * y

    def draw(self, drawn: Node, *corners: Point) -> None:
        """Add a node that reaches as far as `corners`."""
        self.nodes.append(drawn)
        self.reach.extend(corners)

    def label(self, spot: Point, words: str, size: float = SMALL, anchor: str = "middle", **style: str | float) -> None:
        """A line of text around its middle height, with a rim of paper that hides lines below."""
        wide = text_width(words, size)
        left = spot[0] - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        base = (spot[0], spot[1] + 0.36 * size)
        style = {"fill": INK, "text_anchor": anchor, **style}
        rim: Style = {**style, "stroke": PAPER, "stroke_width": 3.0, "stroke_linejoin": "round", "aria_hidden": "true"}
        self.nodes.append(text(base, words, size, **rim))
        self.draw(text(base, words, size, **style), (left, spot[1] - size / 2), (left + wide, spot[1] + size / 2))

    def plain_label(self, place: Point, words: str, size: float = SMALL, **style: str | float) -> None:
        """Text in the middle of a shape."""
        style = {"fill": INK, "text_anchor": "middle", **style}
        self.nodes.append(text((place[0], place[1] + 0.36 * size), words, size, **style))

    def axis(self, start: Vector, end: Vector, name: str, ticks: Iterable[tuple[Vector, str]], outwards: Point) -> None:
        """An axis with an arrowhead, a name behind it, and numbers on the side of `outwards`."""
        a, b = self.at(start), self.at(end)
        self.draw(arrow(a, b, Stroke(INK, 1.0), head=7.5), a, b)
        size = math.hypot(b[0] - a[0], b[1] - a[1])
        ahead = ((b[0] - a[0]) / size, (b[1] - a[1]) / size)
        shift = 8.0 + abs(ahead[0]) * text_width(name, TEXT + 2) / 2
        self.label((b[0] + shift * ahead[0], b[1] + shift * ahead[1]), name, TEXT + 2, font_style="italic")
        for place, words in ticks:
            x, y = self.at(place)
            self.draw(path([(x, y), (x + 4 * outwards[0], y + 4 * outwards[1])], stroke=INK, stroke_width=HAIRLINE))
            wide = 10.0 + abs(outwards[0]) * text_width(words, SMALL) / 2
            self.label((x + wide * outwards[0], y + (6 + wide / 2) * outwards[1]), words, SMALL)

    def finished(self, entries: Sequence[LegendEntry], title: str, description: str) -> str:
        """The drawing with its legend below, as an SVG document."""
        box = around(self.reach).grown(_MARGIN)
        legend, box = _legend(entries, box)
        background = node(
            "rect", x=box.left, y=box.top, width=box.right - box.left, height=box.bottom - box.top, fill=PAPER
        )
        return document([background, *self.nodes, *legend], box, title, description)


@dataclass(frozen=True)
class Stroke:
    """The stroke of an arrow's shaft, and whether its head is `hollow`, else filled."""

    colour: str
    width: float = LINE
    dashes: str = ""
    hollow: bool = False

    @property
    def shaft(self) -> Style:
        """The attributes of the shaft."""
        dashed: Style = {"stroke_dasharray": self.dashes} if self.dashes else {}
        return {"stroke": self.colour, "stroke_width": self.width, **dashed}


def kind_stroke(kind: str, certain: bool, width: float = LINE) -> Stroke:
    """The arrows of a kind of dependence; uncertain ones are hollow, in long dashes."""
    colour, dashes = KINDS[kind]
    return Stroke(colour, width, dashes) if certain else Stroke(colour, width, PERHAPS[kind], hollow=True)


def arrow(start: Point, end: Point, stroke: Stroke, head: float = _HEAD) -> Node:
    """A straight arrow."""
    size = math.hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    ahead = ((end[0] - start[0]) / size, (end[1] - start[1]) / size)
    neck = (end[0] - 0.8 * head * ahead[0], end[1] - 0.8 * head * ahead[1])
    shaft = node("path", d=line([start, neck]), **stroke.shaft)
    return group([shaft, _head(end, ahead, stroke, head)], fill="none")


def bent_arrow(start: Point, end: Point, bend: float, stroke: Stroke) -> Node:
    """An arrow that leaves the straight line by `bend`, to the left of its direction."""
    size = math.hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    across = ((end[1] - start[1]) / size, -(end[0] - start[0]) / size)
    control = (
        (start[0] + end[0]) / 2 + 2 * bend * across[0],
        (start[1] + end[1]) / 2 + 2 * bend * across[1],
    )
    last = math.hypot(end[0] - control[0], end[1] - control[1]) or 1.0
    ahead = ((end[0] - control[0]) / last, (end[1] - control[1]) / last)
    neck = (end[0] - 0.8 * _HEAD * ahead[0], end[1] - 0.8 * _HEAD * ahead[1])
    shaft = curve(start, control, neck, **stroke.shaft)
    return group([shaft, _head(end, ahead, stroke, _HEAD)], fill="none")


def _head(tip: Point, ahead: Point, stroke: Stroke, size: float) -> Node:
    x, y = tip[0] - size * ahead[0], tip[1] - size * ahead[1]
    side = (-0.36 * size * ahead[1], 0.36 * size * ahead[0])
    corners = [tip, (x + side[0], y + side[1]), (x - side[0], y - side[1])]
    if stroke.hollow:
        return polygon(corners, fill=PAPER, stroke=stroke.colour, stroke_width=0.8 * stroke.width)
    return polygon(corners, fill=stroke.colour, stroke="none")


def kind_entry(kind: str, certain: bool, words: str) -> LegendEntry:
    """A legend's line for a kind of dependence."""
    return LegendEntry((arrow((0, 0), (32, 0), kind_stroke(kind, certain)),), words, 32.0)


def _legend(entries: Sequence[LegendEntry], box: Box) -> tuple[list[Node], Box]:
    """Entries in rows as wide as the picture, and the box that holds picture and entries."""
    nodes: list[Node] = []
    widest = max([text_width(entry.words, TEXT - 1) + entry.width + 8 for entry in entries], default=0.0)
    right = max(box.right, box.left + 2 * _MARGIN + widest)
    x, y = box.left + _MARGIN, box.bottom + 6.0
    for entry in entries:
        wide = entry.width + 8 + text_width(entry.words, TEXT - 1)
        if x > box.left + _MARGIN and x + wide > right - _MARGIN:
            x, y = box.left + _MARGIN, y + 19.0
        nodes.append(group(entry.sample, transform=f"translate({x:.2f} {y:.2f})"))
        # The words end before the next entry, whatever the viewer's font.
        fitted: Style = {"textLength": text_width(entry.words, TEXT - 1), "lengthAdjust": "spacingAndGlyphs"}
        nodes.append(text((x + entry.width + 6, y + 4), entry.words, TEXT - 1, fill=INK, **fitted))
        x += wide + 18.0
    return nodes, Box(box.left, box.top, right, y + 14.0 if entries else box.bottom)
