"""Counts what GPU code does, on GPGPU-Sim: instructions a point, transactions, cycles.

Kernels of `../programs`, translated by tilecc with tilek's lines alone, run beside the hand-written
CUDA of `by_hand.cu`, one thread an element, on the same data; the bits that both leave are compared
with those of the plain C program. Counts carry over to real devices, cycles (with 5000 of launch
latency a launch) are a guide. `--functional` executes without timing, 15 times faster. `--contract`
fuses multiplications with additions in GPU code. The simulator's fused instruction rounds the
product, so bits stay those of the plain program, which does not fuse.

`--model` prints instead what the model of devices predicts for ours beside the counts: thread
instructions, and without `--functional` sectors of the first cache and of memory.

`--peer FOLDER` adds rows of CUDA that others made of these kernels; FOLDER/KERNEL or
FOLDER/KERNEL-N holds the .cu files of a kernel, with host code over the CUDA runtime, compiled by
CXX.

The simulator is no part of this project: GPGPUSIM_ROOT names the tree of GPGPU-Sim 4.2, built, and
CUDA_INSTALL_PATH CUDA 11.8's headers, NVRTC and ptxas. Exit status 1 where bits differ or a run
fails, 2 where something is missing.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.gpu.kernel_cases import CASES, NAIVE, OURS, STREAMED, KernelCase
from benchmarks.gpu.kernel_runs import PROGRAMS, hashes_of, kernel_settings, sources_of
from benchmarks.gpu.simulated.peers import Peer, build_peer, peers_of
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
from benchmarks.measure import COMPILER, EXACT, TILECC, BenchmarkError, checked_output, environment, markdown, show
from tilepragma.cli.runtime_library import RuntimeLibraryError, build_tool

PLAIN, BY_HAND = "plain", "by-hand"
COLUMNS = ("kernel", "code", "launches", "insn a unit", "goal", "registers", "occupancy")
TIMED_COLUMNS = ("L1", "L2", "DRAM", "conflicts", "cycles")


@dataclass(frozen=True)
class Outcome:
    """`counts` of a run of `code`; `same`: it leaves the bits of the plain program. `failure` says
    why there are no counts.
    """

    case: KernelCase
    code: str
    counts: Counts | None
    same: bool
    failure: str = ""

    @property
    def a_unit(self) -> float:
        return self.counts.instructions / self.case.unit_count if self.counts is not None else 0.0


def build(folder: Path, contract: bool) -> None:
    """The programs: plain, ours, ours in streamed tiles, by hand. Raises BenchmarkError."""
    flags = (*EXACT, "-ffp-contract=fast") if contract else EXACT
    for name, compiler, options, sources, variables in (
        (PLAIN, shlex.split(COMPILER), EXACT, sources_of(), {}),
        (OURS, TILECC, flags, sources_of(), {}),
        (STREAMED, TILECC, flags, sources_of("stencils"), {"TILEK_TILES": "streamed"}),
    ):
        checked_output([*compiler, *options, *sources, "-o", str(folder / name), "-lm"], environment(**variables))
    by_hand = f"-DBY_HAND={'TILEK_CONTRACT' if contract else 0}"
    defined = (by_hand, f'-DBY_HAND_CUDA="{PROGRAMS / "by_hand.cu"}"', *flags)
    try:
        build_tool([Path(source) for source in sources_of()], defined, folder / BY_HAND)
    except (RuntimeLibraryError, OSError) as error:
        raise BenchmarkError(str(error)) from None


def command_of(folder: Path, code: str, kernel: str, n: int, steps: int) -> list[str]:
    """A run of a program of build's. Kernels by hand other than the naive ones have their code's name."""
    program = code if code in (PLAIN, OURS, STREAMED) else BY_HAND
    name = kernel if code in (PLAIN, OURS, STREAMED, NAIVE) else f"{kernel}_{code}"
    return [str(folder / program), "-", kernel_settings(name, n, steps, seed=1)]


def measure(case: KernelCase, code: str | Peer, simulator: Simulator, folder: Path, functional: bool) -> Outcome:
    """The counts of a run, or why there are none."""
    run = (case.kernel, case.n, case.steps)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            peer = build_peer(code, case, simulator, Path(place)) if isinstance(code, Peer) else None
            plain = checked_output(command_of(folder, PLAIN, *run), environment(), folder, RUN_SECONDS)
            command = command_of(folder, str(code), *run) if peer is None else peer
            said, counts = run_counted(command, simulator, folder, functional=functional)
            return Outcome(case, str(code), counts, hashes_of(said) == hashes_of(plain))
        except BenchmarkError as error:
            return Outcome(case, str(code), None, False, str(error))


def table_of(outcomes: list[Outcome], functional: bool) -> list[list[str]]:
    """A row an outcome, without what functional runs do not count. A goal that is a multiple is of
    the naive kernel's instructions.
    """
    naive = {outcome.case: outcome.a_unit for outcome in outcomes if outcome.code == NAIVE}
    rows = []
    for outcome in outcomes:
        case, counts = outcome.case, outcome.counts
        if counts is None:
            said = textwrap.shorten(outcome.failure.splitlines()[-1], 40)
            columns = COLUMNS if functional else COLUMNS + TIMED_COLUMNS
            rows.append([case.title, f"{outcome.code}: FAILED: {said}", *[""] * (len(columns) - 2)])
            continue
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


def predictions_of(outcomes: list[Outcome], predictor: Predictor) -> list[Prediction]:
    """The model's counts beside those of the runs."""
    result = []
    for outcome in outcomes:
        case, source = outcome.case, str(PROGRAMS / f"{outcome.case.program}.c")
        predict = partial(predictor.predicted, source, None, EXACT, {"n": case.n, "steps": case.steps}, case.kernel)
        if outcome.counts is not None:
            result.append(prediction(case.title, outcome.counts, predict))
    return result


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
    options.add_argument("--contract", action="store_true", help="fuse multiplications with additions")
    options.add_argument("--model", action="store_true", help="ours alone, beside the model's counts")
    options.add_argument("--only", nargs="+", default=[], metavar="KERNEL", help="these kernels")
    options.add_argument(
        "--peer", type=Path, nargs="+", default=[], metavar="FOLDER", help="CUDA of others, beside ours"
    )
    options.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at once")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the counts there")
    options.add_argument("--markdown", action="store_true", help="print the table as docs/RESULTS.md has it")
    given = options.parse_args()
    cases = [case for case in CASES if not given.only or case.kernel in given.only]
    if not cases:
        options.error(f"no kernel is called {' or '.join(given.only)}")
    if given.model and (given.contract or given.peer):
        options.error("--model predicts ours, without --contract")
    if given.contract and given.peer:
        options.error("peers are compiled without --contract")
    peers = [Peer(folder) for folder in given.peer]
    for peer in peers:
        if not any(peers_of(case, [peer]) for case in cases):
            options.error(f"{peer.folder} has none of the kernels")
    configuration = next(item for item in CONFIGURATIONS if item.name == given.configuration)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            simulator = find_simulator(folder)
            simulator.configure(configuration)
            build(folder, given.contract)
            with ThreadPoolExecutor(given.jobs) as pool:
                codes = {case: (OURS,) if given.model else (*case.codes, *peers_of(case, peers)) for case in cases}
                runs = [(case, code) for case in cases for code in codes[case]]
                outcomes = list(
                    pool.map(lambda run: measure(run[0], run[1], simulator, folder, given.functional), runs)
                )
            predictions = predictions_of(outcomes, Predictor(simulator, configuration.gpu)) if given.model else []
        except (BenchmarkError, OSError) as error:
            print(error)
            return 2
    for outcome in outcomes:
        if outcome.failure:
            print(f"{outcome.case.title}, {outcome.code}: {outcome.failure}", file=sys.stderr)
    if given.model:
        rows, columns = rows_of(predictions, given.functional), columns_of(given.functional)
    else:
        rows, columns = table_of(outcomes, given.functional), COLUMNS if given.functional else COLUMNS + TIMED_COLUMNS
    print(markdown(columns, rows)) if given.markdown else show(configuration.title, columns, rows)
    for line in summaries(predictions, given.functional):
        print(line)
    if given.json is not None:
        stored = [{**asdict(outcome), "configuration": configuration.name} for outcome in outcomes]
        given.json.write_text(json.dumps(stored, indent=1) + "\n")
    return 0 if all(outcome.same for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
