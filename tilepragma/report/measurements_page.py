"""Measurements of kernels as one self-contained page: pictures and tables, no script."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.page_template import page_template
from tilepragma.report.scene import Figure


@dataclass(frozen=True)
class WayRow:
    """A way to choose a version, as texts. `mean`, `least` and `most` are its performance over all
    inputs; the speedups over the best version on average are the mean and the worst.
    """

    name: str
    mean: str
    least: str
    most: str
    speedup: str
    worst_speedup: str


@dataclass(frozen=True)
class InputRow:
    """An input: times of the fastest version and the default, and shares of the best, as texts."""

    input: str
    version: str
    seconds: str
    default_seconds: str
    default_share: str
    rules_share: str


@dataclass(frozen=True)
class VersionRow:
    """A version that ran at every input: its mean and least share of the best, and its wins."""

    name: str
    mean: str
    least: str
    wins: int


@dataclass(frozen=True)
class KernelSection:
    """A kernel on a target. `unit` is what performance counts, `facts` where it was measured,
    `rules` what the translator takes. `missing` are sentences on pictures that are missing and how
    to get them.
    """

    name: str
    target: str
    source: str
    unit: str
    inputs: int
    facts: tuple[tuple[str, str], ...]
    ways: tuple[WayRow, ...]
    figures: tuple[Figure, ...]
    versions: tuple[VersionRow, ...]
    rows: tuple[InputRow, ...]
    rules: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def title(self) -> str:
        """`sgemm on threads`"""
        return f"{self.name} on {self.target}"


@dataclass(frozen=True)
class MeasurementsPage:
    """The whole page. `figures` cover all kernels together, `runs` are pictures of runs over time.
    `missing` are sentences on what is missing; `note` is the user's; `made` names the page's
    sources.
    """

    title: str
    note: str
    made: str
    sections: tuple[KernelSection, ...]
    figures: tuple[Figure, ...]
    missing: tuple[str, ...]
    runs: tuple[Figure, ...]

    @property
    def html(self) -> str:
        """As HTML."""
        return page_template("report/measurements.html.j2").render(page=self)

    @property
    def pictures(self) -> list[tuple[str, Figure]]:
        """Every picture with a file name, without its ending; kernels' names may be anything."""
        named = [
            (re.sub(r"[^\w-]", "_", f"{part.name}-{part.target}-{figure.name}"), figure)
            for part in self.sections
            for figure in part.figures
        ]
        return [*_numbered([(figure.name, figure) for figure in (*self.figures, *self.runs)]), *_numbered(named)]


def _numbered(named: Sequence[tuple[str, Figure]]) -> list[tuple[str, Figure]]:
    """The same, with a number after repeated names."""
    numbered: list[tuple[str, Figure]] = []
    for name, figure in named:
        count = sum(taken.rpartition("_")[0] == name or taken == name for taken, _ in numbered)
        numbered.append((f"{name}_{count + 1}" if count else name, figure))
    return numbered
