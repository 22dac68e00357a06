"""The programs of thesis chapters 3 and 4 as isl relations, and an interpreter for any order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import islpy as isl

from tilepragma.poly.program_model import ProgramAccess, ProgramStatement


def statement(
    name: str,
    iterators: str,
    domain: str,
    position: Sequence[int],
    write: str,
    *reads: str,
    parameters: str = "T, N",
) -> ProgramStatement:
    """One statement: accesses are written "A[i + 1]"."""
    instances = isl.Set(f"[{parameters}] -> {{ {name}[{iterators}] : {domain} }}")

    def access(text: str, writes: bool) -> ProgramAccess:
        relation = isl.Map(f"[{parameters}] -> {{ {name}[{iterators}] -> {text} }}")
        return ProgramAccess(text.split("[")[0], relation.intersect_domain(instances), writes)

    accesses = (access(write, True), *(access(text, False) for text in reads))
    return ProgramStatement(name, instances, tuple(iterators.split(", ")), tuple(position), accesses)


def nest(iterators: str, low: int = 1) -> str:
    """1 <= t <= T and low <= i, j, ... <= N."""
    time, *space = iterators.split(", ")
    return f"1 <= {time} <= T" + "".join(f" and {low} <= {iterator} <= N" for iterator in space)


def figure_3_4() -> tuple[ProgramStatement, ...]:
    domain = "1 <= j <= J and 1 <= i <= I"
    return (statement("S", "j, i", domain, (0, 0, 0), "A[i]", "A[i]", "A[i + 1]", parameters="J, I"),)


def figure_3_5() -> tuple[ProgramStatement, ...]:
    domain = "0 <= j, i < N"
    return (
        statement("S0", "j, i", domain, (0, 0, 0), "C[i]", "C[i]", "A[i, j]"),
        statement("S1", "j, i", domain, (1, 0, 0), "D[i]", "D[i]", "C[j]", "B[j, i]"),
    )


def figure_3_7() -> tuple[ProgramStatement, ...]:
    return (statement("S", "j, i", "1 <= j, i <= N", (0, 0, 0), "A[j, i]", "A[j, i - 1]", "A[j, i]"),)


def figure_3_8() -> tuple[ProgramStatement, ...]:
    reads = ("A[j - 1, i - 1]", "A[j - 1, i]", "A[j - 1, i + 1]")
    return (statement("S", "j, i", "1 <= j, i <= N", (0, 0, 0), "A[j, i]", *reads),)


def figure_3_10() -> tuple[ProgramStatement, ...]:
    reads = ("A[j, i - 1]", "A[j - 1, i]", "A[j - 1, i - 1]")
    return (statement("S", "j, i", "1 <= j, i <= N", (0, 0, 0), "A[j, i]", *reads),)


def figure_4_4() -> tuple[ProgramStatement, ...]:
    return (
        statement("S0", "j, i", "1 <= j <= J and 2 <= i <= I", (0, 0, 0), "A0[i]", "A[i]", parameters="J, I"),
        statement(
            "S1", "j, i", "1 <= j <= J and 1 <= i <= I", (0, 1, 0), "A[i]", "A[i]", "A0[i + 1]", parameters="J, I"
        ),
    )


def stencil_reads(array: str, offsets: Sequence[tuple[int, ...]]) -> list[str]:
    return [
        f"{array}[{', '.join(f'{axis} + {off}' for axis, off in zip('ijk', offset, strict=False))}]"
        for offset in offsets
    ]


def cross(dimensions: int, radius: int = 1) -> list[tuple[int, ...]]:
    """The star of the axes: 2 * dimensions * radius + 1 points."""
    points = {
        tuple(distance if axis == index else 0 for index in range(dimensions))
        for axis in range(dimensions)
        for distance in range(-radius, radius + 1)
    }
    return sorted(points)


def box(dimensions: int) -> list[tuple[int, ...]]:
    return list(itertools.product((-1, 0, 1), repeat=dimensions))


def jacobi(offsets: Sequence[tuple[int, ...]]) -> tuple[ProgramStatement, ...]:
    """S0: B = f(neighbours in A); S1: A = B (thesis Figure 3.2a)."""
    dimensions = len(offsets[0])
    iterators = ", ".join(["t", *"ijk"[:dimensions]])
    subscripts = ", ".join("ijk"[:dimensions])
    zeros = (0,) * dimensions
    return (
        statement("S0", iterators, nest(iterators), (0, 0, *zeros), f"B[{subscripts}]", *stencil_reads("A", offsets)),
        statement("S1", iterators, nest(iterators), (0, 1, *zeros), f"A[{subscripts}]", f"B[{subscripts}]"),
    )


def sor(offsets: Sequence[tuple[int, ...]]) -> tuple[ProgramStatement, ...]:
    """S: A = f(neighbours in A) (thesis Figure 3.2b)."""
    dimensions = len(offsets[0])
    iterators = ", ".join(["t", *"ijk"[:dimensions]])
    subscripts = ", ".join("ijk"[:dimensions])
    position = (0,) * (dimensions + 2)
    return (statement("S", iterators, nest(iterators), position, f"A[{subscripts}]", *stencil_reads("A", offsets)),)


def fdtd() -> tuple[ProgramStatement, ...]:
    """The 2-D FDTD of PolyBench: four statements."""
    every = "t, i, j"
    return (
        statement("S0", "t, j", "1 <= t <= T and 0 <= j < N", (0, 0, 0), "ey[0, j]", "fict[t]"),
        statement(
            "S1", every, "1 <= t <= T and 1 <= i < N and 0 <= j < N", (0, 1, 0, 0),
            "ey[i, j]", "ey[i, j]", "hz[i, j]", "hz[i - 1, j]",
        ),
        statement(
            "S2", every, "1 <= t <= T and 0 <= i < N and 1 <= j < N", (0, 2, 0, 0),
            "ex[i, j]", "ex[i, j]", "hz[i, j]", "hz[i, j - 1]",
        ),
        statement(
            "S3", every, "1 <= t <= T and 0 <= i, j < N - 1", (0, 3, 0, 0),
            "hz[i, j]", "hz[i, j]", "ex[i, j + 1]", "ex[i, j]", "ey[i + 1, j]", "ey[i, j]",
        ),
    )  # fmt: skip


HEAT_7 = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1)]

BENCHMARKS = {
    "1-D Jacobi-3": jacobi(cross(1)),
    "2-D Jacobi-5": jacobi(cross(2)),
    "3-D Jacobi-7": jacobi(cross(3)),
    "3-D Jacobi-27": jacobi(box(3)),
    "1-D SOR-3": sor(cross(1)),
    "2-D SOR-5": sor(cross(2)),
    "2-D FDTD": fdtd(),
    "2-D Heat-7": jacobi(HEAT_7),
}
"""Thesis Table 4.1."""
