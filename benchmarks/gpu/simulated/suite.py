"""The suite's programs in GPGPU-Sim: ours beside PPCG's CUDA, at sizes that are feasible there.

PPCG reads the text with macros expanded and all sizes as numbers; what it leaves is compiled like a
peer's CUDA (peers.py). Ours is the original with tilek's line in the place of each scop. All have
float (int, where the program has) and random data, and the bits that they leave are compared with
the original's. Cycles include 5000 of latency for each launch. The geometric mean is over the
programs that both ran.

`--model` runs ours alone and prints what the model of devices predicts beside the counts;
`--functional` then executes without timing.

GPGPUSIM_ROOT and CUDA_INSTALL_PATH are those of benchmarks.gpu.simulated, and CXX must take C's
declarations of arrays (clang++). Exit status 1 where ours leaves other bits or fails, 2 where
something is missing.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.formulas import sizes_of
from benchmarks.gpu.kernel_runs import hashes_of
from benchmarks.gpu.simulated.peers import build_cuda
from benchmarks.gpu.simulated.predictions import (
    Prediction,
    Predictor,
    columns_of,
    prediction,
    rows_of,
    summaries,
)
from benchmarks.gpu.simulated.simulator import (
    CONFIGURATIONS,
    RUN_SECONDS,
    Counts,
    Simulator,
    find_simulator,
    run_counted,
)
from benchmarks.measure import COMPILER, EXACT, SUPPORT, TILECC, BenchmarkError, checked_output, environment, markdown
from benchmarks.polybench_programs import PolybenchError, Sizes
from benchmarks.suite.builds import BuildError, preprocessed
from benchmarks.suite.hand import PatchError
from benchmarks.suite.programs import Sources, read_sources

OURS, PPCG = "ours", "PPCG"
#: Sizes by program; 20 to 60 million thread instructions take minutes.
SIZES = {
    "2mm": "NI=120 NJ=124 NK=132 NL=136",
    "3mm": "NI=100 NJ=104 NK=108 NL=112 NM=116",
    "gemm": "NI=136 NJ=140 NK=148",
    "symm": "M=96 N=108",
    "syr2k": "M=100 N=124",
    "syrk": "M=124 N=140",
    "trmm": "M=108 N=120",
    "doitgen": "NR=22 NQ=26 NP=44",
    "correlation": "M=100 N=116",
    "covariance": "M=100 N=116",
    "atax": "M=500 N=516",
    "bicg": "M=500 N=516",
    "gemver": "N=400",
    "gesummv": "N=400",
    "mvt": "N=500",
    "trisolv": "N=400",
    "deriche": "W=190 H=210",
    "cholesky": "N=90",
    "durbin": "N=150",
    "gramschmidt": "M=70 N=60",
    "lu": "N=90",
    "ludcmp": "N=80",
    "floyd-warshall": "N=90",
    "nussinov": "N=90",
    "adi": "TSTEPS=2 N=100",
    "fdtd-2d": "TMAX=3 NX=150 NY=170",
    "heat-3d": "TSTEPS=3 N=38",
    "jacobi-1d": "TSTEPS=8 N=50000",
    "jacobi-2d": "TSTEPS=3 N=250",
    "seidel-2d": "TSTEPS=3 N=90",
    "tilek-sgemm": "N=130 M=134 P=138",
    "tilek-syr2k": "N=110 M=100",
    "tilek-doitgen": "R=22 Q=26 P=44",
    "tilek-conv2d": "REPEATS=1 N=250 M=260",
    "thesis-jacobi-1d-3": "STEPS=8 N=50000",
    "thesis-jacobi-2d-5": "STEPS=3 N=250",
    "thesis-jacobi-3d-7": "STEPS=3 N=40",
    "thesis-jacobi-3d-27": "STEPS=3 N=34",
    "thesis-sor-1d-3": "STEPS=12 N=3000",
    "thesis-sor-2d-5": "STEPS=3 N=90",
    "thesis-sor-3d-7": "STEPS=2 N=30",
    "thesis-fdtd-2d": "STEPS=3 N=160",
    "thesis-heat-2d-7": "STEPS=3 N=250",
}
#: Data of the program's own: random ones lead to infinity.
OWN_DATA = ("durbin",)
COLUMNS = ("program", "launches", "PPCG", "insn, M", "PPCG", "DRAM, K", "PPCG", "cycles", "PPCG", "PPCG / ours", "bits")


@dataclass(frozen=True)
class Run:
    """`counts` of a code; `same`: it leaves the original's bits. `failure` says why there are none."""

    counts: Counts | None
    same: bool = False
    failure: str = ""


@dataclass(frozen=True)
class Comparison:
    """A program at `sizes`, as ours and as PPCG's, or ours and what the model says of it."""

    program: str
    sizes: Sizes
    ours: Run
    ppcg: Run
    prediction: Prediction | None = None

    @property
    def ratio(self) -> float:
        """PPCG's cycles over ours; 0 where one has none."""
        ours, ppcg = self.ours.counts, self.ppcg.counts
        return ppcg.cycles / ours.cycles if ours is not None and ppcg is not None and ours.cycles else 0.0


@dataclass(frozen=True)
class Workplace:
    """What all programs share: `support` is polybench_support.c, compiled. `ppcg` is None where ours
    run alone.
    """

    sources: Sources
    simulator: Simulator
    ppcg: str | None
    support: Path
    folder: Path
    functional: bool = False

    def compare(self, program: str) -> Comparison:
        sizes = sizes_of(SIZES[program])
        type_ = "int" if self.sources.programs[program].type == "int" else "float"
        options = (*EXACT, *self.sources.options(program, sizes, type_, parametric=False))
        settings = f"type={type_},seed={int(program not in OWN_DATA)},time=1"
        folder = self.folder / program
        folder.mkdir()
        try:
            plain = self._compiled(folder / "plain", shlex.split(COMPILER), self.sources.text(program), options)
            expected = hashes_of(checked_output([str(plain), "-", settings], environment(), folder, RUN_SECONDS))
        except (BenchmarkError, PatchError) as error:
            failed = Run(None, failure=str(error))
            return Comparison(program, sizes, failed, failed)

        def run(make: Callable[[], Path]) -> Run:
            try:
                command = [str(make()), "-", settings]
                said, counts = run_counted(command, self.simulator, self.folder, functional=self.functional)
                return Run(counts, hashes_of(said) == expected)
            except (BenchmarkError, BuildError, PatchError) as error:
                return Run(None, failure=str(error))

        ours = run(lambda: self._compiled(folder / "ours", list(TILECC), self.sources.ours(program), options))
        if self.ppcg is None:
            return Comparison(program, sizes, ours, Run(None), self._predicted(program, options, ours))
        return Comparison(program, sizes, ours, run(lambda: self._translated(program, folder, options)))

    def _predicted(self, program: str, options: tuple[str, ...], ours: Run) -> Prediction | None:
        if ours.counts is None:
            return None
        # Parameters of functions have the names of sizes in small letters, some with an n before.
        given = sizes_of(SIZES[program]).items()
        sizes = {spelt: value for name, value in given for spelt in (name, name.lower(), f"n{name.lower()}")}
        predictor = Predictor(self.simulator, CONFIGURATIONS[0].gpu)
        predict = partial(predictor.predicted, f"{program}.c", self.sources.ours(program), options, sizes)
        return prediction(program, ours.counts, predict)

    def _compiled(self, program: Path, compiler: list[str], text: str, options: tuple[str, ...]) -> Path:
        """Raises BenchmarkError."""
        source = program.with_suffix(".c")
        source.write_text(text)
        checked_output([*compiler, *options, "-o", str(program), str(source), str(self.support), "-lm"], environment())
        return program

    def _translated(self, program: str, folder: Path, options: tuple[str, ...]) -> Path:
        """PPCG's program. Raises BenchmarkError, BuildError."""
        translated = folder / "ppcg"
        translated.mkdir()
        source = translated / f"{program.replace('-', '_')}.c"
        source.write_text(self.sources.text(program))
        text = preprocessed(source, (*options, "-DPOLYBENCH_USE_SCALAR_LB"))
        # Kernels of PPCG use names of types in a file that does not declare them.
        for declaration in re.finditer(r"\btypedef (char|int|float|double) (\w+);", text):
            text = re.sub(rf"\b{declaration[2]}\b", declaration[1], text.replace(declaration[0], "", 1))
        source.write_text(text)
        checked_output([str(self.ppcg), "--target=cuda", source.name], environment(), translated, RUN_SECONDS)
        build_cuda(translated, folder / "peer", self.simulator, self.support, linkage="C")
        return folder / "peer"


def row_of(comparison: Comparison) -> list[str]:
    ours, ppcg = comparison.ours, comparison.ppcg
    row = [f"{comparison.program} {' '.join(map(str, comparison.sizes.values()))}"]
    counts = (ours.counts, ppcg.counts)
    row += ["" if each is None else str(each.launches) for each in counts]
    row += ["" if each is None else f"{1e-6 * each.instructions:.2f}" for each in counts]
    row += ["" if each is None else f"{1e-3 * each.dram:.1f}" for each in counts]
    row += ["" if each is None else f"{each.cycles:,}".replace(",", " ") for each in counts]
    row.append(f"{comparison.ratio:.2f}" if comparison.ratio else "")
    said = [
        f"{name} {'failed' if each.counts is None else 'differs'}"
        for name, each in ((OURS, ours), (PPCG, ppcg))
        if not each.same
    ]
    return [*row, ", ".join(said) or "same"]


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.simulated.suite",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("folder", type=Path, nargs="?", metavar="POLYBENCH", help="a copy of PolyBench/C")
    options.add_argument("--ppcg", default="ppcg", metavar="PROGRAM", help="PPCG (default: of PATH)")
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these programs")
    options.add_argument("--jobs", type=int, default=2, metavar="N", help="programs at once")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the counts there")
    options.add_argument("--model", action="store_true", help="ours alone, beside the model's counts")
    options.add_argument("--functional", action="store_true", help="with --model: without timing")
    given = options.parse_args()
    if given.functional and not given.model:
        options.error("--functional goes with --model")
    ppcg = None if given.model else shutil.which(given.ppcg)
    if ppcg is None and not given.model:
        options.error(f"{given.ppcg} is not found: it is PPCG's program")
    try:
        sources = read_sources(given.folder)
    except PolybenchError as error:
        options.error(str(error))
    programs = [name for name in SIZES if name in sources.programs and (not given.only or name in given.only)]
    if not programs:
        options.error(f"no program is called {' or '.join(given.only)}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            simulator = find_simulator(folder)
            simulator.configure(CONFIGURATIONS[0])
            support = folder / "support.o"
            checked_output([*shlex.split(COMPILER), *EXACT, "-c", "-o", str(support), str(SUPPORT)], environment())
        except (BenchmarkError, OSError) as error:
            print(error)
            return 2
        theirs = None if ppcg is None else str(Path(ppcg).resolve())
        workplace = Workplace(sources, simulator, theirs, support, folder, given.functional)
        comparisons = []
        print(markdown(columns_of(given.functional) if given.model else COLUMNS, []), end="")
        with ThreadPoolExecutor(given.jobs) as pool:
            for comparison in pool.map(workplace.compare, programs):
                comparisons.append(comparison)
                predicted = [comparison.prediction] if comparison.prediction is not None else []
                rows = rows_of(predicted, given.functional) if given.model else [row_of(comparison)]
                print(*(f"| {' | '.join(row)} |\n" for row in rows), sep="", end="", flush=True)
                for name, run in ((OURS, comparison.ours), (PPCG, comparison.ppcg)):
                    if run.failure:
                        print(f"{comparison.program}, {name}: {run.failure}", file=sys.stderr)
    predictions = [comparison.prediction for comparison in comparisons if comparison.prediction is not None]
    for line in summaries(predictions, given.functional):
        print(line)
    ratios = [comparison.ratio for comparison in comparisons if comparison.ratio]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"PPCG's cycles over ours: geometric mean {mean:.2f} of {len(ratios)}, least {min(ratios):.2f}")
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(comparison) for comparison in comparisons], indent=1) + "\n")
    return 0 if all(comparison.ours.same for comparison in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
