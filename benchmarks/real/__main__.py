"""Builds, runs, compares and times programs of others in plain C: Rodinia's twelve with OpenMP, the
eight of NPB 3.0 in C, and the loops of TSVC.

Each FOLDER is your own copy of the suite; nothing in it is changed. Programs are built with gcc and
OpenMP (-O3 -march=native -fopenmp) as the peer, and by `tilecc --tilek-openmp` unedited with the
same options; Rodinia's also with each loop of OpenMP under `#pragma tilek kernel` in a copy. TSVC's
loops have that line in a copy, and are compared with gcc -O3 bit for bit. Input that a suite lacks
is made, the same each time. All forms of a program run in turn, once to compare and --repeats times
to time. Ratios are the peer's median over ours: over 1 we are faster.

A program that fails to build or run is reported, and the others go on. Exit status 1 where a
result of ours differs or a program of ours fails when it runs, 2 where nothing can be measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.measure import TILECC, BenchmarkError, checked_output, environment, markdown, show
from benchmarks.real import tables, tsvc
from benchmarks.real.measuring import PRAGMA, UNEDITED, Measured, measure
from benchmarks.real.programs import CLASSES, RODINIA, Program, npb
from benchmarks.real.running import Workplace
from benchmarks.suite.builds import cores

TARGETS = ("serial", "threads", "opencl")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.real", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rodinia", type=Path, metavar="FOLDER", help="a copy of Rodinia, with openmp/")
    options.add_argument("--npb", type=Path, metavar="FOLDER", help="a copy of NPB 3.0 in C with OpenMP")
    options.add_argument("--tsvc", type=Path, metavar="FOLDER", help="a copy of TSVC_2, with src/tsvc.c")
    options.add_argument(
        "--classes", nargs="+", choices=CLASSES, default=CLASSES[:1], help="NPB's classes (default: S)"
    )
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these programs (lud, CG.S, TSVC …)")
    options.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS, help="default: all of them")
    options.add_argument("--repeats", type=int, default=5, metavar="N", help="timed rounds (default: 5)")
    options.add_argument("--threads", type=int, default=cores(), metavar="N", help="for everyone (default: all cores)")
    options.add_argument("--markdown", action="store_true", help="print the tables for a page")
    given = options.parse_args()
    if not (given.rodinia or given.npb or given.tsvc):
        options.error("name a folder: --rodinia, --npb or --tsvc")
    for folder, needed in ((given.rodinia, "openmp"), (given.npb, "sys/setparams.c"), (given.tsvc, "src/tsvc.c")):
        if folder is not None and not (folder / needed).exists():
            options.error(f"{folder} has no {needed}")
    return given


def measured(
    place: Workplace, programs: Iterable[Program], forms: Sequence[str], given: argparse.Namespace
) -> list[Measured]:
    result = []
    for program in programs:
        print(program.name, file=sys.stderr, flush=True)
        result += measure(place, program, forms, given.targets, given.repeats)
    return result


def print_table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[str], page: bool
) -> None:
    if page:
        print(f"\n{title}\n\n{markdown(head, rows)}\n", *(f"- {line}\n" for line in lines), sep="", flush=True)
    else:
        show(title, head, rows)
        print(*lines, "", sep="\n", flush=True)


def main() -> int:
    """Print the tables."""
    given = arguments()
    suites = (
        ("Rodinia", given.rodinia, RODINIA, (UNEDITED, PRAGMA)),
        ("NPB", given.npb, tuple(npb(tuple(given.classes))), (UNEDITED,)),
    )
    known = {tsvc.NAME, *(program.name for _, _, programs, _ in suites for program in programs)}
    if set(given.only) - known:
        print(f"no program is called {' or '.join(sorted(set(given.only) - known))}", file=sys.stderr)
        return 2
    wrong = False
    with tempfile.TemporaryDirectory(prefix="tilepragma-real-") as name:
        scratch = Path(name)
        try:
            _build_runtime(scratch)
        except BenchmarkError as error:
            print(error, file=sys.stderr)
            return 2
        for suite, folder, programs, forms in suites:
            chosen = [program for program in programs if not given.only or program.name in given.only]
            if folder is None or not chosen:
                continue
            results = measured(Workplace(folder, scratch / suite, given.threads), chosen, forms, given)
            for form in forms:
                part = [each for each in results if each.form == form]
                rows = [tables.row(each, given.targets) for each in part]
                lines = tables.remarks(part, given.targets)
                print_table(f"{suite}, {form}", tables.head(given.targets), rows, lines, given.markdown)
            wrong |= tables.wrong(results)
        if given.tsvc is not None and (not given.only or tsvc.NAME in given.only):
            print(tsvc.NAME, file=sys.stderr, flush=True)
            targets = [target for target in given.targets if target != "opencl"]
            try:
                loops = tsvc.measure(Workplace(given.tsvc, scratch / tsvc.NAME, given.threads), targets, given.repeats)
            except BenchmarkError as error:
                print(f"{tsvc.NAME}: {error}", file=sys.stderr)
                return 1
            lines = tsvc.remarks(loops, targets)
            rows = [tsvc.row(loop, targets) for loop in loops]
            print_table(f"{tsvc.NAME}, {PRAGMA}", tsvc.head(targets), rows, lines, given.markdown)
            wrong |= tsvc.wrong(loops)
    return 1 if wrong else 0


def _build_runtime(scratch: Path) -> None:
    """What the first use of tilecc compiles is no program's time. Raises BenchmarkError."""
    (scratch / "first.c").write_text(
        "int main(void)\n{\n    int a[9];\n#pragma tilek kernel\n    for (int i = 0; i < 9; i++)\n        a[i] = i;\n    return a[0];\n}\n"
    )
    checked_output((*TILECC, "-w", "-o", "first", "first.c"), environment(), scratch)


if __name__ == "__main__":
    sys.exit(main())
