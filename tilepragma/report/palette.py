"""Colours, line styles and markers of all pictures. They differ in grey print too."""

from __future__ import annotations

import math

from tilepragma.report.svg import Node, Point, Style, node, polygon

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
