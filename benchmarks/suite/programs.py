"""Each kernel's program as every contender has it: the original, with OpenMP by hand, as calls of a BLAS, for other tools, ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.polybench_programs import HOOKS, Program, Sizes, read_programs
from benchmarks.suite.blas import PRODUCTS, with_calls
from benchmarks.suite.cases import POLYBENCH, Case
from benchmarks.suite.hand import HAND, PatchError, scop_of, with_additions

KERNELS = Path(__file__).resolve().parent / "kernels"
_ARRAY = re.compile(r"\bARRAY\((\w+),")
#: Of the suite's own kernels: the sizes that the kernel takes, and what it is called with.
_PARAMETERS = re.compile(r"\bkernel\(((?:int \w+, )+)real")
_NUMBERS = re.compile(r"\bkernel\(((?:[A-Z]+, )+)\w")
#: Initial data that take longer than the kernel: a product of a matrix with itself. The data are
#: replaced by random ones anyway.
_SLOW_START = ("cholesky", "lu", "ludcmp")
_SLOW_PART = re.compile(r"^[ \t]*/\* Make the matrix positive semi-definite", re.MULTILINE)


@dataclass(frozen=True)
class Sources:
    """The programs at hand by name, and the folders that hold their headers."""

    programs: dict[str, Program]
    folders: tuple[Path, ...]

    def headers(self, program: str) -> tuple[Path, ...]:
        """The folders of those that the program includes."""
        return (self.programs[program].source.parent, *self.folders)

    def options(self, program: str, sizes: Sizes, type_: str, parametric: bool) -> tuple[str, ...]:
        """Preprocessor options: element type, sizes, where headers are. `parametric`: array extents are parameters, not numbers."""
        shape = ("-DPOLYBENCH_USE_C99_PROTO",) if parametric else ()
        numbers = (f"-D{name}={value}" for name, value in sizes.items())
        return (
            f"-DDATA_TYPE_IS_{type_.upper()}",
            *HOOKS,
            *shape,
            *(f"-I{each}" for each in self.headers(program)),
            *numbers,
        )

    def text(self, program: str) -> str:
        """The original, without the part of its initialisation that would take minutes. Raises PatchError."""
        text = self.programs[program].source.read_text()
        if program not in _SLOW_START:
            return text
        shortened, found = _SLOW_PART.subn("  if (n > 0) return;\n\\g<0>", text)
        if found != 1:
            raise PatchError(f"{program}: the part of the initialisation to leave out is not where it was")
        return shortened

    def by_hand(self, program: str) -> str | None:
        """With OpenMP, or None where a person would find no loop for it. Raises PatchError."""
        additions = HAND.get(program)
        return None if additions is None else with_additions(self.text(program), additions)

    def with_library(self, program: str) -> str | None:
        """As calls of a BLAS, or None where it is no product."""
        return with_calls(self.text(program), program) if program in PRODUCTS else None

    def ours(self, program: str) -> str:
        """With its scop as a kernel block and nothing else changed."""
        return self.programs[program].as_kernels(self.text(program))

    def ours_with_numbers(self, program: str) -> str:
        """The same with macros of numbers for the sizes in the loops of the suite's own kernels.
        PolyBench's are such macros once POLYBENCH_USE_SCALAR_LB is defined.
        """
        text = self.text(program)
        taken, given = _PARAMETERS.search(text), _NUMBERS.search(text)
        if taken is None or given is None:
            return self.ours(program)
        begin, end = scop_of(text)
        scop = text[begin:end]
        names = re.findall(r"int (\w+)", taken[1])
        for name, number in zip(names, given[1].split(", "), strict=False):
            scop = re.sub(rf"\b{name}\b", number, scop)
        return self.programs[program].as_kernels(text[:begin] + scop + text[end:])


def read_sources(polybench: Path | None) -> Sources:
    """The suite's own kernels and, with a folder, PolyBench/C. Raises PolybenchError."""
    programs = {
        path.stem: Program(path, "double", (), tuple(_ARRAY.findall(path.read_text())), False)
        for path in sorted(KERNELS.glob("*.c"))
    }
    folders = [KERNELS]
    if polybench is not None:
        programs |= {program.name: program for program in read_programs(polybench)}
        folders.append(polybench.resolve() / "utilities")
    return Sources(programs, tuple(folders))


def faults(sources: Sources, cases: tuple[Case, ...]) -> list[str]:
    """What is wrong with the tables for these texts: programs that are missing, loops that are not found."""
    results = []
    for case in cases:
        if case.source not in sources.programs:
            results.append(
                f"{case.name}: no program {case.source}" + (" in that folder" if case.group == POLYBENCH else "")
            )
            continue
        try:
            sources.by_hand(case.source)
            sources.with_library(case.source)
            sources.ours(case.source)
        except PatchError as error:
            results.append(f"{case.name}: {error}")
    return results
