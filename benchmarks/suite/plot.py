"""The suite's picture: how many times faster ours is, a bar for each kernel."""

from __future__ import annotations

from collections.abc import Sequence
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
    found = ((f"{row.case} {row.type}", ratio(row, target, against)) for row in rows)
    return [(title, each) for title, each in found if each is not None]


def draw(rows: Sequence[Row], targets: Sequence[str], path: Path) -> None:
    """Write the picture, in the format that the name's ending says. Raises PlotError."""
    check()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import ScalarFormatter

    drawn = [(target, bars(rows, target)) for target in targets]
    drawn = [(target, each) for target, each in drawn if each]
    if not drawn:
        raise PlotError("there is no ratio to draw")
    most = max(len(each) for _, each in drawn)
    figure, axes = pyplot.subplots(1, len(drawn), figsize=(6 * len(drawn), 1.5 + 0.22 * most), squeeze=False)
    for axis, (target, each) in zip(axes[0], drawn, strict=True):
        values = [found.value for _, found in each]
        spread = [[v - found.least for v, (_, found) in zip(values, each, strict=True)]]
        spread.append([found.most - v for v, (_, found) in zip(values, each, strict=True)])
        colors = ["tab:blue" if value >= 1 else "tab:orange" for value in values]
        spread = [[max(0.0, value) for value in side] for side in spread]
        axis.barh(range(len(each)), values, xerr=spread, color=colors, error_kw={"elinewidth": 0.8})
        axis.set_yticks(range(len(each)), [title for title, _ in each], fontsize=7)
        axis.set_ylim(len(each) - 0.4, -0.6)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(ScalarFormatter())
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.set_title(f"{target}: times faster than {each[0][1].against}", fontsize=9)
    figure.tight_layout()
    try:
        figure.savefig(path)
    except ValueError as error:
        raise PlotError(str(error)) from None
    finally:
        pyplot.close(figure)
