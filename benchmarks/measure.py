"""What the benchmark scripts share: commands of this source tree, alternating runs, medians, tables."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
COMPILER = os.environ.get("TILEK_CC", "cc")
TILECC = (sys.executable, "-m", "tilepragma.cli.tilecc")
#: What all of PolyBench's programs link against: data, clock, hashes.
SUPPORT = ROOT / "benchmarks" / "polybench_support.c"
TILEPRAGMA = (sys.executable, "-m", "tilepragma.cli.tilepragma")


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with this source tree importable."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path} | more


def output_of(command: Sequence[str], folder: Path, **more: str) -> str:
    """Standard output of a command; the script ends with its messages where it fails."""
    done = subprocess.run(command, cwd=folder, env=environment(**more), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


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
