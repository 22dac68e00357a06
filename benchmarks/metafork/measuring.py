"""Builds a program once in each form, and runs it with every block and size."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import COMPILER, TILECC, output_of
from benchmarks.metafork.programs import Block, Program
from benchmarks.metafork.results import TILES, UNSAID, WORKERS, Line, Measured
from benchmarks.polybench_programs import HOOKS
from benchmarks.suite.builds import compiler_flags
from benchmarks.suite.contenders import Contender, our_variables
from benchmarks.suite.runs import RUNS_WHEN_WARM, Run, RunError, run
from tilepragma.tuning.programs import ProgramError, kernel_times

#: What a form is compiled with.
_MACROS = {UNSAID: (), WORKERS: ("-DBLOCKS_OF_B",)}
_LIMIT = 600.0


@dataclass(frozen=True)
class Built:
    """The original, and ours by form: with TILEK_SIZES that of which nothing is said."""

    original: Path
    ours: Mapping[str, Path]


def build(program: Program, folder: Path) -> Built:
    """In a folder where `build_support` was; the script ends with the compiler's messages where that fails."""
    options = (*compiler_flags("native", exact=True), "-DDATA_TYPE_IS_FLOAT", *HOOKS)
    last = (str(program.source), str(folder / "support.o"), "-lm")
    original = folder / f"{program.name}.original"
    output_of((*shlex.split(COMPILER), *options, "-o", str(original), *last), folder)
    ours = {form: folder / f"{program.name}.{place}" for place, form in enumerate(_MACROS)}
    for form, path in ours.items():
        output_of((*TILECC, *options, *_MACROS[form], "-o", str(path), *last), folder)
    return Built(original, ours | {TILES: ours[UNSAID]})


def lines_of(program: Program, target: str) -> list[Line]:
    """The rows of a table on a target: blocks are tile sizes on cores, where the plan has such, and workers of gangs elsewhere."""
    form = TILES if program.names and target == "threads" else WORKERS
    return [Line(UNSAID), *(Line(form, each) for each in program.printed)]


@dataclass
class Measuring:
    """All runs of a program on one target. What the driver compiles goes to a cache of its own in the folder."""

    program: Program
    built: Built
    target: str
    folder: Path
    found: Measured

    def round(self, size: int, heard: Callable[[], None]) -> None:
        """The original and every line once."""
        settings = self.program.settings(2**size, self.program.printed_best)
        original = run(Contender("original", self.built.original, {}, warm=True), settings, _LIMIT)
        self.found.original.setdefault(size, []).append(original.seconds)
        heard()
        for line in lines_of(self.program, self.target):
            self._take(line, size, original)
            heard()

    def _take(self, line: Line, size: int, original: Run) -> None:
        trace = self.folder / "trace.json"
        variables = {
            **our_variables(self.target, len(os.sched_getaffinity(0))),
            "TILEK_SPECIALIZE": "0",
            "TILEK_PROFILE": str(trace),
            "TILEK_CACHE_DIR": str(self.cache(line.form)),
            # Where PoCL keeps nothing of its own, our cache has all that was compiled.
            "POCL_KERNEL_CACHE": "0",
        }
        if line.form == TILES:
            variables["TILEK_SIZES"] = self.program.tile_sizes(line.block)
        block: Block = line.block or self.program.printed_best
        contender = Contender(line.label, self.built.ours[line.form], variables, warm=True)
        own = self.found.ours.setdefault(line, {}).setdefault(size, [])
        name = f"{line.form} {line.label} at 2^{size}"
        try:
            done = run(contender, self.program.settings(2**size, block), _LIMIT)
            # The first run of a process starts threads, and compiles on devices.
            own.append(sum(value.calls(RUNS_WHEN_WARM)[-1] for value in kernel_times(trace).values()))
        except (RunError, ProgramError) as error:
            self.found.failed.append(f"{name} {error}")
            return
        if done.hashes != original.hashes:
            self.found.wrong.append(f"{name}: results are not those of the original, bit for bit")

    def cache(self, form: str) -> Path:
        """Where kernels are kept that the driver compiled."""
        folder = self.folder / f"cache-{list(_MACROS).index(UNSAID if form == TILES else form)}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def compiled(self) -> int:
        """How many there are of the form of workers."""
        return sum(1 for path in self.cache(WORKERS).rglob("*.bin") if path.is_file())


def measure(
    program: Program, target: str, sizes: Sequence[int], rounds: int, folder: Path, heard: Callable[[], None]
) -> Measured:
    """Every line at every size, in turn. Raises RunError where the original fails."""
    measuring = Measuring(program, build(program, folder), target, folder, Measured(program.name, target))
    for _ in range(rounds):
        for size in sizes:
            measuring.round(size, heard)
    if target not in ("serial", "threads"):
        measuring.found.compiled = measuring.compiled()
    return measuring.found
