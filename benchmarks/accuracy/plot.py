"""The pictures of the thesis's section 5.5 (Figures 5.4 to 5.6): layouts in the order of their measured times, and what was predicted of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.accuracy.results import Judged

COLUMNS = 4


def draw(judged: Sequence[Judged], path: Path) -> None:
    """Write a picture with a part for each problem and size, in the format that the name's ending says. Raises ValueError for one that is none."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = math.ceil(len(judged) / COLUMNS)
    figure, axes = pyplot.subplots(rows, COLUMNS, figsize=(4.2 * COLUMNS, 2.7 * rows), squeeze=False)
    for axis in axes.flat[len(judged) :]:
        axis.axis("off")
    for axis, each in zip(axes.flat, judged, strict=False):
        times = each.measured.times
        order = np.argsort(times)
        places = np.arange(len(times))
        axis.plot(places, 1e3 * each.estimate[order], ".", color="tab:orange", markersize=2.5, label="estimated")
        axis.plot(places, 1e3 * each.fitted[order], ".", color="tab:blue", markersize=2.5, label="fitted")
        axis.plot(places, 1e3 * times[order], color="black", linewidth=1.2, label="measured")
        axis.set_yscale("log")
        axis.set_title(each.measured.title + (" (held out)" if each.measured.held_out else ""), fontsize=8)
        axis.tick_params(labelsize=7)
    for axis in axes[:, 0]:
        axis.set_ylabel("ms", fontsize=8)
    axes[0][0].legend(fontsize=7, loc="upper left")
    figure.supxlabel("layouts, in the order of their measured times", fontsize=9)
    figure.tight_layout()
    try:
        figure.savefig(path, dpi=80)
    finally:
        pyplot.close(figure)
