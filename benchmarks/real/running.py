"""Builds of a program, its runs, and whether results agree."""

from __future__ import annotations

import itertools
import math
import re
import resource
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from benchmarks.measure import BenchmarkError, checked_output, environment
from benchmarks.real.programs import THREADS, Program
from benchmarks.suite.contenders import our_variables

#: A command is stopped after so many seconds.
BUILD_SECONDS, RUN_SECONDS = 900.0, 300.0
_NUMBER = re.compile(
    r"[-+]?(?:0[xX][\da-fA-F.]+[pP][-+]?\d+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)"
)
#: Sources have comments in any encoding.
_TEXT = {"encoding": "utf-8", "errors": "surrogateescape"}
#: What the runtime prints is no result.
_RUNTIME = re.compile(r"^(?:\S+:\d+: )?tilek: .*\n?", re.MULTILINE)


def peer_variables(threads: int) -> dict[str, str]:
    """OpenMP's: its threads sleep where they wait, since others may need the core."""
    return {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}


def ours_on(target: str, threads: int) -> dict[str, str]:
    """Ours on a target: as users run it, so that a device that fails falls back with a warning. What stays
    OpenMP's runs as in the peer. Threads are not bound: a bound first thread would bind ours to its core.
    """
    variables = our_variables(target, threads) | {"TILEK_STRICT": "0"}
    return {name: value for name, value in variables.items() if name != "OMP_PROC_BIND"} | peer_variables(threads)


@dataclass(frozen=True)
class Build:
    """A program that was built in `folder`, where it runs: the processor `seconds` that this took, and what
    was `said`. `failure` says why there is none.
    """

    folder: Path
    seconds: float = 0.0
    said: str = ""
    failure: str = ""

    @property
    def executable(self) -> Path:
        return self.folder / "built"


@dataclass(frozen=True)
class Run:
    """One process: its seconds by the clock, those that it prints (0: none), its result, and the
    runtime's messages.
    """

    seconds: float
    printed: float
    result: str
    remarks: str


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    text = path.read_text(**_TEXT)
    if change(text) != text:
        path.write_text(change(text), **_TEXT)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reason(said: str) -> str:
    """The first line that names an error in the message of a BenchmarkError; else how the command ended."""
    lines = said.splitlines()
    named = [line for line in lines[1:] if "error" in line.lower() or "undefined reference" in line]
    return (named or lines[1:2] or lines)[0].strip()


class Workplace:
    """Where programs are copied to, built and run. `root` is the suite's folder, which stays as it is."""

    def __init__(self, root: Path, scratch: Path, threads: int) -> None:
        self.root, self.scratch, self.threads = root, scratch, threads
        self._count = itertools.count()

    def build(
        self,
        program: Program,
        compiler: Sequence[str],
        options: Sequence[str],
        change: Callable[[str], str] | None = None,
    ) -> Build:
        """The program from a copy, in whose C files `change` rewrites the text."""
        copied = program.copied or program.folder
        base = self.scratch / str(next(self._count))
        folder = base / program.folder
        try:
            shutil.copytree(self.root / copied, base / copied, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            self._edit(program, folder)
            if change is not None:
                for path in sorted((base / copied).rglob("*.[ch]")):
                    _rewrite(path, change)
            for name, maker in program.inputs.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(maker())
            for command in program.prepare:
                checked_output(command, environment(), folder, BUILD_SECONDS)
            before = _processor_seconds()
            command = (*compiler, *options, *program.options, "-o", "built", *program.sources, "-lm")
            said = checked_output(command, environment(), folder, BUILD_SECONDS, with_errors=True)
        except (BenchmarkError, OSError, shutil.Error) as error:
            return Build(folder, 0.0, str(error), reason(str(error)))
        return Build(folder, _processor_seconds() - before, said)

    @staticmethod
    def _edit(program: Program, folder: Path) -> None:
        """Raises BenchmarkError where a place is not in the text: another version of the suite."""
        for edit in program.edits:
            path = folder / edit.file
            if edit.place not in path.read_text(**_TEXT):
                raise BenchmarkError(f"{path} has no '{edit.place}'")
            _rewrite(path, edit.applied)

    def run(self, program: Program, build: Build, variables: Mapping[str, str]) -> Run:
        """Raises BenchmarkError where it fails or takes too long, or writes no result."""
        for name in program.outputs:
            (build.folder / name).unlink(missing_ok=True)
        command = [str(build.executable), *(word.replace(THREADS, str(self.threads)) for word in program.command)]
        start = time.perf_counter()
        said = checked_output(command, environment(**variables), build.folder, RUN_SECONDS, with_errors=True)
        seconds = time.perf_counter() - start
        try:
            written = [(build.folder / name).read_text(errors="replace") for name in program.outputs]
        except OSError as error:
            raise BenchmarkError(f"{command[0]}\nwrites no {error.filename}") from None
        printed = math.fsum(map(float, re.findall(program.seconds, said))) if program.seconds else 0.0
        remarks = "".join(_RUNTIME.findall(said)).strip()
        return Run(seconds, printed, "\n".join([_RUNTIME.sub("", said), *written]), remarks)


def difference(program: Program, wanted: str, result: str) -> str:
    """How a result differs from the wanted; empty: it agrees. Numbers are compared with the largest of
    their column, among the lines that have the same text around them.
    """
    if re.search(program.needed, result) is None:
        return f"'{program.needed}' is not in the result"
    left, right = (
        [line for line in text.splitlines() if re.search(program.compared, line)] for text in (wanted, result)
    )
    if not left:
        return "nothing is compared: the peer prints no result"
    if len(left) != len(right):
        return f"{len(right)} lines of results instead of {len(left)}"
    alike: dict[str, list[int]] = {}
    for k, lines in enumerate(zip(left, right, strict=True)):
        texts = [_NUMBER.sub("#", line) for line in lines]
        if texts[0].split() != texts[1].split():
            return _shown(*lines)
        alike.setdefault(texts[0], []).append(k)
    for places in alike.values():
        expected, actual = (numpy.array([_numbers(lines[k]) for k in places]) for lines in (left, right))
        finite = numpy.isfinite(expected)
        largest = numpy.where(finite, numpy.abs(expected), 0.0).max(axis=0, initial=0.0)
        with numpy.errstate(invalid="ignore"):
            near = numpy.abs(expected - actual) <= program.tolerance * largest
        same = (expected == actual) | (numpy.isnan(expected) & numpy.isnan(actual))
        wrong = numpy.flatnonzero(~numpy.where(finite, near, same).all(axis=1))
        if wrong.size:
            place = places[wrong[0]]
            return f"{_shown(left[place], right[place])}, and {wrong.size - 1} more lines"
    return ""


def _shown(expected: str, actual: str) -> str:
    return f"'{actual.strip()[:100]}' instead of '{expected.strip()[:100]}'"


def _numbers(line: str) -> list[float]:
    return [float.fromhex(text) if "x" in text.lower() else float(text) for text in _NUMBER.findall(line)]
