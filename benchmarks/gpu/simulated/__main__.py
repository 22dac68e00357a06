"""Counts what GPU code does, on GPGPU-Sim: instructions a point, transactions, cycles.

Each kernel of `programs/kernels.c`, translated by tilecc with tilek's lines alone, runs beside the
hand-written CUDA of `programs/naive.cu`, one thread an element, on the same data; the bits that both
leave are compared with those of the plain C program. Counts carry over to real devices, cycles (with
5000 of launch latency a launch) are a guide. `--functional` executes without timing, 15 times faster.

The simulator is no part of this project: GPGPUSIM_ROOT names the tree of GPGPU-Sim 4.2, built, and
CUDA_INSTALL_PATH CUDA 11.8's headers, NVRTC and ptxas. Exit status 1 where bits differ, 2 where
something is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.gpu.simulated.cases import CASES, SimulatedCase
from benchmarks.gpu.simulated.simulator import (
    CONFIGURATIONS,
    Counts,
    Simulator,
    SimulatorError,
    find_simulator,
    read_counts,
    run_program,
)
from benchmarks.measure import TILECC, environment, markdown, show

PROGRAMS = Path(__file__).resolve().parent / "programs"
FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=off", "-Wno-unknown-pragmas")
RUN_SECONDS = 3600
OURS, NAIVE, TILED = "ours", "naive", "tiled"
COLUMNS = ("kernel", "code", "launches", "insn a unit", "goal", "registers", "occupancy")
TIMED_COLUMNS = ("L1", "L2", "DRAM", "conflicts", "cycles")


@dataclass(frozen=True)
class Outcome:
    """`counts` of a run of `code`; `same`: it leaves the bits of the plain program."""

    case: SimulatedCase
    code: str
    counts: Counts
    same: bool

    @property
    def a_unit(self) -> float:
        return self.counts.instructions / self.case.unit_count


def build(folder: Path) -> None:
    """The programs, one for each kind of code. Raises SimulatorError."""
    main, kernels = str(PROGRAMS / "main.c"), str(PROGRAMS / "kernels.c")
    naive = ["gcc", *FLAGS, "-DNAIVE", main, str(PROGRAMS / "naive.c"), str(PROGRAMS / "cuda_launch.c"), "-ldl"]
    commands = {
        "plain": ["gcc", *FLAGS, main, kernels],
        OURS: [*TILECC, *FLAGS, main, kernels],
        NAIVE: naive,
        TILED: [*naive, "-DTILED"],
    }
    for name, command in commands.items():
        run_program([*command, "-o", str(folder / name)], folder, environment(), RUN_SECONDS)


def result_of(output: str) -> str:
    """The hash of what a program left."""
    lines = [line for line in output.splitlines() if line.startswith("RESULT ")]
    if len(lines) != 1:
        raise SimulatorError("the program printed no result")
    return lines[0]


def measure(case: SimulatedCase, code: str, simulator: Simulator, folder: Path, functional: bool) -> Outcome:
    """Raises SimulatorError."""
    arguments = [case.kernel, str(case.n), str(case.steps)]
    expected = result_of(run_program([str(folder / "plain"), *arguments], folder, {}, RUN_SECONDS))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        run_folder = Path(place)
        launches, log = run_folder / "launches.json", run_folder / "log.txt"
        variables = {
            **simulator.variables(functional=functional),
            "TILEK_SIMULATED_LAUNCHES": str(launches),
            "TILEK_SIMULATED_LOG": str(log),
            "TILEK_CACHE_DIR": str(folder / "cache"),
            "TILEK_TARGET": "cuda",
            "TILEK_STRICT": "1",
            "SIMULATED_CUDA": str(PROGRAMS / "naive.cu"),
        }
        output = run_program([str(folder / code), *arguments], run_folder, variables, RUN_SECONDS)
        return Outcome(case, code, read_counts(launches, log), result_of(output) == expected)


def codes_of(case: SimulatedCase) -> tuple[str, ...]:
    return (OURS, NAIVE, TILED) if case.kernel == "product" else (OURS, NAIVE)


def table_of(outcomes: list[Outcome], functional: bool) -> list[list[str]]:
    """A row an outcome, without what functional runs do not count. A goal that is a multiple is of
    the naive kernel's instructions.
    """
    naive = {outcome.case: outcome.a_unit for outcome in outcomes if outcome.code == NAIVE}
    rows = []
    for outcome in outcomes:
        case, counts = outcome.case, outcome.counts
        goal = case.goal if case.absolute else case.goal * naive.get(case, 0.0)
        timed = (counts.l1, counts.l2, counts.dram, counts.conflicts, counts.cycles)
        rows.append(
            [
                case.title,
                outcome.code if outcome.same else f"{outcome.code}: OTHER BITS",
                str(counts.launches),
                f"{outcome.a_unit:.2f}",
                f"{goal:.2f}" if goal and outcome.code == OURS else "",
                str(counts.registers),
                f"{counts.occupancy:.2f}",
                *(() if functional else map(str, timed)),
            ]
        )
    return rows


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.simulated",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [configuration.name for configuration in CONFIGURATIONS]
    options.add_argument("--configuration", choices=names, default=names[0], help=f"the device (default: {names[0]})")
    options.add_argument(
        "--functional", action="store_true", help="execute without timing: instructions and bits alone"
    )
    options.add_argument("--only", nargs="+", default=[], metavar="KERNEL", help="these kernels")
    options.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at once")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the counts there")
    options.add_argument("--markdown", action="store_true", help="print the table as docs/RESULTS.md has it")
    given = options.parse_args()
    cases = [case for case in CASES if not given.only or case.kernel in given.only]
    if not cases:
        options.error(f"no kernel is called {' or '.join(given.only)}")
    configuration = next(item for item in CONFIGURATIONS if item.name == given.configuration)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            simulator = find_simulator(folder)
            simulator.configure(configuration)
            build(folder)
            with ThreadPoolExecutor(given.jobs) as pool:
                runs = [(case, code) for case in cases for code in codes_of(case)]
                outcomes = list(pool.map(lambda run: measure(*run, simulator, folder, given.functional), runs))
        except (SimulatorError, OSError) as error:
            print(error)
            return 2
    rows, columns = table_of(outcomes, given.functional), COLUMNS if given.functional else COLUMNS + TIMED_COLUMNS
    print(markdown(columns, rows)) if given.markdown else show(configuration.title, columns, rows)
    if given.json is not None:
        stored = [{**asdict(outcome), "configuration": configuration.name} for outcome in outcomes]
        given.json.write_text(json.dumps(stored, indent=1) + "\n")
    return 0 if all(outcome.same for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
