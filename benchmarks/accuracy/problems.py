"""What is predicted and measured: the thesis's SOR solvers in 1, 2 and 3 dimensions at four sizes
each, Jacobi, products, convolution; and nests that no constant of the model was set by.
"""

from __future__ import annotations

from dataclasses import dataclass

Sizes = dict[str, int]


@dataclass(frozen=True)
class Problem:
    """A program of the suite or of PolyBench/C at some sizes. `held_out`: not looked at while the model was made."""

    program: str
    sizes: tuple[Sizes, ...]
    type: str = "double"
    held_out: bool = False


def _problem(program: str, *sizes: str, type_: str = "double", held_out: bool = False) -> Problem:
    """Sizes are written as "STEPS=100 N=400"."""
    numbers = tuple({key: int(value) for key, value in (item.split("=") for item in size.split())} for size in sizes)
    return Problem(program, numbers, type_, held_out)


PROBLEMS = (
    _problem("thesis-sor-1d-3", "STEPS=500 N=16384", "STEPS=250 N=65536", "STEPS=100 N=262144", "STEPS=20 N=1000000"),
    _problem("thesis-sor-2d-5", "STEPS=60 N=400", "STEPS=20 N=900", "STEPS=10 N=1500", "STEPS=6 N=2500"),
    _problem("thesis-sor-3d-7", "STEPS=30 N=64", "STEPS=20 N=100", "STEPS=10 N=140", "STEPS=6 N=200"),
    _problem("thesis-jacobi-1d-3", "STEPS=1000 N=65536", "STEPS=60 N=1000000"),
    _problem("thesis-jacobi-2d-5", "STEPS=40 N=1000", "STEPS=8 N=3000"),
    _problem("thesis-jacobi-3d-7", "STEPS=20 N=100", "STEPS=6 N=200"),
    _problem("tilek-sgemm", "N=512 M=512 P=512", "N=1000 M=1000 P=1000", type_="float"),
    _problem("tilek-conv2d", "REPEATS=1 N=2000 M=2000", "REPEATS=1 N=5000 M=5000"),
    _problem("thesis-heat-2d-7", "STEPS=40 N=1000", "STEPS=6 N=2500", held_out=True),
    _problem("thesis-fdtd-2d", "STEPS=20 N=800", "STEPS=5 N=2000", held_out=True),
    _problem("thesis-jacobi-3d-27", "STEPS=10 N=100", "STEPS=5 N=160", held_out=True),
    _problem("tilek-syr2k", "N=500 M=500", "N=900 M=900", held_out=True),
    _problem("ics-mvt", "REPEATS=1 N=2000", "REPEATS=1 N=5000", held_out=True),
)

#: What is measured besides where a copy of PolyBench/C is given.
POLYBENCH_PROBLEMS = (
    _problem("seidel-2d", "TSTEPS=10 N=1000", "TSTEPS=60 N=300", held_out=True),
    _problem("trmm", "M=500 N=600", "M=900 N=1000", held_out=True),
    _problem("floyd-warshall", "N=400", "N=800", type_="int", held_out=True),
)
