"""`tilepragma bench`: times functions with kernels on all targets against the plain source."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.base.refusals import CommandError, RefusalError
from tilepragma.base.user_compiler import compiler
from tilepragma.cli.command_options import asked_kernels, listed, targets_of
from tilepragma.cli.devices import accelerators, machine_of
from tilepragma.cli.exploration_programs import OPTIONS, compiled, fitting, local_headers, tilecc, with_optimisation
from tilepragma.cli.output import measuring_progress, new_table, print_error, print_table
from tilepragma.cli.tune import ended_by_sigterm
from tilepragma.driver.texts import as_written, calling_program, source_text
from tilepragma.tuning.measuring import FIRST_SECONDS, calls_in_a_run, counted_calls
from tilepragma.tuning.programs import NotBuiltError, ProgramError, ending, output_of
from tilepragma.tuning.source_records import records_file

if TYPE_CHECKING:
    from tilepragma.codegen.calling_program import CallingProgram
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.plan.kernel_plan import KernelPlan

_DONE, _FAILED, _INTERRUPTED = 0, 1, 130
_ORIGINAL = "original"
#: Runs of each program, interleaved, so that a disturbance of the machine affects all programs.
_ROUNDS = 3
#: The exit status of a program whose results differ by more than TILEK_VERIFY tolerates, and the
#: message with the difference.
_DIFFERENT = 70
_VERIFIED = re.compile(r"largest difference (\S+) absolute, (\S+) relative")


def check_usage(options: argparse.Namespace) -> None:
    """Raises CommandError for wrong options."""
    if options.input == "-":
        why = "its copies are built by the source's name, so name a file"
        raise CommandError(f"standard input cannot be measured: {why}")
    targets_of(options.target)
    if options.json and not Path(options.json).absolute().parent.is_dir():
        raise CommandError(f"--json {options.json}: there is no such folder")


@dataclass
class Measured:
    """One program at some sizes; an empty `target` is the original. `calls` are seconds of calls.
    `failure`: why there are none, a clause on the program. `difference`: the relative difference
    from the original's results, empty if all bits agree.
    """

    sizes: str
    target: str
    calls: list[float]
    digest: str = ""
    failure: str = ""
    difference: str = ""
    beyond: str = ""
    """the message if the difference exceeds the tolerance, a clause on the program"""

    @property
    def median(self) -> float | None:
        """The median of its calls' seconds."""
        return statistics.median(self.calls) if self.calls else None


@dataclass(frozen=True)
class _Function:
    """A function with kernels, as plain C and translated, and the targets to run it on."""

    name: str
    calling: CallingProgram
    original: Path
    translated: Path
    targets: tuple[str, ...]

    def measure(self, sizes: str, numbers: Mapping[str, int], notify: Callable[[str], None]) -> list[Measured]:
        """The original and each target, several interleaved runs of each."""
        rows = [Measured(sizes, target, []) for target in ("", *self.targets)]
        for place in range(_ROUNDS):
            for row in rows:
                notify(f"{self.name} at {sizes or 'its sizes'}: {row.target or _ORIGINAL}")
                if not row.failure:
                    self._run(row, numbers, calls_in_a_run(row.calls if place else ()))
        original = rows[0]
        for row in rows[1:]:
            if not row.failure and not original.failure:
                self._compare(row, numbers, original.digest)
        return rows

    def _run(self, row: Measured, numbers: Mapping[str, int], calls: int) -> None:
        """The first call of a run does not count (it compiles), nor do more of short kernels."""
        program = self.translated if row.target else self.original
        command = [str(program), *self.calling.command_line(numbers, calls)]
        try:
            output = self.calling.call_times(output_of(command, _variables(row.target), FIRST_SECONDS)[0])
        except ProgramError as error:
            row.failure, row.calls = str(error), []
            return
        if len(output.seconds) != calls or not output.digest:
            row.failure, row.calls = "ended before all calls were made", []
            return
        row.calls += counted_calls(output.seconds, fill=1)
        row.digest = output.digest

    def _compare(self, row: Measured, numbers: Mapping[str, int], digest: str) -> None:
        """The difference from the original results, sums included, by a self-verifying run."""
        command = [str(self.translated), *self.calling.command_line(numbers, 1)]
        try:
            _, errors = output_of(command, _variables(row.target) | {"TILEK_VERIFY": "1"}, FIRST_SECONDS)
        except ProgramError as error:
            errors = str(error)
            if not errors.startswith(ending(_DIFFERENT)):
                row.failure = f"fails where it verifies itself: it {errors}"
                return
            row.beyond = errors
        most = max((float(relative) for _, relative in _VERIFIED.findall(errors)), default=0.0)
        row.difference = f"{most:.2g}" if most else "" if row.digest == digest else "other bits"


def _variables(target: str) -> dict[str, str]:
    return {"TILEK_TARGET": target, "TILEK_STRICT": "1"} if target else {}


def bench(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Measure the functions around the kernels of a translated source; returns the exit status.
    Raises CommandError for sizes that no kernel has.
    """
    plans, points = asked_kernels(options.kernel, options.sizes, request, result)
    targets = listed(options.target)
    if not targets:
        available = (accelerator.target for accelerator in accelerators() if accelerator.number is not None)
        targets = ("threads", *dict.fromkeys(available))
    rows: dict[str, list[Measured]] = {}
    failed = False
    try:
        with tempfile.TemporaryDirectory(prefix="tilepragma-bench-") as folder, ended_by_sigterm():
            first: dict[str, KernelPlan] = {}
            for plan in plans:
                first.setdefault(as_written(result, plan).enclosing.function, plan)
            for name, plan in first.items():
                try:
                    function = _made(plan, name, result, request, targets, Path(folder))
                    _bench_function(function, points, rows.setdefault(name, []))
                except (RefusalError, NotBuiltError) as error:
                    failed = True
                    print_error(f"{request.source}: the function '{name}' is not measured: it {error}")
    except KeyboardInterrupt:
        print("interrupted: what was measured stands above")
        return _INTERRUPTED
    finally:
        if options.json:
            write_atomically(Path(options.json), _json(request, targets, rows).encode())
    failed = failed or any(row.failure or row.beyond for measured in rows.values() for row in measured)
    return _FAILED if failed else _DONE


def _made(
    plan: KernelPlan,
    name: str,
    result: TranslateResult,
    request: TranslateRequest,
    targets: tuple[str, ...],
    folder: Path,
) -> _Function:
    """Build the programs of the function `name`. Raises RefusalError, NotBuiltError."""
    source = Path(request.source)
    calling = calling_program(result, plan)
    build = folder / name
    build.mkdir()
    text, clock = build / source.name, build / "tilek_calling_clock.c"
    text.write_bytes(calling.timed_text(source_text(result)))
    clock.write_bytes(calling.clock_text)
    kept = records_file(request.source)
    if kept.is_file():
        (build / kept.name).write_bytes(file_bytes(kept))
    flags = (*OPTIONS, *with_optimisation(request.options), "-w", *local_headers(source), str(text), str(clock))
    original, translated = build / "original", build / "translated"
    compiled([*compiler(), *flags, "-o", str(original), "-lm"], build, {})
    compiled([*tilecc(request.openmp), *flags, "-o", str(translated), "-lm"], build, {})
    return _Function(name, calling, original, translated, targets)


def _bench_function(function: _Function, points: Mapping[str, Mapping[str, int]], rows: list[Measured]) -> None:
    """Fill the rows of one function and print its table, even partial. Raises RefusalError."""
    fits = fitting(function.name, function.calling, points)
    try:
        with measuring_progress() as progress:
            task = progress.add_task(function.name, total=len(fits))
            for sizes, numbers in fits.items():
                rows += function.measure(sizes, numbers, lambda text: progress.update(task, description=text))
                progress.advance(task)
    finally:
        _show(function, rows)


# -- Output


def _show(function: _Function, rows: Sequence[Measured]) -> None:
    machines = ", ".join(f"{name}: {machine_of(name).name}" for name in function.targets)
    numbers = ("a call takes", "+-", "times as fast", "difference")
    table = new_table(f"{function.name} ({machines})", ("sizes", "program"), numbers)
    first: Measured | None = None
    for row in rows:
        first = first if row.target else row
        table.add_row(row.sizes if not row.target else "", row.target or _ORIGINAL, *_cells(row, first))
    print_table(table)
    for row in rows:
        place = f"{row.target or _ORIGINAL} at {row.sizes or 'its sizes'}"
        if row.failure:
            print(f"  {place}: the program {row.failure}")
        elif row.beyond:
            print(f"  {place} differs by more than TILEK_TOLERANCE: the program {row.beyond}")


def _cells(row: Measured, original: Measured | None) -> tuple[str, str, str, str]:
    median = row.median
    if row.failure or median is None:
        return ("failed", "", "", "")
    base = original.median if original is not None and row.target else None
    ratio = f"{base / median:.2f}" if base and median else ""
    spread = (max(row.calls) - min(row.calls)) / 2 / median if median else 0.0
    same = row.difference or ("none" if base else "")
    return (seconds(median), f"{spread:.0%}", ratio, same)


def _json(request: TranslateRequest, targets: Sequence[str], rows: Mapping[str, Sequence[Measured]]) -> str:
    document = {
        "source": request.source,
        "compiler": shlex.join([*compiler(), *with_optimisation(request.options)]),
        "machines": {name: machine_of(name).name for name in targets},
        "functions": {
            name: [
                {
                    "sizes": row.sizes,
                    "program": row.target or _ORIGINAL,
                    "seconds": row.calls,
                    "failure": row.failure,
                    "same_bits": bool(row.digest) and not row.difference and not row.failure,
                    "difference": row.difference,
                    "beyond_tolerance": row.beyond,
                }
                for row in measured
            ]
            for name, measured in rows.items()
        },
    }
    return json.dumps(document, indent=1) + "\n"
