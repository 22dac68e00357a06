"""The command: see `python -m benchmarks.accuracy --help`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.accuracy import plot, tables
from benchmarks.accuracy.measuring import measure, processes, terms_of
from benchmarks.accuracy.problems import POLYBENCH_PROBLEMS, PROBLEMS, Problem
from benchmarks.accuracy.results import Judged, Measured, judge
from benchmarks.accuracy.stored import Stored, as_json, stored
from benchmarks.accuracy.subjects import CalibrationTarget, SubjectError, make
from benchmarks.measure import build_support, machine_description
from benchmarks.polybench_programs import PolybenchError
from benchmarks.suite.programs import Sources, read_sources
from tilepragma.model.descriptor_files import calibrated_device
from tilepragma.model.device import Processor

#: The descriptor of what a target runs on.
DESCRIPTORS = {"threads": "threads", "opencl": "opencl-0"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description="Times random layouts of tile sizes of problems, and says how right the model's predictions and choices are.",
    )
    parser.add_argument("folder", nargs="?", type=Path, help="a copy of PolyBench/C, for problems of it")
    parser.add_argument("--only", nargs="+", default=[], metavar="PROGRAM", help="these problems alone")
    parser.add_argument(
        "--layouts", type=int, default=200, help="random layouts of each problem and size (default %(default)s)"
    )
    parser.add_argument("--target", choices=tuple(DESCRIPTORS), default="threads")
    parser.add_argument("--cores", type=int, help="how many threads run (default: all that were calibrated)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="what was measured goes there, after each problem")
    parser.add_argument(
        "--from",
        dest="again",
        type=Path,
        metavar="FILE",
        help="judge what --json wrote by today's model, and measure nothing",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw predicted and measured times (needs matplotlib)"
    )
    return parser.parse_args()


def calibrated(target: str, cores: int | None) -> Processor:
    """Raises SubjectError."""
    result = calibrated_device(DESCRIPTORS[target])
    if not isinstance(result, Processor):
        raise SubjectError(f"{target} is not calibrated here: tilepragma devices --calibrate")
    return result if cores is None else result.with_cores(cores)


def wanted(given: argparse.Namespace) -> list[Problem]:
    every = (*PROBLEMS, *(POLYBENCH_PROBLEMS if given.folder is not None else ()))
    return [each for each in every if not given.only or each.program in given.only]


def measured_problems(given: argparse.Namespace, sources: Sources, folder: Path, console: Console) -> list[Judged]:
    """Problems that cannot be measured are named and left out."""
    processor = calibrated(given.target, given.cores)
    # Launches on OpenCL processors are those of threads, with the sizes that are chosen for these
    # where the plan has none for them.
    chooser = calibrated("threads", given.cores) if calibrated_device(DESCRIPTORS["threads"]) else None
    subjects: list[CalibrationTarget] = []
    for problem, sizes in ((each, sizes) for each in wanted(given) for sizes in each.sizes):
        try:
            subjects.append(make(problem, sizes, sources, folder))
        except SubjectError as error:
            console.print(f"{problem.program} {error}", style="yellow", markup=False)
    results: list[Judged] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("running", total=processes(given.layouts) * len(subjects))
        for subject in subjects:
            progress.update(bar, description=subject.problem.program)
            try:
                heard = partial(progress.advance, bar)
                one = measure(subject, given.target, processor, chooser, given.layouts, heard)
                results.append(judged(subject, one, processor))
            except SubjectError as error:
                console.print(f"{subject.problem.program} {subject.sizes} {error}", style="yellow", markup=False)
            keep(given, [each.measured for each in results])
    return results


def judged(subject: CalibrationTarget, measured: Measured, processor: Processor) -> Judged:
    """Raises SubjectError."""
    if measured.names != subject.names:
        raise SubjectError(f"has other tile sizes now: {', '.join(subject.names)}")
    layouts = [each.layout for each in measured.random]
    return judge(measured, terms_of(subject, layouts, processor))


def keep(given: argparse.Namespace, measured: Sequence[Measured]) -> None:
    if given.json is not None:
        given.json.write_text(json.dumps(as_json(machine_description(), measured)) + "\n")


def judged_again(
    given: argparse.Namespace, kept: Stored, sources: Sources, folder: Path, console: Console
) -> list[Judged]:
    """What was measured earlier, by the model of today."""
    results: list[Judged] = []
    problems = {each.program: each for each in (*PROBLEMS, *POLYBENCH_PROBLEMS)}
    for each in kept.measured:
        if given.only and each.program not in given.only:
            continue
        try:
            subject = make(problems[each.program], each.sizes, sources, folder)
            results.append(judged(subject, each, calibrated(each.target, given.cores)))
        except SubjectError as error:
            console.print(f"{each.program} {error}", style="yellow", markup=False)
    return results


def main() -> int:
    given = arguments()
    console = Console(width=170 if not sys.stdout.isatty() else None)
    unknown = set(given.only) - {each.program for each in (*PROBLEMS, *POLYBENCH_PROBLEMS)}
    if unknown:
        console.print(f"no problem is called {' or '.join(sorted(unknown))}", style="red")
        return 2
    if given.plot is not None and importlib.util.find_spec("matplotlib") is None:
        console.print("--plot needs matplotlib: pip install '.[report]'", style="red", markup=False)
        return 2
    try:
        sources = read_sources(given.folder)
        with tempfile.TemporaryDirectory(prefix="tilepragma-accuracy-") as name:
            build_support(Path(name))
            if given.again is not None:
                result = judged_again(given, stored(json.loads(given.again.read_text())), sources, Path(name), console)
            else:
                result = measured_problems(given, sources, Path(name), console)
    except (SubjectError, PolybenchError, OSError, ValueError) as error:
        console.print(str(error), style="red", markup=False)
        return 2
    if not result:
        return 2
    console.print(
        tables.table(result, "shares are of the fastest random layout's time; errors: median, 95th percentile, most")
    )
    for line in tables.summary(result):
        console.print(line, highlight=False)
    if given.markdown is not None:
        given.markdown.write_text(tables.markdown(result))
    if given.plot is not None:
        plot.draw(result, given.plot)
    return 1 if any(each.measured.wrong for each in result) else 0


if __name__ == "__main__":
    sys.exit(main())
