"""A problem's program at one size, and its plan. TILEK_SIZES says its tile sizes."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.problems import Problem, Sizes
from benchmarks.measure import COMPILER, TILECC, environment, output_of
from benchmarks.polybench_programs import HOOKS
from benchmarks.suite.programs import Sources
from tilepragma.driver import TranslateRequest, translate
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.layouts import Sizes as TileSizes

SUPPORT = Path(__file__).resolve().parents[1] / "polybench_support.c"
#: Runs in one process, of which the fastest counts: the first one starts threads, and compiles on devices.
RUNS = 2


class SubjectError(Exception):
    """A problem that cannot be measured; the message is a clause on it that says why."""


@dataclass(frozen=True)
class Run:
    """Seconds of the kernel, and the hashes of what it leaves."""

    seconds: float
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """A problem at one size with its plan, whose tile sizes and scalars have names, and its program."""

    problem: Problem
    sizes: Sizes
    plan: KernelPlan
    program: Path

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the tile sizes, in their order."""
        return tuple(size.object.name for size in self.plan.sizes)

    @property
    def scalars(self) -> dict[str, int]:
        """The kernel's."""
        known = {name.lower(): value for name, value in self.sizes.items()}
        return {one.name: known[one.name] for one in self.plan.scalars if one.name in known}

    def run(self, layout: TileSizes, target: str, threads: int, limit: float) -> Run | None:
        """One process; None where it takes longer than `limit` seconds. Raises SubjectError where it fails."""
        said = ",".join(f"{name}={size}" for name, size in zip(self.names, layout, strict=True))
        command = (str(self.program), "-", *([f"type={self.problem.type},seed=1,time=1"] * RUNS))
        variables = {
            "TILEK_SIZES": said,
            "TILEK_TARGET": target,
            "TILEK_STRICT": "1",
            "TILEK_NUM_THREADS": str(threads),
        }
        try:
            done = subprocess.run(
                command, env=environment(**variables), capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0 or "TILEK_SIZES" in done.stderr:
            raise SubjectError(f"status {done.returncode} with {said}: {done.stderr.strip()[-300:]}")
        lines = [line.split() for line in done.stdout.splitlines()]
        return Run(min(float(words[1]) for words in lines), tuple(lines[-1][2:]))


def make(problem: Problem, sizes: Sizes, sources: Sources, folder: Path) -> Subject:
    """Build a problem's program in a folder that `prepare` has seen. Raises SubjectError."""
    source = folder / f"{problem.program}.{'.'.join(map(str, sizes.values()))}.c"
    source.write_text(sources.ours(problem.program))
    program = source.with_suffix("")
    folders = (sources.programs[problem.program].source.parent, *sources.folders)
    numbers = (f"-D{name}={value}" for name, value in sizes.items())
    options = (
        *("-std=gnu99", "-O3", "-march=native", "-ffp-contract=off", "-Wno-unknown-pragmas"),
        *(f"-DDATA_TYPE_IS_{problem.type.upper()}", "-DPOLYBENCH_USE_C99_PROTO"),
        *(*HOOKS, *(f"-I{one}" for one in folders), *numbers),
    )
    result = translate(
        TranslateRequest(str(source), options=options, folders=tuple(map(str, folders)), last="verify", kept=False)
    )
    if not result.succeeded or len(result.plans) != 1:
        raise SubjectError("; ".join(one.message for one in result.diagnostics) or f"{len(result.plans)} kernels")
    if not result.plans[0].sizes:
        raise SubjectError("its plan has no tile sizes")
    output_of((*TILECC, *options, "-o", str(program), str(source), str(folder / "support.o"), "-lm"), folder)
    return Subject(problem, sizes, result.plans[0], program)


def prepare(folder: Path) -> None:
    """What all programs share."""
    command = (*shlex.split(COMPILER), "-std=c99", "-O2", "-c", "-o", str(folder / "support.o"), str(SUPPORT))
    output_of(command, folder)
