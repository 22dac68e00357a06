"""What adapting costs over whole runs: a program that chooses among four versions at each launch
against one that has the best alone.

    python -m benchmarks.adaptive_overhead [--target threads] [--repeats N] [--only KERNEL …] [--markdown FILE]

For each of the TileK paper's kernels it builds four programs with one version each (the plan itself
and three of the paper's Table 2), and one with all four and with rules that name, for each input,
the version that was the fastest there. A run is many calls of the function on small arrays, or a
few on large ones; its seconds are those of all its calls.

Five runs take turns, so that what disturbs the machine meets them all: the best program, the one
with rules, the best program again, the one with rules under TILEK_ADAPT=1, and the one with rules
where TILEK_VERSION says what the rules would choose. The fastest run of each counts. "Noise" is the
difference between the two runs of the best program. "Deciding" is what the program with rules takes
more than where it is told the version. Where the compiler and the linker place the same loops may
be worth a tenth, much more than a launch's decision: each program is therefore built several times,
with its code moved by some bytes, and the fastest of all its runs counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.explored import OPTIONS, NotExploredError, translated
from benchmarks.measure import TILECC, markdown, output_of, show
from benchmarks.tilek_paper.subjects import SUBJECTS, CalibrationTarget
from tilepragma.cli.devices import host_devices
from tilepragma.cli.exploration_programs import OPTIONS as OWN_MAIN
from tilepragma.cli.exploration_programs import compiled, local_headers
from tilepragma.driver.texts import calling_program, source_text
from tilepragma.plan.dispatch_table import bytes_and_trips
from tilepragma.sizes.records import records_file
from tilepragma.tuning.size_ranges import sizes_of
from tilepragma.tuning.trial_versions import Build, builds_of

if TYPE_CHECKING:
    from tilepragma.codegen.calling_program import CallingProgram
    from tilepragma.plan.kernel_plan import KernelPlan

#: The versions of each program, as `tilepragma tune` names its builds; the first is the plan
#: itself.
VERSIONS = ("", "thread1", "thread3", "thread4")
#: A small and a large input of each kernel.
INPUTS: Mapping[str, tuple[str, str]] = {
    "2d-conv": ("n=128,m=128", "n=3200,m=3200"),
    "sgemm": ("n=64,m=64,p=64", "n=400,m=400,p=400"),
    "syr2k": ("n=64,m=64", "n=400,m=400"),
    "doitgen": ("R=10,Q=10,P=40", "R=40,Q=40,P=160"),
}
#: The program with rules.
ADAPTIVE = "adaptive"
#: Bytes by which the code of each program is moved.
MOVES = (0, 16, 32, 48)
#: How long the calls of a run take, and the least and the most calls of a run.
SECONDS, FEWEST, MOST = 0.2, 10, 20000
#: Seconds of the runs that find the best version; the second half of their calls counts.
TRIED = 0.05


@dataclass(frozen=True)
class Programs:
    """The programs of a kernel: one for each of VERSIONS, and the one that has all."""

    folder: Path
    calling: CallingProgram
    plan: KernelPlan
    target: str

    def taken(self, numbers: Mapping[str, int]) -> int:
        """The number of the version that the program with rules takes; 0: the plan itself."""
        trace = self.folder / "taken.json"
        self.seconds(ADAPTIVE, numbers, 1, TILEK_PROFILE=str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
        return max(int(event["args"].get("version", 0)) for event in events if event["cat"] == "kernel")

    def seconds(self, program: str, numbers: Mapping[str, int], calls: int, **variables: str) -> tuple[float, ...]:
        """The seconds of each call; the script ends where the program fails."""
        command = (str(self.folder / program), *self.calling.command_line(numbers, calls, calls_a_fill=calls))
        output = output_of(command, self.folder, TILEK_TARGET=self.target, TILEK_STRICT="1", **variables)
        return self.calling.call_times(output).seconds


@dataclass(frozen=True)
class Row:
    """One kernel at one input: the seconds of each program's fastest run of `calls` calls."""

    kernel: str
    text: str
    version: str
    calls: int
    best: float
    again: float
    adaptive: float
    trying: float
    told: float

    @property
    def cells(self) -> tuple[str, ...]:
        """For a table."""
        return (
            self.kernel,
            self.text,
            self.version or "plan",
            str(self.calls),
            f"{self.best:.4f}",
            f"{self.adaptive:.4f}",
            percent(self.adaptive, self.best),
            percent(self.again, self.best),
            percent(self.adaptive, self.told),
            percent(self.trying, self.best),
        )


#: "deciding": more than where TILEK_VERSION says the version; "trying": under TILEK_ADAPT=1.
HEAD = ("kernel", "input", "best", "calls", "best s", "rules s", "overhead", "noise", "deciding", "trying")


def percent(seconds: float, base: float) -> str:
    """How much longer than `base`, as a table says it."""
    return f"{100 * (seconds / base - 1):+.2f} %"


def rules_text(
    kernel: str, choices: Sequence[tuple[int, str]], texts: Mapping[str, str], sizes: Mapping[str, int]
) -> str:
    """A file of rules: `choices` are versions with the bytes up to which they are taken. Versions
    that they do not name are in the program too, for larger arrays. `texts` are those of the
    versions, `sizes` the tile sizes of the plan itself.
    """
    largest = max(most for most, _ in choices)
    missing = [name for name in texts if name not in {chosen for _, chosen in choices}]
    named = [*choices, *((largest * 2 ** (place + 1), name) for place, name in enumerate(missing))]
    entries: list[dict[str, Any]] = []
    for most, name in named:
        entries.append({"bytes": most, "version": texts[name]} if name else {"bytes": most, "sizes": dict(sizes)})
    return json.dumps({"version": 1, "kernels": {kernel: {"host": {"least_bytes": 0, "choices": entries}}}}, indent=1)


def make(
    folder: Path, subject: CalibrationTarget, program: str, text: bytes, calling: CallingProgram, move: int = 0
) -> None:
    """Build one program in a folder of its own, with the rules that lie in the folder above, if any."""
    build = folder / f"of-{program}" / str(move)
    build.mkdir(parents=True)
    source, clock, rules = (
        build / subject.source.name,
        build / "tilek_calling_clock.c",
        build.parent / records_file(subject.source.name),
    )
    source.write_bytes(calling.timed_text(text))
    clock.write_bytes(calling.clock_text)
    if rules.is_file():
        shutil.copy(rules, build)
    # In a file of its own: nothing may stand before the first directives of the source.
    (build / "moved.c").write_text(f'__asm__(".text\\n\\t.skip {move}");\n')
    words = [*TILECC, *OWN_MAIN, *OPTIONS, "-w", *local_headers(subject.source)]
    files = [str(build / "moved.c"), str(source), str(clock)]
    compiled([*words, "-o", str(folder / moved(program, move)), *files, "-lm"], build, {})


def moved(program: str, move: int) -> str:
    """The file name of the program whose code starts `move` bytes later."""
    return f"{program}-{move}" if move else program


def fixed_name(version: str) -> str:
    """The file name of the program that has this version only."""
    return f"fixed-{version or 'plan'}"


def best_at(programs: Programs, numbers: Mapping[str, int], versions: Sequence[str]) -> tuple[str, float]:
    """The version whose calls are the fastest, and the seconds of a call."""
    medians = {}
    for name in versions:
        once = min(programs.seconds(fixed_name(name), numbers, FEWEST)[1:])
        calls = min(max(FEWEST, round(TRIED / once)), MOST)
        medians[name] = statistics.median(programs.seconds(fixed_name(name), numbers, calls)[calls // 2 :])
    return min(medians.items(), key=lambda timed: timed[1])


def fastest(repeats: int, *runs: Callable[[], float]) -> list[float]:
    """The least seconds of each of several runs, made in turn."""
    least = [run() for run in runs]
    for _ in range(repeats - 1):
        least = [min(seconds, run()) for seconds, run in zip(least, runs, strict=True)]
    return least


def measured(subject: CalibrationTarget, target: str, repeats: int, folder: Path) -> list[Row]:
    """Make the programs of a kernel and run them. Raises NotExploredError, NotBuiltError."""
    request, result = translated(subject.source)
    plan = result.plans[0]
    calling = calling_program(result, plan)
    made: Mapping[str, Build] = builds_of(request, result, plan, target, ("paper8",), host_devices()[-1].compute_units)
    builds = {name: made[name] for name in VERSIONS}
    programs = Programs(folder, calling, plan, target)

    def made_all(programs: Sequence[tuple[str, bytes, int]]) -> None:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(lambda named: make(folder, subject, named[0], named[1], calling, named[2]), programs))

    made_all([(fixed_name(name), builds[name].source, 0) for name in VERSIONS])
    inputs = {text: sizes_of(text) for text in INPUTS[subject.name]}
    best = {text: best_at(programs, numbers, VERSIONS) for text, numbers in inputs.items()}
    choices = [(bytes_of(plan, numbers), best[text][0]) for text, numbers in inputs.items()]
    build = folder / f"of-{ADAPTIVE}"
    build.mkdir()
    records_file(str(build / subject.source.name)).write_text(
        rules_text(
            plan.kernel.name,
            choices,
            {name: build_of.version for name, build_of in builds.items()},
            {size.object.name: size.host for size in plan.sizes},
        )
    )
    further = {fixed_name(name): builds[name].source for name in {version for version, _ in best.values()}}
    made_all([(name, text, move) for name, text in further.items() for move in MOVES[1:]])
    made_all([(ADAPTIVE, source_text(result), move) for move in MOVES])
    return [row(programs, subject, text, inputs[text], best[text], repeats) for text in inputs]


def bytes_of(plan: KernelPlan, numbers: Mapping[str, int]) -> int:
    """The bytes of a launch's arrays, as the program with rules counts them."""
    scalars = {scalar.name: numbers[scalar.host] for scalar in plan.kernel.objects if scalar.host in numbers}
    return bytes_and_trips(plan, scalars, with_trips=False)[0]


def row(
    programs: Programs,
    subject: CalibrationTarget,
    text: str,
    numbers: Mapping[str, int],
    best: tuple[str, float],
    repeats: int,
) -> Row:
    """Runs, in turn, of the best program and of the one with rules: by its rules, while it tries its
    versions, and where it is told which to take.
    """
    version, seconds = best
    calls = min(max(FEWEST, round(SECONDS / seconds)), MOST)

    def run(program: str, move: int, **variables: str) -> Callable[[], float]:
        return lambda: sum(programs.seconds(moved(program, move), numbers, calls, **variables))

    alone, told = fixed_name(version), str(programs.taken(numbers))
    runs = [
        (
            run(alone, move),
            run(ADAPTIVE, move),
            run(alone, move),
            run(ADAPTIVE, move, TILEK_ADAPT="1"),
            run(ADAPTIVE, move, TILEK_VERSION=told),
        )
        for move in MOVES
    ]
    seconds_of = fastest(repeats, *(run_of for at_move in runs for run_of in at_move))
    columns = len(runs[0])
    best_of, adaptive, again, trying, is_told = (min(seconds_of[column::columns]) for column in range(columns))
    return Row(subject.name, text, version, calls, best_of, again, adaptive, trying, is_told)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.adaptive_overhead", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--target", choices=("serial", "threads"), default="threads")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each program at each input, in each place")
    parser.add_argument("--only", nargs="+", choices=tuple(INPUTS), default=list(INPUTS), metavar="KERNEL")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the table for a page")
    return parser.parse_args()


def main() -> int:
    """Print the table."""
    given = arguments()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        # No calibration: with its model, the plan would choose other tile sizes than its rules name.
        os.environ["TILEK_DATA_DIR"] = scratch
        for subject in SUBJECTS:
            if subject.name not in given.only:
                continue
            folder = Path(scratch) / subject.sample
            folder.mkdir()
            try:
                rows += measured(subject, given.target, given.repeats, folder)
            except NotExploredError as error:
                print(f"{subject.name} is left out: {error}", file=sys.stderr)
    cells = [row.cells for row in rows]
    show(f"adapting, over whole runs on {given.target}", HEAD, cells)
    if given.markdown is not None:
        given.markdown.write_text(markdown(HEAD, cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
