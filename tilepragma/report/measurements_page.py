"""What was measured of kernels as one self-contained page: pictures and tables, no script, nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.page_template import page_template
from tilepragma.report.scene import Figure


@dataclass(frozen=True)
class WayRow:
    """A way to choose a version: the mean, least and most of its performance over all inputs, and
    how many times as much as the best version on average it reaches in the mean and in the worst
    case; all as texts.
    """

    name: str
    mean: str
    least: str
    most: str
    speedup: str
    worst_speedup: str


@dataclass(frozen=True)
class InputRow:
    """An input: the times of its fastest version and of the default, the share of the best that this and the rules reach; all as texts."""

    input: str
    version: str
    seconds: str
    default_seconds: str
    default_share: str
    rules_share: str


@dataclass(frozen=True)
class VersionRow:
    """A version that ran at every input: the shares of the best that it reaches in the mean and at its worst input, and where it was the fastest."""

    name: str
    mean: str
    least: str
    wins: int


@dataclass(frozen=True)
class KernelSection:
    """A kernel on a target. `unit` is what performance counts, `facts` says where it was measured,
    `rules` has what the translator takes, `missing` sentences on pictures that there are none of,
    with what to do for them.
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
    """The whole page. `figures` are those of all kernels together, `missing` sentences on what
    there is none of, `runs` pictures of runs over time; `note` is the user's, `made` says of what
    the page was made.
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
        """Every picture with the name of a file for it, without its ending. Names of kernels may come from another machine's measurements."""
        own = [
            (re.sub(r"[^\w-]", "_", f"{part.name}-{part.target}-{figure.name}"), figure)
            for part in self.sections
            for figure in part.figures
        ]
        return [*_numbered([(one.name, one) for one in (*self.figures, *self.runs)]), *_numbered(own)]


def _numbered(named: Sequence[tuple[str, Figure]]) -> list[tuple[str, Figure]]:
    """The same, a number behind names that come again."""
    found: list[tuple[str, Figure]] = []
    for name, figure in named:
        count = sum(other.rpartition("_")[0] == name or other == name for other, _ in found)
        found.append((f"{name}_{count + 1}" if count else name, figure))
    return found
