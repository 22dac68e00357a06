"""PolyBench/C, its scops as kernel blocks and nothing else changed: every program against its
original, bit for bit.

FOLDER is your own copy of PolyBench/C 4.2.1; nothing in it is changed. Each program is built once
as it is and once by tilecc, and runs on every target at MINI, SMALL and at prime sizes between them
(ODD), on PolyBench's initial data and on random data, since its initial data hide mistakes (heat-3d
stays the same whatever is computed). All arrays are compared whole, those that PolyBench does not
print too. A second table says how long analysis and planning take. Exit status 1 where anything
differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy
from measure import COMPILER, EXACT, ROOT, TILECC, TILEPRAGMA, build_support, environment
from polybench_programs import HOOKS, PolybenchError, Program, Sizes, arrays_in, read_programs, run_settings
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

HERE = Path(__file__).resolve().parent
DATASETS = ("MINI", "SMALL", "ODD")
#: Seconds for a whole program's analysis and planning: the most, and the median over all programs.
MOST_SECONDS, MEDIAN_SECONDS = 1.5, 0.5
RUN_SECONDS = 900


class CommandError(Exception):
    """A command that failed; the message is what the command printed."""


@dataclass(frozen=True)
class Task:
    """What is run: `sizes` name datasets, `seeds` the data (0: PolyBench's own). `fixed`: the extents
    of arrays are constants, as is PolyBench's default, and each size is a build of its own.
    `disorder`: also run the instances of each launch last first.
    """

    folder: Path
    scratch: Path
    sizes: tuple[str, ...]
    seeds: tuple[int, ...]
    targets: tuple[str, ...]
    fixed: bool
    disorder: bool


@dataclass
class Outcome:
    """The results of one program. `targets` maps each target to "ok" or to what is wrong,
    `differences` to its largest difference.
    """

    name: str
    plan: str = ""
    launches: int = 0
    host_loops: int = 0
    tile_sizes: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    differences: dict[str, float] = field(default_factory=dict)

    @property
    def planning(self) -> float:
        """Seconds of analysis, planning and proof."""
        return sum(self.seconds.get(name, 0.0) for name in ("plan", "apply_records", "choose_sizes", "verify", "proof"))

    @property
    def matches(self) -> bool:
        return all(verdict == "ok" for verdict in self.targets.values())


def checked(command: Sequence[str], folder: Path, **more: str) -> str:
    """Standard output of a command. Raises CommandError."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(**more),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=RUN_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"stopped after {RUN_SECONDS} s") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise CommandError("\n".join([f"status {done.returncode}", *lines[:8]]))
    return done.stdout


#: Settings that run as further targets: OpenCL's processors with the program for GPUs.
FORMS = {"opencl-gpu": {"TILEK_TARGET": "opencl", "TILEK_OPENCL_FORM": "gpu"}}


def present_targets() -> tuple[str, ...]:
    """serial, threads, and the accelerators of this machine; OpenCL with the program for GPUs too."""
    from tilepragma.cli.devices import accelerators

    targets = [device.target for device in accelerators() if device.number is not None]
    return ("serial", "threads", *dict.fromkeys(targets), *(FORMS if "opencl" in targets else ()))


def options_of(task: Task, program: Program, sizes: Sizes | None) -> tuple[str, ...]:
    """The compiler's options; without `sizes`, programs ask for them when they start."""
    given = {name: f'polybench_size("{name}")' for name in program.sizes("MINI")} if sizes is None else sizes
    shape = () if task.fixed else ("-DPOLYBENCH_USE_C99_PROTO",)
    numbers = (f"-D{name}={value}" for name, value in given.items())
    folders = (f"-I{program.source.parent}", f"-I{task.folder / 'utilities'}")
    declared = ("-include", str(task.scratch / "sizes.h"))
    return (*EXACT, *folders, *declared, *HOOKS, *shape, *numbers)


def compared(program: Program, original: Path, ours: Path, runs: Sequence[str]) -> tuple[str, float]:
    """("ok", 0), or the first difference in words and the largest one. NaN equals NaN."""
    verdict, largest = "ok", 0.0
    records = zip(arrays_in(program, original), arrays_in(program, ours), strict=True)
    for (run, name, wanted), (_, _, computed) in records:
        if wanted.tobytes() == computed.tobytes():
            continue
        unlike = wanted.view(f"u{wanted.itemsize}") != computed.view(f"u{computed.itemsize}")
        if wanted.dtype.kind == "f":
            unlike &= ~(numpy.isnan(wanted) & numpy.isnan(computed))
        if not unlike.any():
            continue
        differences = numpy.abs(wanted.astype(numpy.float64) - computed.astype(numpy.float64))[unlike]
        largest = max(largest, float(numpy.nanmax(differences, initial=0.0)))
        if verdict == "ok":
            k = int(numpy.argmax(unlike))
            verdict = f"differs: {name} in {int(unlike.sum())} of {len(wanted)} elements"
            verdict += f" (first {k}: {computed[k]!r} for {wanted[k]!r}) at {runs[run]}"
    return verdict, largest


def analyse(task: Task, source: Path, options: tuple[str, ...], outcome: Outcome) -> None:
    """Fill in the plans of a program. Raises CommandError where the translator refuses it."""
    text = checked((sys.executable, str(HERE / "polybench_analysis.py"), str(source), *options), task.scratch)
    analysis = json.loads(text)
    outcome.seconds = analysis["seconds"]
    plans = analysis["plans"]
    outcome.plan = ", ".join(dict.fromkeys(plan["plan"] for plan in plans))
    outcome.launches = sum(plan["launches"] for plan in plans)
    outcome.host_loops = sum(plan["host_loops"] for plan in plans)
    outcome.tile_sizes = sorted({name for plan in plans for name in plan["sizes"]})
    outcome.reasons = [plan["reason"] for plan in plans if plan["reason"]]
    if analysis["errors"] or analysis["fault"]:
        raise CommandError("refused: " + "; ".join([*analysis["errors"], *filter(None, [analysis["fault"]])]))


def examine(task: Task, program: Program, analysis_only: bool) -> Outcome:
    """One program: analysed, built twice, run on every target, compared."""
    outcome = Outcome(program.name)
    source = task.scratch / f"{program.name}.c"
    source.write_text(program.with_kernels())
    try:
        build_each_size = task.fixed or program.constant
        analyse(task, source, options_of(task, program, program.sizes("MINI") if build_each_size else None), outcome)
        if analysis_only:
            return outcome
        for sizes in ((size,) for size in task.sizes) if build_each_size else (task.sizes,):
            run_sizes(task, program, source, sizes, outcome)
    except CommandError as error:
        outcome.targets = {target: str(error) for target in task.targets}
    return outcome


def run_sizes(task: Task, program: Program, source: Path, sizes: tuple[str, ...], outcome: Outcome) -> None:
    """One build of each program for all of `sizes`, and its runs."""
    options = options_of(task, program, program.sizes(sizes[0]) if task.fixed or program.constant else None)
    original, ours = task.scratch / f"{program.name}.original", task.scratch / f"{program.name}.ours"
    link = (str(task.scratch / "support.o"), "-lm")
    checked((*shlex.split(COMPILER), *options, "-o", str(original), str(program.source), *link), task.scratch)
    checked((*TILECC, *options, "-o", str(ours), str(source), *link), task.scratch)
    variants = [(target, str(ours), FORMS.get(target, {"TILEK_TARGET": target})) for target in task.targets]
    if task.disorder:
        variants += disorderly(task, source, options, outcome.tile_sizes)
    runs = [run_settings(program, program.sizes(size), seed) for size in sizes for seed in task.seeds]
    checked((str(original), f"{original}.dump", *runs), task.scratch)
    for target, program_file, variables in variants:
        dump = f"{ours}.{target.replace(' ', '-')}.dump"
        try:
            checked((program_file, dump, *runs), task.scratch, **({"TILEK_STRICT": "1"} | variables))
            verdict, largest = compared(program, Path(f"{original}.dump"), Path(dump), runs)
        except CommandError as error:
            verdict, largest = f"failed: {error}", 0.0
        if outcome.targets.get(target, "ok") == "ok":
            outcome.targets[target] = verdict
        outcome.differences[target] = max(largest, outcome.differences.get(target, 0.0))
    for path in task.scratch.glob(f"{program.name}.*.dump"):
        path.unlink()


def disorderly(
    task: Task, source: Path, options: tuple[str, ...], tile_sizes: Sequence[str]
) -> list[tuple[str, str, dict[str, str]]]:
    """The program on a runtime that runs instances last first: on threads, and in odd tiles on the
    tests' stand-in for CUDA.
    """
    from tests.support.disorder import LAST_FIRST
    from tests.support.targets import target_environment
    from tilepragma.cli.runtime_library import compile_flags

    made, translated = source.with_suffix(".disorder"), source.with_suffix(".tk.c")
    checked((*TILEPRAGMA, "translate", str(source), "-o", str(translated), *options), task.scratch)
    objects = (str(task.scratch / "support.o"), *map(str, sorted((task.scratch / "runtime").glob("*.o"))))
    flags = (*options, *compile_flags(), "-o", str(made), str(translated), *objects)
    checked((*shlex.split(COMPILER), *flags, "-ldl", "-lpthread", "-lm"), task.scratch)
    standin = dict(target_environment("cuda", task.scratch).variables)
    backwards = dict(LAST_FIRST) | {"TILEK_SPECIALIZE": "0"}
    odd = {"TILEK_SIZES": ",".join(f"{name}={3 + 2 * (place % 3)}" for place, name in enumerate(tile_sizes))}
    opencl = {"TILEK_TARGET": "opencl", "TILEK_SPECIALIZE": "0"} | (odd if tile_sizes else {})
    return [
        *([("OpenCL, odd tiles", str(made), opencl)] if "opencl" in task.targets else []),
        ("threads last first", str(made), {"TILEK_TARGET": "threads"} | backwards),
        ("CUDA stand-in, odd tiles", str(made), standin | backwards | (odd if tile_sizes else {})),
    ]


def prepare(task: Task) -> None:
    """What all programs share, in the scratch folder."""
    (task.scratch / "sizes.h").write_text("int polybench_size(const char *name);\n")
    build_support(task.scratch)
    if task.disorder:
        from tests.support.disorder import disorderly_runtime

        disorderly_runtime(task.scratch / "runtime")


def cell(outcome: Outcome, target: str) -> str:
    verdict = outcome.targets.get(target, "")
    if verdict == "ok":
        return "[green]ok[/]"
    if verdict.startswith("differs"):
        return f"[red]differs {outcome.differences.get(target, 0.0):.1e}[/]"
    return f"[red]{verdict.split(':')[0].split(chr(10))[0]}[/]" if verdict else ""


def show_results(console: Console, outcomes: Sequence[Outcome], targets: Sequence[str]) -> None:
    table = Table(title="PolyBench/C: kernel blocks against the originals", title_justify="left")
    for heading in ("program", "plan"):
        table.add_column(heading, no_wrap=True)
    for heading in ("launches", "host loops", "plan s", "proof s"):
        table.add_column(heading, justify="right")
    for target in targets:
        table.add_column(target, no_wrap=True)
    for each in outcomes:
        numbers = (str(each.launches), str(each.host_loops))
        seconds = (f"{each.seconds.get(name, 0.0):.2f}" for name in ("plan", "proof"))
        table.add_row(each.name, each.plan, *numbers, *seconds, *(cell(each, target) for target in targets))
    console.print(table)
    for each in outcomes:
        for reason in each.reasons:
            console.print(f"{each.name} runs as written: {reason}", markup=False, highlight=False)
    for each in outcomes:
        for target, verdict in each.targets.items():
            if verdict != "ok":
                console.print(f"{each.name} on {target}: {verdict}", style="red", markup=False, highlight=False)


def show_times(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Most and median of the analysis times, against the goals."""
    slowest = max(outcomes, key=lambda each: each.planning)
    median = statistics.median(each.planning for each in outcomes)
    table = Table(title="Analysis, planning and proof, processor seconds a program", title_justify="left")
    for heading in ("", "seconds", "goal", "reached"):
        table.add_column(heading, justify="left" if not heading else "right")
    rows = ((f"most ({slowest.name})", slowest.planning, MOST_SECONDS), ("median", median, MEDIAN_SECONDS))
    for title, seconds, goal in rows:
        table.add_row(title, f"{seconds:.2f}", f"{goal:.1f}", "yes" if seconds < goal else "no")
    console.print(table)


def examine_all(task: Task, programs: Sequence[Program], jobs: int, analysis_only: bool) -> list[Outcome]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    outcomes = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress, ThreadPoolExecutor(jobs) as pool:
        bar = progress.add_task("PolyBench/C", total=len(programs))
        futures = [pool.submit(examine, task, program, analysis_only) for program in programs]
        for program, future in zip(programs, futures, strict=True):
            progress.update(bar, description=program.name)
            outcomes.append(future.result())
            progress.advance(bar)
    return outcomes


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, metavar="FOLDER")
    options.add_argument("--only", action="append", default=[], metavar="NAME", help="this program (again for more)")
    options.add_argument("--size", action="append", choices=(*DATASETS, "MEDIUM", "LARGE"), help="instead of all three")
    options.add_argument("--target", action="append", metavar="NAME", help="instead of all that are present")
    options.add_argument("--quick", action="store_true", help="odd sizes and random data only")
    options.add_argument(
        "--fixed", action="store_true", help="extents of arrays as constants, as PolyBench has them by default"
    )
    options.add_argument(
        "--analysis-only", action="store_true", help="the times of analysis and the plans; nothing is built"
    )
    options.add_argument(
        "--disorder", action="store_true", help="also run the instances of each launch last first, in odd tiles"
    )
    options.add_argument("--jobs", type=int, default=1, help="programs at once; times are best taken with one")
    options.add_argument("--json", type=Path, metavar="FILE", help="write everything there")
    options.add_argument("--keep", type=Path, metavar="DIR", help="leave sources and programs there")
    return options.parse_args()


def main() -> int:
    given = arguments()
    sys.path.append(str(ROOT))
    console = Console(width=140 if not sys.stdout.isatty() else None)
    try:
        programs = read_programs(given.folder)
    except (PolybenchError, OSError) as error:
        console.print(str(error), style="red", markup=False)
        return 2
    if given.only:
        programs = [program for program in programs if program.name in given.only]
    if not programs:
        console.print(f"no program is called {' or '.join(given.only)}", style="red", markup=False)
        return 2
    scratch = Path(tempfile.mkdtemp(prefix="tilepragma-polybench-")) if given.keep is None else given.keep.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    sizes = tuple(given.size or (["ODD"] if given.quick else DATASETS))
    targets = tuple(given.target or present_targets()) if not given.analysis_only else ()
    task = Task(
        given.folder.resolve(), scratch, sizes, (1,) if given.quick else (0, 1), targets, given.fixed, given.disorder
    )
    os.environ.setdefault("TILEK_CACHE_DIR", str(scratch / "cache"))
    # Python keeps bytecode, as where pip has installed the package. Without it, each program's time
    # would contain a tenth of a second of compiling Python.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        prepare(task)
        outcomes = examine_all(task, programs, given.jobs, given.analysis_only)
    finally:
        if given.keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=1) + "\n")
    show_results(console, outcomes, tuple(dict.fromkeys(target for each in outcomes for target in each.targets)))
    show_times(console, outcomes)
    return 0 if all(each.matches for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
