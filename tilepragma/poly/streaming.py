"""Streaming: when a gang can compute a stencil plane by plane along the outermost dimension of its
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

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.halo import (
    Overlap,
    between,
    distances,
    ends_and_steps,
    ends_of,
    least_margins,
    written_by,
)
from tilepragma.poly.scop import Scop

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
    reads = list(_accesses(scop, written, tiles))
    for name, _, offsets in reads:
        for part, positions in _by_worker(offsets, 0, once=once):
            _, most = _along(part, rank)
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
                low, high = _along(offsets, rank)
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


def _accesses(scop: Scop, written: Mapping[str, isl.Map], tiles: Overlap) -> Iterator[tuple[str, DataObject, isl.Set]]:
    """The distance of each access to a written array from the element that its statement writes."""
    arrays = {array.object for array in tiles.arrays}
    for statement in scop.statements:
        for reference in statement.references:
            if reference.object in arrays:
                yield statement.name, reference.object, between(written[statement.name], reference)


def _along(offsets: isl.Set, rank: int) -> tuple[int, int]:
    """The least and the greatest distance along the outermost dimension."""
    ends = ends_of(offsets, rank)
    assert ends is not None, "overlapped tiles have such distances"
    return ends[0]
