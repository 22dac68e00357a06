"""Halos: how far tiles of several time steps reach into neighbours, to compute independently.

A stencil's statement S[t, i] writes one element w(S[t, i]) of a grid. A tile's last step computes
the elements of its home [f, l], and the step r before it, in each dimension,

    [f - (low r + a_S), l + (high r + b_S)]          `growth` (low, high), `margins` (a_S, b_S)

so that for each flow dependence P[t'] -> S[t] with w(S) - w(P) in [-c, d] and t - t' >= e:

    a_P >= a_S + d - e low          b_P >= b_S + c - e high

We take the least growth, then the least margins. The plan verifier's proofs do not rely on this.

Streaming: when a gang can compute a stencil plane by plane along the outermost dimension of its
grids, and which planes it must keep.

At position p the gang has the plane p of the old values, and computes for each of `r` = 0, 1, …
time steps and each statement S

    the plane p - (shift r + delay_S)

so that for each dependence P[t'] -> S[t] of any kind with w(S) - w(P) >= -c along that dimension
and t - t' >= e, and for each read of an element up to d beyond w(S):

    delay_S >= delay_P + c - e shift            delay_S >= d

Then workers wait between statements. Or they wait `once` for a position: where w(S) and w(P), or
the read elements, differ in other dimensions too, so that two workers may have them,

    delay_S >= delay_P + c - e shift + 1        delay_S >= d + 1

while a worker runs its share of a column in order.

We take the least shift, then the least delays. The elements of an array that statements touch at p
are then those of the planes

    p - oldest - shift (T - 1), ..., p + newest           of T time steps

so that as many plane buffers are enough. The plan verifier's proofs do not rely on this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.extents import Bounds
from tilepragma.poly.footprints import bounding_box
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement
from tilepragma.poly.wavefronts import least_constants

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

#: The greatest growth in one step, in points; no stencil needs more.
_MOST_GROWTH = 64

Sides = tuple[tuple[int, int], ...]
"""(towards less, towards more), in points, of each dimension"""


@dataclass(frozen=True)
class GridArray:
    """An array that the statements write, with the smallest boxes of touched and written elements.
    `negative`: one may begin below 0. `carried`: a step reads results of an earlier one; `border`:
    reads elements that no statement writes.
    """

    object: DataObject
    touched: tuple[Bounds, ...]
    written: tuple[Bounds, ...]
    negative: bool
    carried: bool
    border: bool


@dataclass(frozen=True)
class Overlap:
    """`reach`: how far the last step's accesses leave the home; r steps before, `growth` r more."""

    growth: Sides
    margins: Mapping[str, Sides]
    reach: Sides
    arrays: tuple[GridArray, ...]


def overlap(scop: Scop, dependences: Iterable[Dependence], rank: int) -> Overlap | str:
    """The overlap of tiles of a region whose statements S[t, ...] each write one element of an
    array of this rank, or a clause that says why it has none. Raises OperationLimitError.
    """
    flow = [dependence for dependence in dependences if dependence.kind is DependenceKind.FLOW]
    written = {statement.name: written_by(statement) for statement in scop.statements}
    edges = []
    for flow_dependence in flow:
        edge = ends_and_steps(distances(flow_dependence, written), rank)
        if edge is None:
            return f"'{flow_dependence.source.object.host}' is read at no fixed distance from where it is written"
        edges.append((flow_dependence.ends, *edge))
    names = [statement.name for statement in scop.statements]
    growth, margins = [], []
    for place in range(rank):
        for high in (False, True):
            # The greatest distance of the sink above the source; with `high`, below it.
            offsets = [-ends[place][0] if high else ends[place][1] for _, ends, _ in edges]
            offset_edges = [(*pair, offset, steps) for (pair, _, steps), offset in zip(edges, offsets, strict=True)]
            solution = least_margins(names, offset_edges)
            if solution is None:
                return "a tile would have to grow without end"
            growth.append(solution[0])
            margins.append(solution[1])
    by_name = {name: _paired([margin[name] for margin in margins]) for name in names}
    reach = [(0, 0)] * rank
    for statement in scop.statements:
        for reference in statement.references:
            if reference.object not in scop.written or reference.object.rank != rank:
                continue
            far = ends_of(between(written[statement.name], reference), rank)
            if far is None:
                return f"'{reference.object.host}' is read at no fixed distance from what is written"
            margin_sides = by_name[statement.name]
            reach = [
                (max(reached[0], sides[0] - least), max(reached[1], sides[1] + most))
                for reached, sides, (least, most) in zip(reach, margin_sides, far, strict=True)
            ]
    arrays = []
    for object_ in sorted(scop.written, key=lambda object_: object_.name):
        if object_.rank:
            array = _array(scop, object_, flow)
            if array is None:
                return f"what is touched of '{object_.host}' is no box that can be said at launch"
            arrays.append(array)
    return Overlap(_paired(growth), by_name, tuple(reach), tuple(arrays))


def _paired(values: list[int]) -> Sides:
    return tuple(zip(values[::2], values[1::2], strict=True))


def written_by(statement: ScopStatement) -> isl.Map:
    """{ S[t, i] -> [w] }"""
    (reference,) = (reference for reference in statement.references if reference.writes)
    return reference.relation.reset_tuple_id(_OUT)


def distances(dependence: Dependence, written: Mapping[str, isl.Map]) -> isl.Set:
    """{ [t, d] : the sink is t time steps after the source, and w(sink) - w(source) = d }"""
    source, sink = dependence.source_statement, dependence.sink_statement
    return dependence.relation.apply_domain(_timed(source, written)).apply_range(_timed(sink, written)).deltas()


def ends_and_steps(distances_: isl.Set, rank: int) -> tuple[Sides, int] | None:
    """The ends of w(sink) - w(source) at these distances, and the least number of time steps
    between; None without constant ends.
    """
    ends = ends_of(distances_.project_out(_SET, 0, 1), rank)
    steps = _least_value(distances_, 0)
    return None if ends is None or steps is None else (ends, steps)


def _timed(statement: ScopStatement, written: Mapping[str, isl.Map]) -> isl.Map:
    """{ S[t, i] -> [t, w] }"""
    same = isl.Map.identity(statement.domain.get_space().map_from_set())
    time = same.project_out(_OUT, 1, same.dim(_OUT) - 1).reset_tuple_id(_OUT)
    return time.flat_range_product(written[statement.name]).intersect_domain(statement.domain)


def between(written: isl.Map, reference: Reference) -> isl.Set:
    """{ [x - w] : the statement accesses x and writes w }"""
    return reference.relation.reset_tuple_id(_OUT).apply_domain(written).deltas()


def ends_of(offsets: isl.Set, rank: int) -> Sides | None:
    """The least and greatest value of each dimension; None where one is unbounded."""
    if offsets.is_empty():
        return ((0, 0),) * rank
    ends = []
    for place in range(rank):
        least, most = _least_value(offsets, place), _least_value(offsets.neg(), place)
        if least is None or most is None:
            return None
        ends.append((least, -most))
    return tuple(ends)


def _least_value(values: isl.Set, place: int) -> int | None:
    if values.is_empty():
        return 0
    least = values.dim_min_val(place)
    return int(least.to_python()) if least.is_int() else None


def least_margins(names: list[str], edges: list[tuple[str, str, int, int]]) -> tuple[int, dict[str, int]] | None:
    """The least growth s, and margins a >= 0 with a_P >= a_S + c - e s for edges (P, S, c, e)."""
    for growth in range(_MOST_GROWTH + 1):
        bounds = [(sink, source, offset - steps * growth) for source, sink, offset, steps in edges]
        margins = least_constants(names, bounds)
        if margins is not None:
            return growth, margins
    return None


def _array(scop: Scop, object_: DataObject, flow: Iterable[Dependence]) -> GridArray | None:
    pairs = scop.accesses_to(object_)
    if not all(reference.exact and reference.kind is not AccessKind.MAY_WRITE for _, reference in pairs):
        return None
    all_of = reduce(isl.Set.union, (_elements(reference) for _, reference in pairs))
    written = reduce(isl.Set.union, (_elements(reference) for _, reference in pairs if reference.writes))
    boxes = bounding_box(scop, all_of.coalesce()), bounding_box(scop, written.coalesce())
    if boxes[0] is None or boxes[1] is None:
        return None
    old = list(_exposed(pairs, list(flow)))
    carried = any(not exposed.intersect(written).is_empty() for exposed in old)
    border = any(not exposed.subtract(written).is_empty() for exposed in old)
    touched, written_box = (tuple(bounds for bounds, _ in box) for box in boxes if box is not None)
    return GridArray(object_, touched, written_box, any(negative for _, negative in boxes[0]), carried, border)


def _elements(reference: Reference) -> isl.Set:
    return reference.relation.range().reset_tuple_id()


def _exposed(pairs: list[tuple[ScopStatement, Reference]], flow: list[Dependence]) -> Iterator[isl.Set]:
    """For each read, { [x] : no write of x in the same time step precedes it }."""
    for statement, reference in pairs:
        if reference.writes:
            continue
        left = statement.domain
        for dependence in flow:
            if dependence.sink is reference and dependence.source.kind is AccessKind.MUST_WRITE:
                left = left.subtract(dependence.relation.equate(_IN, 0, _OUT, 0).range())
        yield reference.relation.intersect_domain(left).range().reset_tuple_id()


#: The old values, as a statement that runs before all others.
_BEFORE = ""


@dataclass(frozen=True)
class Ring:
    """The planes p - oldest to p + newest of an array that the last time step touches."""

    newest: int
    oldest: int


@dataclass(frozen=True)
class Stream:
    """Delays in planes behind the position; `store` copies results out, behind all statements.
    `once`: workers, each with fixed columns, wait once for a position, and not between statements.
    """

    shift: int
    delays: Mapping[str, int]
    store: int
    rings: Mapping[DataObject, Ring]
    once: bool

    def planes(self, array: DataObject, steps: int) -> int:
        """The plane buffers for so many time steps, a power of two: one `&` then finds a buffer."""
        wanted = self.rings[array].newest + self.behind(array, steps)
        return 1 << (wanted - 1).bit_length()

    def behind(self, array: DataObject, steps: int) -> int:
        """The planes, from the position's on, that so many time steps' statements touch."""
        return self.shift * (steps - 1) + self.rings[array].oldest + 1


def stream(scop: Scop, dependences: Iterable[Dependence], tiles: Overlap, *, once: bool) -> Stream | str:
    """The delays, or a clause that says why none exist. Raises OperationLimitError."""
    rank = len(tiles.growth)
    written = {statement.name: written_by(statement) for statement in scop.statements}
    edges: list[tuple[str, str, int, int]] = []
    for dependence in dependences:
        for part, positions in _by_worker(distances(dependence, written), 1, once=once):
            edge = ends_and_steps(part, rank)
            if edge is None:
                return f"'{dependence.source.object.host}' is accessed again at no fixed distance"
            ends, steps = edge
            edges.append((dependence.ends[1], dependence.ends[0], positions - ends[0][0], steps))
    # The distance of each access to a written array from the element that its statement writes.
    reads = [
        (statement.name, array.object, between(written[statement.name], reference))
        for statement in scop.statements
        for reference in statement.references
        for array in tiles.arrays
        if reference.object == array.object
    ]
    for name, _, offsets in reads:
        for part, positions in _by_worker(offsets, 0, once=once):
            _, most = _outermost(part, rank)
            edges.append((name, _BEFORE, most + positions, 0))
    least = least_margins([_BEFORE, *written], edges)
    if least is None:
        return "planes would have to wait without end"
    shift, delays = least[0], {name: least[1][name] for name in written}
    store = max(delays.values())
    rings = {}
    for array in tiles.arrays:
        newest, oldest = [-store], [store]
        if array.carried or array.border:
            newest.append(0)
        for name, object_, offsets in reads:
            if object_ == array.object:
                low, high = _outermost(offsets, rank)
                newest.append(high - delays[name])
                oldest.append(delays[name] - low)
        rings[array.object] = Ring(max(newest), max(oldest))
    return Stream(shift, delays, store, rings, once)


def _by_worker(offsets: isl.Set, leading: int, *, once: bool) -> Iterator[tuple[isl.Set, int]]:
    """Parts of a set of distances, the grid's first dimension at `leading`, with extra positions
    between: with `once`, 0 inside one worker and 1 between workers.
    """
    if not once:
        yield offsets, 0
        return
    same_worker = offsets
    for place in range(leading + 1, offsets.dim(isl.dim_type.set)):
        same_worker = same_worker.fix_val(isl.dim_type.set, place, isl.Val.zero(offsets.get_ctx()))
    for part, positions in ((same_worker, 0), (offsets.subtract(same_worker), 1)):
        if not part.is_empty():
            yield part, positions


def _outermost(offsets: isl.Set, rank: int) -> tuple[int, int]:
    """The least and the greatest distance along the outermost dimension."""
    ends = ends_of(offsets, rank)
    assert ends is not None, "overlapped tiles have such distances"
    return ends[0]
