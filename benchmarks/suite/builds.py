"""How each contender's program is built."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import COMPILER, TILECC, environment
from benchmarks.suite.blas import Library
from benchmarks.suite.cases import PARAMETRIC, Case
from benchmarks.suite.contenders import (
    DEVICES,
    GCC,
    HAND_OPENMP,
    LITERALS,
    OPENBLAS,
    PARAMETERS,
    UNSPECIALIZED,
    Built,
    Contender,
    our_name,
    our_variables,
    thread_variables,
)
from benchmarks.suite.peers import PeerTool
from benchmarks.suite.programs import Sources

HERE = Path(__file__).resolve().parent
COMPILE = tuple(shlex.split(COMPILER))
BUILD_SECONDS = 300
#: Headers of the C library that programs include.
_SYSTEM_HEADERS = ("math.h", "stdio.h", "stdlib.h", "string.h", "unistd.h")


class BuildError(Exception):
    """A program that could not be made; the message is what its tool said."""


def compiler_flags(architecture: str, exact: bool) -> tuple[str, ...]:
    """The options of every compiler; `exact`: without contraction of multiply-add, so that results are equal bit for bit."""
    contraction = ("-ffp-contract=off",) if exact else ()
    return ("-std=gnu99", "-O3", f"-march={architecture}", *contraction, "-Wno-unknown-pragmas")


@dataclass(frozen=True)
class Workplace:
    """What all builds share. `exact`: results are equal bit for bit (see `compiler_flags`).
    `parametric`: array extents are parameters instead of numbers (PolyBench's
    POLYBENCH_USE_C99_PROTO). `reuse`: programs that lie in `scratch` already are not built again.
    """

    sources: Sources
    scratch: Path
    quick: bool
    exact: bool
    parametric: bool
    architecture: str
    reuse: bool
    threads: int
    targets: tuple[str, ...]
    contenders: tuple[str, ...]
    library: Library | None
    tools: tuple[PeerTool, ...]

    @property
    def flags(self) -> tuple[str, ...]:
        """The options of every contender's compiler."""
        return compiler_flags(self.architecture, self.exact)

    def definitions(self, case: Case, type_: str, form: str = "") -> tuple[str, ...]:
        """Preprocessor options of a case in one of FORMS."""
        parametric = form == PARAMETERS or (self.parametric and not form)
        options = self.sources.options(case.source, case.numbers(self.quick), type_, parametric)
        return (*options, *(("-DPOLYBENCH_USE_SCALAR_LB",) if form == LITERALS else ()))

    @property
    def openmp(self) -> dict[str, str]:
        """The environment of programs with OpenMP."""
        return thread_variables(self.threads)

    @property
    def support(self) -> Path:
        """What `build_support` makes."""
        return self.scratch / "support.o"


def tool(command: Sequence[str | Path], folder: Path) -> str:
    """Standard output of a build tool. Raises BuildError."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{words[0]}: stopped after {BUILD_SECONDS} s") from None
    except OSError as error:
        raise BuildError(f"{words[0]}: {error.strerror}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).splitlines()
        raise BuildError("\n".join([f"{words[0]}: status {done.returncode}", *said[:6]]))
    return done.stdout


def preprocessed(source: Path, options: Iterable[str]) -> str:
    """The text with all macros expanded but those of the C library: its headers stay as they are
    included, since the expanded text of this compiler's is none for another, and the tool may
    include some itself. Raises BuildError.
    """
    empty = source.parent / "empty"
    empty.mkdir(exist_ok=True)
    for header in _SYSTEM_HEADERS:
        (empty / header).write_text("")
    text = tool((*COMPILE, *options, "-nostdinc", f"-I{empty}", "-E", "-P", source), source.parent)
    return "".join(f"#include <{header}>\n" for header in _SYSTEM_HEADERS) + text


def build(place: Workplace, case: Case, type_: str) -> Built:
    """Every contender's program for a case at one type."""
    options = (*place.flags, *place.definitions(case, type_))
    making = _Making(place, case, type_, options, place.scratch / f"{case.name}.{type_}")
    making.folder.mkdir(exist_ok=True)
    sources = place.sources
    making.compile(GCC, sources.text(case.source), {})
    making.compile(HAND_OPENMP, sources.by_hand(case.source), place.openmp, "-fopenmp")
    if place.library is not None:
        calls = ("-include", str(HERE / "blas.h"), *place.library.options())
        threads = {"OPENBLAS_NUM_THREADS": str(place.threads)}
        making.compile(OPENBLAS, sources.with_library(case.source), threads, *calls)
    for peer in place.tools:
        making.peer(peer)
    making.ours()
    return Built(case, type_, tuple(making.contenders), making.failures)


@dataclass
class _Making:
    """One case at one type while its programs are made."""

    place: Workplace
    case: Case
    type: str
    options: tuple[str, ...]
    folder: Path
    contenders: list[Contender] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def compile(self, name: str, text: str | None, variables: dict[str, str], *more: str) -> None:
        """A contender of one C text; None: it does not take part here."""
        if text is None or name not in self.place.contenders:
            return
        source = self.folder / f"{self.case.source}.{name.replace(' ', '-')}.c"
        source.write_text(text)
        program = source.with_suffix("")
        try:
            if not self._made(program):
                tool((*COMPILE, *self.options, "-o", program, source, *more, self.place.support, "-lm"), self.folder)
        except BuildError as error:
            self.failures[name] = str(error)
        else:
            self.contenders.append(Contender(name, program, variables))

    def peer(self, peer: PeerTool) -> None:
        """A source-to-source tool's program, in a folder of its own."""
        if peer.name not in self.place.contenders:
            return
        apart = self.folder / peer.name.replace(" ", "-")
        apart.mkdir(exist_ok=True)
        source = apart / f"{self.case.source.replace('-', '_')}.c"
        source.write_text(self.place.sources.text(self.case.source))
        program = apart / "program"
        try:
            if not self._made(program):
                self._translate(peer, source, program)
        except BuildError as error:
            self.failures[peer.name] = str(error)
        else:
            self.contenders.append(Contender(peer.name, program, self.place.openmp, warm=peer.device))

    def _translate(self, peer: PeerTool, source: Path, program: Path) -> None:
        """Raises BuildError."""
        apart = source.parent
        if peer.preprocessed:
            source.write_text(preprocessed(source, self.options))
        tool(peer.translation(source, [option for option in self.options if option.startswith(("-D", "-I"))]), apart)
        options = self.place.flags if peer.preprocessed else self.options
        link: list[str | Path] = [*peer.inputs(source), self.place.support, *peer.libraries, "-lm"]
        tool((*COMPILE, *options, f"-I{apart}", *peer.flags, "-o", program, *link), apart)

    def _made(self, program: Path) -> bool:
        return self.place.reuse and program.is_file()

    def ours(self) -> None:
        """One binary for all targets, and one for each form of the sizes."""
        sources, source, targets = self.place.sources, self.case.source, self.place.targets
        self._ours(targets, "", sources.ours(source))
        devices = [target for target in targets if target in DEVICES]
        if devices and self.case.name in PARAMETRIC and self.type == "double":
            self._ours(devices, LITERALS, sources.ours_with_numbers(source))
            self._ours(devices, PARAMETERS, sources.ours(source))

    def _ours(self, targets: Iterable[str], form: str, text: str) -> None:
        """One binary of ours."""
        wanted = {our_name(target, form): target for target in targets}
        wanted = {name: target for name, target in wanted.items() if name in self.place.contenders}
        if not wanted:
            return
        program = self.folder / f"{self.case.source}.ours{form and '-'}{form}"
        source = program.with_name(f"{program.name}.c")
        source.write_text(text)
        options = (*self.place.flags, *self.place.definitions(self.case, self.type, form))
        try:
            if not self._made(program):
                tool((*TILECC, *options, "-o", program, source, self.place.support, "-lm"), self.folder)
        except BuildError as error:
            self.failures.update(dict.fromkeys(wanted, str(error)))
            return
        for name, target in wanted.items():
            self._run_ours(name, target, program)
            unspecialized = our_name(target, UNSPECIALIZED)
            if form == PARAMETERS and unspecialized in self.place.contenders:
                self._run_ours(unspecialized, target, program, TILEK_SPECIALIZE="0")

    def _run_ours(self, name: str, target: str, program: Path, **more: str) -> None:
        variables = our_variables(target, self.place.threads)
        self.contenders.append(Contender(name, program, variables | more, warm=target in DEVICES))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))
