"""What the benchmark scripts share: commands of this source tree, alternating runs, medians, tables."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
COMPILER = os.environ.get("TILEK_CC", "cc")
TILECC = (sys.executable, "-m", "tilepragma.cli.tilecc")
#: What all of PolyBench's programs link against: data, clock, hashes.
SUPPORT = ROOT / "benchmarks" / "polybench_support.c"
#: Results have the bits of the original loop.
EXACT = ("-std=gnu99", "-O2", "-ffp-contract=off", "-Wno-unknown-pragmas")
TILEPRAGMA = (sys.executable, "-m", "tilepragma.cli.tilepragma")


class BenchmarkError(Exception):
    """Something is missing, or a command fails; the message says what."""


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with this source tree importable."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path} | more


def output_of(command: Sequence[str], folder: Path, **more: str) -> str:
    """Standard output of a command; the script ends with its messages where it fails."""
    try:
        return checked_output(command, environment(**more), folder)
    except BenchmarkError as error:
        sys.exit(str(error))


def checked_output(
    command: Sequence[str],
    variables: Mapping[str, str],
    folder: Path | None = None,
    seconds: float | None = None,
    *,
    with_warnings: bool = False,
    with_errors: bool = False,
) -> str:
    """Standard output of a command; `with_errors`: and then its standard error; `with_warnings`: the
    latter is printed. Raises BenchmarkError where it fails, or takes more than `seconds`.
    """
    streams: dict[str, Any] = {"capture_output": True, "text": True, "errors": "replace"}
    try:
        done = subprocess.run(command, cwd=folder, env=variables, timeout=seconds, check=False, **streams)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchmarkError(str(error)) from None
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}"
        raise BenchmarkError(f"{shlex.join(command)}\nended with status {done.returncode}\n{said}")
    if with_warnings:
        print(done.stderr, end="", file=sys.stderr)
    return f"{done.stdout}{done.stderr}" if with_errors else str(done.stdout)


def build_support(folder: Path) -> Path:
    """Compile SUPPORT to `support.o` in `folder`; the script ends with the compiler's messages where
    that fails.
    """
    built = folder / "support.o"
    output_of((*shlex.split(COMPILER), "-std=c99", "-O2", "-c", "-o", str(built), str(SUPPORT)), folder)
    return built


def alternate(repeats: int, *measures: Callable[[], float]) -> list[float]:
    """Medians of several measurements taken in turn, so that a slow moment of the machine meets them all."""
    samples: list[list[float]] = [[] for _ in measures]
    for _ in range(repeats):
        for sample, measure in zip(samples, measures, strict=True):
            sample.append(measure())
    return [statistics.median(sample) for sample in samples]


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: the first column on the left, numbers on the right."""
    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=120 if not sys.stdout.isatty() else None).print(table)


def markdown(head: Sequence[str], table: Sequence[Sequence[str]]) -> str:
    """A table for docs/RESULTS.md."""
    lines = (head, ["---", *["---:"] * (len(head) - 1)], *table)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def machine_description() -> dict[str, Any]:
    """What times depend on; kept beside them."""
    return {
        "system": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
