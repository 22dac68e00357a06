"""A problem's program at one size, and its plan. TILEK_SIZES says its tile sizes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.problems import Problem, Sizes
from benchmarks.measure import TILECC, output_of
from benchmarks.suite.builds import compiler_flags
from benchmarks.suite.contenders import Contender, our_name, our_variables
from benchmarks.suite.programs import Sources
from benchmarks.suite.runs import Run, RunError, StoppedError, run
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.sizes.ranked_layouts import Sizes as TileSizes


class SubjectError(Exception):
    """A problem that cannot be measured; the message is a clause on it that says why."""


@dataclass(frozen=True)
class CalibrationTarget:
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
        return {scalar.name: known[scalar.name] for scalar in self.plan.scalars if scalar.name in known}

    def run(self, layout: TileSizes, target: str, threads: int, limit: float) -> Run | None:
        """One process; None where it takes longer than `limit` seconds. Raises SubjectError where it fails."""
        said = ",".join(f"{name}={size}" for name, size in zip(self.names, layout, strict=True))
        variables = our_variables(target, threads) | {"TILEK_SIZES": said}
        # The first run of a process starts threads, and compiles on devices.
        contender = Contender(our_name(target), self.program, variables, warm=True)
        try:
            result = run(contender, f"type={self.problem.type},seed=1,time=1", limit)
        except StoppedError:
            return None
        except RunError as error:
            raise SubjectError(f"{error} with {said}") from None
        if "TILEK_SIZES" in result.said:
            raise SubjectError(result.said.strip())
        return result


def make(problem: Problem, sizes: Sizes, sources: Sources, folder: Path) -> CalibrationTarget:
    """Build a problem's program in a folder where `build_support` was. Raises SubjectError."""
    source = folder / f"{problem.program}.{'.'.join(map(str, sizes.values()))}.c"
    source.write_text(sources.ours(problem.program))
    program = source.with_suffix("")
    definitions = sources.options(problem.program, sizes, problem.type, parametric=True)
    options = (*compiler_flags("native", exact=True), *definitions)
    headers = tuple(map(str, sources.headers(problem.program)))
    result = translate(
        TranslateRequest(str(source), options=options, folders=headers, last="verify", use_records=False)
    )
    if not result.succeeded or len(result.plans) != 1:
        raise SubjectError(
            "; ".join(diagnostic.message for diagnostic in result.diagnostics) or f"{len(result.plans)} kernels"
        )
    if not result.plans[0].sizes:
        raise SubjectError("its plan has no tile sizes")
    output_of((*TILECC, *options, "-o", str(program), str(source), str(folder / "support.o"), "-lm"), folder)
    return CalibrationTarget(problem, sizes, result.plans[0], program)
