"""Who takes part: each contender's program, how it is built, and with what environment it runs."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import COMPILER, TILECC, environment
from benchmarks.polybench_programs import HOOKS
from benchmarks.suite.blas import Library
from benchmarks.suite.cases import Case
from benchmarks.suite.peers import PeerTool
from benchmarks.suite.programs import Sources

HERE = Path(__file__).resolve().parent
BUILD_SECONDS = 300

GCC, HAND_OPENMP, OPENBLAS = "gcc", "OpenMP by hand", "OpenBLAS"
DEVICES = ("opencl", "cuda")


class BuildError(Exception):
    """A program that could not be made; the message is what its tool said."""


@dataclass(frozen=True)
class Workplace:
    """What all builds share. `exact`: without contraction of multiply-add, so that results are equal bit for bit.
    `parametric`: array extents are parameters instead of numbers (PolyBench's POLYBENCH_USE_C99_PROTO).
    """

    sources: Sources
    scratch: Path
    quick: bool
    exact: bool
    parametric: bool
    threads: int
    targets: tuple[str, ...]
    contenders: tuple[str, ...]
    library: Library | None
    tools: tuple[PeerTool, ...]

    @property
    def flags(self) -> tuple[str, ...]:
        """The options of every contender's compiler."""
        exact = ("-ffp-contract=off",) if self.exact else ()
        return ("-std=gnu99", "-O3", "-march=native", *exact, "-Wno-unknown-pragmas")

    def definitions(self, case: Case, type_: str) -> tuple[str, ...]:
        """Preprocessor options of a case: sizes, element type, where headers are."""
        folders = (self.sources.programs[case.source].source.parent, *self.sources.folders)
        numbers = (f"-D{name}={value}" for name, value in case.numbers(self.quick).items())
        shape = ("-DPOLYBENCH_USE_C99_PROTO",) if self.parametric else ()
        return (f"-DDATA_TYPE_IS_{type_.upper()}", *HOOKS, *shape, *(f"-I{folder}" for folder in folders), *numbers)


@dataclass(frozen=True)
class Contender:
    """One way to run a case. `warm`: a run before the one that counts, in the same process, in which devices compile."""

    name: str
    program: Path
    environment: dict[str, str]
    warm: bool = False


@dataclass(frozen=True)
class Built:
    """What came of building one case: who can run, and why others cannot."""

    case: Case
    type: str
    contenders: tuple[Contender, ...]
    failures: dict[str, str]


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
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{words[0]}: stopped after {BUILD_SECONDS} s") from None
    except OSError as error:
        raise BuildError(f"{words[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise BuildError(
            "\n".join([f"{words[0]}: status {done.returncode}", *(done.stderr or done.stdout).splitlines()[:6]])
        )
    return done.stdout


def prepare(place: Workplace) -> None:
    """What all programs link against. Raises BuildError."""
    support = HERE.parent / "polybench_support.c"
    tool((*shlex.split(COMPILER), "-std=c99", "-O2", "-c", "-o", "support.o", support), place.scratch)


def build(place: Workplace, case: Case, type_: str) -> Built:
    """Every contender's program for a case at one type."""
    folder = place.scratch / f"{case.name}.{type_}"
    folder.mkdir(exist_ok=True)
    openmp = {"OMP_NUM_THREADS": str(place.threads), "OMP_PROC_BIND": "true"}
    options = (*place.flags, *place.definitions(case, type_))
    contenders: list[Contender] = []
    failures: dict[str, str] = {}

    def add(name: str, text: str | None, variables: dict[str, str], *more: str, compiler: Sequence[str] = ()) -> None:
        if text is None or name not in place.contenders:
            return
        source = folder / f"{case.source}.{name.replace(' ', '-')}.c"
        source.write_text(text)
        program = source.with_suffix("")
        link = ("-o", program, source, *more, place.scratch / "support.o", "-lm")
        try:
            tool((*(compiler or shlex.split(COMPILER)), *options, *link), folder)
        except BuildError as error:
            failures[name] = str(error)
        else:
            contenders.append(Contender(name, program, variables))

    add(GCC, place.sources.text(case.source), {})
    add(HAND_OPENMP, place.sources.by_hand(case.source), openmp, "-fopenmp")
    if place.library is not None:
        calls = ("-include", str(HERE / "blas.h"), *place.library.options())
        threads = {"OPENBLAS_NUM_THREADS": str(place.threads)}
        add(OPENBLAS, place.sources.with_library(case.source), threads, *calls)
    for peer in place.tools:
        _build_peer(place, peer, case, options, folder, contenders, failures)
    _build_ours(place, case, options, folder, contenders, failures)
    return Built(case, type_, tuple(contenders), failures)


def _build_peer(
    place: Workplace,
    peer: PeerTool,
    case: Case,
    options: tuple[str, ...],
    folder: Path,
    contenders: list[Contender],
    failures: dict[str, str],
) -> None:
    """A source-to-source tool's program; the tool reads preprocessed text, since not all of them take -I and -D."""
    if peer.name not in place.contenders:
        return
    apart = folder / peer.name.replace(" ", "-")
    apart.mkdir(exist_ok=True)
    source = apart / f"{case.source.replace('-', '_')}.c"
    original = folder / f"{case.source}.original.c"
    original.write_text(place.sources.text(case.source))
    try:
        source.write_text(tool((*shlex.split(COMPILER), *options, "-E", "-P", original), folder))
        for command in peer.translate(source):
            tool(command, apart)
        program = apart / "program"
        link = ("-o", program, *peer.inputs(source), place.scratch / "support.o", *peer.libraries, "-lm")
        tool((*shlex.split(COMPILER), *place.flags, f"-I{apart}", *peer.flags, *link), apart)
    except BuildError as error:
        failures[peer.name] = str(error)
        return
    threads = {"OMP_NUM_THREADS": str(place.threads), "OMP_PROC_BIND": "true"}
    contenders.append(Contender(peer.name, program, threads, warm=peer.device))


def _build_ours(
    place: Workplace,
    case: Case,
    options: tuple[str, ...],
    folder: Path,
    contenders: list[Contender],
    failures: dict[str, str],
) -> None:
    """One binary for all targets."""
    targets = [target for target in place.targets if our_name(target) in place.contenders]
    if not targets:
        return
    source, program = folder / f"{case.source}.ours.c", folder / f"{case.source}.ours"
    source.write_text(place.sources.ours(case.source))
    try:
        tool((*TILECC, *options, "-o", program, source, place.scratch / "support.o", "-lm"), folder)
    except BuildError as error:
        failures.update(dict.fromkeys(map(our_name, targets), str(error)))
        return
    for target in targets:
        variables = {"TILEK_TARGET": target, "TILEK_STRICT": "1", "TILEK_NUM_THREADS": str(place.threads)}
        contenders.append(Contender(our_name(target), program, variables, warm=target in DEVICES))


def our_name(target: str) -> str:
    """What our program on a target is called among the contenders."""
    return f"tilepragma {target}"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))
