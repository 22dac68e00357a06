"""The report of `explain`: all kernels as a page, and the page's pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.facts import KernelFacts
from tilepragma.report.page import kernel_page, nest_pictures, report_page
from tilepragma.report.size_values import Sizes


@dataclass(frozen=True)
class ExplainPage:
    """The report as a page, and its pictures as (file name, SVG)."""

    html: str
    figures: tuple[tuple[str, str], ...]


def explain_page(
    plans: Iterable[KernelPlan], reports: Sequence[KernelFacts], sizes: Sizes, source: str, version: str
) -> ExplainPage:
    """Draw every nest of every kernel. `reports` are those of the plans, in order."""
    pages = []
    drawn = []
    for plan, facts in zip(plans, reports, strict=True):
        named = sizes.by_name(plan.kernel)
        pictures = [nest_pictures(nest, named) for nest in facts.nests]
        page = kernel_page(facts, pictures)
        pages.append(page)
        if page.landscape is not None:
            drawn.append((f"{facts.name}-{page.landscape.name}.svg", page.landscape.svg))
        drawn += [
            (f"{facts.name}-{number}-{figure.name}.svg", figure.svg)
            for number, nest in enumerate(pictures, 1)
            for figure in nest.figures
        ]
    return ExplainPage(report_page(pages, source, version), tuple(drawn))
