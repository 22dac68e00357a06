"""Linear independence of a statement's hyperplanes (thesis Algorithm 4.1, steps 10 and 16)."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

from tilepragma.poly.schedule import Matrix


def rank(rows: Matrix) -> int:
    """The number of linearly independent rows."""
    return len(_reduced(rows)[1])


def orthogonal_complement(rows: Matrix, columns: int) -> Matrix:
    """A basis of { x : H x = 0 }, H = `rows`: what step 16 of Algorithm 4.1 projects on.

    A hyperplane h is independent of H exactly where r . h != 0 for one of the basis vectors r. Each
    is primitive with a positive last non-zero component: r . h >= 1 then keeps the orientation of
    the original loops (for a 2-D nest the determinant stays positive), so that addresses in a
    wavefront grow where they grew in the program.
    """
    reduced, pivots = _reduced(rows)
    basis = []
    for free in (column for column in range(columns) if column not in pivots):
        vector = [Fraction(0)] * columns
        vector[free] = Fraction(1)
        for row, pivot in zip(reduced, pivots, strict=True):
            vector[pivot] = -row[free]
        basis.append(_primitive(vector))
    return tuple(basis)


def integral_inverse(rows: Matrix) -> Matrix | None:
    """The inverse of a square matrix where it is integral, else None."""
    size = len(rows)
    beside = tuple((*row, *(int(place == pivot_row) for place in range(size))) for pivot_row, row in enumerate(rows))
    reduced, pivots = _reduced(beside)
    right = [row[size:] for row in reduced]
    if pivots != list(range(size)) or any(value.denominator != 1 for row in right for value in row):
        return None
    return tuple(tuple(int(value) for value in row) for row in right)


def _reduced(rows: Matrix) -> tuple[list[list[Fraction]], list[int]]:
    """The non-zero rows of the reduced row echelon form, and the columns of their leading ones."""
    work = [[Fraction(value) for value in row] for row in rows]
    pivots: list[int] = []
    for column in range(len(rows[0]) if rows else 0):
        done = len(pivots)
        pivot = next((index for index in range(done, len(work)) if work[index][column]), None)
        if pivot is None:
            continue
        work[done], work[pivot] = work[pivot], work[done]
        leading = work[done][column]
        work[done] = [value / leading for value in work[done]]
        for index, row in enumerate(work):
            if index != done and row[column]:
                factor = row[column]
                work[index] = [value - factor * base for value, base in zip(row, work[done], strict=True)]
        pivots.append(column)
    return work[: len(pivots)], pivots


def _primitive(vector: list[Fraction]) -> tuple[int, ...]:
    scale = lcm(*(value.denominator for value in vector))
    whole = [int(value * scale) for value in vector]
    divisor = gcd(*whole)
    sign = -1 if [value for value in whole if value][-1] < 0 else 1
    return tuple(sign * value // divisor for value in whole)
