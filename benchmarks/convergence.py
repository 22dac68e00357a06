"""Sweeps to a tolerance by method, as in Table 6.2 of the thesis: natural order, red-black, and
MLSOR in subdomains of several sizes.

    python -m benchmarks.convergence [--points N] [--kernels] [--markdown FILE]

What sweeps are is the sequential reference's to say (tests/references/sor.h), which
`sor(wavefront)`, `sor(redblack)` and `sor(multilayer)` agree with to the last bit; nothing is
timed. `--kernels` runs these on this machine's threads in the place of the references, for meshes
on which those take hours: the error is then looked at every 64 sweeps, and nothing goes forward
alone, for which there are no kernels. The thesis does not give its inputs. Those here are N x N
inner points of the unit square and

    Laplace    no source; u = sin(pi x) on one side, 0 on the others; u = 0 inside at first
    Poisson    a source such that u = sin(pi x) sin(pi y); 0 on the border; u = 0 at first
    rough      the same, u uniformly random in [0, 1) at first

until the root mean square of the error has fallen to a share of what it is for u = 0.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import COMPILER, ROOT, TILECC, markdown, output_of, show

SOURCE = ROOT / "tests" / "references" / "sor_convergence.c"
KERNELS = ROOT / "benchmarks" / "convergence_kernels.c"
SUBDOMAINS = ((2, 4), (4, 8), (8, 16), (16, 32))
"""(K, P) of Table 6.2"""
POINTS = 512


@dataclass(frozen=True)
class Input:
    """`guess` is sor_convergence's word for it; the error falls to `share` of `error`, the root mean square of the solution."""

    name: str
    guess: str
    omega: float
    share: float
    error: float

    @property
    def heading(self) -> str:
        """Of the input's column."""
        return f"{self.name}, w = {self.omega:g}, to {self.share:g}"


INPUTS = (
    Input("Laplace", "laplace", 1.4, 0.5, math.sqrt(1 / (4 * math.pi))),
    Input("Poisson", "zero", 1.4, 0.95, 0.5),
    Input("rough", "random", 1.2, 0.35, 0.5),
    Input("Poisson", "zero", 1.9, 0.7, 0.5),
)


def methods(kernels: bool) -> Iterator[str]:
    """sor_convergence's words for all of them, or for those that have `kernels`."""
    yield from ("sor", "redblack")
    for layers, side in SUBDOMAINS:
        yield f"mlsor:{layers}:{side}"
        if not kernels:
            yield f"forward:{layers}:{side}"


def built(folder: Path, kernels: bool) -> Path:
    """sor_convergence, with the translator's kernels or without."""
    program = folder / "sor_convergence"
    compiler = (*TILECC, "--tilek-target=threads", "-march=native") if kernels else tuple(shlex.split(COMPILER))
    source = KERNELS if kernels else SOURCE
    output_of((*compiler, "-std=c99", "-O3", "-o", str(program), str(source), "-lm"), folder)
    return program


def sweeps(program: Path, points: int, problem: Input, kernels: bool) -> dict[str, float]:
    """After how many sweeps each method's error passes the tolerance. These are fractions, since the
    error of MLSOR is known every K sweeps only.
    """
    words = (str(points), str(problem.omega), str(problem.share * problem.error), problem.guess)
    lines = output_of((str(program), "solve", *words, *methods(kernels)), program.parent).splitlines()
    return {name: float(passed) for name, _, passed, _ in map(str.split, lines)}


def rows(columns: Sequence[Mapping[str, float]]) -> list[list[str]]:
    """The table; in brackets, the sweeps of MLSOR with all its sweeps forward."""
    names = {"sor": "natural order", "redblack": "red-black"}
    table = [[name, *(f"{counts[word]:.0f}" for counts in columns)] for word, name in names.items()]
    for layers, side in SUBDOMAINS:
        words = (f"mlsor:{layers}:{side}", f"forward:{layers}:{side}")
        cells = (" ".join(_cells([counts[word] for word in words if word in counts])) for counts in columns)
        table.append([f"MLSOR {layers} x {side} x {side}", *cells])
    return table


def _cells(counts: Sequence[float]) -> Iterator[str]:
    """Sweeps, those that all go forward in brackets."""
    for place, count in enumerate(counts):
        yield f"({count:.0f})" if place else f"{count:.0f}"


def out_of_order(counts: Mapping[str, float]) -> list[str]:
    """What is not as in Table 6.2: fewer sweeps for larger subdomains, more where all sweeps go
    forward, and for the largest at most 12 % more than SOR's.
    """
    shapes = [f"{layers}:{side}" for layers, side in SUBDOMAINS]
    alternating = [counts[f"mlsor:{shape}"] for shape in shapes]
    forward = [counts.get(f"forward:{shape}") for shape in shapes]
    wrong = []
    if any(smaller <= larger for smaller, larger in zip(alternating, alternating[1:], strict=False)):
        wrong.append("larger subdomains do not always need fewer sweeps")
    if any(more is not None and fewer >= more for fewer, more in zip(alternating, forward, strict=True)):
        wrong.append("going forward alone is not always slower")
    if alternating[-1] > 1.12 * counts["sor"]:
        wrong.append(f"the largest subdomains need {alternating[-1] / counts['sor']:.2f} of SOR's sweeps")
    return wrong


def main() -> int:
    """Print the table, and for each input whether the thesis's order holds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--points", type=int, default=POINTS, metavar="N", help=f"inner points a side, {POINTS} unless said"
    )
    options.add_argument("--kernels", action="store_true", help="run the translated kernels, on threads")
    options.add_argument("--markdown", type=Path, metavar="FILE", help="where the table goes, too")
    given = options.parse_args()
    if given.points < SUBDOMAINS[-1][1]:
        options.error(f"--points is at least {SUBDOMAINS[-1][1]}, the side of the largest subdomain")
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder), given.kernels)
        columns = [sweeps(program, given.points, problem, given.kernels) for problem in INPUTS]
    head, table = ["method", *(problem.heading for problem in INPUTS)], rows(columns)
    show(f"sweeps until the error is that share of the first, {given.points} x {given.points} points", head, table)
    for problem, counts in zip(INPUTS, columns, strict=True):
        print(f"{problem.heading}: {'; '.join(out_of_order(counts)) or 'the order of Table 6.2'}")
    if given.markdown is not None:
        given.markdown.write_text(markdown(head, table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
