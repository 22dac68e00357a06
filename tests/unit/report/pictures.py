"""Pictures of C text, through the real front end and engine."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

from tilepragma.driver import translate
from tilepragma.driver.reports import kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.report.drawing import Figure
from tilepragma.report.iteration_space import IterationSpace, iteration_space
from tilepragma.report.nest_analysis import NestFacts
from tilepragma.report.nest_figures import figures

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "explain"
CASES = sorted(path.stem for path in GOLDEN.glob("*.c"))
TILED = sorted({"gauss_seidel_3d", "jacobi_1d", "lu", "seidel_2d", "smooth"})
"""those whose plan goes through wavefronts of tiles on cores"""
SVG = "{http://www.w3.org/2000/svg}"


def nests(text: str) -> tuple[NestFacts, ...]:
    """The nests of the text's only kernel."""
    (report,) = kernel_reports(translate(TranslateRequest("t.c", text=text.encode(), last="choose_sizes")))
    return report.nests


def space_of(text: str, sizes: Mapping[str, int] | None = None) -> IterationSpace:
    """The iteration space of the text's only nest."""
    (nest,) = nests(text)
    assert nest.analysis is not None
    return iteration_space(nest.analysis, sizes or {}, nest.tiles)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.c").read_text()


def drawn(space: IterationSpace) -> dict[str, Figure]:
    """The pictures by name."""
    labels = [f"S{number}: x < y & z" for number in range(1, len(space.statements) + 1)]
    return {figure.name: figure for figure in figures(space, labels)}


def elements(figure: Figure, class_: str) -> list[ElementTree.Element]:
    """The elements of a picture that have a class."""
    root = ElementTree.fromstring(figure.svg)
    return [element for element in root.iter() if class_ in element.get("class", "").split()]


def numbers(figure: Figure) -> list[float]:
    """Every number in an attribute that places or measures something."""
    results = []
    for element in ElementTree.fromstring(figure.svg).iter():
        for name in (
            "x",
            "y",
            "cx",
            "cy",
            "r",
            "d",
            "width",
            "height",
            "viewBox",
            "stroke-width",
            "transform",
            "font-size",
        ):
            results += [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", element.get(name, ""))]
    return results
