"""Lines of directives: OpenMP's become tilek's in a copy, and what tilecc says of each is counted."""

from __future__ import annotations

import re
from dataclasses import dataclass

KERNEL = "#pragma tilek kernel"
_REST = r"\b(?:.*\\\n)*.*$"
#: The loops that OpenMP distributes, with the continuation lines of the directive.
OPENMP_LOOP = re.compile(rf"^[ \t]*#[ \t]*pragma[ \t]+omp[ \t]+(?:parallel[ \t]+)?for{_REST}", re.MULTILINE)
_OPENMP = re.compile(rf"^[ \t]*#[ \t]*pragma[ \t]+omp{_REST}\n?", re.MULTILINE)
#: What `--tilek-explain` says of a kernel: where its loop is, and then indented and empty lines.
_EXPLAINED = re.compile(r"^(\S.*:\d+): kernel \w+\n((?:[ \t].*\n|\n)*)", re.MULTILINE)
#: What a kernel does on cores, with lines that are indented further, has an axis of threads.
_THREADS = re.compile(r"^  on cores .*(?:\n {4,}.*)*?\bthreads\b", re.MULTILINE)
#: A line of OpenMP that stays so, and its text.
_STAYS = re.compile(
    r"^(\S.*:\d+):\d+: \w+: (?:this line stays OpenMP's|iterations of this loop depend on each other, though)"
    r".*\n(.*)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Loops:
    """Kernels, those of them that are parallel on threads, and OpenMP's loops that stay OpenMP's."""

    kernels: int = 0
    parallel: int = 0
    stay: int = 0


def with_kernels(text: str) -> str:
    """OpenMP's loops as kernels; its other lines go."""
    return _OPENMP.sub("", OPENMP_LOOP.sub(KERNEL, text))


def kernels_in(said: str) -> dict[str, bool]:
    """The file and line of each kernel that `--tilek-explain` names, and whether it is parallel on
    threads. Those of a header count once.
    """
    return {place: _THREADS.search(text) is not None for place, text in _EXPLAINED.findall(said)}


def loops_of(said: str) -> Loops:
    """The counts of what tilecc says, with `--tilek-explain`."""
    kernels = kernels_in(said)
    stay = {place for place, line in _STAYS.findall(said) if OPENMP_LOOP.match(line)} - set(kernels)
    return Loops(len(kernels), sum(kernels.values()), len(stay))
