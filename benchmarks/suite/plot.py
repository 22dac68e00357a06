"""The suite's picture: how many times faster ours is, a bar for each kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.suite.contenders import GCC
from benchmarks.suite.results import BEST, Ratio, Row, ratio


class PlotError(Exception):
    """No picture can be drawn; the message says why."""


def check() -> None:
    """Raises PlotError where matplotlib is missing, which is better said before an hour of measuring."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PlotError("--plot needs matplotlib: pip install 'tilepragma[report]'") from None


def bars(rows: Sequence[Row], target: str) -> list[tuple[str, Ratio]]:
    """Title and ratio of each bar: on threads against the best of the peers, else against the original."""
    against = BEST if target == "threads" else GCC
    result = ((f"{row.case} {row.type}", ratio(row, target, against)) for row in rows)
    return [(title, each) for title, each in result if each is not None]


def ticks(found: Iterable[Ratio]) -> list[float]:
    """Powers of two that hold all ratios, 1 among them."""
    ends = [(each.least, each.most) for each in found]
    low = math.floor(math.log2(min([1.0, *(least for least, _ in ends)])))
    high = math.ceil(math.log2(max([1.0, *(most for _, most in ends)])))
    return [2.0**power for power in range(low, high + 1)]


def draw(rows: Sequence[Row], targets: Sequence[str], path: Path) -> None:
    """Write the picture, in the format that the name's ending says. Raises PlotError."""
    check()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FormatStrFormatter, NullLocator

    drawn = [(target, bars(rows, target)) for target in targets]
    drawn = [(target, each) for target, each in drawn if each]
    if not drawn:
        raise PlotError("there is no ratio to draw")
    most = max(len(each) for _, each in drawn)
    figure, axes = pyplot.subplots(1, len(drawn), figsize=(6 * len(drawn), 1.5 + 0.22 * most), squeeze=False)
    for axis, (target, each) in zip(axes[0], drawn, strict=True):
        values = [found.value for _, found in each]
        spread = (
            [max(0.0, found.value - found.least) for _, found in each],
            [max(0.0, found.most - found.value) for _, found in each],
        )
        colors = ["tab:blue" if value >= 1 else "tab:orange" for value in values]
        widths = [value - 1 for value in values]
        axis.barh(range(len(each)), widths, left=1.0, xerr=spread, color=colors, error_kw={"elinewidth": 0.8})
        axis.set_yticks(range(len(each)), [title for title, _ in each], fontsize=7)
        axis.set_ylim(len(each) - 0.4, -0.6)
        axis.set_xscale("log")
        axis.set_xticks(ticks(found for _, found in each))
        axis.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.set_title(f"{target}: times faster than {each[0][1].against}", fontsize=9)
    figure.tight_layout()
    try:
        figure.savefig(path)
    except ValueError as error:
        raise PlotError(str(error)) from None
    finally:
        pyplot.close(figure)
