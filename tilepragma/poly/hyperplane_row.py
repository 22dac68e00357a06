"""Hyperplane search: one row of Phi for a group of statements, by the integer program of thesis
Algorithm 4.1, steps 2 to 10.

The lexicographic minimum takes its unknowns in this order, where phi_S(i) = c . i + c_0 (3.7):

    sum(u), u_1, ..., u_q, w, and per statement c_n, ..., c_1, c_0

    (3.16)      phi_T(t) - phi_S(s) >= 0                for all (s, t) in P_e
    (4.1)       phi_S(t) - phi_S(s) >= 1                for all (s, t) in P_e of strict self edges
    bounding    u . p + w - (phi_T(t) - phi_S(s)) >= 0  for all (s, t) in P_e: communication volume

All unknowns are >= 0. Inner coefficients come before outer ones, so that ties keep the original
outer loop outside. Without such a row, coefficients have either sign: c = c+ - c-, with the sum of
all c- minimised after w.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.farkas import ConeRow, cone
from tilepragma.poly.linear_independence import orthogonal_complement
from tilepragma.poly.operation_limit import OperationLimitError
from tilepragma.poly.program_model import ProgramStatement
from tilepragma.poly.schedule import Matrix

Form = dict[int, int]
"""A linear form of the unknowns: unknown -> factor; CONSTANT -> its constant."""
CONSTANT = -1
"""the last place in a row of factors"""
SIGNED_MAGNITUDE = 16
"""The greatest coefficient of a row with negative coefficients."""


@dataclass(frozen=True)
class Edge:
    """`relation` = { source[s] -> target[t] }: the pairs of P_e that no row orders yet."""

    source: str
    target: str
    relation: isl.Map

    @property
    def ends(self) -> tuple[str, str]:
        """The names of the two statements."""
        return self.source, self.target

    @functools.cached_property
    def cone(self) -> tuple[ConeRow, ...]:
        """The forms that are non-negative on the relation, by Farkas' lemma."""
        return cone(self.relation)


@dataclass(frozen=True)
class SolvedRow:
    """phi_S of one statement: coefficients in the order of its iterators, and the constant."""

    coefficients: tuple[int, ...]
    constant: int


@dataclass(frozen=True)
class RowProblem:
    """A group of statements, the rows H_S that each has so far, and the edges that order instances.

    The cones have `parameters` parameters.
    """

    statements: tuple[ProgramStatement, ...]
    rows: Mapping[str, Matrix]
    edges: tuple[Edge, ...]
    parameters: int
    context: isl.Context


@dataclass(frozen=True)
class _Independence:
    """Constraints on the rows r of the orthogonal complement that express r . h != 0 without a
    disjunction: sign * r . h >= 0 for each r (where `each`), and its sum over all r, or that of
    row `only`, is >= 1.
    """

    sign: int
    each: bool
    only: int | None
    signed: bool
    bounded: bool = True


def find_row(problem: RowProblem, strict: frozenset[int] = frozenset()) -> dict[str, SolvedRow] | None:
    """The lexicographically least row independent of `rows`, or None; `strict` edges satisfy (4.1).

    Statements with as many independent rows as loops may get any legal row. The number of integer
    programs grows with the depth of the deepest statement, not with the number of statements.
    """
    rows = _Rows(problem, strict)
    for way in _ways(problem):
        solution = rows.solved(way)
        if solution is not None:
            return solution
    return None


def _ways(problem: RowProblem) -> Iterator[_Independence]:
    yield _Independence(1, each=True, only=None, signed=False)
    yield _Independence(-1, each=True, only=None, signed=False)
    most = max((each.depth - len(problem.rows[each.name]) for each in problem.statements), default=0)
    for only in range(most):
        for sign in (1, -1):
            yield _Independence(sign, each=False, only=only, signed=True)
    yield _Independence(1, each=True, only=None, signed=False, bounded=False)


class _Rows:
    """The constraints that all independence constraints share, per sign of the coefficients."""

    def __init__(self, problem: RowProblem, strict: frozenset[int]) -> None:
        self._problem = problem
        self._strict = strict
        self._shared: dict[tuple[bool, bool], tuple[list[Form], list[Form]] | None] = {}

    def solved(self, way: _Independence) -> dict[str, SolvedRow] | None:
        """The lexicographic minimum under these independence constraints, or None."""
        layout = _Layout(self._problem, way.signed)
        key = (way.signed, way.bounded)
        if key not in self._shared:
            self._shared[key] = _shared_constraints(self._problem, layout, strict=self._strict, bounded=way.bounded)
        shared = self._shared[key]
        if shared is None:
            return None
        equalities, inequalities = shared
        independent = [
            form for each in self._problem.statements for form in _independent(each, self._problem, layout, way)
        ]
        values = _lexicographic_minimum(self._problem.context, layout.count, equalities, inequalities + independent)
        return None if values is None else layout.read(values)


class _Layout:
    """The numbers of the unknowns."""

    def __init__(self, problem: RowProblem, signed: bool) -> None:
        self.statements = problem.statements
        self.signed = signed
        self.total = 0
        self.bounds = tuple(range(1, 1 + problem.parameters))
        self.slack = 1 + problem.parameters
        self.negatives = self.slack + 1
        self.first: dict[str, int] = {}
        number = self.negatives + 1 if signed else self.negatives
        for each in problem.statements:
            self.first[each.name] = number
            number += each.depth * (2 if signed else 1) + 1
        self.count = number

    def coefficient(self, statement: ProgramStatement, index: int) -> Form:
        """c_index of the statement as a form."""
        inner_first = statement.depth - 1 - index
        if self.signed:
            number = self.first[statement.name] + 2 * inner_first
            return {number: 1, number + 1: -1}
        return {self.first[statement.name] + inner_first: 1}

    def constant(self, statement: ProgramStatement) -> int:
        """The number of c_0 of the statement."""
        return self.first[statement.name] + statement.depth * (2 if self.signed else 1)

    def read(self, values: list[int]) -> dict[str, SolvedRow]:
        """The rows of a solution."""
        return {
            each.name: SolvedRow(
                tuple(_value(self.coefficient(each, index), values) for index in range(each.depth)),
                values[self.constant(each)],
            )
            for each in self.statements
        }


def _value(form: Form, values: list[int]) -> int:
    return sum(factor * values[unknown] for unknown, factor in form.items())


def _shared_constraints(
    problem: RowProblem, layout: _Layout, *, strict: frozenset[int], bounded: bool
) -> tuple[list[Form], list[Form]] | None:
    """Equalities and inequalities (form >= 0) except independence; None if one is plainly false."""
    inequalities: list[Form] = []
    equalities: list[Form] = [{layout.total: -1, **dict.fromkeys(layout.bounds, 1)}]
    if layout.signed:
        negatives: Form = {layout.negatives: -1}
        for each in problem.statements:
            for index in range(each.depth):
                for unknown, factor in layout.coefficient(each, index).items():
                    inequalities.append({unknown: -1, CONSTANT: SIGNED_MAGNITUDE})
                    if factor < 0:
                        negatives[unknown] = 1
        equalities.append(negatives)
    by_name = {each.name: each for each in problem.statements}
    seen: set[frozenset[tuple[int, int]]] = set()
    for number, edge in enumerate(problem.edges):
        source, target = by_name[edge.source], by_name[edge.target]
        least = 1 if number in strict else 0
        for row in edge.cone:
            difference = _difference(row, source, target, layout)
            forms = [_legal(difference, row, least)]
            if bounded:
                forms.append(_bounding(difference, row, layout))
            for form in forms:
                key = frozenset(form.items())
                if key in seen:
                    continue
                seen.add(key)
                if set(form) <= {CONSTANT}:
                    value = form.get(CONSTANT, 0)
                    if value < 0 or (row.equality and value):
                        return None
                    continue
                (equalities if row.equality else inequalities).append(form)
    return equalities, inequalities


def _legal(difference: Form, row: ConeRow, least: int) -> Form:
    """(3.16), or (4.1) with `least` = 1: the cone's row at phi_T(t) - phi_S(s) - least."""
    form = dict(difference)
    _add(form, {CONSTANT: 1}, -least * row.constant)
    return _cleaned(form)


def _bounding(difference: Form, row: ConeRow, layout: _Layout) -> Form:
    """The cone's row at u . p + w - (phi_T(t) - phi_S(s))."""
    form = {unknown: -factor for unknown, factor in difference.items()}
    _add(form, {layout.slack: 1}, row.constant)
    for unknown, factor in zip(layout.bounds, row.parameters, strict=True):
        _add(form, {unknown: 1}, factor)
    return _cleaned(form)


def _difference(row: ConeRow, source: ProgramStatement, target: ProgramStatement, layout: _Layout) -> Form:
    """The cone's row at phi_T(t) - phi_S(s)."""
    form: Form = {}
    for index, factor in enumerate(row.target):
        if factor:
            _add(form, layout.coefficient(target, index), factor)
    for index, factor in enumerate(row.source):
        if factor:
            _add(form, layout.coefficient(source, index), -factor)
    _add(form, {layout.constant(target): 1}, row.constant)
    _add(form, {layout.constant(source): 1}, -row.constant)
    return form


def _add(form: Form, summand: Form, factor: int) -> None:
    for unknown, value in summand.items():
        form[unknown] = form.get(unknown, 0) + factor * value


def _cleaned(form: Form) -> Form:
    return {unknown: factor for unknown, factor in form.items() if factor}


def _independent(statement: ProgramStatement, problem: RowProblem, layout: _Layout, way: _Independence) -> list[Form]:
    """r . h constraints of a statement, r a row of its orthogonal complement (step 16)."""
    complement = orthogonal_complement(problem.rows[statement.name], statement.depth)
    if not complement:
        return []
    products = []
    for vector in complement:
        product: Form = {}
        for index, factor in enumerate(vector):
            _add(product, layout.coefficient(statement, index), way.sign * factor)
        products.append(_cleaned(product))
    forms = list(products) if way.each else []
    chosen = products if way.only is None else [products[way.only % len(products)]]
    total: Form = {CONSTANT: -1}
    for product in chosen:
        _add(total, product, 1)
    return [*forms, _cleaned(total)]


#: isl's integer programs take long over great factors, which no operation limit counts: those
#: beyond _GREAT are allowed as long as unknowns x constraints x the greatest factor stays below
#: _MOST_WORK, about a second. Where there are more than _FEW_UNKNOWNS, less does: Yee's grid of 15
#: x 17 x 13 has 40, 692 and 15 (loops that are too short to be lifted), took 6 s for its first row,
#: and its second never ended.
_GREAT, _MOST_WORK = 64, 2**20
_GREAT_AMONG_MANY, _MOST_WORK_AMONG_MANY = 8, 2**18
_MOST_UNKNOWNS = 160
_FEW_UNKNOWNS = 32


def _lexicographic_minimum(
    context: isl.Context, unknowns: int, equalities: list[Form], inequalities: list[Form]
) -> list[int] | None:
    """The least integer point of { x >= 0 : equalities = 0, inequalities >= 0 }, or None where
    there is none."""
    if unknowns > _MOST_UNKNOWNS:
        raise OperationLimitError(f"isl was not asked for hyperplanes with more than {_MOST_UNKNOWNS} unknown factors.")
    greatest = max((abs(factor) for form in (*equalities, *inequalities) for factor in form.values()), default=0)
    many = unknowns > _FEW_UNKNOWNS
    great, most = (_GREAT_AMONG_MANY, _MOST_WORK_AMONG_MANY) if many else (_GREAT, _MOST_WORK)
    if greatest > great and unknowns * (len(equalities) + len(inequalities)) * greatest > most:
        raise OperationLimitError(f"isl was not asked for hyperplanes with factors up to {greatest}.")
    rows = [_matrix_row(form, unknowns, kind) for kind, forms in ((0, equalities), (1, inequalities)) for form in forms]
    # isl reads PolyLib's matrices; islpy's own copy the whole matrix for every element that is set.
    text = f"{len(rows)} {unknowns + 2}\n" + "\n".join(rows)
    constrained = isl.BasicSet.read_from_str(context, text)
    polyhedron = constrained.intersect(isl.BasicSet.positive_orthant(constrained.get_space()))
    if polyhedron.is_empty():
        return None
    if not many:
        point = polyhedron.lexmin().sample_point()
        return [point.get_coordinate_val(isl.dim_type.set, index).to_python() for index in range(unknowns)]
    # One unknown after another: where there are many, isl's lexmin has been seen to take for ever
    # and this no time.
    least = isl.Set.from_basic_set(polyhedron)
    values = []
    for unknown in range(unknowns):
        value = least.dim_min_val(unknown)
        least = least.fix_val(isl.dim_type.set, unknown, value)
        values.append(int(value.to_python()))
    return values


def _matrix_row(form: Form, unknowns: int, kind: int) -> str:
    """A row of PolyLib's constraint matrix: 0 (= 0) or 1 (>= 0), the factors, the constant."""
    cells = ["0"] * (unknowns + 1)
    for unknown, factor in form.items():
        cells[unknown] = str(factor)
    return f"{kind} {' '.join(cells)}"
