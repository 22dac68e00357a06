"""What adapting costs over whole runs: a program that chooses among four versions at each launch
against one that has the best alone.

    python -m benchmarks.adaptive_overhead [--target threads] [--repeats N] [--only KERNEL …] [--markdown FILE]

Of each of the TileK paper's kernels four programs are made that have one version each (the plan
itself and three of the paper's Table 2), and one that has all of them, with rules that name at each
size the one that was the fastest there. A run is many calls of the function on small arrays, or
some on large ones; its seconds are those of all its calls. The best program, the one with rules,
the best once more, the one with rules under TILEK_ADAPT=1, and this one where TILEK_VERSION says
what its rules would take run in turn, so that what disturbs the machine meets them all; what counts
is the fastest run of each. What the best program differs from itself by is noise. Two programs
differ, besides, by where the compiler and the linker have placed the same loops, which may be worth
a tenth, and much more than all that a launch decides: each is made several times, with its code so
many bytes further on, and its fastest run is that of all. "Deciding" is what the program with rules
takes more than itself where it is told the version.
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
from benchmarks.measure import markdown, output_of, show
from benchmarks.tilek_paper.subjects import SUBJECTS, CalibrationTarget
from tilepragma.cli.devices import host_devices
from tilepragma.cli.exploration_programs import OPTIONS as OWN_MAIN
from tilepragma.cli.exploration_programs import compiled, local_headers, tilecc
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
#: Seconds of calls that a run has, and calls that it has at least and at most.
SECONDS, FEWEST, MOST = 0.2, 10, 20000
#: Seconds of calls of the runs that find the best version, of which the second half counts.
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
        """Of each call; the script ends where the program fails."""
        command = (str(self.folder / program), *self.calling.command_line(numbers, calls, calls_a_fill=calls))
        output = output_of(command, self.folder, TILEK_TARGET=self.target, TILEK_STRICT="1", **variables)
        return self.calling.call_times(output).seconds


@dataclass(frozen=True)
class Row:
    """One kernel at one input: the seconds of the fastest run of each program, of so many calls."""

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
    """How much longer than the base."""
    return f"{100 * (seconds / base - 1):+.2f} %"


def rules_text(
    kernel: str, choices: Sequence[tuple[int, str]], texts: Mapping[str, str], sizes: Mapping[str, int]
) -> str:
    """A file of kept rules: `choices` are versions with the bytes up to which they are taken. What
    they do not name is in the program, too, for larger arrays. `texts` are those of the versions,
    `sizes` the plan's own tile sizes, which the plan itself takes.
    """
    largest = max(most for most, _ in choices)
    missing = [name for name in texts if name not in {chosen for _, chosen in choices}]
    named = [*choices, *((largest * 2 ** (place + 1), name) for place, name in enumerate(missing))]
    found: list[dict[str, Any]] = []
    for most, name in named:
        found.append({"bytes": most, "version": texts[name]} if name else {"bytes": most, "sizes": dict(sizes)})
    return json.dumps({"version": 1, "kernels": {kernel: {"host": {"least_bytes": 0, "choices": found}}}}, indent=1)


def make(
    folder: Path, subject: CalibrationTarget, program: str, text: bytes, calling: CallingProgram, move: int = 0
) -> None:
    """One program, from a folder of its own, where its kept rules may lie already."""
    own = folder / f"of-{program}" / str(move)
    own.mkdir(parents=True)
    source, clock, kept = (
        own / subject.source.name,
        own / "tilek_calling_clock.c",
        own.parent / records_file(subject.source.name),
    )
    source.write_bytes(calling.timed_text(text))
    clock.write_bytes(calling.clock_text)
    if kept.is_file():
        shutil.copy(kept, own)
    # A file of its own, since what stands before the source's directives is the source's.
    (own / "moved.c").write_text(f'__asm__(".text\\n\\t.skip {move}");\n')
    words = [*tilecc(), *OWN_MAIN, *OPTIONS, "-w", *local_headers(subject.source)]
    files = [str(own / "moved.c"), str(source), str(clock)]
    compiled([*words, "-o", str(folder / moved(program, move)), *files, "-lm"], own, {})


def moved(program: str, move: int) -> str:
    """The file of a program whose code is so many bytes further on."""
    return f"{program}-{move}" if move else program


def fixed_name(version: str) -> str:
    """The file of the program that has a version alone."""
    return f"fixed-{version or 'plan'}"


def best_at(programs: Programs, numbers: Mapping[str, int], versions: Sequence[str]) -> tuple[str, float]:
    """The version whose calls are the fastest, and the seconds of one."""
    found = {}
    for name in versions:
        once = min(programs.seconds(fixed_name(name), numbers, FEWEST)[1:])
        calls = min(max(FEWEST, round(TRIED / once)), MOST)
        found[name] = statistics.median(programs.seconds(fixed_name(name), numbers, calls)[calls // 2 :])
    return min(found.items(), key=lambda one: one[1])


def fastest(repeats: int, *runs: Callable[[], float]) -> list[float]:
    """The least of several measurements taken in turn."""
    found = [run() for run in runs]
    for _ in range(repeats - 1):
        found = [min(known, run()) for known, run in zip(found, runs, strict=True)]
    return found


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
            list(pool.map(lambda one: make(folder, subject, one[0], one[1], calling, one[2]), programs))

    made_all([(fixed_name(name), builds[name].source, 0) for name in VERSIONS])
    inputs = {text: sizes_of(text) for text in INPUTS[subject.name]}
    best = {text: best_at(programs, numbers, VERSIONS) for text, numbers in inputs.items()}
    choices = [(bytes_of(plan, numbers), best[text][0]) for text, numbers in inputs.items()]
    own = folder / f"of-{ADAPTIVE}"
    own.mkdir()
    records_file(str(own / subject.source.name)).write_text(
        rules_text(
            plan.kernel.name,
            choices,
            {name: one.version for name, one in builds.items()},
            {size.object.name: size.host for size in plan.sizes},
        )
    )
    further = {fixed_name(name): builds[name].source for name in {version for version, _ in best.values()}}
    made_all([(name, text, move) for name, text in further.items() for move in MOVES[1:]])
    made_all([(ADAPTIVE, source_text(result), move) for move in MOVES])
    return [row(programs, subject, text, inputs[text], best[text], repeats) for text in inputs]


def bytes_of(plan: KernelPlan, numbers: Mapping[str, int]) -> int:
    """What a launch finds its arrays to have."""
    scalars = {one.name: numbers[one.host] for one in plan.kernel.objects if one.host in numbers}
    return bytes_and_trips(plan, scalars, with_trips=False)[0]


def row(
    programs: Programs,
    subject: CalibrationTarget,
    text: str,
    numbers: Mapping[str, int],
    best: tuple[str, float],
    repeats: int,
) -> Row:
    """Runs of the best program and of the one with rules in turn, and of that one while it tries its versions and where it is told which to take."""
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
    seconds_of = fastest(repeats, *(one for each in runs for one in each))
    best_of, adaptive, again, trying, is_told = (
        min(seconds_of[place :: len(runs[0])]) for place in range(len(runs[0]))
    )
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
        # No calibration: by its model the plan alone would take other sizes than rules name for it.
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
    cells = [one.cells for one in rows]
    show(f"adapting, over whole runs on {given.target}", HEAD, cells)
    if given.markdown is not None:
        given.markdown.write_text(markdown(HEAD, cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
