"""`make demo`: runs each sample as plain C and by tilecc on all targets, and prints a table."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tilepragma.base.frozen_values import dataclass
from tilepragma.cli import devices, runtime_library
from tilepragma.cli.output import new_table
from tilepragma.tuning.programs import ProgramError, captured, compile_seconds

#: A relative difference beyond this is a failure, not rounding.
TOLERANCE = 1e-4
_SECONDS = re.compile(r"^(?P<name>\S+): (?P<size>.*?) seconds (?P<seconds>\S+)$", re.MULTILINE)
#: Targets whose code is compiled at run time.
_COMPILED_FOR = ("opencl", "cuda")
#: The longest run in seconds; and the seconds up to which a program runs again for a better time.
_LONGEST_RUN, _LONG_ENOUGH = 600, 4


class DemoError(Exception):
    """A sample did not build or run; the message says why."""


@dataclass(frozen=True)
class Run:
    """A sample's runs: `seconds` of its kernel region, seconds of compilation, and its outputs."""

    size: str
    seconds: float
    compiling: float
    dump: Path


def main(arguments: Sequence[str]) -> int:
    """Run the samples of a folder, or only those named; returns 0 if all match the original."""
    console = Console()
    root = Path(arguments[0] if arguments else "samples").resolve()
    names = list(arguments[1:]) or sorted(path.parent.name for path in root.glob("*/Makefile"))
    try:
        targets = _targets(console)
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        return runtime_library.report(error)
    numbers = ("compiling", "time", "speed-up", "difference")
    table = new_table("Samples: the original on one core against each target", ("sample and size", "target"), numbers)
    table.title_justify = "center"
    failures = []
    with tempfile.TemporaryDirectory(prefix="tilepragma-demo-") as scratch:
        copy = Path(scratch) / "samples"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns("*.o", "*.d", "*.ppm", "kernels"))
        for name in names:
            try:
                failures += _sample(console, table, copy / name, targets)
            except DemoError as error:
                failures.append(f"{name}: {error}")
                table.add_row(name, "", "", "", "", "failed", style="red")
    console.print(table)
    for failure in failures:
        console.print(failure, style="red", markup=False, highlight=False)
    return 1 if failures else 0


def _targets(console: Console) -> list[str]:
    """The available targets; prints the others with the reason."""
    present = ["serial", "threads"]
    with console.status("Building the runtime library and looking for devices"):
        accelerators = devices.accelerators()
    for device in accelerators:
        if device.number is None:
            console.print(f"{device.target} is left out: {device.name}", style="dim", markup=False, highlight=False)
        elif device.target not in present:
            present.append(device.target)
            console.print(f"{device.target} is {device.name}", style="dim", markup=False, highlight=False)
    return present


def _sample(console: Console, table: Table, folder: Path, targets: Sequence[str]) -> list[str]:
    """Add the rows of one sample; returns the failures on single targets."""
    name = folder.name
    with console.status(f"{name}: the original") as status:
        _build(folder, "cc")
        original = _run(folder, "original", {})
        table.add_row(name, "original", "", f"{original.seconds:.3f} s", "1.00", "", end_section=False)
        status.update(f"{name}: make CC=tilecc")
        _build(folder, "tilecc")
        failures = []
        for target, below in itertools.zip_longest(targets, [original.size], fillvalue=""):
            status.update(f"{name}: on {target}")
            try:
                run = _run(folder, target, {"TILEK_TARGET": target, "TILEK_STRICT": "1"})
                absolute, relative = _difference(original.dump, run.dump)
            except DemoError as error:
                failures.append(f"{name} on {target}: {error}")
                table.add_row(below, target, "", "", "", "failed", style="red")
                continue
            shown = f"{absolute:.2g}" if absolute else "0"
            wrong = not relative <= TOLERANCE
            if wrong:
                failures.append(f"{name} on {target}: differs from the original by {shown}")
            speed = f"{original.seconds / run.seconds:.2f}" if run.seconds else ""
            compiling = f"{run.compiling:.3f} s" if target in _COMPILED_FOR else ""
            table.add_row(below, target, compiling, f"{run.seconds:.3f} s", speed, shown, style="red" if wrong else "")
            run.dump.unlink()
    table.add_section()
    original.dump.unlink()
    return failures


def _build(folder: Path, compiler: str) -> None:
    _checked(["make", "-s", "clean"], folder, {})
    command = os.environ.get("TILEK_CC") or compiler
    if compiler == "tilecc":  # that of this Python environment, whatever the PATH says
        beside = Path(sys.executable).with_name("tilecc")
        command = str(beside) if beside.is_file() else f"{sys.executable} -m tilepragma.cli.tilecc"
    _checked(["make", "-s", f"CC={command}"], folder, {})


def _run(folder: Path, label: str, environment: dict[str, str]) -> Run:
    """The best of three runs, or of fewer long ones; the first run writes the outputs. Where the
    first run compiles code, it reports the compile time only, and later runs load the compiled
    code.
    """
    dump, trace = folder / f"{label}.dump", folder / f"{label}.json"
    command = f"./{folder.name}"
    profile = {"TILEK_PROFILE": str(trace)} if label in _COMPILED_FOR else {}
    size, seconds = _timed([command, "--dump", str(dump)], folder, environment | profile)
    compiling = _compiling(trace) if profile else 0.0
    times = [_timed([command], folder, environment)[1] if profile else seconds]
    while len(times) < 3 and sum(times) + times[-1] < _LONG_ENOUGH:
        times.append(_timed([command], folder, environment)[1])
    return Run(size, min(times), compiling, dump)


def _compiling(trace: Path) -> float:
    try:
        return compile_seconds(trace)
    except (OSError, ProgramError) as error:
        raise DemoError(str(error)) from None
    finally:
        trace.unlink(missing_ok=True)


def _timed(command: Sequence[str], folder: Path, environment: dict[str, str]) -> tuple[str, float]:
    """The sizes and the seconds that a sample prints."""
    output = _checked(command, folder, environment)
    match = _SECONDS.search(output)
    if match is None:
        raise DemoError(f"printed no line 'NAME: SIZE… seconds S' but:\n{output}")
    return match["size"].replace(" ", "×"), float(match["seconds"])


def _checked(command: Sequence[str], folder: Path, environment: dict[str, str]) -> str:
    """Standard output of a command that must succeed."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    try:
        done = captured(command, cwd=folder, env=variables | environment, timeout=_LONGEST_RUN)
    except subprocess.TimeoutExpired:
        raise DemoError(f"'{' '.join(command)}' took longer than {_LONGEST_RUN} s") from None
    if done.returncode:
        message = "\n".join((done.stderr or done.stdout).strip().splitlines()[:12])
        raise DemoError(f"'{' '.join(command)}' ended with status {done.returncode}\n{message}")
    return done.stdout


def _difference(original: Path, dump: Path) -> tuple[float, float]:
    """The largest difference between two dumps of 32-bit floats, absolute and relative."""
    import numpy

    if original.stat().st_size != dump.stat().st_size:
        raise DemoError("wrote outputs of another size than the original's")
    absolute, largest = 0.0, 0.0
    for expected, got in zip(_pieces(original), _pieces(dump), strict=True):
        a = numpy.frombuffer(expected, numpy.float32).astype(numpy.float64)
        b = numpy.frombuffer(got, numpy.float32).astype(numpy.float64)
        if numpy.isnan(b).any() and not numpy.isnan(a).any():
            raise DemoError("gave values that are no numbers")
        absolute = max(absolute, float(numpy.nanmax(numpy.abs(a - b), initial=0.0)))
        largest = max(largest, float(numpy.nanmax(numpy.abs(a), initial=0.0)))
    return absolute, absolute / largest if largest else absolute


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(1 << 24):
            yield piece


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
