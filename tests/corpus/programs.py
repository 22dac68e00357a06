"""The programs of the corpus: this repository's, random nests, and other people's from folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.polybench_programs import HOOKS, read_programs
from benchmarks.real.lines import KERNEL, OPENMP_LOOP
from benchmarks.real.tsvc import marked
from tests.support.cases import CaseFile, read_cases
from tests.support.hostile_nests import hostile_file
from tests.support.random_nests import case_file as nest_file
from tests.support.random_nests import random_nest
from tests.support.random_reductions import case_file as reduction_file
from tests.support.random_reductions import random_reduction

ROOT = Path(__file__).resolve().parents[2]
CASE_FOLDERS = ("cases", "cases_not_strict")
#: Kernels in one generated file.
BATCH = 25
FLAGS = ("-std=gnu99", "-O1", "-w", "-ffp-contract=off")


@dataclass(frozen=True)
class CorpusProgram:
    """One C file. `name` is unique in the corpus; `folder` has its headers. `runs`: it is a case
    file's program, which records results (`tests.support.cases`).
    """

    name: str
    text: str
    folder: Path
    options: tuple[str, ...] = FLAGS
    runs: bool = False


def programs_here(nests: int) -> Iterator[CorpusProgram]:
    """Samples, run cases, and `nests` kernels of each generator."""
    for path in sorted((ROOT / "samples").glob("*/*.c")):
        text = path.read_text()
        if "#pragma tilek" in text:
            yield CorpusProgram(f"samples/{path.stem}", text, path.parent)
    support = ROOT / "tests" / "support"
    for folder in CASE_FOLDERS:
        for path in sorted((ROOT / "tests" / "run" / folder).glob("*.c")):
            yield _case_program(f"{folder}/{path.stem}", read_cases(path), support)
    for first in range(0, nests, BATCH):
        seeds = range(first, min(first + BATCH, nests))
        yield _case_program(f"nests/{first}", nest_file(tuple(map(random_nest, seeds))), support)
        yield _case_program(f"hostile/{first}", hostile_file(seeds), support)
        yield _case_program(f"reductions/{first}", reduction_file(tuple(map(random_reduction, seeds))), support)


def _case_program(name: str, file: CaseFile, folder: Path) -> CorpusProgram:
    return CorpusProgram(name, file.program(file.cases), folder, runs=True)


def polybench_programs(folder: Path) -> Iterator[CorpusProgram]:
    """PolyBench/C with each scop as a kernel block. Raises PolybenchError for other folders."""
    utilities = f"-I{folder.resolve() / 'utilities'}"
    for program in read_programs(folder):
        options = (*FLAGS, *HOOKS, "-DPOLYBENCH_USE_C99_PROTO", utilities)
        yield CorpusProgram(f"polybench/{program.name}", program.with_kernels(), program.source.parent, options)


def openmp_programs(folder: Path) -> Iterator[CorpusProgram]:
    """C programs with OpenMP (NPB in C): a kernel in place of each loop that OpenMP distributes."""
    return _marked_programs("openmp", folder, partial(OPENMP_LOOP.sub, KERNEL))


def tsvc_programs(folder: Path) -> Iterator[CorpusProgram]:
    """TSVC: a kernel on each nest that is repeated."""
    return _marked_programs("tsvc", folder, marked)


def _marked_programs(kind: str, folder: Path, change: Callable[[str], str]) -> Iterator[CorpusProgram]:
    """The C files below `folder` with kernels once changed; headers of all its folders."""
    headers = sorted({str(path.parent.resolve()) for path in folder.rglob("*.h")})
    options = (*FLAGS, *(f"-I{folder_}" for folder_ in headers))
    for path in sorted(folder.rglob("*.c")):
        text = change(path.read_text(errors="replace"))
        if KERNEL in text:
            yield CorpusProgram(f"{kind}/{path.relative_to(folder).with_suffix('')}", text, path.parent, options)
