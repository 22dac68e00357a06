"""Pictures as PNG: what report/svg.py writes, drawn anew by matplotlib, which is asked for only here."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilepragma.report.svg import Point

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
    """There is no matplotlib; the message says how to get it."""


def png(svg: str) -> bytes:
    """The drawing as a PNG with its title above, SCALE dots for each of its units; its words for
    those who cannot see it are the file's description. The same drawing gives the same bytes.
    Raises MissingMatplotlibError.
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
    """An element and all in it; `above` are attributes of what it is in, `order` counts what was drawn."""
    found = {**{name: value for name, value in above.items() if name in _INHERITED}, **element.attrib}
    moved = _SHIFT.match(element.get("transform", ""))
    if moved:
        x, y = map(float, _NUMBER.findall(moved[1]))
        shift = shift[0] + x, shift[1] + y
    order[0] += 1
    tag = element.tag.rpartition("}")[2]
    if tag == "text":
        _draw_text(axes, found, element.text or "", shift, order[0])
    elif tag in ("path", "rect", "circle"):
        _draw_shape(axes, tag, found, shift, order[0])
    for child in element:
        _draw(axes, child, found, shift, order)


def _number(found: Mapping[str, str], name: str, usual: float = 0.0) -> float:
    return float(found.get(name, usual))


def _colour(found: Mapping[str, str], name: str, usual: str) -> str:
    return found.get(name, usual)


def _draw_text(axes: Axes, found: Mapping[str, str], words: str, shift: tuple[float, float], order: int) -> None:
    from matplotlib.patheffects import Normal, Stroke

    anchor = {"middle": "center", "end": "right"}.get(found.get("text-anchor", ""), "left")
    drawn = axes.text(
        _number(found, "x") + shift[0],
        _number(found, "y") + shift[1],
        words.replace("$", r"\$"),
        fontsize=_number(found, "font-size", 12.0) * 0.92,  # DejaVu is wider than what browsers take
        color=_colour(found, "fill", "black"),
        ha=anchor,
        va="baseline",
        style="italic" if found.get("font-style") == "italic" else "normal",
        weight="bold" if found.get("font-weight") in ("bold", "600") else "normal",
        zorder=order,
    )
    # Effects make outlines of letters: a rim and the text above it are then laid out alike.
    rim = "stroke" in found and found["stroke"] != "none"
    width = _number(found, "stroke-width", 1.0)
    drawn.set_path_effects([Stroke(linewidth=width, foreground=found["stroke"]) if rim else Normal()])


def _draw_shape(axes: Axes, tag: str, found: Mapping[str, str], shift: tuple[float, float], order: int) -> None:
    from matplotlib.patches import Circle, PathPatch, Rectangle

    stroke = _colour(found, "stroke", "none")
    dashes = tuple(map(float, _NUMBER.findall(found.get("stroke-dasharray", ""))))
    width = _number(found, "stroke-width", 1.0)
    style: dict[str, Any] = {
        "facecolor": _colour(found, "fill", "black"),
        "edgecolor": stroke,
        "linewidth": 0.0 if stroke == "none" else width,
        "linestyle": (0.0, tuple(length / width for length in dashes)) if dashes and width else "solid",
        "alpha": _number(found, "opacity", 1.0),
        "joinstyle": "round" if found.get("stroke-linejoin") == "round" else "miter",
        "zorder": order,
    }
    if tag == "circle":
        at = _number(found, "cx") + shift[0], _number(found, "cy") + shift[1]
        axes.add_patch(Circle(at, _number(found, "r"), **style))
    elif tag == "rect":
        at = _number(found, "x") + shift[0], _number(found, "y") + shift[1]
        axes.add_patch(Rectangle(at, _number(found, "width"), _number(found, "height"), **style))
    else:
        axes.add_patch(PathPatch(_path(found.get("d", ""), shift), **{**style, "capstyle": "butt"}))


def _path(words: str, shift: tuple[float, float]) -> Path:
    from matplotlib.path import Path

    codes: list[int] = []
    points: list[Point] = []
    for command, numbers in _COMMAND.findall(words):
        values = [float(value) for value in _NUMBER.findall(numbers)]
        own = [(x + shift[0], y + shift[1]) for x, y in zip(values[::2], values[1::2], strict=True)]
        if command == "Z":
            codes.append(Path.CLOSEPOLY)
            points.append(points[0])
            continue
        points += own
        codes += [{"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3}[command]] * len(own)
    return Path(points, codes)
