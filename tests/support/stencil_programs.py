"""The programs of thesis chapters 3 and 4 as isl relations, and an interpreter for any order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import islpy as isl

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import DataObject, Scope, Storage, integer, local_scalar
from tilepragma.ir.loop_tree import Block, Loop
from tilepragma.ir.types import INT
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.scop import AccessKind, Reference, ScopStatement

DEEPEST = 8


def reference(array: str, relation: isl.Map, writes: bool) -> Reference:
    """An exact access to an array of integers."""
    lengths = (None,) * relation.dim(isl.dim_type.out)
    object_ = DataObject(array, array, INT, Storage.CONTIGUOUS, Scope.EXTERNAL, lengths)
    kind = AccessKind.MUST_WRITE if writes else AccessKind.READ
    return Reference(object_, kind, relation, True, None, NOWHERE)


def scop_statement(
    name: str, domain: isl.Set, iterators: Sequence[str], position: Sequence[int], references: Sequence[Reference]
) -> ScopStatement:
    """A statement under increasing loops; `position` has one number more than there are loops."""
    loops = tuple(
        Loop(
            place,
            local_scalar(iterator, INT).object,
            True,
            integer(0),
            "<",
            integer(0),
            integer(1),
            False,
            Block(()),
            None,
        )
        for place, iterator in enumerate(iterators)
    )
    times = schedule(name, iterators, position, domain.get_ctx())
    return ScopStatement(name, loops, domain, times, tuple(references), NOWHERE, Block(()))


def schedule(name: str, iterators: Sequence[str], position: Sequence[int], context: isl.Context) -> isl.Map:
    """{ S[i] -> [c_0, i_1, c_1, …, 0, …] }"""
    times = [str(position[0])]
    for iterator, place in zip(iterators, position[1:], strict=True):
        times += [iterator, str(place)]
    times += ["0"] * (2 * DEEPEST + 1 - len(times))
    return isl.Map(f"{{ {name}[{', '.join(iterators)}] -> [{', '.join(times)}] }}", context=context)


def distance(dependence: Dependence) -> tuple[int, ...] | None:
    """d = i' - i where it is one constant vector for the whole relation, else None."""
    relation = dependence.relation
    if relation.dim(isl.dim_type.in_) != relation.dim(isl.dim_type.out):
        return None
    unnamed = relation.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
    deltas = unnamed.deltas().project_out(isl.dim_type.param, 0, unnamed.dim(isl.dim_type.param))
    if deltas.is_empty() or not deltas.is_singleton():
        return None
    point = deltas.sample_point()
    return tuple(
        point.get_coordinate_val(isl.dim_type.set, index).to_python() for index in range(deltas.dim(isl.dim_type.set))
    )


def statement(
    name: str,
    iterators: str,
    domain: str,
    position: Sequence[int],
    write: str,
    *reads: str,
    parameters: str = "T, N",
) -> ScopStatement:
    """One statement: accesses are written "A[i + 1]"."""
    instances = isl.Set(f"[{parameters}] -> {{ {name}[{iterators}] : {domain} }}")

    def access(text: str, writes: bool) -> Reference:
        relation = isl.Map(f"[{parameters}] -> {{ {name}[{iterators}] -> {text} }}")
        return reference(text.split("[")[0], relation.intersect_domain(instances), writes)

    accesses = (access(write, True), *(access(text, False) for text in reads))
    return scop_statement(name, instances, iterators.split(", "), position, accesses)


def nest(iterators: str, low: int = 1) -> str:
    """1 <= t <= T and low <= i, j, ... <= N."""
    time, *space = iterators.split(", ")
    return f"1 <= {time} <= T" + "".join(f" and {low} <= {iterator} <= N" for iterator in space)


def figure_3_4() -> tuple[ScopStatement, ...]:
    domain = "1 <= j <= J and 1 <= i <= I"
    return (statement("S", "j, i", domain, (0, 0, 0), "A[i]", "A[i]", "A[i + 1]", parameters="J, I"),)


def figure_3_5() -> tuple[ScopStatement, ...]:
    domain = "0 <= j, i < N"
    return (
        statement("S0", "j, i", domain, (0, 0, 0), "C[i]", "C[i]", "A[i, j]"),
        statement("S1", "j, i", domain, (1, 0, 0), "D[i]", "D[i]", "C[j]", "B[j, i]"),
    )


def figure_3_7() -> tuple[ScopStatement, ...]:
    return (statement("S", "j, i", "1 <= j, i <= N", (0, 0, 0), "A[j, i]", "A[j, i - 1]", "A[j, i]"),)


def figure_3_8() -> tuple[ScopStatement, ...]:
    reads = ("A[j - 1, i - 1]", "A[j - 1, i]", "A[j - 1, i + 1]")
    return (statement("S", "j, i", "1 <= j, i <= N", (0, 0, 0), "A[j, i]", *reads),)


def figure_3_10() -> tuple[ScopStatement, ...]:
    reads = ("A[j, i - 1]", "A[j - 1, i]", "A[j - 1, i - 1]")
    return (statement("S", "j, i", "1 <= j, i <= N", (0, 0, 0), "A[j, i]", *reads),)


def figure_4_4() -> tuple[ScopStatement, ...]:
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


def jacobi(offsets: Sequence[tuple[int, ...]]) -> tuple[ScopStatement, ...]:
    """S0: B = f(neighbours in A); S1: A = B (thesis Figure 3.2a)."""
    dimensions = len(offsets[0])
    iterators = ", ".join(["t", *"ijk"[:dimensions]])
    subscripts = ", ".join("ijk"[:dimensions])
    zeros = (0,) * dimensions
    return (
        statement("S0", iterators, nest(iterators), (0, 0, *zeros), f"B[{subscripts}]", *stencil_reads("A", offsets)),
        statement("S1", iterators, nest(iterators), (0, 1, *zeros), f"A[{subscripts}]", f"B[{subscripts}]"),
    )


def sor(offsets: Sequence[tuple[int, ...]]) -> tuple[ScopStatement, ...]:
    """S: A = f(neighbours in A) (thesis Figure 3.2b)."""
    dimensions = len(offsets[0])
    iterators = ", ".join(["t", *"ijk"[:dimensions]])
    subscripts = ", ".join("ijk"[:dimensions])
    position = (0,) * (dimensions + 2)
    return (statement("S", iterators, nest(iterators), position, f"A[{subscripts}]", *stencil_reads("A", offsets)),)


def fdtd() -> tuple[ScopStatement, ...]:
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
