"""Overlapped tiles of time steps for devices: each gang computes several steps of a box by itself,
what it needs of its neighbours too.

    for (pair)                                   the host: two launches, one reads the arrays and writes copies, the other reads those
        for each tile, over gangs
            scratchpads = a box of the arrays, home and what it reaches
            for (t of `degree` steps)            barriers between statements; boxes get smaller
                statements, in the scratchpads
            home of the tile = the scratchpads

Or a gang walks along the first dimension of the grid, and scratchpads are rings of planes
(`streamed_drafts`).

What a launch reads and what it writes are different arrays, so that tiles do not wait for each
other. A second launch that has no step left only copies. That all this is right is proven by
verify/scratchpads.py, whatever was meant here.
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
from tilepragma.schedule.overlapped_tree import DEGREE, OverlappedTree, most_steps_of
from tilepragma.schedule.stencils import Stencil
from tilepragma.schedule.stencils import stencil as stencil_of
from tilepragma.schedule.strategy import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.streamed import StreamedTree
from tilepragma.schedule.tree import schedule_candidate

if TYPE_CHECKING:
    from tilepragma.poly.halo import GridArray, Overlap
    from tilepragma.poly.streaming import Stream


def _large(region: Region) -> str:
    return f"what one time step of a tile needs is more than {region.kernel.directive.local_bytes} bytes of a gang's memory"


OVERLAPPING = (TemporalTiles.OVERLAPPED, TemporalTiles.STREAMED, TemporalTiles.BOXES)
"""What asks for such tiles."""

_FEWEST_ALONG = 2
"""A scratchpad is so many times as long in the last dimension as in the others, where there are two: rows are read by neighbouring workers."""

_CHUNKS = {2: 256, 3: 128}
"""Planes that a gang keeps of those it walks through, by the rank of the grid: few enough that there are gangs enough."""

_MOST_STREAMED = 8
"""Time steps that rings have room for at most: more of them leave no room for the other dimensions."""

_LANES = 32
"""Workers that run together, side by side in a row."""

_COMPUTING = 0.5
"""What a statement costs in scratchpads, where what is copied from or to the device's memory costs 1."""

_WAITING = 32.0
"""What it costs that all workers of a gang wait."""


def overlapped(region: Region, taken: Iterable[str]) -> Iterator[ScheduleCandidate | Refusal]:
    """Device steps in overlapped tiles (the host steps are the same and not for use), best first,
    each made when it is asked for, or why there are none; no name is one of `taken`.

    Every other answer asks first whether there is anything to do: arrays may be too short for their
    borders.
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
    """The region as a stencil, how far its tiles reach, and the delays of its planes, of either way to wait, or why there are none."""
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
            from tilepragma.poly.streaming import stream

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
    """A clause that says why there are no such tiles at all."""
    if not any(array.carried for array in tiles.arrays):
        return "no time step reads what the one before it left"
    if any(side.negative for array in tiles.arrays for side in array.touched):
        return "an array begins below 0"
    if any(not isinstance(array.object.element, ScalarType) for array in tiles.arrays):
        return "an array is not of numbers"
    return None


def _answer(tree: OverlappedTree, notes: tuple[str, ...], *, guarded: bool) -> ScheduleCandidate | Refusal:
    node, stencil = tree.ping_pong(guarded=guarded), tree.stencil
    depth = max(len(point.statement.loops) for point in stencil.points)
    depths = Depths(depth, 0, depth)
    made = schedule_candidate(tree.name, tree.region, (node,), (node,), tree.sizes, notes, depths)
    if isinstance(made, Refusal):
        return made
    pairs = " and ".join(f"'{array.host}' and '{copy.host}'" for array, copy in tree.copies.items())
    note = (
        f"{tree.name}: gangs of devices compute up to {tree.most_steps} time steps ({tree.degree.name} says how many) in memory of their "
        f"own, {tree.manner}what they need of other tiles again; values go to and fro between {pairs}"
    )
    return replace(made, storage=tuple(tree.copies.values()), kept=(note,))


# -- boxes or rings, and how large


Maker = Callable[[Iterable[str]], OverlappedTree]
"""Makes tree without names that are taken."""


def _forms(
    region: Region, stencil: Stencil, tiles: Overlap, streams: tuple[Stream, ...] | str
) -> tuple[list[Maker], tuple[str, ...]]:
    """Makers of tree of either form, of which scratchpads fit, the cheaper first, or streamed ones
    where they are asked for; and why there are no streamed ones.
    """
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
        best = min(
            (candidate for candidate in fitting if candidate is not None),
            key=lambda candidate: candidate[0],
            default=None,
        )
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
    """The cost, the delays, the time steps and the lengths of the best streamed tiles of so many
    steps at most, in so many bytes of memory; None where nothing fits.
    """
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
    """Lengths of planes of so many elements at most."""
    if rank == 2:
        yield (room,)
        return
    for width in dict.fromkeys((_LANES, 2 * _LANES, isqrt(room))):
        if 0 < width <= room:
            yield (room // width, width)


@dataclass(frozen=True)
class _Measure:
    """What an element of one time step costs in tiles of these statements."""

    statements: int
    overlap: Overlap

    def boxes(self, lengths: tuple[int, ...], degree: int) -> float:
        """In boxes of scratchpads of these lengths."""
        homes = tuple(max(1, length - halo) for length, halo in zip(lengths, self._halos(degree), strict=True))
        return self._cost(homes, degree, degree * lengths[0], self._waits(degree))

    def streamed(self, lengths: tuple[int, ...], degree: int, stream: Stream) -> float | None:
        """In rings of planes of these lengths, the first one being what is kept; None where none fits."""
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
        """How often workers wait where they do so behind every statement, and behind what is filled and what is stored."""
        return degree * self.statements + 2

    def _cost(self, homes: tuple[int, ...], degree: int, planes: int, waits: int) -> float:
        """Of tiles that keep so much, compute so many planes in all time steps, and whose workers wait so often."""
        scratchpad = [home + halo for home, halo in zip(homes, self._halos(degree), strict=True)]
        # Workers step over all of a scratchpad, its rows in whole groups of lanes.
        inner = [*scratchpad[1:-1], -(-scratchpad[-1] // _LANES) * _LANES] if len(scratchpad) > 1 else []
        computed = self.statements * planes * prod(inner)
        copied = sum(array.carried for array in self.overlap.arrays) * (prod(scratchpad) + prod(homes))
        return (_COMPUTING * computed + copied + _WAITING * waits) / (degree * prod(homes))


def _bytes(array: GridArray, memory: int) -> int:
    """Of an element; of what is no number all there is."""
    element = array.object.element
    return element.bits // 8 if isinstance(element, ScalarType) else memory


def _lengths(tiles: Overlap, rank: int, memory: int) -> tuple[int, ...]:
    """The lengths of scratchpads that fit so many bytes of a gang's memory, the last one longest."""
    room = memory // sum(_bytes(array, memory) for array in tiles.arrays)
    if rank == 1:
        return (room,)
    if rank == 2:
        rows = isqrt(room // _FEWEST_ALONG)
        return (rows, room // max(rows, 1))
    side = max((length for length in range(1, room) if length**3 <= room), default=0)
    return (side, side, room // max(side, 1) ** 2)
