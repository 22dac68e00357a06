"""Dependences between accesses (thesis 3.2.4): who must wait for whom, at which distance, and which
loops carry it.

Memory-based dependences relate every two conflicting instances; value-based ones leave out those
with a write that surely happens strictly between them, which are implied by the others.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import field, replace
from enum import Enum
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.loop_tree import Loop
from tilepragma.poly.operation_limit import OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement, common_loops, meeting, step_of

#: isl's operations for one number of a distance; it does not count all of its work, which grows
#: with the divisions in a set.
_NAMING = 20_000
_MOST_DIVISIONS = 6

_MOST_COALESCED = 16
"""pieces of a union of dependences"""


class DependenceKind(Enum):
    """Which of the two accesses writes (thesis section 3.1.1)."""

    FLOW = "flow"
    """read after write"""
    ANTI = "anti"
    """write after read"""
    OUTPUT = "output"
    """write after write"""


@dataclass(frozen=True)
class Dependence:
    """{ S[i] -> T[j] : the sink T[j] touches what the source S[i] touched before it }, the
    dependence polyhedron.

    `loops` are those around both statements; `distances` is { [d] : d = j - i on them }, counted in
    iterations and in the order of execution. `exact` where both accesses are: then the dependence
    exists, for the parameters that `relation` admits. Where a schedule satisfies a part of a
    dependence, the relation is the rest; `distances` stay those of the whole.
    """

    kind: DependenceKind
    source_statement: ScopStatement
    sink_statement: ScopStatement
    source: Reference
    sink: Reference
    relation: isl.Map
    loops: tuple[Loop, ...]
    distances: isl.Set
    exact: bool

    @property
    def ends(self) -> tuple[str, str]:
        """The names of the statements."""
        return self.source_statement.name, self.sink_statement.name


Dependences = tuple[Dependence, ...]


def memory_dependences(scop: Scop, kinds: Iterable[DependenceKind] = DependenceKind) -> Dependences:
    """{ S[i] -> T[j] : S[i] runs before T[j], both touch one element, and they are of one of
    `kinds` }
    """
    wanted = frozenset(kinds)
    conflicts = _Conflicts()
    dependences = []
    for source_statement, source, sink_statement, sink in _pairs(scop):
        kind = _kind(source, sink)
        if kind not in wanted or None not in (source.member, sink.member) and source.member != sink.member:
            continue
        conflict = conflicts.between(source_statement, source, sink_statement, sink)
        if conflict is not None:
            exact = source.exact and sink.exact
            dependences.append(replace(conflict, kind=kind, source=source, sink=sink, exact=exact))
    return tuple(dependences)


def value_dependences(memory: Dependences) -> Dependences:
    """These memory-based dependences without those that a must-write strictly between source and
    sink implies.

    { S[i] -> T[j] } minus { S[i] -> K[k] } . { K[k] -> T[j] } for every must-write of K to the
    element.
    """
    values = []
    for dependence in memory:
        relation = dependence.relation
        for first in memory:
            if first.source is not dependence.source or first.sink.kind is not AccessKind.MUST_WRITE:
                continue
            for second in memory:
                known = first.exact or second.exact
                if known and second.source is first.sink and second.sink is dependence.sink:
                    relation = relation.subtract(first.relation.apply_range(second.relation))
        if not relation.is_empty():
            distances = distances_between(relation, dependence.loops)
            values.append(replace(dependence, relation=relation, distances=distances))
    return tuple(values)


def within(dependences: Iterable[Dependence], names: Container[str]) -> Dependences:
    """Those between statements of these names."""
    return tuple(each for each in dependences if all(end in names for end in each.ends))


def union_of(dependences: Iterable[Dependence]) -> isl.Map:
    """The union of the relations of one or more dependences between the same two statements.
    Coalesced where it has few pieces: that takes time by their square.
    """
    relations: list[isl.Map] = []
    for dependence in dependences:
        # What is written and then read at a distance is often what is read and then written at the
        # opposite one.
        if not any(dependence.relation.plain_is_equal(other) for other in relations):
            relations.append(dependence.relation)
    union = reduce(isl.Map.union, relations)
    return union.coalesce() if union.n_basic_map() <= _MOST_COALESCED else union


@once
def carried_at(dependence: Dependence) -> tuple[Loop, ...]:
    """The loops that carry a part of the dependence: { d : d_1 = … = d_(k-1) = 0, d_k > 0 } is not
    empty.
    """
    carrying = []
    rest = dependence.distances
    for place, loop in enumerate(dependence.loops):
        if has_sign(rest, place, 1):
            carrying.append(loop)
        rest = with_zero(rest, place)
    return tuple(carrying)


def may_differ(distances: isl.Set, place: int) -> bool:
    """Whether { d in distances : d_place != 0 } is not empty: source and sink may lie in different
    iterations of that loop.
    """
    return has_sign(distances, place, 1) or has_sign(distances, place, -1)


def has_sign(distances: isl.Set, place: int, sign: int) -> bool:
    """Whether { d in distances : sign * d_place > 0 } is not empty."""
    return not with_sign(distances, place, sign).is_empty()


def with_sign(distances: isl.Set, place: int, sign: int) -> isl.Set:
    """{ d in distances : sign * d_place > 0 }"""
    bound = isl.Val.int_from_si(distances.get_ctx(), sign)
    restrict = distances.lower_bound_val if sign > 0 else distances.upper_bound_val
    return restrict(isl.dim_type.set, place, bound)


def alike_at_first(pairs: isl.Map, depth: int) -> isl.Map:
    """{ [i] -> [j] in pairs : i_1 = j_1, ..., i_depth = j_depth }"""
    for place in range(depth):
        pairs = pairs.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
    return pairs


def with_zero(distances: isl.Set, place: int) -> isl.Set:
    """{ d in distances : d_place = 0 }"""
    return distances.fix_val(isl.dim_type.set, place, isl.Val.zero(distances.get_ctx()))


def distance_text(distances: isl.Set) -> str:
    """`(1, -1)`: a number where a distance is constant, else `+` `-` `0+` `0-` `*` for its possible
    signs.

    Words for people are worth little work: `*` also where isl would need long.
    """
    return f"({', '.join(_distance(distances, place) for place in range(distances.dim(isl.dim_type.set)))})"


def distance_vector(distances: isl.Set) -> tuple[int, ...] | None:
    """The one distance of a uniform dependence, else None."""
    fixed = [_constant(distances, place) for place in range(distances.dim(isl.dim_type.set))]
    return None if None in fixed else tuple(value for value in fixed if value is not None)


def _constant(distances: isl.Set, place: int) -> int | None:
    value = distances.plain_get_val_if_fixed(isl.dim_type.set, place)
    if value.is_int():
        return int(value.to_python())
    if sum(piece.dim(isl.dim_type.div) for piece in distances.get_basic_sets()) > _MOST_DIVISIONS:
        return None
    try:
        with operation_limit(distances.get_ctx(), _NAMING, "naming a distance"):
            return _only_value(distances, place)
    except OperationLimitError:
        return None


def _only_value(distances: isl.Set, place: int) -> int | None:
    """v where d_place = v for all d in distances; None for several values, or none."""
    sample = distances.sample_point()
    if sample.is_void():
        return None
    value = sample.get_coordinate_val(isl.dim_type.set, place)
    above = distances.lower_bound_val(isl.dim_type.set, place, value.add(isl.Val.one(value.get_ctx())))
    below = distances.upper_bound_val(isl.dim_type.set, place, value.sub(isl.Val.one(value.get_ctx())))
    return int(value.to_python()) if above.is_empty() and below.is_empty() else None


def _distance(distances: isl.Set, place: int) -> str:
    constant = _constant(distances, place)
    if constant is not None:
        return str(constant)
    try:
        with operation_limit(distances.get_ctx(), _NAMING, "naming a distance"):
            negative, positive = has_sign(distances, place, -1), has_sign(distances, place, 1)
            zero = not with_zero(distances, place).is_empty()
    except OperationLimitError:
        return "*"
    if negative and positive:
        return "*"
    return ("0" if zero else "") + ("+" if positive else "-")


def _pairs(scop: Scop) -> Iterator[tuple[ScopStatement, Reference, ScopStatement, Reference]]:
    """Every two references to an object that may meet, of which one writes."""
    for source_statement, source, (every, writing) in meeting(scop.statements):
        for sink_statement, sink in every if source.writes else writing:
            yield source_statement, source, sink_statement, sink


def _kind(source: Reference, sink: Reference) -> DependenceKind:
    if source.writes:
        return DependenceKind.OUTPUT if sink.writes else DependenceKind.FLOW
    return DependenceKind.ANTI


@dataclass
class _Conflicts:
    """A cache. What is read and written, as in `a[i] += …`, is two references to the same elements:
    isl is asked about them once.
    """

    distinct: dict[str, list[Reference]] = field(default_factory=dict)
    """references that touch different elements, by the statement's name"""
    known: dict[tuple[str, int, str, int], Dependence | None] = field(default_factory=dict)
    before: dict[tuple[str, str], isl.Map] = field(default_factory=dict)

    def between(
        self, source_statement: ScopStatement, source: Reference, sink_statement: ScopStatement, sink: Reference
    ) -> Dependence | None:
        """{ S[i] -> T[j] : S[i] runs before T[j], both touch one element }, as a dependence of
        references to the same elements; None where it is empty.
        """
        numbers = self._number(source_statement, source), self._number(sink_statement, sink)
        key = (source_statement.name, numbers[0], sink_statement.name, numbers[1])
        if key not in self.known:
            self.known[key] = self._conflict(source_statement, source, sink_statement, sink)
        return self.known[key]

    def _number(self, statement: ScopStatement, reference: Reference) -> int:
        known = self.distinct.setdefault(statement.name, [])
        for number, other in enumerate(known):
            if _touch_the_same(other, reference):
                return number
        known.append(reference)
        return len(known) - 1

    def _conflict(
        self, source_statement: ScopStatement, source: Reference, sink_statement: ScopStatement, sink: Reference
    ) -> Dependence | None:
        places = zip(_fixed_subscripts(source), _fixed_subscripts(sink), strict=False)
        if any(None not in (place, other) and place != other for place, other in places):
            return None
        same = source.relation.apply_range(sink.relation.reverse())
        if source.linear is not None and sink.linear is not None:
            same = same.intersect(source.linear.apply_range(sink.linear.reverse()))
        if same.is_empty():
            return None
        ends = source_statement.name, sink_statement.name
        if ends not in self.before:
            self.before[ends] = source_statement.schedule.lex_lt_map(sink_statement.schedule)
        relation = same.intersect(self.before[ends]).coalesce()
        if relation.is_empty():
            return None
        loops = common_loops((source_statement, sink_statement))
        distances, exact = distances_between(relation, loops), source.exact and sink.exact
        kind = _kind(source, sink)
        return Dependence(kind, source_statement, sink_statement, source, sink, relation, loops, distances, exact)


@once
def _fixed_subscripts(reference: Reference) -> tuple[int | None, ...]:
    """The subscripts that are plainly one number, such as the last of `u[i][j][3]`, else None."""
    relation = reference.relation
    places = range(relation.dim(isl.dim_type.out))
    values = [relation.plain_get_val_if_fixed(isl.dim_type.out, place) for place in places]
    return tuple(None if value.is_nan() else int(value.to_python()) for value in values)


def _touch_the_same(reference: Reference, other: Reference) -> bool:
    """Whether two references of a statement plainly touch the same elements."""
    if reference is other:
        return True
    if reference.linear is None or other.linear is None:
        linear = reference.linear is other.linear
    else:
        linear = reference.linear.plain_is_equal(other.linear)
    return bool(linear and reference.relation.plain_is_equal(other.relation))


def distances_between(relation: isl.Map, loops: tuple[Loop, ...]) -> isl.Set:
    """{ [d] : exists S[i] -> T[j] in relation: d = (j - i) / step on the common loops, rounded away
    from 0 }

    There is something to round only where a step other than 1 meets a start that depends on the
    loops around.
    """
    depth = len(loops)
    for side in (isl.dim_type.in_, isl.dim_type.out):
        relation = relation.project_out(side, depth, relation.dim(side) - depth).reset_tuple_id(side)
    deltas = relation.deltas()
    steps = [step_of(loop) or (-1 if loop.decreasing else 1) for loop in loops]
    if all(step == 1 for step in steps):
        return deltas
    differences = ", ".join(f"e{place}" for place in range(depth))
    names = ", ".join(f"d{place}" for place in range(depth))
    rounded = " and ".join(_rounded(f"e{place}", f"d{place}", step) for place, step in enumerate(steps))
    divide = isl.Map(f"{{ [{differences}] -> [{names}] : {rounded} }}", context=relation.get_ctx())
    return deltas.apply(divide).coalesce()


def _rounded(difference: str, distance: str, step: int) -> str:
    """distance = difference / step, rounded away from 0, as a condition"""
    size = abs(step)
    if size == 1:
        return f"{difference} = {step} * {distance}"
    e = difference if step > 0 else f"-{difference}"
    above = f"{e} > 0 and {size} * {distance} - {size} < {e} <= {size} * {distance}"
    below = f"{e} <= 0 and {size} * {distance} <= {e} < {size} * {distance} + {size}"
    return f"(({above}) or ({below}))"


@dataclass(frozen=True)
class Carried:
    """The dependences of a Scop, except of outer scalars, which iterations may privatize."""

    scop: Scop
    dependences: Dependences

    def by(self, loop: Loop, statements: Collection[str]) -> Iterator[Dependence]:
        """The dependences between these statements that `loop` carries."""
        for dependence in within(self.dependences, statements):
            if dependence.source.object.is_outside_scalar:
                continue
            if any(each.index == loop.index for each in carried_at(dependence)):
                yield dependence

    def statements_under(self, loop: Loop) -> frozenset[str]:
        """The names of the statements in the loop."""
        return frozenset(
            each.name for each in self.scop.statements if any(outer.index == loop.index for outer in each.loops)
        )
