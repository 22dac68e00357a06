"""A small SVG writer: plain attributes that all viewers and LaTeX tools understand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from tilepragma.base.frozen_values import dataclass

Point = tuple[float, float]
Style = dict[str, str | float]

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


@dataclass(frozen=True)
class Node:
    """`<tag attributes>children</tag>`. Text children are escaped when written."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[Node | str, ...] = ()

    def written(self) -> str:
        """The node as XML."""
        head = self.tag + "".join(f' {name}="{escape(value)}"' for name, value in self.attributes)
        if not self.children:
            return f"<{head}/>"
        inside = "".join(child.written() if isinstance(child, Node) else escape(child) for child in self.children)
        return f"<{head}>{inside}</{self.tag}>"


def number(value: float) -> str:
    """At most two decimals. Raises ValueError for numbers that are not finite."""
    if not math.isfinite(value):
        raise ValueError(f"{value} in a picture")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def node(tag: str, *children: Node | str, **attributes: str | float) -> Node:
    """A node. Attributes are named as in SVG, with `_` for `-` (`class_` for `class`)."""
    named = tuple(
        (name.rstrip("_").replace("_", "-"), value if isinstance(value, str) else number(value))
        for name, value in attributes.items()
    )
    return Node(tag, named, children)


def group(children: Iterable[Node], **attributes: str | float) -> Node:
    """A `g`."""
    return node("g", *children, **attributes)


def line(points: Sequence[Point], closed: bool = False) -> str:
    """The `d` of a polyline or polygon."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + ("Z" if closed else "")


def path(points: Sequence[Point], **attributes: str | float) -> Node:
    """A polyline."""
    return node("path", d=line(points), **attributes)


def polygon(points: Sequence[Point], **attributes: str | float) -> Node:
    """A closed line."""
    return node("path", d=line(points, closed=True), **attributes)


def curve(start: Point, control: Point, end: Point, **attributes: str | float) -> Node:
    """A quadratic Bézier curve."""
    (a, b), (c, d), (e, f) = start, control, end
    text = f"M{number(a)} {number(b)}Q{number(c)} {number(d)} {number(e)} {number(f)}"
    return node("path", d=text, fill="none", **attributes)


def text(place: Point, words: str, size: float, **attributes: str | float) -> Node:
    """One line of text."""
    # Some viewers' fonts have no ellipsis.
    return node("text", words.replace("…", "..."), x=place[0], y=place[1], font_size=size, **attributes)


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


def document(children: Iterable[Node], box: Box, title: str, description: str) -> str:
    """A whole drawing of the area `box`, with a title and description for screen readers."""
    width, height = box.right - box.left, box.bottom - box.top
    root = node(
        "svg",
        node("title", title),
        node("desc", description),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=" ".join(number(value) for value in (box.left, box.top, width, height)),
        width=width,
        height=height,
        role="img",
        font_family=FONT,
    )
    return root.written() + "\n"
