"""Builds and times kernels in alternation: originals, OpenMP by hand, peers that are installed,
OpenBLAS, ours.

FOLDER is your own copy of PolyBench/C 4.2.1; nothing in it is changed. Without it the suite's own
kernels are measured. All contenders of a kernel run in turn, on the same random data, once
unmeasured and then --repeats times; the tables hold medians, and ratios with the least and the most
that one round gave. What a contender leaves in memory is compared with the original: equal bits, or
a difference within 1e-9 (double) or 1e-3 (float) of an array's largest element, since gcc contracts
multiply-adds as it likes; --exact turns that off for everyone. Exit status 1 where anything of ours
differs or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from benchmarks.measure import build_support
from benchmarks.polybench_programs import PolybenchError
from benchmarks.suite import plot, tables
from benchmarks.suite.blas import find_library
from benchmarks.suite.builds import BuildError, Workplace, build, cores
from benchmarks.suite.cases import BOTH, CASES, POLYBENCH, Case
from benchmarks.suite.contenders import DEVICES, FORMS, GCC, HAND_OPENMP, OPENBLAS, OURS, PEERS, Built, our_name
from benchmarks.suite.machine import description, measured_limits, present_devices
from benchmarks.suite.peers import find_tools
from benchmarks.suite.programs import faults, read_sources
from benchmarks.suite.results import Limits, Row
from benchmarks.suite.runs import CaseRuns
from benchmarks.suite.stored import Report, StoredError, as_json, read
from tilepragma.cli.runtime_library import RuntimeLibraryError

REPEATS, QUICK_REPEATS = 5, 2
TARGETS = ("serial", "threads", "opencl", "cuda")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.suite", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="a copy of PolyBench/C 4.2.1")
    options.add_argument("--quick", action="store_true", help="small sizes, double only, two rounds: under 5 minutes")
    options.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="these kernels (or groups, as --list names them)"
    )
    options.add_argument("--targets", nargs="+", choices=TARGETS, help="instead of threads and the devices that answer")
    options.add_argument("--types", nargs="+", choices=(*BOTH, "int"), help="instead of double, float and int")
    options.add_argument("--without", nargs="+", default=[], metavar="NAME", help="leave these contenders out")
    options.add_argument(
        "--repeats", type=_count, metavar="N", help=f"rounds (default {REPEATS}; {QUICK_REPEATS} with --quick)"
    )
    options.add_argument(
        "--threads", type=_count, default=cores(), metavar="N", help="threads for everyone (default: all cores)"
    )
    options.add_argument(
        "--exact", action="store_true", help="compile everything with -ffp-contract=off: bits are equal"
    )
    options.add_argument("--parametric", action="store_true", help="array extents as parameters, not as numbers")
    options.add_argument("--ppcg", metavar="PROGRAM", help="instead of ppcg in PATH")
    options.add_argument("--pluto", metavar="PROGRAM", help="instead of polycc in PATH")
    options.add_argument("--json", type=Path, metavar="FILE", help="write everything there, after each kernel")
    options.add_argument(
        "--show", type=Path, metavar="FILE", help="print the tables of a file of --json and measure nothing"
    )
    options.add_argument(
        "--gpu", type=Path, metavar="FILE", help="put these results of the GPU's benchmark beside the goals"
    )
    options.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there, for a page")
    options.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the ratios (.svg, .png, .pdf; needs matplotlib)"
    )
    options.add_argument("--keep", type=Path, metavar="DIR", help="leave sources and programs there")
    options.add_argument("--reuse", action="store_true", help="do not build again what lies in the folder of --keep")
    options.add_argument("--march", default="native", metavar="NAME", help="-march for everyone (default: native)")
    options.add_argument("--list", action="store_true", help="name the kernels and their sizes, and measure nothing")
    return options.parse_args()


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def chosen(given: argparse.Namespace) -> tuple[tuple[Case, ...], list[str]]:
    """The cases that are asked for, and names that are none."""
    known = {name for case in CASES for name in (case.name, case.group)}
    unknown = [name for name in given.only if name not in known]
    cases = tuple(case for case in CASES if not given.only or case.name in given.only or case.group in given.only)
    if given.folder is None:
        cases = tuple(case for case in cases if case.group != POLYBENCH)
    return cases, unknown


def types_of(case: Case, given: argparse.Namespace) -> tuple[str, ...]:
    wanted = given.types or (("double", "int") if given.quick else (*BOTH, "int"))
    return tuple(type_ for type_ in case.types if type_ in wanted)


def present_targets() -> tuple[str, ...]:
    return tuple(device.target for device in present_devices() if device.target != "serial")


def workplace(given: argparse.Namespace, scratch: Path) -> Workplace:
    """Raises PolybenchError."""
    targets = tuple(given.targets or present_targets())
    forms = [our_name(target, form) for target in targets if target in DEVICES and not given.quick for form in FORMS]
    everyone = (GCC, HAND_OPENMP, OPENBLAS, *PEERS, *map(our_name, targets), *forms)
    contenders = tuple(name for name in everyone if name == GCC or name not in given.without)
    sources = read_sources(given.folder)
    library = find_library() if OPENBLAS in contenders else None
    tools = find_tools(given.ppcg, given.pluto)
    return Workplace(
        sources=sources,
        scratch=scratch,
        quick=given.quick,
        exact=given.exact,
        parametric=given.parametric,
        architecture=given.march,
        reuse=given.reuse and given.keep is not None,
        threads=given.threads,
        targets=targets,
        contenders=contenders,
        library=library,
        tools=tools,
    )


def build_all(place: Workplace, jobs: Sequence[tuple[Case, str]], progress: Progress) -> list[Built]:
    """All programs first, as many at once as there are cores, so that nothing else runs when times are taken."""
    bar = progress.add_task("building", total=len(jobs))
    built = []
    with ThreadPoolExecutor(cores()) as pool:
        for each in [pool.submit(build, place, case, type_) for case, type_ in jobs]:
            built.append(each.result())
            progress.update(bar, description=f"building {built[-1].case.name}")
            progress.advance(bar)
    progress.remove_task(bar)
    return built


def _say(progress: Progress, bar: TaskID, title: str, name: str) -> None:
    progress.update(bar, description=f"{title}: {name}")


def measure(place: Workplace, built: Sequence[Built], given: argparse.Namespace, limits: Limits) -> Report:
    rows: list[Row] = []
    rounds = given.repeats or (QUICK_REPEATS if given.quick else REPEATS)
    machine, gpu = description(place), read_gpu(given)
    report = Report(machine, limits, (), place.targets, gpu)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("running", total=len(built))
        for each in built:
            runs = CaseRuns(each, place.sources.programs[each.case.source], place.quick, place.scratch)
            title = f"{each.case.name} {each.type}"
            rows.append(runs.take(rounds, partial(_say, progress, bar, title)))
            progress.advance(bar)
            report = replace(report, rows=tuple(rows))
            if given.json is not None:
                given.json.write_text(json.dumps(as_json(report), indent=1) + "\n")
    return report


def read_gpu(given: argparse.Namespace) -> dict[str, Any] | None:
    """Raises OSError and StoredError."""
    if given.gpu is None:
        return None
    try:
        result: dict[str, Any] = json.loads(given.gpu.read_text())
        return {"machine": result["machine"], "comparable": result["comparable"], "figures": result["figures"]}
    except (ValueError, KeyError, TypeError) as error:
        raise StoredError(f"{given.gpu}: no results of the GPU's benchmark ({type(error).__name__}: {error})") from None


def show(given: argparse.Namespace, report: Report, console: Console) -> None:
    tables.show(console, report)
    if given.markdown is not None:
        given.markdown.write_text(tables.as_markdown(report))
    if given.plot is not None:
        plot.draw(report.rows, report.targets, given.plot)


def perform(given: argparse.Namespace, cases: Sequence[Case], scratch: Path, console: Console) -> int:
    """Raises PolybenchError and BuildError."""
    place = workplace(given, scratch)
    wrong = faults(place.sources, tuple(cases))
    if wrong:
        for fault in wrong:
            console.print(fault, style="red", markup=False)
        return 2
    build_support(place.scratch)
    limits = measured_limits(place)
    console.print(tables.headline(description(place), limits), highlight=False)
    jobs = [(case, type_) for case in cases for type_ in types_of(case, given)]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        built = build_all(place, jobs, progress)
    report = measure(place, built, given, limits)
    show(given, report, console)
    measured = [each for row in report.rows for name, each in row.contenders.items() if name.startswith((OURS, GCC))]
    return 0 if all(each.ran and each.right for each in measured) else 1


def main() -> int:
    given = arguments()
    console = Console(width=170 if not sys.stdout.isatty() else None)
    cases, unknown = chosen(given)
    if given.list:
        for case in cases if given.folder or given.only else CASES:
            numbers = " ".join(f"{name}={value}" for name, value in case.numbers(given.quick).items())
            console.print(f"{case.group:12} {case.name:22} {'/'.join(case.types):13} {numbers}", highlight=False)
        return 0
    if unknown or not cases:
        console.print(f"no kernel is called {' or '.join(unknown or given.only)}; --list names them", style="red")
        return 2
    scratch = Path(tempfile.mkdtemp(prefix="tilepragma-suite-")) if given.keep is None else given.keep.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TILEK_CACHE_DIR", str(scratch / "cache"))
    try:
        if given.plot is not None:
            plot.check()
        if given.show is not None:
            stored = read(given.show)
            console.print(tables.headline(stored.machine, stored.limits), highlight=False)
            show(given, stored if given.gpu is None else replace(stored, gpu=read_gpu(given)), console)
            return 0
        return perform(given, cases, scratch, console)
    except (PolybenchError, BuildError, RuntimeLibraryError, plot.PlotError, StoredError, OSError) as error:
        console.print(str(error), style="red", markup=False)
        return 2
    finally:
        if given.keep is None:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
