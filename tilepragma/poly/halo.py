"""How far tiles of several time steps must reach into their neighbours, so that each computes all
that it needs by itself.

A stencil's statement S[t, i] writes one element w(S[t, i]) of a grid. A tile's last step computes
the elements of its home [f, l] and the step r before it, in each dimension,

    [f - (low r + a_S), l + (high r + b_S)]          `growth` (low, high), `margins` (a_S, b_S)

so that for every flow dependence P[t'] -> S[t] with w(S) - w(P) in [-c, d] and t - t' >= e:

    a_P >= a_S + d - e low          b_P >= b_S + c - e high

Of these the least growth, then the least margins. What the plan verifier proves does not rest on
this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.footprints import Side, bounding_box
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

#: Points that a tile may grow by in one step; more is no stencil.
_MOST_GROWTH = 64

Sides = tuple[tuple[int, int], ...]
"""(towards less, towards more), in points, of each dimension"""


@dataclass(frozen=True)
class GridArray:
    """An array that the statements write: the smallest boxes of what is touched and what is
    written. `carried`: a step reads what the one before it left; `border`: elements that are never
    written are read.
    """

    object: DataObject
    touched: tuple[Side, ...]
    written: tuple[Side, ...]
    carried: bool
    border: bool


@dataclass(frozen=True)
class Overlap:
    """`reach`: how far accesses of the last step go beyond the home of a tile; those of r steps before it go `growth` r further."""

    growth: Sides
    margins: Mapping[str, Sides]
    reach: Sides
    arrays: tuple[GridArray, ...]


def overlap(scop: Scop, dependences: Iterable[Dependence], rank: int) -> Overlap | str:
    """The overlap of tiles of a region all of whose statements S[t, ...] write one element of an
    array of this rank; a clause that says why there is none. Raises OperationLimitError.
    """
    flow = [dependence for dependence in dependences if dependence.kind is DependenceKind.FLOW]
    written = {statement.name: written_by(statement) for statement in scop.statements}
    edges = []
    for one in flow:
        edge = edge_of(one, written, rank)
        if edge is None:
            return f"'{one.source.object.host}' is read at no fixed distance from where it is written"
        edges.append(edge)
    names = [statement.name for statement in scop.statements]
    growth, margins = [], []
    for place in range(rank):
        for high in (False, True):
            found = least_margins(
                names, [(edge.source, edge.sink, edge.offset(place, high), edge.steps) for edge in edges]
            )
            if found is None:
                return "a tile would have to grow without end"
            growth.append(found[0])
            margins.append(found[1])
    by_name = {name: _paired([margin[name] for margin in margins]) for name in names}
    reach = [(0, 0)] * rank
    for statement in scop.statements:
        for reference in statement.references:
            if reference.object not in scop.written or reference.object.rank != rank:
                continue
            far = ends_of(between(written[statement.name], reference), rank)
            if far is None:
                return f"'{reference.object.host}' is read at no fixed distance from what is written"
            own = by_name[statement.name]
            reach = [
                (max(at[0], mine[0] - least), max(at[1], mine[1] + most))
                for at, mine, (least, most) in zip(reach, own, far, strict=True)
            ]
    arrays = []
    for object_ in sorted(scop.written, key=lambda one: one.name):
        if object_.rank:
            array = _array(scop, object_, flow)
            if array is None:
                return f"what is touched of '{object_.host}' is no box that can be said at launch"
            arrays.append(array)
    return Overlap(_paired(growth), by_name, tuple(reach), tuple(arrays))


def _paired(values: list[int]) -> Sides:
    return tuple(zip(values[::2], values[1::2], strict=True))


@dataclass(frozen=True)
class Edge:
    """A dependence: w(sink) - w(source) lies between `ends`, and there are at least `steps` time steps between."""

    source: str
    sink: str
    ends: tuple[tuple[int, int], ...]
    steps: int

    def offset(self, place: int, high: bool) -> int:
        """How far the sink is above the source at most; with `high` how far below."""
        least, most = self.ends[place]
        return -least if high else most


def written_by(statement: ScopStatement) -> isl.Map:
    """{ S[t, i] -> [w] }"""
    (reference,) = (reference for reference in statement.references if reference.writes)
    return reference.relation.reset_tuple_id(_OUT)


def edge_of(one: Dependence, written: Mapping[str, isl.Map], rank: int) -> Edge | None:
    """The dependence by what its statements write, which `written` says of each; None where there are no such ends."""
    return edge_within(one, distances(one, written), rank)


def distances(one: Dependence, written: Mapping[str, isl.Map]) -> isl.Set:
    """{ [t, d] : the sink is t time steps after the source, and w(sink) - w(source) = d }"""
    source, sink = one.source_statement, one.sink_statement
    placed = one.relation.apply_domain(_timed(source, written)).apply_range(_timed(sink, written))
    return placed.deltas()


def edge_within(one: Dependence, found: isl.Set, rank: int) -> Edge | None:
    """The part of the dependence at distances of this set; None where there are no such ends."""
    ends = ends_of(found.project_out(_SET, 0, 1), rank)
    steps = _least_value(found, 0)
    source, sink = one.source_statement, one.sink_statement
    return None if ends is None or steps is None else Edge(source.name, sink.name, ends, steps)


def _timed(statement: ScopStatement, written: Mapping[str, isl.Map]) -> isl.Map:
    """{ S[t, i] -> [t, w] }"""
    same = isl.Map.identity(statement.domain.get_space().map_from_set())
    time = same.project_out(_OUT, 1, same.dim(_OUT) - 1).reset_tuple_id(_OUT)
    return time.flat_range_product(written[statement.name]).intersect_domain(statement.domain)


def between(written: isl.Map, reference: Reference) -> isl.Set:
    """{ [x - w] : the statement accesses x and writes w }"""
    return reference.relation.reset_tuple_id(_OUT).apply_domain(written).deltas()


def ends_of(offsets: isl.Set, rank: int) -> Sides | None:
    """The least and the greatest value of each dimension; None where there is none."""
    if offsets.is_empty():
        return ((0, 0),) * rank
    found = []
    for place in range(rank):
        least, most = _least_value(offsets, place), _least_value(offsets.neg(), place)
        if least is None or most is None:
            return None
        found.append((least, -most))
    return tuple(found)


def _least_value(values: isl.Set, place: int) -> int | None:
    if values.is_empty():
        return 0
    least = values.dim_min_val(place)
    return int(least.to_python()) if least.is_int() else None


def least_margins(names: list[str], edges: list[tuple[str, str, int, int]]) -> tuple[int, dict[str, int]] | None:
    """The least growth s, and the margins a >= 0 with a_P >= a_S + c - e s for all edges (P, S, c, e)."""
    for growth in range(_MOST_GROWTH + 1):
        margins = dict.fromkeys(names, 0)
        for _ in range(len(names) + 1):
            changed = False
            for source, sink, offset, steps in edges:
                wanted = margins[sink] + offset - steps * growth
                changed = changed or wanted > margins[source]
                margins[source] = max(margins[source], wanted)
            if not changed:
                return growth, margins
    return None


def _array(scop: Scop, object_: DataObject, flow: Iterable[Dependence]) -> GridArray | None:
    pairs = [
        (statement, reference)
        for statement in scop.statements
        for reference in statement.references
        if reference.object == object_
    ]
    if not all(one.exact and one.kind is not AccessKind.MAY_WRITE for _, one in pairs):
        return None
    all_of = reduce(isl.Set.union, (_elements(one) for _, one in pairs))
    written = reduce(isl.Set.union, (_elements(one) for _, one in pairs if one.writes))
    boxes = bounding_box(scop, all_of.coalesce()), bounding_box(scop, written.coalesce())
    if boxes[0] is None or boxes[1] is None:
        return None
    old = list(_exposed(pairs, list(flow)))
    carried = any(not one.intersect(written).is_empty() for one in old)
    border = any(not one.subtract(written).is_empty() for one in old)
    return GridArray(object_, boxes[0], boxes[1], carried, border)


def _elements(reference: Reference) -> isl.Set:
    return reference.relation.range().reset_tuple_id()


def _exposed(pairs: list[tuple[ScopStatement, Reference]], flow: list[Dependence]) -> Iterator[isl.Set]:
    """{ [x] : a read of x that no write of its own time step precedes }, of each reference that reads."""
    for statement, reference in pairs:
        if reference.writes:
            continue
        left = statement.domain
        for one in flow:
            if one.sink is reference and one.source.kind is AccessKind.MUST_WRITE:
                left = left.subtract(one.relation.equate(_IN, 0, _OUT, 0).range())
        yield reference.relation.intersect_domain(left).range().reset_tuple_id()
