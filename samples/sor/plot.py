"""Draws what sor wrote: the residual against time and sweeps for each method, and the solution.
Needs matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Course:
    """How one method came to the solution: the residual, as a share of the first, after so many
    sweeps and seconds.
    """

    method: str
    sweeps: tuple[int, ...]
    seconds: tuple[float, ...]
    residual: tuple[float, ...]


def read_history(path: Path) -> list[Course]:
    """The methods in a file that `sor -o` wrote, in its order. Raises KeyError or ValueError where
    it is none.
    """
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    courses = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        courses.append(
            Course(
                method,
                tuple(int(row["sweeps"]) for row in own),
                tuple(float(row["seconds"]) for row in own),
                tuple(float(row["residual"]) for row in own),
            )
        )
    return courses


def draw_residual(courses: list[Course], original: list[Course], path: Path) -> None:
    """The residual against time, and against sweeps; the original is dashed, and drawn once, since
    its methods are one.
    """
    from matplotlib import pyplot

    figure, (by_time, by_sweeps) = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for course in original[:1]:
        by_time.semilogy(course.seconds, course.residual, "--", color="0.5", label="plain C, one core")
    for course in courses:
        by_time.semilogy(course.seconds, course.residual, label=course.method)
        by_sweeps.semilogy(course.sweeps, course.residual, label=course.method)
    by_time.set(xlabel="time in seconds", ylabel="largest residual / largest |f|")
    by_sweeps.set(xlabel="sweeps")
    for axes in (by_time, by_sweeps):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def draw_solution(values: Path, path: Path) -> None:
    """The solution on the unit square, from the table of numbers that `sor -u` wrote."""
    import numpy
    from matplotlib import pyplot

    mesh = numpy.loadtxt(values, delimiter=",", ndmin=2)
    figure, axes = pyplot.subplots(figsize=(4.6, 3.8), layout="constrained")
    most = float(numpy.abs(mesh).max())
    ticks = numpy.linspace(0, 1, mesh.shape[0])
    bands = axes.contourf(ticks, ticks, mesh, levels=numpy.linspace(-most, most, 28), cmap="RdBu_r")
    axes.set(xlabel="x", ylabel="y", aspect="equal")
    figure.colorbar(bands, label="u", format="%.2f")
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def main() -> int:
    """Draw what the command line names; 0, or 2 where that cannot be."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--history", type=Path, metavar="CSV", help="of sor -o: draws residual.png")
    options.add_argument("--original", type=Path, metavar="CSV", help="the same of the plain program, to compare with")
    options.add_argument("--solution", type=Path, metavar="CSV", help="of sor -u: draws solution.png")
    options.add_argument("--to", type=Path, default=Path(), metavar="FOLDER", help="where the pictures go")
    given = options.parse_args()
    if given.history is None and given.solution is None:
        options.error("nothing to draw: give --history or --solution")
    try:
        import matplotlib
    except ImportError:
        print("plot.py needs matplotlib: pip install 'tilepragma[report]'", file=sys.stderr)
        return 2
    matplotlib.use("Agg")
    try:
        if given.history is not None:
            original = read_history(given.original) if given.original is not None else []
            draw_residual(read_history(given.history), original, given.to / "residual.png")
        if given.solution is not None:
            draw_solution(given.solution, given.to / "solution.png")
    except (OSError, KeyError, ValueError) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
