"""Overlapped tiles of time steps for devices: each gang computes several steps of a box alone,
including the halo that it needs from its neighbours.

    for (pair)                               the host: two launches, arrays -> copies -> arrays
        for each tile, over gangs
            scratchpads = a box of the arrays, interior and halo
            for (t of `degree` steps)        barriers between statements; boxes shrink
                statements, in the scratchpads
            interior of the tile = the scratchpads

Alternatively a gang streams along the first dimension of the grid, and scratchpads are circular
buffers of planes (schedule/streamed.py).

A launch reads and writes different arrays, so tiles do not wait for each other. A second launch
without remaining steps only copies. verify/overlapped_tiles.py proves the result independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import isqrt, prod
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TemporalTiles
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.types import ScalarType
from tilepragma.plan.default_sizes import DEGREE
from tilepragma.schedule.overlapped_tree import OverlappedTree, most_steps_of
from tilepragma.schedule.stencils import Stencil
from tilepragma.schedule.stencils import stencil as stencil_of
from tilepragma.schedule.strategy import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.streamed import StreamedTree
from tilepragma.schedule.tree import candidate_of

if TYPE_CHECKING:
    from tilepragma.poly.halo import GridArray, Overlap, Stream


def _large(region: Region) -> str:
    return f"one time step of a tile needs more than {region.kernel.directive.local_bytes} bytes of shared memory"


OVERLAPPING = (TemporalTiles.OVERLAPPED, TemporalTiles.STREAMED, TemporalTiles.BOXES)
"""The clauses that ask for overlapped tiles."""

_FEWEST_ALONG = 2
"""A two-dimensional scratchpad is this many times longer in the last dimension: neighbouring
workers read its rows.
"""

_CHUNKS = {2: 256, 3: 128}
"""Planes that a gang keeps of those it streams, by grid rank: few, so that enough gangs remain."""

_MOST_STREAMED = 8
"""The most time steps in circular buffers: more leave no room for the other dimensions."""

_LANES = 32
"""Workers that run in lockstep, side by side in a row."""

_COMPUTING = 0.5
"""The cost of a statement in scratchpads, relative to a copy from or to global memory."""

_WAITING = 32.0
"""The cost of a barrier for all workers of a gang."""


def overlapped(region: Region, taken: Iterable[str]) -> Iterator[ScheduleCandidate | Refusal]:
    """Yield device steps in overlapped tiles, best first, or why there are none. The host steps are
    the same and not for use. No name is one of `taken`. Every second candidate guards against
    arrays too short for their borders.
    """
    analysed = _analysed(region)
    if isinstance(analysed, Refusal):
        yield analysed
        return
    stencil, tiles, streams = analysed
    against = _against(tiles)
    if against is not None:
        yield Refusal(against)
        return
    names = {*names_in(region.kernel), *taken}
    forms, notes = _forms(region, stencil, tiles, streams)
    if not forms:
        yield Refusal(_large(region))
    for form in forms:
        plain = _answer(form(names), notes, guarded=False)
        yield plain
        if isinstance(plain, ScheduleCandidate):
            yield _answer(form(names), notes, guarded=True)


def _analysed(region: Region) -> tuple[Stencil, Overlap, tuple[Stream, ...] | str] | Refusal:
    """The region as a stencil, its tiles, and its planes' delays; or why there are none."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

    try:
        stencil = stencil_of(region)
        if isinstance(stencil, str):
            return Refusal(stencil)
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for overlapped tiles"):
            from tilepragma.poly.halo import overlap

            tiles = overlap(region.scop, region.dependences, stencil.rank)
            if isinstance(tiles, str):
                return Refusal(tiles)
            if stencil.rank == 1 or region.kernel.directive.temporal is TemporalTiles.BOXES:
                return stencil, tiles, ()
            from tilepragma.poly.halo import stream

            streams = [stream(region.scop, region.dependences, tiles, once=once) for once in (True, False)]
            against = [stream for stream in streams if isinstance(stream, str)]
            return (
                stencil,
                tiles,
                against[0] if against else tuple(stream for stream in streams if not isinstance(stream, str)),
            )
    except OperationLimitError as limit:
        return Refusal(str(limit))


def _against(tiles: Overlap) -> str | None:
    """A clause that says why the region has no overlapped tiles."""
    if not any(array.carried for array in tiles.arrays):
        return "no time step reads what the one before it left"
    if any(array.negative for array in tiles.arrays):
        return "an array begins below 0"
    if any(not isinstance(array.object.element, ScalarType) for array in tiles.arrays):
        return "an array is not of numbers"
    return None


def _answer(tree: OverlappedTree, notes: tuple[str, ...], *, guarded: bool) -> ScheduleCandidate | Refusal:
    node, stencil = tree.ping_pong(guarded=guarded), tree.stencil
    depth = max(len(point.statement.loops) for point in stencil.points)
    depths = Depths(depth, 0, depth)
    made = candidate_of(tree.name, tree.region, (node,), (node,), tree.sizes, notes, depths)
    if isinstance(made, Refusal):
        return made
    pairs = " and ".join(f"'{array.host}' and '{copy.host}'" for array, copy in tree.copies.items())
    note = (
        f"{tree.name}: gangs of devices compute up to {tree.most_steps} time steps ({tree.degree.name} says how many) "
        f"in shared memory, {tree.manner}and halos again; values go to and fro between {pairs}"
    )
    return replace(made, storage=tuple(tree.copies.values()), kept=(note,))


# -- boxes or rings, and how large


Maker = Callable[[Iterable[str]], OverlappedTree]
"""Makes a tree that uses no taken name."""


def _forms(
    region: Region, stencil: Stencil, tiles: Overlap, streams: tuple[Stream, ...] | str
) -> tuple[list[Maker], tuple[str, ...]]:
    """Makers of the forms that fit, cheapest (or requested streams) first, and notes."""
    measure = _Measure(len(stencil.points), tiles)
    memory = region.kernel.directive.local_bytes
    lengths = _lengths(tiles, stencil.rank, memory)
    forms: list[tuple[float, Maker]] = []

    def boxes(taken: Iterable[str]) -> OverlappedTree:
        return OverlappedTree(region, stencil, tiles, Names(set(taken)), lengths)

    tree, steps = boxes(()), most_steps_of(stencil, _MOST_STREAMED)
    if tree.most_steps >= 1:
        forms.append((measure.boxes(lengths, tree.default_steps), boxes))
    against = streams if isinstance(streams, str) else None
    if streams and not isinstance(streams, str):
        fitting = [_streamed(tiles, stream, measure, steps, memory) for stream in streams]
        best = min((plan for plan in fitting if plan is not None), key=lambda plan: plan[0], default=None)
        if best is None:
            against = _large(region)
        else:
            cost, planes, degree, rings = best

            def walked(taken: Iterable[str]) -> OverlappedTree:
                return StreamedTree(region, stencil, tiles, Names(set(taken)), rings, planes, degree)

            forms.append((-1.0 if region.kernel.directive.temporal is TemporalTiles.STREAMED else cost, walked))
    notes: tuple[str, ...] = () if against is None else (f"streamed tiles: {against}",)
    if steps < DEGREE:
        notes += (f"tiles of {DEGREE} time steps, on devices: there are {steps}",)
    return [form for _, form in sorted(forms, key=lambda form: form[0])], notes


def _streamed(
    tiles: Overlap, planes: Stream, measure: _Measure, steps: int, memory: int
) -> tuple[float, Stream, int, tuple[int, ...]] | None:
    """The cost, delays, steps and lengths of the best streamed tiles; None if nothing fits."""
    best = None
    for degree in range(1, min(_MOST_STREAMED, steps) + 1):
        room = memory // sum(_bytes(array, memory) * planes.planes(array.object, degree) for array in tiles.arrays)
        for plane in _planes(len(tiles.growth), room):
            lengths = (_CHUNKS[len(plane) + 1], *plane)
            cost = measure.streamed(lengths, degree, planes)
            if cost is not None and (best is None or cost < best[0]):
                best = cost, planes, degree, lengths
    return best


def _planes(rank: int, room: int) -> Iterator[tuple[int, ...]]:
    """Lengths of planes of at most `room` elements."""
    if rank == 2:
        yield (room,)
        return
    for width in dict.fromkeys((_LANES, 2 * _LANES, isqrt(room))):
        if 0 < width <= room:
            yield (room // width, width)


@dataclass(frozen=True)
class _Measure:
    """Costs of an element and time step in tiles of so many statements."""

    statements: int
    overlap: Overlap

    def boxes(self, lengths: tuple[int, ...], degree: int) -> float:
        """The cost in boxes of scratchpads of these lengths."""
        homes = tuple(max(1, length - halo) for length, halo in zip(lengths, self._halos(degree), strict=True))
        return self._cost(homes, degree, degree * lengths[0], self._waits(degree))

    def streamed(self, lengths: tuple[int, ...], degree: int, stream: Stream) -> float | None:
        """The cost in circular buffers, `lengths[0]` being the interior; None if nothing fits."""
        halos = self._halos(degree)
        homes = (lengths[0], *(length - halo for length, halo in zip(lengths[1:], halos[1:], strict=True)))
        margin = max(sum(margin[0]) for margin in self.overlap.margins.values())
        planes = sum(lengths[0] + sum(self.overlap.growth[0]) * left + margin for left in range(degree))
        positions = lengths[0] + halos[0] + stream.shift * (degree - 1) + stream.store
        waits = 1 if stream.once else self._waits(degree)
        return self._cost(homes, degree, planes, positions * waits) if min(homes) >= 1 else None

    def _halos(self, degree: int) -> tuple[int, ...]:
        sides = zip(self.overlap.growth, self.overlap.reach, strict=True)
        return tuple(sum(growth) * (degree - 1) + sum(reach) for growth, reach in sides)

    def _waits(self, degree: int) -> int:
        """The number of barriers: after every statement, the fill and the stores."""
        return degree * self.statements + 2

    def _cost(self, homes: tuple[int, ...], degree: int, planes: int, waits: int) -> float:
        """The cost of tiles with these interiors that compute `planes` planes in all time steps."""
        scratchpad = [home + halo for home, halo in zip(homes, self._halos(degree), strict=True)]
        # Workers step over the whole scratchpad, its rows in whole groups of lanes.
        inner = [*scratchpad[1:-1], -(-scratchpad[-1] // _LANES) * _LANES] if len(scratchpad) > 1 else []
        computed = self.statements * planes * prod(inner)
        copied = sum(array.carried for array in self.overlap.arrays) * (prod(scratchpad) + prod(homes))
        return (_COMPUTING * computed + copied + _WAITING * waits) / (degree * prod(homes))


def _bytes(array: GridArray, memory: int) -> int:
    """The size of an element; all of `memory` if it is no number."""
    element = array.object.element
    return element.bits // 8 if isinstance(element, ScalarType) else memory


def _lengths(tiles: Overlap, rank: int, memory: int) -> tuple[int, ...]:
    """The lengths of scratchpads that fit the gang's memory, in bytes; the last is longest."""
    room = memory // sum(_bytes(array, memory) for array in tiles.arrays)
    if rank == 1:
        return (room,)
    if rank == 2:
        rows = isqrt(room // _FEWEST_ALONG)
        return (rows, room // max(rows, 1))
    side = max((length for length in range(1, room) if length**3 <= room), default=0)
    return (side, side, room // max(side, 1) ** 2)
