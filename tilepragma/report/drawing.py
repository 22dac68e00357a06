"""Pictures as SVG: nodes that all viewers understand, colours, and the sheet to draw on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from html import escape

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.geometry import Point, Projection, Vector

Style = dict[str, str | float]
#: A written element.
Node = str

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def number(value: float) -> str:
    """At most two decimals. Raises ValueError for numbers that are not finite."""
    if not math.isfinite(value):
        raise ValueError(f"{value} in a picture")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def node(tag: str, *children: Node, **attributes: str | float) -> Node:
    """A node. Attributes are named as in SVG, with `_` for `-` (`class_` for `class`)."""
    texts = {name: value if isinstance(value, str) else number(value) for name, value in attributes.items()}
    named = (f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in texts.items())
    head = tag + "".join(named)
    return f"<{head}>{''.join(children)}</{tag}>" if children else f"<{head}/>"


def line(points: Sequence[Point], closed: bool = False) -> str:
    """The `d` of a polyline or polygon."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + ("Z" if closed else "")


def path(points: Sequence[Point], **attributes: str | float) -> Node:
    """A polyline."""
    return node("path", d=line(points), **attributes)


def polygon(points: Sequence[Point], **attributes: str | float) -> Node:
    """A closed line."""
    return node("path", d=line(points, closed=True), **attributes)


def text(place: Point, words: str, size: float, **attributes: str | float) -> Node:
    """One line of text."""
    # Some viewers' fonts have no ellipsis.
    return node("text", escape(words.replace("…", "...")), x=place[0], y=place[1], font_size=size, **attributes)


def text_width(words: str, size: float) -> float:
    """The approximate width of a line of text."""
    narrow = sum(letter in "iljtfI.,:;'|()[] " for letter in words)
    return size * (0.56 * (len(words) - narrow) + 0.31 * narrow)


@dataclass(frozen=True)
class Box:
    """A rectangle with sides along the axes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, box: Box) -> float:
        """The area that both cover."""
        wide = min(self.right, box.right) - max(self.left, box.left)
        high = min(self.bottom, box.bottom) - max(self.top, box.top)
        return max(0.0, wide) * max(0.0, high)

    def grown(self, margin: float) -> Box:
        """Larger by `margin` on every side."""
        return Box(self.left - margin, self.top - margin, self.right + margin, self.bottom + margin)


def around(points: Iterable[Point]) -> Box:
    """The smallest box with all points."""
    xs, ys = zip(*points, strict=True)
    return Box(min(xs), min(ys), max(xs), max(ys))


def rectangle(box: Box, **style: str | float) -> Node:
    """A box as a node."""
    return node("rect", x=box.left, y=box.top, width=box.right - box.left, height=box.bottom - box.top, **style)


def document(children: Iterable[Node], box: Box, title: str, description: str) -> str:
    """A whole drawing of the area `box`, with a title and description for screen readers."""
    width, height = box.right - box.left, box.bottom - box.top
    area = " ".join(map(number, (box.left, box.top, width, height)))
    style: Style = {"viewBox": area, "width": width, "height": height, "role": "img", "font_family": FONT}
    words = node("title", escape(title)), node("desc", escape(description))
    return node("svg", *words, *children, xmlns="http://www.w3.org/2000/svg", **style) + "\n"


# -- palette


INK = "#1f2328"
FAINT = "#8a9099"
PAPER = "#ffffff"

LINE = 1.3
"""width of all lines that mean something, in user units"""
HAIRLINE = 0.7
TEXT = 12.0
SMALL = 10.0

#: From early to late; lightness falls throughout.
_STOPS = ((253, 244, 200), (200, 230, 180), (140, 207, 190), (92, 178, 206), (96, 143, 201), (134, 112, 184))

#: Kind of dependence: colour and dashes (Okabe and Ito's blue, vermilion and green, darkened for
#: thin lines).
KINDS: dict[str, tuple[str, str]] = {
    "flow": ("#0060a8", ""),
    "anti": ("#c04a00", "5 3"),
    "output": ("#00795a", "1.5 2.5"),
    "input": (FAINT, "1 3"),
}

#: The dashes of a dependence that may be absent; its arrowhead is hollow.
PERHAPS: dict[str, str] = {"flow": "9 4", "anti": "9 3 3 3", "output": "9 3 1.5 3", "input": "9 3 1 3 1 3"}


def time_colour(place: int, count: int) -> str:
    """The colour of wavefront `place` of `count`."""
    position = 0.0 if count < 2 else place / (count - 1) * (len(_STOPS) - 1)
    first = min(int(position), len(_STOPS) - 2)
    part = position - first
    mixed = [round(a + (b - a) * part) for a, b in zip(_STOPS[first], _STOPS[first + 1], strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def shaded(colour: str, factor: float) -> str:
    """The colour darker (below 1) or mixed with white (above 1)."""
    white = max(0.0, min(1.0, factor - 1))
    values = (int(colour[place : place + 2], 16) * min(1.0, factor) for place in (1, 3, 5))
    return "#" + "".join(f"{round(value + (255 - value) * white):02x}" for value in values)


def marker(shape: int, centre: Point, radius: float, fill: str, line: str = INK, name: str = "instance") -> Node:
    """The marker of statement `shape` (from 0): disc, square, triangle, diamond, hexagon, disc …"""
    style: Style = {"class_": name, "fill": fill, "stroke": line, "stroke_width": 1.0}
    x, y = centre
    sides = (0, 4, 3, 4, 6)[shape % 5]
    if sides == 0:
        return node("circle", cx=x, cy=y, r=radius, **style)
    turn = {1: math.pi / 4, 2: -math.pi / 2, 3: 0.0, 4: 0.0}[shape % 5]
    wide = radius * {1: 1.22, 2: 1.3, 3: 1.3, 4: 1.1}[shape % 5]
    corners = [
        (x + wide * math.cos(turn + 2 * math.pi * k / sides), y + wide * math.sin(turn + 2 * math.pi * k / sides))
        for k in range(sides)
    ]
    return polygon(corners, stroke_linejoin="round", **style)


# -- sheet


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
        legend, box = _legend(entries, around(self.reach).grown(_MARGIN))
        return document([rectangle(box, fill=PAPER), *self.nodes, *legend], box, title, description)


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
    return node("g", path([start, neck], **stroke.shaft), _head(end, ahead, stroke, head), fill="none")


def bent_arrow(start: Point, end: Point, bend: float, stroke: Stroke) -> Node:
    """An arrow that leaves the straight line by `bend`, to the left of its direction."""
    size = math.hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    across = ((end[1] - start[1]) / size, -(end[0] - start[0]) / size)
    control = ((start[0] + end[0]) / 2 + 2 * bend * across[0], (start[1] + end[1]) / 2 + 2 * bend * across[1])
    last = math.hypot(end[0] - control[0], end[1] - control[1]) or 1.0
    ahead = ((end[0] - control[0]) / last, (end[1] - control[1]) / last)
    neck = (end[0] - 0.8 * _HEAD * ahead[0], end[1] - 0.8 * _HEAD * ahead[1])
    (a, b), (c, d), (e, f) = start, control, neck
    bezier = f"M{number(a)} {number(b)}Q{number(c)} {number(d)} {number(e)} {number(f)}"
    shaft = node("path", d=bezier, fill="none", **stroke.shaft)
    return node("g", shaft, _head(end, ahead, stroke, _HEAD), fill="none")


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
        nodes.append(node("g", *entry.sample, transform=f"translate({x:.2f} {y:.2f})"))
        # The words end before the next entry, whatever the viewer's font.
        fitted: Style = {"textLength": text_width(entry.words, TEXT - 1), "lengthAdjust": "spacingAndGlyphs"}
        nodes.append(text((x + entry.width + 6, y + 4), entry.words, TEXT - 1, fill=INK, **fitted))
        x += wide + 18.0
    return nodes, Box(box.left, box.top, right, y + 14.0 if entries else box.bottom)


@dataclass(frozen=True)
class Figure:
    """`name` is for file names, `svg` is the whole document."""

    name: str
    title: str
    caption: str
    svg: str
