"""Reports as self-contained pages: tables and pictures, no script."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.resources import resource_folder
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.drawing import Figure
from tilepragma.report.facts import KernelFacts
from tilepragma.report.iteration_space import NotDrawableError, iteration_space
from tilepragma.report.landscape import landscape_figure
from tilepragma.report.nest_analysis import CodeRow, NestFacts
from tilepragma.report.nest_figures import figures
from tilepragma.report.size_values import Sizes


def template(name: str, autoescape: bool = True) -> Template:
    """A template by its path. An unknown name in it is an error."""
    environment = Environment(
        loader=FileSystemLoader(resource_folder("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not autoescape,
        autoescape=autoescape,
    )
    return environment.get_template(name)


@dataclass(frozen=True)
class ExplainPage:
    """The report as a page, and its pictures as (file name, SVG)."""

    html: str
    figures: tuple[tuple[str, str], ...]


def explain_page(
    plans: Iterable[KernelPlan], reports: Sequence[KernelFacts], sizes: Sizes, source: str, version: str
) -> ExplainPage:
    """Draw every nest of every kernel. `reports` are those of the plans, in order."""
    kernels = []
    drawn: list[tuple[str, str]] = []
    for plan, facts in zip(plans, reports, strict=True):
        landscape = None if facts.landscape is None else landscape_figure(facts.landscape)
        nests = [(nest, *_pictures(nest, sizes.by_name(plan.kernel))) for nest in facts.nests]
        kernels.append({"facts": facts, "landscape": landscape, "lines": _listing(facts), "nests": nests})
        if landscape is not None:
            drawn.append((f"{facts.name}-{landscape.name}.svg", landscape.svg))
        drawn += [
            (f"{facts.name}-{number}-{figure.name}.svg", figure.svg)
            for number, (_, pictures, _) in enumerate(nests, 1)
            for figure in pictures
        ]
    html = template("report/page.html.j2").render(kernels=kernels, source=source, version=version)
    return ExplainPage(html, tuple(drawn))


def _pictures(nest: NestFacts, sizes: Mapping[str, int]) -> tuple[tuple[Figure, ...], str]:
    """The pictures of a nest at small sizes, or why it has none. `sizes` has engine's names."""
    if nest.analysis is None:
        return (), nest.problem
    try:
        space = iteration_space(nest.analysis, sizes, nest.tiles)
    except NotDrawableError as error:
        return (), f"No picture: {error}."
    return figures(space, [f"{row.label}: {row.text}" for row in nest.code if row.label]), ""


def _listing(facts: KernelFacts) -> list[tuple[int, str, list[CodeRow]]]:
    """The lines of the region, each with the rows of loops and statements that begin there."""
    texts = textwrap.dedent("\n".join(text.expandtabs() for _, text in facts.listing)).splitlines()
    rows = [row for nest in facts.nests for row in nest.code]
    return [
        (number, text, [row for row in rows if row.line == number])
        for (number, _), text in zip(facts.listing, texts, strict=False)
    ]
