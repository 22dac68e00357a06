"""Affine schedules: the result of Algorithm 4.1, which all later passes read.

    Phi_S : { S[i] -> [phi_S^1(i), ..., phi_S^m(i)] }        thesis (3.8)

The instances of all statements run in the lexicographic order of their images (Theorem 3.1).

Rows of a statement are linearly independent as far as they are hyperplanes (steps 10 and 16).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.affine import whole_number
from tilepragma.poly.dependences import Dependence, Dependences
from tilepragma.poly.scop import ScopStatement, Statements

Matrix = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Row:
    """phi_S^d(i) = coefficients . i + constant, thesis (3.7).

    Iterators grow in the order of execution here: i stands for -i where its loop counts down. Rows
    of one `band` number are permutable with each other (Theorem 3.3), also across the statements
    that have it; `band` is None for a scalar dimension (section 3.2.3), whose coefficients are all
    zero.
    """

    coefficients: tuple[int, ...]
    constant: int
    band: int | None

    @property
    def scalar(self) -> bool:
        """Whether it only orders statements."""
        return self.band is None

    @property
    def is_iterator(self) -> bool:
        """Whether its linear part is one iterator, so that the loop's end ends the domain."""
        return sorted(self.coefficients, reverse=True) == [1] + [0] * (len(self.coefficients) - 1)


@dataclass(frozen=True)
class StatementSchedule:
    """Phi_S with its scalar dimensions, outermost row first."""

    statement: ScopStatement
    rows: tuple[Row, ...]

    @property
    def user_rows(self) -> tuple[Row, ...]:
        """The rows in the user's iterators, where decreasing ones count down."""
        return tuple(replace(row, coefficients=signed(self.statement, row.coefficients)) for row in self.rows)

    @property
    def map(self) -> isl.Map:
        """Phi_S = { S[i] -> [rows] } on the whole space of S, thesis (3.8)."""
        return affine_map(self.statement, self.rows)


Schedule = tuple[StatementSchedule, ...]
"""Phi of every statement, all with as many rows."""


def padded(schedules: Schedule) -> Schedule:
    """The schedules with equally many rows, by scalar dimensions of value 0 at the end."""
    length = max((len(each.rows) for each in schedules), default=0)
    return tuple(
        replace(each, rows=each.rows + (Row((0,) * each.statement.depth, 0, None),) * (length - len(each.rows)))
        for each in schedules
    )


def affine_map(statement: ScopStatement, rows: tuple[Row, ...]) -> isl.Map:
    """{ S[i] -> [rows of ±i] }, on the space of the statement's domain."""
    space = statement.domain.get_space()
    local = isl.LocalSpace.from_space(space)
    affs = isl.AffList.alloc(statement.domain.get_ctx(), len(rows))
    for row in rows:
        aff = isl.Aff.zero_on_domain(local).set_constant_val(whole_number(space.get_ctx(), row.constant))
        for index, coefficient in enumerate(signed(statement, row.coefficients)):
            aff = aff.set_coefficient_val(isl.dim_type.in_, index, whole_number(space.get_ctx(), coefficient))
        affs = affs.add(aff)
    product = space.map_from_domain_and_range(space.params().add_unnamed_tuple_ui(len(rows)))
    return isl.Map.from_multi_aff(isl.MultiAff.from_aff_list(product, affs))


def signed(statement: ScopStatement, factors: Sequence[int]) -> tuple[int, ...]:
    """Factors of iterators that grow as factors of the statement's own iterators, and back."""
    return tuple(sign * factor for sign, factor in zip(statement.signs, factors, strict=True))


def original_schedule(statements: Statements, numbers: Iterator[int] | None = None) -> Schedule:
    """The textual order: { S[i] -> [p0, i1, p1, ..., in, pn] }.

    Its loops are bands of one row each, numbered by `numbers`: no rows are known to be permutable.
    """
    numbers = itertools.count() if numbers is None else numbers
    bands: dict[tuple[int, ...], int] = {}
    schedules = []
    for statement in statements:
        rows = []
        for level in range(statement.depth + 1):
            rows.append(Row((0,) * statement.depth, statement.position[level], None))
            if level < statement.depth:
                loop = statement.position[: level + 1]
                if loop not in bands:
                    bands[loop] = next(numbers)
                rows.append(Row(unit(statement.depth, level), 0, bands[loop]))
        schedules.append(StatementSchedule(statement, tuple(rows)))
    return padded(tuple(schedules))


def unit(length: int, index: int) -> tuple[int, ...]:
    """The unit vector with its 1 at `index`."""
    return tuple(int(position == index) for position in range(length))


def row_text(row: Row, iterators: tuple[str, ...]) -> str:
    """The row as an expression in the iterators."""
    terms = []
    for coefficient, iterator in zip(row.coefficients, iterators, strict=True):
        if coefficient:
            factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)}*"
            terms.append(("-" if coefficient < 0 else "+", f"{factor}{iterator}"))
    if row.constant or not terms:
        terms.append(("-" if row.constant < 0 else "+", str(abs(row.constant))))
    sign, text = terms[0]
    return ("-" if sign == "-" else "") + text + "".join(f" {sign} {text}" for sign, text in terms[1:])


Images = Mapping[str, isl.Map]
"""{ S[i] -> [phi_S(i)] } of some rows, by the statement's name."""


def images(statements: Iterable[StatementSchedule], levels: Iterable[int]) -> Images:
    """The rows at these levels."""
    chosen = tuple(levels)
    rows = ((each.statement, tuple(each.rows[level] for level in chosen)) for each in statements)
    return {statement.name: affine_map(statement, its_rows) for statement, its_rows in rows}


def equal_images(dependence: Dependence, sources: Images, sinks: Images) -> isl.Map:
    """{ S[s] -> T[t] : phi_T(t) = phi_S(s) } for the statements of the dependence."""
    source, sink = dependence.ends
    return sources[source].apply_range(sinks[sink].reverse())


def tied(
    statements: Iterable[StatementSchedule], dependences: Iterable[Dependence], levels: Iterable[int]
) -> Dependences:
    """The pairs { s -> t : phi_T(t) = phi_S(s) } that the rows at these levels leave of each
    dependence; without those of which they leave none.
    """
    rows = images(statements, levels)
    left = []
    for each in dependences:
        relation = each.relation.intersect(equal_images(each, rows, rows))
        if not relation.is_empty():
            left.append(replace(each, relation=relation.align_params(each.relation.get_space().params()).coalesce()))
    return tuple(left)


def carries(statements: Iterable[StatementSchedule], dependences: Iterable[Dependence], level: int) -> bool:
    """Whether { s -> t in P_e : phi_T(t) != phi_S(s) } is not empty for some dependence."""
    rows = images(statements, (level,))
    return any(not each.relation.is_subset(equal_images(each, rows, rows)) for each in dependences)


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
