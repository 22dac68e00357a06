"""Value-based flow of some arrays: isl's data flow analysis, for exact accesses only.

    { R[i] -> W[j] }   the read R[i] sees the value of the write W[j]
    { R[i] -> A[a] }   it sees what A[a] held before all statements
    { A[a] -> W[j] }   W[j] wrote A[a] last

R and W name one reference of a statement each. A statement reads its operands before it writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Assignment, Call, Callee, DataObject, Increment, IntegerLiteral
from tilepragma.ir.loop_tree import ExpressionStatement, Function, Statement
from tilepragma.ir.traversal import walk
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement

#: isl's operation count omits work that grows with the divisions and factors of a set.
_MOST_DIVISIONS, _GREATEST_FACTOR = 4, 10_000


class UnknownFlowError(Exception):
    """The flow of values is not exactly known; the message is a clause that says why."""


@dataclass(frozen=True, eq=False)
class Site:
    """A reference of a statement; `name` is its tuple name. Compared by identity."""

    statement: ScopStatement
    place: int

    @property
    def reference(self) -> Reference:
        """The reference."""
        return self.statement.references[self.place]

    @property
    def name(self) -> str:
        """Unique in the Scop."""
        return f"{self.statement.name}_{self.place}"

    def relation(self) -> isl.Map:
        """{ R[i] -> A[a] }"""
        return self.reference.relation.set_tuple_name(isl.dim_type.in_, self.name)


@dataclass(frozen=True)
class ArrayFlow:
    """The flow of values through `objects`; `sites`: all references to them, in textual order."""

    objects: frozenset[DataObject]
    sites: tuple[Site, ...]

    @property
    def reads(self) -> tuple[Site, ...]:
        """The references that read."""
        return tuple(site for site in self.sites if not site.reference.writes)

    @property
    def writes(self) -> tuple[Site, ...]:
        """The references that write."""
        return tuple(site for site in self.sites if site.reference.writes)

    @cached_property
    def _seen(self) -> isl.UnionFlow:
        return self._flow((site.relation(), self._time(site, 0)) for site in self.reads)

    @cached_property
    def sources(self) -> isl.UnionMap:
        """{ R[i] -> W[j] } of all reads"""
        return self._seen.get_must_dependence().reverse()

    @cached_property
    def initial(self) -> isl.UnionMap:
        """{ R[i] -> A[a] } of all reads"""
        return self._seen.get_must_no_source()

    @cached_property
    def last(self) -> isl.UnionMap:
        """{ A[a] -> W[j] }"""
        sinks = []
        for object_ in sorted(self.objects, key=lambda object_: object_.name):
            ranges = [site.relation().range() for site in self.writes if site.reference.object == object_]
            if ranges:
                elements = reduce(isl.Set.union, ranges)
                # { [1, 0, ..., 0] }: after [0, schedule, order]
                depth = max(int(site.statement.schedule.dim(isl.dim_type.out)) for site in self.sites)
                after = isl.Set(f"{{ [{', '.join(['1', *['0'] * (depth + 1)])}] }}", context=elements.get_ctx())
                when = isl.Map.from_domain_and_range(elements, after)
                sinks.append((isl.Map.identity(elements.get_space().map_from_set()).intersect_domain(elements), when))
        return self._flow(sinks).get_must_dependence().reverse()

    def of(self, relation: isl.UnionMap, site: Site) -> Iterator[isl.Map]:
        """The parts of `sources` or `initial` of one read."""
        return (part for part in maps_of(relation) if part.get_tuple_name(isl.dim_type.in_) == site.name)

    def _time(self, site: Site, order: int) -> isl.Map:
        """{ R[i] -> [0, schedule, order] }: reads of a statement come before its write"""
        schedule = site.statement.schedule.set_tuple_name(isl.dim_type.in_, site.name)
        first, last = (_number(site.relation().domain(), value) for value in (0, order))
        return first.flat_range_product(schedule).flat_range_product(last)

    def _flow(self, sinks: Iterable[tuple[isl.Map, isl.Map]]) -> isl.UnionFlow:
        sinks = tuple(sinks)
        writes = [(site.relation(), self._time(site, 1)) for site in self.writes]
        context = self.sites[0].statement.domain.get_ctx()
        info = isl.UnionAccessInfo.from_sink(union_of_maps(context, (relation for relation, _ in sinks)))
        info = info.set_must_source(union_of_maps(context, (relation for relation, _ in writes)))
        return info.set_schedule_map(union_of_maps(context, (when for _, when in (*sinks, *writes)))).compute_flow()


def array_flow(scop: Scop, objects: Collection[DataObject]) -> ArrayFlow:
    """The flow through `objects`, arrays that alias nothing. Raises UnknownFlowError."""
    wanted = frozenset(objects)
    sites = []
    for statement in scop.statements:
        references = enumerate(statement.references)
        statement_sites = [Site(statement, place) for place, reference in references if reference.object in wanted]
        _check(statement, statement_sites)
        sites += statement_sites
    return ArrayFlow(wanted, tuple(sites))


def _check(statement: ScopStatement, sites: list[Site]) -> None:
    for site in sites:
        reference = site.reference
        name = reference.object.host
        if reference.member is not None or not reference.whole or reference.object.volatile:
            raise UnknownFlowError(f"of '{name}' only a member is meant, or it is volatile")
        if _is_hard(reference.relation):
            raise UnknownFlowError(
                f"the subscripts of '{name}', or the loops around it, have many divisions or great factors"
            )
        if not reference.relation.is_single_valued():
            raise UnknownFlowError(f"a subscript of '{name}' is not affine")
        if reference.kind is AccessKind.MAY_WRITE:
            raise UnknownFlowError(f"'{name}' is written only under some condition on data")
    if any(site.reference.writes for site in sites) and not _is_plain(statement):
        raise UnknownFlowError(f"'{sites[0].reference.object.host}' is written inside an expression")


def _is_hard(relation: isl.Map) -> bool:
    pieces = relation.get_basic_maps()
    if sum(piece.dim(isl.dim_type.div) for piece in pieces) > _MOST_DIVISIONS:
        return True
    kinds = (isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param, isl.dim_type.div)
    return any(
        abs(int(constraint.get_coefficient_val(kind, place).to_python())) > _GREATEST_FACTOR
        for piece in pieces
        for constraint in piece.get_constraints()
        for kind in kinds
        for place in range(piece.dim(kind))
    )


def _is_plain(statement: ScopStatement) -> bool:
    """Whether it is one assignment, which reads all operands before it writes."""
    node = statement.node
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, (Assignment, Increment)):
        return False
    changes = [node for node in walk(node) if isinstance(node, (Assignment, Increment))]
    calls = (node for node in walk(node) if isinstance(node, Call))
    return len(changes) == 1 and not any(call.callee is Callee.USER for call in calls)


def _number(domain: isl.Set, value: int) -> isl.Map:
    """{ R[i] -> [value] }"""
    return isl.Map.from_domain_and_range(domain, isl.Set(f"{{ [{value}] }}", context=domain.get_ctx()))


def maps_of(relation: isl.UnionMap) -> list[isl.Map]:
    """The maps of a union, one for each pair of tuples."""
    maps: list[isl.Map] = []
    relation.foreach_map(maps.append)
    return maps


def union_of_maps(context: isl.Context, maps: Iterable[isl.Map]) -> isl.UnionMap:
    """The union of the maps, which may be none."""
    return reduce(isl.UnionMap.union, map(isl.UnionMap.from_map, maps), isl.UnionMap("{ }", context=context))


def private_array(
    statements: Iterable[Statement], functions: tuple[Function, ...], written: frozenset[DataObject], array: DataObject
) -> bool | None:
    """Whether each run of the statements writes all of an array of literal lengths; None where a
    read may precede the write.
    """
    try:
        scop = extract_scop(statements, functions, written, assuming=False)
        with operation_limit(scop.context, DEFAULT_LIMIT, "looking for values of other iterations"):
            flow = array_flow(scop, (array,))
            for site in flow.reads:
                if any(not relation.is_empty() for relation in flow.of(flow.initial, site)):
                    return None
            return _writes_all(flow, array)
    except (OperationLimitError, UnknownFlowError):
        return None


def _writes_all(flow: ArrayFlow, array: DataObject) -> bool:
    """Whether { A[a] : 0 <= a < lengths } is written, whatever the parameters are."""
    if not flow.writes:
        return False
    touched = reduce(isl.Set.union, (site.relation().range() for site in flow.writes))
    box = isl.Set.universe(touched.get_space())
    for place, length in enumerate(array.lengths):
        assert isinstance(length, IntegerLiteral), "the array has literal lengths"
        first, last = (isl.Val.int_from_si(box.get_ctx(), end) for end in (0, length.value - 1))
        box = box.lower_bound_val(isl.dim_type.set, place, first).upper_bound_val(isl.dim_type.set, place, last)
    return bool(box.is_subset(touched))
