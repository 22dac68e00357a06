"""The report as one self-contained page: tables and pictures, no script."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.facts import CodeRow, KernelFacts, NestFacts
from tilepragma.report.figures import figures
from tilepragma.report.landscape_figure import landscape_figure
from tilepragma.report.page_template import page_template
from tilepragma.report.scene import Figure


@dataclass(frozen=True)
class NestPictures:
    """The pictures of a nest, or why it has none."""

    figures: tuple[Figure, ...]
    reason: str


@dataclass(frozen=True)
class ListedLine:
    """A line of the source with the facts of loops and statements that begin there."""

    number: int
    text: str
    rows: tuple[CodeRow, ...]


@dataclass(frozen=True)
class KernelPage:
    """A kernel with the pictures of each nest; `landscape` shows predicted times."""

    facts: KernelFacts
    landscape: Figure | None
    lines: tuple[ListedLine, ...]
    nests: tuple[tuple[NestFacts, NestPictures], ...]


def nest_pictures(nest: NestFacts, sizes: Mapping[str, int]) -> NestPictures:
    """Draw a nest at small sizes. `sizes` are the user's, by the engine's names."""
    from tilepragma.report.iteration_space import NotDrawableError, iteration_space

    if nest.analysis is None:
        return NestPictures((), nest.problem)
    try:
        space = iteration_space(nest.analysis, sizes, nest.tiles)
    except NotDrawableError as error:
        return NestPictures((), f"No picture: {error}.")
    return NestPictures(figures(space, [f"{row.label}: {row.text}" for row in nest.code if row.label]), "")


def kernel_page(facts: KernelFacts, pictures: Iterable[NestPictures]) -> KernelPage:
    """A kernel for the page."""
    rows: dict[int, list[CodeRow]] = {}
    for nest in facts.nests:
        for row in nest.code:
            rows.setdefault(row.line, []).append(row)
    texts = textwrap.dedent("\n".join(text.expandtabs() for _, text in facts.listing)).splitlines()
    lines = [
        ListedLine(number, text, tuple(rows.get(number, ())))
        for (number, _), text in zip(facts.listing, texts, strict=False)
    ]
    landscape = None if facts.choice.landscape is None else landscape_figure(facts.choice.landscape)
    return KernelPage(facts, landscape, tuple(lines), tuple(zip(facts.nests, pictures, strict=True)))


def report_page(kernels: Iterable[KernelPage], source: str, version: str) -> str:
    """The whole page as HTML."""
    page = page_template("report/page.html.j2")
    return page.render(kernels=tuple(kernels), source=source, version=version)
