"""The programs of a copy of PolyBench/C: their sizes, their types, and their text with kernels for scops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

_SCOP = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+scop\b.*$", re.MULTILINE)
_END = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+endscop\b.*$", re.MULTILINE)
_ARRAY = re.compile(r"POLYBENCH_\dD_ARRAY_DECL\s*\(\s*(\w+)")
_DATASET = re.compile(r"#\s*ifdef\s+(\w+)_DATASET\b(.*?)#\s*endif", re.DOTALL)
_SIZE = re.compile(r"#\s*define\s+(\w+)\s+(\d+)")
_TYPE = re.compile(r"#\s*define\s+DATA_TYPE_IS_(\w+)")

#: Calls of polybench_support.c before and after the kernel, its own main, and no padding of arrays.
HOOKS = ("-DPOLYBENCH_TIME", "-DPOLYBENCH_INTER_ARRAY_PADDING_FACTOR=0", "-Dmain=polybench_main")

Sizes = dict[str, int]


class PolybenchError(Exception):
    """The folder is no copy of PolyBench/C; the message says what is missing."""


@dataclass(frozen=True)
class Program:
    """One program. `datasets` holds the sizes of each named dataset, by macro; `type` is int, float
    or double; `arrays` are main's. `constant`: the kernel names the macros themselves, so that they
    have to be numbers.
    """

    source: Path
    type: str
    datasets: tuple[tuple[str, Sizes], ...]
    arrays: tuple[str, ...]
    constant: bool

    @property
    def name(self) -> str:
        return self.source.stem

    def sizes(self, dataset: str) -> Sizes:
        """The sizes of MINI, SMALL, …; for ODD, distinct primes between those of MINI and SMALL."""
        datasets = dict(self.datasets)
        if dataset == "ODD":
            small = datasets["SMALL"]
            return odd_sizes({name: (datasets["MINI"][name] + 2 * value) // 3 for name, value in small.items()})
        return datasets[dataset]

    def with_kernels(self) -> str:
        """The text with each scop as a kernel block and nothing else changed."""
        return self.as_kernels(self.source.read_text())

    def as_kernels(self, text: str) -> str:
        """`text`, a variant of the program's own, with each scop as a kernel block."""
        replaced, scops = _SCOP.subn("#pragma tilek kernel\n{", text)
        replaced, ends = _END.subn("}", replaced)
        if scops == 0 or scops != ends:
            raise PolybenchError(f"{self.source}: {scops} scops begin and {ends} end")
        return replaced


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def odd_sizes(near: Sizes) -> Sizes:
    """For each size the greatest prime up to it that no other has; at least 5."""
    taken: set[int] = set()
    result = {}
    for name, value in sorted(near.items(), key=lambda item: -item[1]):
        prime = max(value, 5)
        while not is_prime(prime) or (prime in taken and prime > 5):
            prime -= 1
        taken.add(prime)
        result[name] = prime
    return {name: result[name] for name in near}


def read_program(source: Path) -> Program:
    """The program whose C file is `source`, from it and the header beside it."""
    header = source.with_suffix(".h").read_text()
    datasets = tuple(
        (dataset[1], {name: int(value) for name, value in _SIZE.findall(dataset[2])})
        for dataset in _DATASET.finditer(header)
    )
    type_ = _TYPE.search(header)
    if not datasets or type_ is None:
        raise PolybenchError(f"{source.with_suffix('.h')}: neither sizes nor a type of data")
    kernel, _, main = source.read_text().partition("int main")
    body = kernel[kernel.rindex("kernel_") :].partition("{")[2]
    constant = any(re.search(rf"\b{name}\b", body) for name in datasets[0][1])
    return Program(source.resolve(), type_[1].lower(), datasets, tuple(_ARRAY.findall(main)), constant)


def read_programs(folder: Path) -> list[Program]:
    """All programs under `folder`, by name. Raises PolybenchError where there are none."""
    if not (folder / "utilities" / "polybench.h").is_file():
        raise PolybenchError(f"{folder} holds no utilities/polybench.h: not a copy of PolyBench/C")
    sources = [
        path for path in folder.rglob("*.c") if path.stem == path.parent.name and path.with_suffix(".h").is_file()
    ]
    return sorted(map(read_program, sources), key=lambda program: program.name)


def run_settings(program: Program, sizes: Sizes, seed: int) -> str:
    """The argument of polybench_support.c for one run."""
    numbers: Iterable[tuple[str, int]] = sizes.items()
    return ",".join([f"type={program.type}", f"seed={seed}", *(f"{name}={value}" for name, value in numbers)])


def arrays_in(program: Program, dump: Path) -> Iterator[tuple[int, str, Any]]:
    """Run, array's name and values of each record of a dump."""
    data, position = dump.read_bytes(), 0
    types = {8: numpy.float64, 4: numpy.int32 if program.type == "int" else numpy.float32, 1: numpy.uint8}
    while position < len(data):
        end = data.index(b"\n", position)
        run, array, width, size = map(int, data[position:end].split())
        position = end + 1 + size
        values = numpy.frombuffer(data, types[width], size // width, end + 1)
        yield run, program.arrays[array] if array < len(program.arrays) else str(array), values
