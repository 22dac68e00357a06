"""When the planes of a stencil may be computed by a gang that walks along the outermost dimension
of its grids, and what it must keep.

At position p the gang has the plane p of what was there before, and computes of every one of `r` =
0, 1, … time steps and each statement S

    the plane p - (shift r + delay_S)

so that for every dependence P[t'] -> S[t] of any kind with w(S) - w(P) >= -c along that dimension
and t - t' >= e, and for every read of an element up to d beyond w(S):

    delay_S >= delay_P + c - e shift            delay_S >= d

Workers wait between statements then. Or they wait `once` for a position: where w(S) and w(P), or
what is read, differ in other dimensions too, so that two workers may have them,

    delay_S >= delay_P + c - e shift + 1        delay_S >= d + 1

while a worker does what it has of a column in its order.

Of these the least shift, then the least delays. Then the elements of an array that are touched at p
are those of the planes

    p - oldest - shift (T - 1), ..., p + newest           of T time steps

and no others, so that as many places for planes are enough. What the plan verifier proves does not
rest on this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.halo import (
    Overlap,
    between,
    distances,
    edge_within,
    ends_of,
    least_margins,
    written_by,
)
from tilepragma.poly.scop import Scop

#: What is read of what was there before, as a statement that runs before all.
_BEFORE = ""


@dataclass(frozen=True)
class Ring:
    """The planes of an array that are touched at position p by the last time step: those from p - oldest to p + newest."""

    newest: int
    oldest: int


@dataclass(frozen=True)
class Stream:
    """Delays in planes behind the position; what is left in the end is taken at `store`, behind all
    statements. `once`: workers, each of which has the same columns throughout, wait for each other
    once for a position, and not between statements.
    """

    shift: int
    delays: Mapping[str, int]
    store: int
    rings: Mapping[DataObject, Ring]
    once: bool

    def planes(self, array: DataObject, steps: int) -> int:
        """The places for planes of an array that so many time steps need, rounded up to a power of two: a place is then found by one `&`."""
        wanted = self.rings[array].newest + self.behind(array, steps)
        return 1 << (wanted - 1).bit_length()

    def behind(self, array: DataObject, steps: int) -> int:
        """How many planes of an array, from that of the position on, the statements of so many time steps touch."""
        return self.shift * (steps - 1) + self.rings[array].oldest + 1


def stream(scop: Scop, dependences: Iterable[Dependence], found: Overlap, *, once: bool) -> Stream | str:
    """The delays for a region that has overlapped tiles; a clause that says why there are none. Raises OperationLimitError."""
    rank = len(found.growth)
    written = {statement.name: written_by(statement) for statement in scop.statements}
    edges: list[tuple[str, str, int, int]] = []
    for dependence in dependences:
        for part, more in _by_worker(distances(dependence, written), 1, once=once):
            edge = edge_within(dependence, part, rank)
            if edge is None:
                return f"'{dependence.source.object.host}' is accessed again at no fixed distance"
            edges.append((edge.sink, edge.source, edge.offset(0, high=True) + more, edge.steps))
    reads = list(_accesses(scop, written, found))
    for name, _, offsets in reads:
        for part, more in _by_worker(offsets, 0, once=once):
            _, most = _along(part, rank)
            edges.append((name, _BEFORE, most + more, 0))
    least = least_margins([_BEFORE, *written], edges)
    if least is None:
        return "planes would have to wait without end"
    shift, delays = least[0], {name: least[1][name] for name in written}
    store = max(delays.values())
    rings = {}
    for array in found.arrays:
        newest, oldest = [-store], [store]
        if array.carried or array.border:
            newest.append(0)
        for name, object_, offsets in reads:
            if object_ == array.object:
                low, high = _along(offsets, rank)
                newest.append(high - delays[name])
                oldest.append(delays[name] - low)
        rings[array.object] = Ring(max(newest), max(oldest))
    return Stream(shift, delays, store, rings, once)


def _by_worker(offsets: isl.Set, leading: int, *, once: bool) -> Iterator[tuple[isl.Set, int]]:
    """Parts of a set of distances, the first of the grid's dimensions being `leading`, and how many
    positions must lie between besides: where workers wait once for a position, none of what is one
    worker's, and one of the rest.
    """
    if not once:
        yield offsets, 0
        return
    own = offsets
    for place in range(leading + 1, offsets.dim(isl.dim_type.set)):
        own = own.fix_val(isl.dim_type.set, place, isl.Val.zero(offsets.get_ctx()))
    for part, more in ((own, 0), (offsets.subtract(own), 1)):
        if not part.is_empty():
            yield part, more


def _accesses(scop: Scop, written: Mapping[str, isl.Map], found: Overlap) -> Iterator[tuple[str, DataObject, isl.Set]]:
    """Of each access to an array that is written, how far it is from what the statement writes."""
    arrays = {array.object for array in found.arrays}
    for statement in scop.statements:
        for reference in statement.references:
            if reference.object in arrays:
                yield statement.name, reference.object, between(written[statement.name], reference)


def _along(offsets: isl.Set, rank: int) -> tuple[int, int]:
    """The least and the greatest distance along the outermost dimension."""
    ends = ends_of(offsets, rank)
    assert ends is not None, "overlapped tiles have such distances"
    return ends[0]
