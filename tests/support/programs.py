"""Building and running programs: the original with a C compiler, the translated one with tilecc."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.support.cases import ALL, FAILING, Case, CaseFile
from tests.support.targets import TargetEnvironment, program_environment

ROOT = Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("TILEK_CC", "cc")
FLAGS = (
    "-std=c99",
    "-O1",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-Wno-unknown-pragmas",
    "-Wno-unused-function",
)
TILECC = (sys.executable, "-m", "tilepragma.cli.tilecc")
TILEPRAGMA = (sys.executable, "-m", "tilepragma.cli.tilepragma")
BUILD_SECONDS = 300
RUN_SECONDS = 300


def tool_environment(cache: Path) -> dict[str, str]:
    """The environment for this source tree's commands."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TILEK_")}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    folders = {"TILEK_CACHE_DIR": str(cache), "TILEK_DATA_DIR": str(cache / "no-data")}  # the machine may be calibrated
    return variables | {"PYTHONPATH": path, "TILEK_CC": COMPILER} | folders


class Failure(Exception):
    """A command that failed, with all its output."""

    def __init__(self, command: tuple[str, ...], status: int, output: str) -> None:
        super().__init__(command, status, output)
        self.command = command
        self.status = status
        self.output = output

    def __str__(self) -> str:
        return f"exit status {self.status}: {' '.join(self.command)}\n{self.output[-6000:]}"


def run_command(command: tuple[str, ...], environment: dict[str, str], folder: Path, seconds: float) -> str:
    """Standard output and error of `command`; raises Failure on failure or after the time limit."""
    __tracebackhide__ = True
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise Failure(
            command, 124, f"stopped after {seconds} s\n{(late.output or b'').decode(errors='replace')}"
        ) from None
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise Failure(command, done.returncode, output)
    return output


Records = dict[str, list[tuple[str, bytes]]]


def read_records(path: Path) -> Records:
    """A program's records: for each case its labels and bytes, in order."""
    data, records, position = path.read_bytes(), Records(), 0
    while position < len(data):
        end = data.index(b"\n", position)
        case, label, size = data[position:end].decode().split()
        position = end + 1 + int(size)
        records.setdefault(case, []).append((label, data[end + 1 : position]))
    return records


@dataclass(frozen=True)
class Workshop:
    """Where programs are built and run: a folder, the user cache, and the target environments."""

    folder: Path
    cache: Path

    def build_original(self, source: Path, flags: tuple[str, ...] = FLAGS) -> Path:
        """The program as a plain C compiler sees it."""
        return self._build((COMPILER,), source, flags, "original")

    def build_translated(self, source: Path, flags: tuple[str, ...] = FLAGS, *options: str) -> Path:
        """The program as tilecc makes it."""
        return self._build((*TILECC, *options), source, flags, "translated")

    def build_with(self, source: Path, **variables: str) -> Path:
        """The program as tilecc makes it with these environment variables."""
        return self._build(TILECC, source, FLAGS, "translated", variables)

    def translate_and_link(self, program: Path, *sources: Path, flags: tuple[str, ...] = FLAGS) -> None:
        """One tilecc command from several sources to `program`."""
        command = (*TILECC, *flags, "-o", str(program), *map(str, sources), "-lm")
        run_command(command, tool_environment(self.cache), program.parent, BUILD_SECONDS)

    def _build(
        self,
        compiler: tuple[str, ...],
        source: Path,
        flags: tuple[str, ...],
        suffix: str,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> Path:
        program = source.with_suffix(f".{suffix}")
        include = f"-I{ROOT / 'tests' / 'support'}"
        command = (*compiler, *flags, include, "-o", str(program), str(source), "-lm")
        run_command(command, {**tool_environment(self.cache), **more}, source.parent, BUILD_SECONDS)
        return program

    def run(self, program: Path, target: TargetEnvironment, *arguments: str, **more: str) -> str:
        """The output of the program under `target`."""
        environment = program_environment(target, self.cache, **more)
        return run_command((str(program), *arguments), environment, program.parent, RUN_SECONDS)


@dataclass(frozen=True)
class KeptWorkshop(Workshop):
    """Compiles `translated`, an earlier build's output, as its users do."""

    translated: Path

    def build_translated(self, source: Path, flags: tuple[str, ...] = FLAGS, *options: str) -> Path:
        environment = tool_environment(self.cache)
        program = source.with_suffix(".translated")
        compiling, linking = (
            run_command((*TILEPRAGMA, option), environment, source.parent, BUILD_SECONDS).split()
            for option in ("--cflags", "--libs")
        )
        include = f"-I{ROOT / 'tests' / 'support'}"
        files = ("-o", str(program), str(self.translated), *linking, "-lm")
        command = (COMPILER, *flags, include, *options, *compiling, *files)
        run_command(command, environment, source.parent, BUILD_SECONDS)
        return program


PLAIN = TargetEnvironment("original", ())

#: The message of a failed launch check.
CHECKED = re.compile(r"runs as the original loop: (its launch check '.+' does not hold|\S+ and \S+ share memory)")


class Suite:
    """One case file under test: built once, run once for each target. If the whole file can't be
    built or run, each case is built or run alone on request, so that one defect fails one test.
    """

    def __init__(
        self,
        workshop: Workshop,
        cases: CaseFile,
        sizes: tuple[int, ...] = (),
        flags: tuple[str, ...] = FLAGS,
        options: tuple[str, ...] = (),
    ) -> None:
        self.workshop = workshop
        self.cases = cases
        self.sizes = tuple(map(str, sizes))
        self.flags = flags
        self.options = options
        self._programs: dict[tuple[str, str], Path | Failure] = {}
        self._records: dict[tuple[str, str], Records | Failure] = {}

    def original(self, case: Case) -> list[tuple[str, bytes]]:
        """The case's records under the plain C compiler."""
        return self._of(case, PLAIN)

    def translated(self, case: Case, target: TargetEnvironment) -> list[tuple[str, bytes]]:
        """The case's records on `target`; raises Failure where it can't be built or run."""
        return self._of(case, target)

    def build(self) -> Path:
        """The translated program of all cases; raises Failure where it can't be built."""
        program = self._program(ALL, self.cases.cases, "translated")
        if isinstance(program, Failure):
            raise program
        return program

    def _of(self, case: Case, target: TargetEnvironment) -> list[tuple[str, bytes]]:
        __tracebackhide__ = True
        together = self._run(case.group, self.cases.cases, target)
        records = self._run(case.name, (case,), target) if isinstance(together, Failure) else together
        if isinstance(records, Failure):
            raise records
        return records.get(case.name, [])

    def _run(self, label: str, cases: tuple[Case, ...], target: TargetEnvironment) -> Records | Failure:
        key = (label, target.name)
        if key not in self._records:
            self._records[key] = self._run_once(label, cases, target)
        return self._records[key]

    def _run_once(self, label: str, cases: tuple[Case, ...], target: TargetEnvironment) -> Records | Failure:
        program = self._program(
            ALL if label == FAILING else label, cases, "original" if target is PLAIN else "translated"
        )
        if isinstance(program, Failure):
            return program
        dump = program.with_name(f"{program.name}.{target.name}.{label}.dump")
        fails = all(case.group == FAILING for case in cases) or label == FAILING
        variables = {"TILEK_STRICT": "0"} if fails else {}
        try:
            output = self.workshop.run(program, target, str(dump), label, *self.sizes, **variables)
        except Failure as failure:
            return failure
        if fails and target is not PLAIN and CHECKED.search(output) is None:
            return Failure((str(program), label), 0, f"no launch check fails: {output}")
        return read_records(dump)

    def _program(self, label: str, cases: tuple[Case, ...], kind: str) -> Path | Failure:
        key = (label, kind)
        if key not in self._programs:
            folder = self.workshop.folder / Path(self.cases.path).stem
            folder.mkdir(parents=True, exist_ok=True)
            source = folder / f"{label}.c"
            source.write_text(self.cases.program(cases))
            try:
                if kind == "original":
                    self._programs[key] = self.workshop.build_original(source, self.flags)
                else:
                    self._programs[key] = self.workshop.build_translated(source, self.flags, *self.options)
            except Failure as failure:
                self._programs[key] = failure
        return self._programs[key]


def first_difference(expected: list[tuple[str, bytes]], actual: list[tuple[str, bytes]]) -> str | None:
    """A sentence on the first record that differs, None where all are equal."""
    if [label for label, _ in expected] != [label for label, _ in actual]:
        return f"recorded {[label for label, _ in actual]}, expected {[label for label, _ in expected]}"
    for (label, wanted), (_, got) in zip(expected, actual, strict=True):
        if wanted != got:
            differing = [k for k in range(0, len(wanted), 4) if wanted[k : k + 4] != got[k : k + 4]]
            words = ", ".join(
                f"word {k // 4}: {got[k : k + 4].hex()} for {wanted[k : k + 4].hex()}" for k in differing[:5]
            )
            return f"{label}: {len(differing)} of {len(wanted) // 4} words differ ({words})"
    return None
