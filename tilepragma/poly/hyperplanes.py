"""Hyperplanes of thesis Algorithm 4.1: rows of Phi_S : { S[i] -> [phi_S^1(i), ..., phi_S^m(i)] }.

Each row is a lexicographic minimum under legality (3.16), a bounding function and linear
independence of earlier rows. Consecutive rows under the same dependences form a band and may be
tiled together (Theorem 3.3). Without a further row, the search drops dependences that the band
satisfies and begins a new band. If that fails, a scalar dimension orders the strongly connected
components of the rest (fission). If that fails too, the textual order stays: the result is always
legal.

The search treats numeric ends of loops as parameters:

    { S[i] -> T[i'] : i' = i + 1, 0 <= i < 1999 }   lies, at p = 2000, in
    [p] -> { S[i] -> T[i'] : i' = i + 1, 0 <= i < p - 1 }

Over a domain with a numeric end all distances are bounded. Then the bounding function of Algorithm
4.1 weighs that number, and rows with factors as great as an extent are legal (`2000 i + j`): the
integer programs become hard and their answers useless. A row that is legal for all p is legal for
this one. Soundness needs no number to be recognised: a constraint that stays is right too.

The integer program of a row (Algorithm 4.1, steps 2 to 10) takes its unknowns in this order, where
phi_S(i) = c . i + c_0 (3.7):

    sum(u), u_1, ..., u_q, w, and per statement c_n, ..., c_1, c_0

    (3.16)      phi_T(t) - phi_S(s) >= 0                for all (s, t) in P_e
    bounding    u . p + w - (phi_T(t) - phi_S(s)) >= 0  for all (s, t) in P_e: communication volume

All unknowns are >= 0. Inner coefficients come before outer ones, so that ties keep the original
outer loop outside. Without such a row, coefficients have either sign: c = c+ - c-, with the sum of
all c- minimised after w.

By Farkas' lemma, the affine forms that are non-negative on a dependence polyhedron

    { (c0, cp, cs, ct) : c0 + cp . p + cs . s + ct . t >= 0 for all (s, t) in P_e and all p }

are a cone for parameters p. isl's `coefficients` writes it with one multiplier per constraint of
P_e and projects the multipliers out (steps 2 to 4). Legality (3.16) and the bounding function are
two linear images of this cone, so each polyhedron is eliminated once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.affine import whole_number
from tilepragma.poly.dependences import Dependence, Dependences, within
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.schedule import (
    Matrix,
    Row,
    Schedule,
    StatementSchedule,
    original_schedule,
    orthogonal_complement,
    padded,
    rank,
    signed,
    tied,
)
from tilepragma.poly.scop import ScopStatement, Statements
from tilepragma.poly.strongly_connected import strongly_connected, weakly_connected

Rows = Mapping[str, tuple[Row, ...]]


def tiling_hyperplanes(
    statements: Statements, dependences: Dependences, before: Rows | None = None, operations: int = DEFAULT_LIMIT
) -> Schedule:
    """Algorithm 4.1: a legal schedule of all statements, in bands that may be tiled, with least
    communication (thesis section 4.2.1).

    At isl's limit of `operations` the order of the text is kept. `before` are rows that every
    statement has already, with as many for each; the dependences are then those that these leave
    tied, and the rows found come after them.
    """
    if not statements:
        return ()
    context = statements[0].domain.get_ctx()
    try:
        with operation_limit(context, operations, "searching for tiling hyperplanes"):
            extents = extents_of(statements)
            aligned = _aligned(tuple(lifted(each.relation, extents) for each in dependences))
            pending = tuple(
                replace(each, relation=relation) for each, relation in zip(dependences, aligned, strict=True)
            )
            pending = _distinct(pending)
            # Nests that share neither a loop nor a dependence stay in textual order.
            links = [each.ends for each in pending]
            links += [(a.name, b.name) for a, b in itertools.pairwise(statements) if a.shared_loops(b)]
            first: Rows = {each.name: (before or {}).get(each.name, ()) for each in statements}
            rows = _in_sequence(weakly_connected(statements, links), pending, first, itertools.count())
            return padded(tuple(StatementSchedule(each, rows[each.name]) for each in statements))
    except OperationLimitError:
        return tuple(
            replace(each, rows=(before or {}).get(each.statement.name, ()) + each.rows)
            for each in original_schedule(statements)
        )


def _distinct(dependences: Dependences) -> Dependences:
    """One of the dependences that order the same instances, of which schedules see no more."""
    distinct: dict[tuple[str, str, int], list[Dependence]] = {}
    for each in dependences:
        same = distinct.setdefault((*each.ends, hash(each.relation)), [])
        if not any(each.relation.plain_is_equal(other.relation) for other in same):
            same.append(each)
    kept = {id(each) for same in distinct.values() for each in same}
    return tuple(each for each in dependences if id(each) in kept)


def _in_sequence(groups: list[Statements], pending: Dependences, rows: Rows, bands: Iterator[int]) -> Rows:
    """Each group's rows, after a scalar dimension that orders them; `bands` numbers bands."""
    result: dict[str, tuple[Row, ...]] = {}
    for order, group in enumerate(groups):
        names = {each.name for each in group}
        group_rows = {name: rows[name] for name in names}
        if len(groups) > 1:
            group_rows = {each.name: (*rows[each.name], Row((0,) * each.depth, order, None)) for each in group}
        result |= _band(group, within(pending, names), group_rows, bands)
    return result


def _band(group: Statements, pending: Dependences, rows: Rows, bands: Iterator[int]) -> Rows:
    """One band of permutable rows for the group, and all rows below it."""
    band = next(bands)
    left = pending
    has_row = False
    while not _finished(group, rows):
        row = find_row(RowProblem(group, _hyperplanes(group, rows), pending))
        if row is None:
            break
        has_row = True
        rows = {name: (*rows[name], replace(each, band=band)) for name, each in row.items()}
        # The pairs of each dependence that the row leaves (Algorithm 4.1, step 14).
        left = tied([StatementSchedule(each, (row[each.name],)) for each in group], left, (0,))
    if _finished(group, rows) and not left:
        return rows
    return (_band if has_row else _fission)(group, left, rows, bands)


def _fission(group: Statements, pending: Dependences, rows: Rows, bands: Iterator[int]) -> Rows:
    """Algorithm 4.1, step 12: a scalar dimension orders strongly connected components; adjacent
    ones with a common hyperplane stay fused.
    """
    components = strongly_connected(group, [each.ends for each in pending])
    if len(components) == 1:
        # What is left unordered is ordered as in the text: legal, as every dependence runs forward
        # there.
        return {each.statement.name: rows[each.statement.name] + each.rows for each in original_schedule(group, bands)}
    merged = [components[0]]
    for component in components[1:]:
        joint = merged[-1] + component
        inside = within(pending, {each.name for each in joint})
        if _finished(joint, rows):
            fusible = not inside
        else:
            fusible = find_row(RowProblem(joint, _hyperplanes(joint, rows), inside)) is not None
        if fusible:
            merged[-1] = joint
        else:
            merged.append(component)
    return _in_sequence(merged, pending, rows, bands)


def _aligned(relations: tuple[isl.Map, ...]) -> tuple[isl.Map, ...]:
    """The relations with the same parameters in the same order."""
    if not relations:
        return ()
    space = relations[0].get_space().params()
    for relation in relations[1:]:
        space = space.align_params(relation.get_space().params())
    return tuple(relation.align_params(space) for relation in relations)


def _hyperplanes(group: Statements, rows: Rows) -> dict[str, Matrix]:
    """H_S of each statement: its linearly independent rows."""
    result: dict[str, Matrix] = {}
    for each in group:
        chosen: list[tuple[int, ...]] = []
        for row in rows[each.name]:
            if rank((*chosen, row.coefficients)) > len(chosen):
                chosen.append(row.coefficients)
        result[each.name] = tuple(chosen)
    return result


def _finished(group: Statements, rows: Rows) -> bool:
    """Whether H_S has full rank for all of the group."""
    hyperplanes = _hyperplanes(group, rows)
    return all(len(hyperplanes[each.name]) == each.depth for each in group)


# -- one row

Form = dict[int, int]
"""A linear form of the unknowns: unknown -> factor; CONSTANT -> its constant."""
CONSTANT = -1
"""the last place in a row of factors"""
SIGNED_MAGNITUDE = 16
"""The greatest coefficient of a row with negative coefficients."""


@dataclass(frozen=True)
class RowProblem:
    """A group of statements, the rows H_S that each has so far, and the dependences that order
    instances, whose relations have the same parameters.
    """

    statements: Statements
    rows: Mapping[str, Matrix]
    edges: Dependences


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


def find_row(problem: RowProblem) -> dict[str, Row] | None:
    """The lexicographically least row independent of `rows`, or None.

    Statements with as many independent rows as loops may get any legal row. The number of integer
    programs grows with the depth of the deepest statement, not with the number of statements.
    """
    shared: dict[tuple[bool, bool], tuple[list[Form], list[Form]] | None] = {}
    for way in _ways(problem):
        layout = _Layout(problem, way.signed)
        key = (way.signed, way.bounded)
        if key not in shared:
            shared[key] = _shared_constraints(problem, layout, bounded=way.bounded)
        constraints = shared[key]
        if constraints is None:
            continue
        equalities, inequalities = constraints
        independent = [form for each in problem.statements for form in _independent(each, problem, layout, way)]
        context = problem.statements[0].domain.get_ctx()
        values = _lexicographic_minimum(context, layout.count, equalities, inequalities + independent)
        if values is not None:
            return layout.read(values)
    return None


def _ways(problem: RowProblem) -> Iterator[_Independence]:
    yield _Independence(1, each=True, only=None, signed=False)
    yield _Independence(-1, each=True, only=None, signed=False)
    most = max((each.depth - len(problem.rows[each.name]) for each in problem.statements), default=0)
    for only in range(most):
        for sign in (1, -1):
            yield _Independence(sign, each=False, only=only, signed=True)
    yield _Independence(1, each=True, only=None, signed=False, bounded=False)


class _Layout:
    """The numbers of the unknowns."""

    def __init__(self, problem: RowProblem, signed: bool) -> None:
        self.statements = problem.statements
        self.signed = signed
        self.total = 0
        parameters = problem.edges[0].relation.dim(isl.dim_type.param) if problem.edges else 0
        self.bounds = tuple(range(1, 1 + parameters))
        self.slack = 1 + parameters
        self.negatives = self.slack + 1
        self.first: dict[str, int] = {}
        number = self.negatives + 1 if signed else self.negatives
        for each in problem.statements:
            self.first[each.name] = number
            number += each.depth * (2 if signed else 1) + 1
        self.count = number

    def coefficient(self, statement: ScopStatement, index: int) -> Form:
        """c_index of the statement as a form."""
        inner_first = statement.depth - 1 - index
        if self.signed:
            number = self.first[statement.name] + 2 * inner_first
            return {number: 1, number + 1: -1}
        return {self.first[statement.name] + inner_first: 1}

    def constant(self, statement: ScopStatement) -> int:
        """The number of c_0 of the statement."""
        return self.first[statement.name] + statement.depth * (2 if self.signed else 1)

    def read(self, values: list[int]) -> dict[str, Row]:
        """The rows of a solution."""
        rows = {}
        for each in self.statements:
            forms = (self.coefficient(each, index) for index in range(each.depth))
            factors = tuple(sum(factor * values[unknown] for unknown, factor in form.items()) for form in forms)
            rows[each.name] = Row(factors, values[self.constant(each)], 0)
        return rows


def _shared_constraints(problem: RowProblem, layout: _Layout, *, bounded: bool) -> tuple[list[Form], list[Form]] | None:
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
    known: KnownCones = {}
    for edge in problem.edges:
        source, target = (by_name[end] for end in edge.ends)
        for row in _cone(edge, known):
            difference = _difference(row, source, target, layout)
            forms = [_cleaned(difference)]
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


def _bounding(difference: Form, row: ConeRow, layout: _Layout) -> Form:
    """The cone's row at u . p + w - (phi_T(t) - phi_S(s))."""
    form = {unknown: -factor for unknown, factor in difference.items()}
    _add(form, {layout.slack: 1}, row.constant)
    for unknown, factor in zip(layout.bounds, row.parameters, strict=True):
        _add(form, {unknown: 1}, factor)
    return _cleaned(form)


def _difference(row: ConeRow, source: ScopStatement, target: ScopStatement, layout: _Layout) -> Form:
    """The cone's row at phi_T(t) - phi_S(s)."""
    form: Form = {}
    for index, factor in enumerate(signed(target, row.target)):
        if factor:
            _add(form, layout.coefficient(target, index), factor)
    for index, factor in enumerate(signed(source, row.source)):
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


def _independent(statement: ScopStatement, problem: RowProblem, layout: _Layout, way: _Independence) -> list[Form]:
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


# -- Farkas' lemma

PIECES = 12
"""The greatest number of convex pieces of a relation; beyond that, their hull serves."""
INEQUALITIES = 13
"""The greatest number of inequalities of a piece. The time that its cone takes grows exponentially
with them, and isl's operation limit does not see it."""


@dataclass(frozen=True)
class ConeRow:
    """constant . c0 + parameters . cp + source . cs + target . ct >= 0, or = 0 where `equality`."""

    equality: bool
    constant: int
    parameters: tuple[int, ...]
    source: tuple[int, ...]
    target: tuple[int, ...]


#: The cones of relations { [s] -> [t] }, by their hashes.
KnownCones = dict[int, list[tuple[isl.Map, tuple[ConeRow, ...]]]]
_CONE = "_cone"


def _cone(edge: Dependence, known: KnownCones) -> tuple[ConeRow, ...]:
    """The rows of the cone of a dependence { S[s] -> T[t] }, kept in it. Most dependences of many
    statements differ only in which statements they are between: `known` gets each cone.
    """
    cached: tuple[ConeRow, ...] | None = vars(edge).get(_CONE)
    if cached is not None:
        return cached
    relation = edge.relation.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
    same = known.setdefault(hash(relation), [])
    cone = next((cone for other, cone in same if relation.plain_is_equal(other)), None)
    if cone is None:
        cone = _cone_of(relation)
        same.append((relation, cone))
    vars(edge)[_CONE] = cone
    return cone


def _cone_of(relation: isl.Map) -> tuple[ConeRow, ...]:
    """The rows of the cone of a relation, for all convex pieces.

    Drops existential variables and inequalities beyond a number, which only enlarges the relation:
    what holds on the larger one holds on the dependence.
    """
    pieces = relation.coalesce().get_basic_maps()
    if len(pieces) > PIECES:
        pieces = [relation.remove_divs().simple_hull()]
    return tuple(dict.fromkeys(row for piece in pieces for row in _piece_rows(_simplified(piece.remove_divs()))))


def _simplified(piece: isl.BasicMap) -> isl.BasicMap:
    """The piece with its equalities, and with the inequalities of the fewest variables."""
    inequalities = [constraint for constraint in piece.get_constraints() if not constraint.is_equality()]
    if len(inequalities) <= INEQUALITIES:
        return piece
    simplest = sorted(inequalities, key=_variable_count)[:INEQUALITIES]
    equalities = [constraint for constraint in piece.get_constraints() if constraint.is_equality()]
    return isl.BasicMap.universe(piece.get_space()).add_constraints([*equalities, *simplest])


def _variable_count(constraint: isl.Constraint) -> int:
    kinds = (isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out)
    return sum(constraint.involves_dims(kind, place, 1) for kind in kinds for place in range(constraint.dim(kind)))


def _piece_rows(piece: isl.BasicMap) -> list[ConeRow]:
    source = 1 + piece.dim(isl.dim_type.param)
    target = source + piece.dim(isl.dim_type.in_)
    dual = piece.wrap().coefficients()
    rows, places = [], range(dual.dim(isl.dim_type.set))
    for constraint in dual.get_constraints():
        values = [constraint.get_coefficient_val(isl.dim_type.set, place).to_python() for place in places]
        factors = tuple(values[1:source]), tuple(values[source:target]), tuple(values[target:])
        rows.append(ConeRow(constraint.is_equality(), values[0], *factors))
    return rows


# -- numeric extents as parameters

LEAST_EXTENT = 24
"""Smaller ends of loops stay numbers: such loops are short, and subscripts have such offsets."""
_SLACK = 8
"""The greatest distance of a number from the end of a loop to be lifted, as 1998 from 2000."""
_MOST_TIMES = 4
"""i + j ends slightly below two extents, t + i + j below three."""

_PARAM = isl.dim_type.param

Extents = tuple[int, ...]
"""Ends of loops, one for each group of close numbers, ascending."""


def names_of(extents: Extents) -> tuple[str, ...]:
    """The parameters' names, which no parameter of a Scop has."""
    return tuple(f"extent {number}" for number in extents)


def _nearest(extents: Extents, number: int) -> tuple[int, int] | None:
    """(k, m) with |number| near m times the k-th extent, m signed; None if none is near."""
    size = abs(number)
    if size < LEAST_EXTENT - _SLACK:
        return None
    near = [
        (times, abs(size - times * extent), place)
        for times in range(1, _MOST_TIMES + 1)
        for place, extent in enumerate(extents)
        if abs(size - times * extent) <= _SLACK * times
    ]
    if not near:
        return None
    times, _, place = min(near)
    return place, times if number > 0 else -times


def extents_of(statements: Iterable[ScopStatement]) -> Extents:
    """The numeric ends of domains, for all parameters; of close numbers the greatest, so that
    distances stay below it, as those of a loop with a symbolic end do.
    """
    domains = [(each.domain, place) for each in statements for place in range(each.depth)]
    values = [end(place) for domain, place in domains for end in (domain.dim_max_val, domain.dim_min_val)]
    numbers = {abs(value.to_python()) for value in values if value.is_int()}
    ends = sorted((number + 1 for number in numbers if number >= LEAST_EXTENT), reverse=True)
    groups: list[int] = []
    for end in ends:
        if not groups or groups[-1] - end > _SLACK:
            groups.append(end)
    return tuple(reversed(groups))


def lifted(relation: isl.Map, extents: Extents) -> isl.Map:
    """The relation with parameters for numbers near extents; equal to the given one where these
    parameters have their values.
    """
    if not extents:
        return relation
    first = relation.dim(_PARAM)
    relation = relation.add_dims(_PARAM, len(extents))
    for place, name in enumerate(names_of(extents)):
        relation = relation.set_dim_name(_PARAM, first + place, name)
    result = isl.Map.empty(relation.get_space())
    for piece in relation.get_basic_maps():
        result = result.union(isl.Map.from_basic_map(_lifted_piece(piece, extents, first)))
    return result.coalesce()


def _lifted_piece(piece: isl.BasicMap, extents: Extents, first: int) -> isl.BasicMap:
    pairs = piece.wrap()
    result = isl.BasicSet.universe(pairs.get_space())
    for constraint in pairs.get_constraints():
        aff = constraint.get_aff()
        nearest = _nearest(extents, aff.get_constant_val().to_python())
        if nearest is not None:
            place, times = nearest
            aff = aff.set_coefficient_val(_PARAM, first + place, times)
            aff = aff.add_constant_val(whole_number(aff.get_ctx(), -times * extents[place]))
        make = isl.Constraint.equality_from_aff if constraint.is_equality() else isl.Constraint.inequality_from_aff
        result = result.add_constraint(make(aff))
    return result.unwrap()
