"""`tilepragma explain --measure`: convergence of a source's relaxations by each method."""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.base.refusals import CommandError
from tilepragma.base.user_compiler import compiler
from tilepragma.cli import runtime_library
from tilepragma.cli.devices import machine_of
from tilepragma.cli.output import measuring_progress, new_table, print_table
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.report.model_problem import ModelProblem, NoModel, model_problems, names_in_coefficients
from tilepragma.report.relaxation_facts import region_as_written
from tilepragma.tuning.convergence import Convergence, Outcome, converge
from tilepragma.tuning.programs import ProgramError, ending, last_line

if TYPE_CHECKING:
    from rich.table import Table

    from tilepragma.report.size_values import Sizes

_VALUE = re.compile(r"\s*(?P<name>[^=\s][^=]*?)\s*=\s*(?P<value>\S+)\s*")
#: Compiler options that also apply to made programs, and the default level.
_CODE_OPTIONS = ("-O", "-m", "-f")
_OPTIMISED = "-O2"
_ORIGINAL = "original loops, plain C"


@dataclass(frozen=True)
class Measured:
    """The result of one method: its convergence, or why it did not run; and a note on the run."""

    method: str
    convergence: Convergence | None
    reason: str = ""
    note: str = ""


def check_usage(options: argparse.Namespace) -> None:
    """Raises CommandError for wrong options."""
    if not options.measure:
        given = [name for name in ("value", "tolerance", "seconds") if getattr(options, name)]
        if given:
            raise CommandError(f"--{given[0]} goes with --measure")
        return
    if options.html == "-":
        raise CommandError("--measure writes a table behind the text on standard output: give --html a file")
    if options.tolerance is not None and not 0 < options.tolerance < 1:
        raise CommandError(f"--tolerance {options.tolerance:g}: a share of the first error, between 0 and 1")
    if options.seconds is not None and not 0 < options.seconds < math.inf:
        raise CommandError(f"--seconds {options.seconds:g}: a time above 0")


def measure(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult, sizes: Sizes) -> None:
    """Measure all relaxations of a translated source, and print the results. Raises CommandError,
    and RuntimeLibraryError or OSError if programs cannot be built.
    """
    values = _values(options.value)
    kernels = [region_as_written(plan) for plan in result.plans]
    known = names_in_coefficients(kernels)
    for name in values.keys() - known:
        there = f"they depend on {', '.join(sorted(known))}" if known else "there are none that depend on names"
        raise CommandError(f"--value {name}: no coefficient of a relaxation depends on that; {there}")
    problems = model_problems(kernels, sizes, values)
    if not problems:
        print("\nNothing to measure: there is no relaxation in place.")
    for problem in problems:
        if isinstance(problem, NoModel):
            print(f"\n{request.source}:{problem.line}: kernel {problem.kernel}: not measured: {problem.reason}")
            continue
        run = _Run(problem, options.tolerance or 1e-3, options.seconds or 10.0, _code_options(request.options))
        with tempfile.TemporaryDirectory(prefix="tilepragma-") as folder:
            rows = run.all(Path(folder))
        _show(run, rows, request.source)


def _values(words: Sequence[str]) -> dict[str, float]:
    """Raises CommandError."""
    values: dict[str, float] = {}
    for word in words:
        parts = _VALUE.fullmatch(word)
        try:
            number = float(parts["value"]) if parts else math.nan
        except ValueError:
            number = math.nan
        if parts is None or not math.isfinite(number):
            raise CommandError(f"--value {word}: write NAME=NUMBER, as in --value w=1.9")
        values[parts["name"]] = number
    return values


def _code_options(options: Sequence[str]) -> tuple[str, ...]:
    chosen = tuple(option for option in options if option.startswith(_CODE_OPTIONS))
    return chosen if any(option.startswith("-O") for option in chosen) else (_OPTIMISED, *chosen)


@dataclass(frozen=True)
class _Run:
    """A problem, the share of the error to reach, the seconds of a method, compiler options."""

    problem: ModelProblem
    tolerance: float
    limit: float
    options: tuple[str, ...]

    def all(self, folder: Path) -> list[Measured]:
        """The methods in sequence, the original loops first."""
        rows = []
        with measuring_progress() as progress:
            task = progress.add_task("", total=1 + len(self.problem.clauses))
            for clause in ("", *self.problem.clauses):
                rows.append(self._method(clause, folder, lambda text: progress.update(task, description=text)))
                progress.advance(task)
        return rows

    def _method(self, clause: str, folder: Path, say: Callable[[str], None]) -> Measured:
        """Measure one method; without a clause, plain C. Raises RuntimeLibraryError, OSError."""
        name = clause or _ORIGINAL
        say(f"{name}: building")
        source, program = folder / "model.c", folder / "model"
        note, written = "", self.problem.program(clause).encode()
        libraries: tuple[str, ...] = ("-lm",)
        if clause:
            made = translate(TranslateRequest("model.c", "model.tk.c", written, self.options))
            errors = [diagnostic.message for diagnostic in made.diagnostics if diagnostic.severity is Severity.ERROR]
            if errors or made.output is None:
                return Measured(name, None, f"refused: {errors[0] if errors else 'it cannot be translated'}")
            note = next((f"on one core: {plan.untransformed}" for plan in made.plans[:1] if plan.untransformed), "")
            written = made.output
            libraries = (*runtime_library.compile_flags(), *runtime_library.link_flags(self.options, is_program=True))
        source.write_bytes(written)
        built = [*compiler(), *self.options, "-w", str(source), "-o", str(program), *libraries]
        done = subprocess.run(built, capture_output=True, text=True, check=False)
        if done.returncode:
            return Measured(name, None, f"failed: the compiler {ending(done.returncode)}{last_line(done.stderr)}")

        def notify(look: Convergence) -> None:
            say(f"{name}: {look.rounds * self.problem.sweeps} sweeps, error {look.share:.2g}")

        numbers = (*self.problem.extents, self.tolerance, self.problem.rounds, self.limit)
        try:
            return Measured(name, converge([str(program), *map(str, numbers)], self.limit, notify), note=note)
        except ProgramError as error:
            return Measured(name, None, f"failed: the program {error}")


# -- Output


def _show(run: _Run, rows: Sequence[Measured], source: str) -> None:
    print()
    for line in _heading(run, rows, source):
        print(line)
    print_table(_table(run, rows))
    for row in rows:
        for words in filter(None, (row.reason, row.note)):
            print(f"  {row.method} {words}")


def _heading(run: _Run, rows: Sequence[Measured], source: str) -> Iterator[str]:
    problem = run.problem
    yield f"{source}:{problem.line}: sweeps of {problem.array} ({', '.join(problem.kernels)}) by method"
    mesh = " x ".join(map(str, problem.extents))
    values = [
        f"{name} = {value:.6g}" + " (the best for this mesh; --value says another)" * (name in problem.chosen)
        for name, value in problem.values.items()
    ]
    start = f"zero border, random start; {mesh} inner points, {problem.element}"
    yield f"  model problem: Laplace, {'; '.join((start, *values))}"
    until = f"until the greatest error is {run.tolerance:g} of that at first"
    yield f"  {until}, looked at every {problem.rounds * problem.sweeps} sweeps, for {run.limit:g} s at most"
    targets = dict.fromkeys(name for row in rows if row.convergence for name in row.convergence.targets)
    machines = [(name, machine_of(name)) for name in targets or ("threads",)]
    where = (f"{name} ({machine.name}, {machine.compute_units} compute units)" for name, machine in machines)
    yield f"  on {', '.join(where)}; {' '.join([*compiler(), *run.options])}; one run each"


def _table(run: _Run, rows: Sequence[Measured]) -> Table:
    table = new_table(None, ("method",), ("sweeps", "error", "time", "times as fast"))
    table.add_column("iterates")
    first = rows[0].convergence
    for row in rows:
        iterates = "the original's" if row.method in (_ORIGINAL, "sor(wavefront)") else "others"
        if row.convergence is None:
            table.add_row(row.method, row.reason.partition(":")[0], "", "", "", "")
            continue
        look, ended = row.convergence, row.convergence.outcome
        done, prefix = ended is Outcome.DONE, "> " * (ended is Outcome.STOPPED)
        base = first.seconds if first is not None and first.outcome is Outcome.DONE else None
        table.add_row(
            row.method,
            f"{prefix}{look.rounds * run.problem.sweeps}",
            "diverges" if ended is Outcome.DIVERGES else f"{look.share:.2g}",
            f"{prefix}{seconds(look.seconds)}",
            f"{base / look.seconds:.2f}" if done and base and look.seconds else "",
            iterates,
        )
    return table
