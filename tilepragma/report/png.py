"""Pictures as PNG: matplotlib, imported only here, draws the SVG again."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilepragma.report.geometry import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

#: Dots for a unit of the drawing.
SCALE = 2.5
_POINTS = 72.0
#: Room for the title, in units.
_TITLE = 24.0
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family")
_COMMAND = re.compile(r"([MLQZ])([^MLQZ]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_SHIFT = re.compile(r"translate\(([^)]*)\)")


class MissingMatplotlibError(Exception):
    """matplotlib is missing; the message says how to get it."""


def png(svg: str) -> bytes:
    """The drawing as a PNG with its title above, SCALE dots a unit. The file's description is the
    drawing's. The same drawing gives the same bytes. Raises MissingMatplotlibError.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingMatplotlibError("PNGs need matplotlib: pip install 'tilepragma[report]'") from None
    root = ElementTree.fromstring(svg)
    left, top, width, height = map(float, root.get("viewBox", "0 0 1 1").split())
    title, description = (root.findtext(f"{{*}}{name}", "") for name in ("title", "desc"))
    top, height = top - _TITLE, height + _TITLE
    figure = Figure(figsize=(width / _POINTS, height / _POINTS), dpi=_POINTS * SCALE)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(left, left + width)
    axes.set_ylim(top + height, top)  # y grows downwards
    axes.axis("off")
    axes.text(left + 10.0, top + 0.8 * _TITLE, title.replace("$", r"\$"), fontsize=12.0, weight="bold")
    _draw(axes, root, {}, (0.0, 0.0), [0])
    written = io.BytesIO()
    figure.savefig(written, format="png", metadata={"Software": None, "Title": title, "Description": description})
    return written.getvalue()


def _draw(
    axes: Axes, element: ElementTree.Element, above: Mapping[str, str], shift: tuple[float, float], order: list[int]
) -> None:
    """Draw an element and its children. `above` are inherited attributes, `order` a counter."""
    attributes = {**{name: value for name, value in above.items() if name in _INHERITED}, **element.attrib}
    moved = _SHIFT.match(element.get("transform", ""))
    if moved:
        x, y = map(float, _NUMBER.findall(moved[1]))
        shift = shift[0] + x, shift[1] + y
    order[0] += 1
    tag = element.tag.rpartition("}")[2]
    if tag == "text":
        _draw_text(axes, attributes, element.text or "", shift, order[0])
    elif tag in ("path", "rect", "circle"):
        _draw_shape(axes, tag, attributes, shift, order[0])
    for child in element:
        _draw(axes, child, attributes, shift, order)


def _number(attributes: Mapping[str, str], name: str, usual: float = 0.0) -> float:
    return float(attributes.get(name, usual))


def _draw_text(axes: Axes, attributes: Mapping[str, str], words: str, shift: tuple[float, float], order: int) -> None:
    from matplotlib.patheffects import Normal, Stroke

    anchor = {"middle": "center", "end": "right"}.get(attributes.get("text-anchor", ""), "left")
    drawn = axes.text(
        _number(attributes, "x") + shift[0],
        _number(attributes, "y") + shift[1],
        words.replace("$", r"\$"),
        fontsize=_number(attributes, "font-size", 12.0) * 0.92,  # DejaVu is wider than what browsers take
        color=attributes.get("fill", "black"),
        ha=anchor,
        va="baseline",
        style="italic" if attributes.get("font-style") == "italic" else "normal",
        weight="bold" if attributes.get("font-weight") in ("bold", "600") else "normal",
        zorder=order,
    )
    # Effects turn letters into outlines, so a rim and its text align.
    rim = "stroke" in attributes and attributes["stroke"] != "none"
    width = _number(attributes, "stroke-width", 1.0)
    drawn.set_path_effects([Stroke(linewidth=width, foreground=attributes["stroke"]) if rim else Normal()])


def _draw_shape(axes: Axes, tag: str, attributes: Mapping[str, str], shift: tuple[float, float], order: int) -> None:
    from matplotlib.patches import Circle, PathPatch, Rectangle

    stroke = attributes.get("stroke", "none")
    dashes = tuple(map(float, _NUMBER.findall(attributes.get("stroke-dasharray", ""))))
    width = _number(attributes, "stroke-width", 1.0)
    style: dict[str, Any] = {
        "facecolor": attributes.get("fill", "black"),
        "edgecolor": stroke,
        "linewidth": 0.0 if stroke == "none" else width,
        "linestyle": (0.0, tuple(length / width for length in dashes)) if dashes and width else "solid",
        "alpha": _number(attributes, "opacity", 1.0),
        "joinstyle": "round" if attributes.get("stroke-linejoin") == "round" else "miter",
        "zorder": order,
    }
    if tag == "circle":
        corner = _number(attributes, "cx") + shift[0], _number(attributes, "cy") + shift[1]
        axes.add_patch(Circle(corner, _number(attributes, "r"), **style))
    elif tag == "rect":
        corner = _number(attributes, "x") + shift[0], _number(attributes, "y") + shift[1]
        axes.add_patch(Rectangle(corner, _number(attributes, "width"), _number(attributes, "height"), **style))
    else:
        axes.add_patch(PathPatch(_path(attributes.get("d", ""), shift), **{**style, "capstyle": "butt"}))


def _path(words: str, shift: tuple[float, float]) -> Path:
    from matplotlib.path import Path

    codes: list[int] = []
    points: list[Point] = []
    for command, numbers in _COMMAND.findall(words):
        values = [float(value) for value in _NUMBER.findall(numbers)]
        vertices = [(x + shift[0], y + shift[1]) for x, y in zip(values[::2], values[1::2], strict=True)]
        if command == "Z":
            codes.append(Path.CLOSEPOLY)
            points.append(points[0])
            continue
        points += vertices
        codes += [{"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3}[command]] * len(vertices)
    return Path(points, codes)
