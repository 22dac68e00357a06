"""Overlapped tiles of time steps for devices: each gang computes several steps of a box alone,
including the halo that it needs from its neighbours.

    for (pair)                               the host: two launches, arrays -> copies -> arrays
        for each tile, over gangs
            scratchpads = a box of the arrays, interior and halo
            for (t of `degree` steps)        barriers between statements; boxes shrink
                statements, in the scratchpads
            interior of the tile = the scratchpads

A launch reads and writes different arrays, so tiles do not wait for each other. A second launch
without remaining steps only copies. verify/overlapped_tiles.py proves the result independently.

Alternatively a gang streams along the first dimension of the grid (N.5-D blocking), and scratchpads
are circular buffers of planes:

    for (p = the tile's first plane; …; ++p)             the position
        scratchpads: the plane p
        for (t of `degree` steps)                        barriers between statements
            each statement, of the plane p - its delay    poly/halo.py computes the delays
        the plane p - the greatest delay = the scratchpads

All work on a plane happens within as many positions as the circular buffers have planes. Or workers
wait `once` a position, at its end. Then each worker keeps the same columns throughout, and reads
other columns only from earlier positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from math import isqrt, prod

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TemporalTiles, TileClause, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    conjunction,
    disjunction,
    integer,
)
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    Loop,
    RegisterQueue,
    Scratchpad,
    Statement,
    assign,
)
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, polynomial
from tilepragma.ir.substitution import with_accesses, with_objects
from tilepragma.ir.traversal import loops_in
from tilepragma.ir.types import INDEX, ScalarType
from tilepragma.lower.band_loops import counted_loop, declared, floor_quotient, mapped_nest, short_or_long, term
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, StreamedGrid, StreamedSide, TileSize
from tilepragma.plan.space_time import Hyperplane, Meanings
from tilepragma.poly.extents import Bounds
from tilepragma.poly.halo import GridArray, Overlap, Stream, overlap, stream
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.reference_spans import loop_ends
from tilepragma.poly.scop import ScopStatement
from tilepragma.schedule.candidate import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.default_sizes import DEGREE
from tilepragma.schedule.scratchpad_copies import (
    at_least,
    compared,
    element_at,
    in_scratchpad,
    scratchpad,
    where,
    within,
)
from tilepragma.schedule.tree import LaunchNode, ScheduleNode, candidate_of
from tilepragma.user_tiles.chain_checks import literal_trip
from tilepragma.user_tiles.mapping import MOST_DIMENSIONS

OVERLAPPING = (TemporalTiles.OVERLAPPED, TemporalTiles.STREAMED, TemporalTiles.BOXES)
"""The clauses that ask for overlapped tiles."""

_FEWEST_ALONG = 2
"""A two-dimensional scratchpad is this many times longer in the last dimension: neighbouring
workers read its rows.
"""

_CHUNKS = {2: 256, 3: 128}
"""Planes that a gang keeps of those it streams, by grid rank: few, so that enough gangs remain."""

_MOST_STREAMED = 4
"""The most time steps of streamed tiles: more leave no room for the other dimensions, and no
registers for a worker's planes: then walks take twice the instructions.
"""

_LANES = 32
"""Workers that run in lockstep, side by side in a row."""

_COMPUTING = 0.5
"""The cost of a statement in scratchpads, relative to a copy from or to global memory."""

_WAITING = 32.0
"""The cost of a barrier for all workers of a gang."""

_MOST_PLANES = 1 << 29
"""The most planes of a chunk, so that its ends are short integers if its subscripts are."""

_NO_DELAY = number(0)
"""The delay of work at the gang's current position."""


def overlapped(region: Region, taken: Iterable[str]) -> Iterator[ScheduleCandidate | Refusal]:
    """Yield device steps in overlapped tiles, best first, or why there are none. The host steps are
    the same and not for use. No name is one of `taken`. Every second candidate guards against
    arrays too short for their borders.
    """
    try:
        analysed = _analysed(region)
    except OperationLimitError as limit:
        analysed = str(limit)
    if isinstance(analysed, str):
        yield Refusal(analysed)
        return
    stencil, tiles, streams = analysed
    names = {*names_in(region.kernel), *taken}
    forms, notes = _forms(region, stencil, tiles, streams)
    if not forms:
        yield Refusal(_large(region))
    for form in forms:
        for guarded in (False, True):
            answer = _answer(OverlappedTree(region, stencil, tiles, Names(set(names)), *form), notes, guarded=guarded)
            yield answer
            if isinstance(answer, Refusal):
                break


def _analysed(region: Region) -> tuple[Stencil, Overlap, tuple[Stream, ...] | str] | str:
    """The region as a stencil, its tiles, and its planes' delays, or why there are none; a clause
    that says why the region has no overlapped tiles. Raises OperationLimitError.
    """
    stencil = _stencil(region)
    if isinstance(stencil, str):
        return stencil
    with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for overlapped tiles"):
        tiles = overlap(region.scop, region.dependences, stencil.rank)
        if isinstance(tiles, str):
            return tiles
        streams: list[Stream | str] = []
        if stencil.rank > 1 and region.kernel.directive.temporal is not TemporalTiles.BOXES:
            streams = [stream(region.scop, region.dependences, tiles, once=once) for once in (True, False)]
    if not any(array.carried for array in tiles.arrays):
        return "no time step reads what the one before it left"
    if any(array.negative for array in tiles.arrays):
        return "an array begins below 0"
    if any(not isinstance(array.object.element, ScalarType) for array in tiles.arrays):
        return "an array is not of numbers"
    against = next((reason for reason in streams if isinstance(reason, str)), None)
    return stencil, tiles, against or tuple(planes for planes in streams if not isinstance(planes, str))


def _large(region: Region) -> str:
    return f"one time step of a tile needs more than {region.kernel.directive.local_bytes} bytes of shared memory"


def _answer(tree: OverlappedTree, notes: tuple[str, ...], *, guarded: bool) -> ScheduleCandidate | Refusal:
    node, stencil = tree.ping_pong(guarded=guarded), tree.stencil
    depth = max(len(point.statement.loops) for point in stencil.points)
    made = candidate_of(
        tree.name, tree.region, (node,), (node,), tree.sizes, notes, Depths(depth, 0, depth), tree.meanings
    )
    if isinstance(made, Refusal):
        return made
    manner = "" if tree.stream is None else "a few planes at a time, "
    pairs = " and ".join(f"'{array.host}' and '{copy.host}'" for array, copy in tree.copies.items())
    chosen = "says how many" if tree.stream is None else "follows the device's multiprocessors and speeds"
    note = (
        f"{tree.name}: gangs of devices compute up to {tree.most_steps} time steps ({tree.degree.name} {chosen}) "
        f"in shared memory, {manner}and halos again; values go to and fro between {pairs}"
    )
    return replace(made, storage=tuple(tree.copies.values()), storage_notes=(note,))


# -- boxes or circular buffers, and how large


Form = tuple[tuple[int, ...], Stream | None, int]
"""The lengths of scratchpads, or in the first dimension of the interior where gangs stream; then
the delays of planes, and the most time steps.
"""


def _forms(
    region: Region, stencil: Stencil, tiles: Overlap, streams: tuple[Stream, ...] | str
) -> tuple[list[Form], tuple[str, ...]]:
    """The forms that fit, cheapest (or requested streams) first, and notes."""
    measure = _Measure(len(stencil.points), tiles)
    memory = region.kernel.directive.local_bytes
    lengths = _lengths(tiles, stencil.rank, memory)
    forms: list[tuple[float, Form]] = []
    steps, room = _most_steps_of(stencil, _MOST_STREAMED), _room(lengths, tiles)
    if room >= 1:
        cost = measure.boxes(lengths, min(DEGREE, room, _most_steps_of(stencil, DEGREE)))
        forms.append((cost, (lengths, None, room)))
    against = streams if isinstance(streams, str) else None
    if streams and not isinstance(streams, str):
        fitting = [_streamed(tiles, planes, measure, steps, memory) for planes in streams]
        best = min((plan for plan in fitting if plan is not None), key=lambda plan: plan[0], default=None)
        if best is None:
            against = _large(region)
        else:
            asked = region.kernel.directive.temporal is TemporalTiles.STREAMED
            forms.append((-1.0 if asked else best[0], best[1]))
    notes: tuple[str, ...] = () if against is None else (f"streamed tiles: {against}",)
    if steps < DEGREE:
        notes += (f"tiles of {DEGREE} time steps, on devices: there are {steps}",)
    return [form for _, form in sorted(forms, key=lambda form: form[0])], notes


def _most_steps_of(stencil: Stencil, otherwise: int) -> int:
    """The number of time steps, at least 1; `otherwise` if it is unknown."""
    trip = literal_trip(stencil.time)
    return otherwise if trip is None else max(1, trip)


def _room(lengths: tuple[int, ...], tiles: Overlap) -> int:
    """The most time steps for which scratchpads of these lengths hold the halo of an element."""
    room = [
        (length - 1 - low - high) // (before + behind) + 1 if before + behind else DEGREE if length > low + high else 0
        for length, (low, high), (before, behind) in zip(lengths, tiles.reach, tiles.growth, strict=True)
    ]
    return max(0, min(room))


def _streamed(tiles: Overlap, planes: Stream, measure: _Measure, steps: int, memory: int) -> tuple[float, Form] | None:
    """The best streamed tiles, and their cost; None if nothing fits."""
    best: tuple[float, Form] | None = None
    arrays = [array.object for array in tiles.arrays]
    for degree in range(1, min(_MOST_STREAMED, steps) + 1):
        room = memory // sum(element_bytes(array) * planes.planes(array, degree) for array in arrays)
        for plane in _planes(len(tiles.growth), room):
            lengths = (_CHUNKS[len(plane) + 1], *plane)
            cost = measure.streamed(lengths, degree, planes)
            if cost is not None and (best is None or cost < best[0]):
                best = cost, (lengths, planes, degree)
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


def _lengths(tiles: Overlap, rank: int, memory: int) -> tuple[int, ...]:
    """The lengths of scratchpads that fit the gang's memory, in bytes; the last is longest."""
    room = memory // sum(element_bytes(array.object) for array in tiles.arrays)
    if rank == 1:
        return (room,)
    if rank == 2:
        rows = isqrt(room // _FEWEST_ALONG)
        return (rows, room // max(rows, 1))
    side = max((length for length in range(1, room) if length**3 <= room), default=0)
    return (side, side, room // max(side, 1) ** 2)


# -- stencil regions: a time loop around loops of statements that write one grid element each


@dataclass(frozen=True)
class Place:
    """A written subscript, `iterator + shift` or `shift`; the iterator lies within `bounds`."""

    iterator: DataObject | None
    shift: Polynomial
    bounds: Bounds | None


@dataclass(frozen=True)
class Point:
    """A statement with the subscripts of its write."""

    statement: ScopStatement
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Stencil:
    """The time loop, its first and last step, the arrays' rank, and the statements."""

    time: Loop
    steps: Bounds
    rank: int
    points: tuple[Point, ...]


def _stencil(region: Region) -> Stencil | str:
    """The region as a stencil, or a clause that says why it is none."""
    scop = region.scop
    heads = {id(statement.loops[0]): statement.loops[0] for statement in scop.statements if statement.loops}
    if len(region.statements) != 1 or len(heads) != 1 or not isinstance(region.statements[0], Loop):
        return "the region is not a single loop over time steps"
    (time,) = heads.values()
    on_host = host_evaluable(region.written)
    steps = loop_ends(time, {})
    if time is not region.statements[0] or steps is None or not all(on_host(atom) for atom in _spelled(steps)):
        return "the loop over time steps does not count up by 1 between bounds that are known at launch"
    ranks = {array.rank for array in region.written if array.rank}
    if len(ranks) != 1 or not 1 <= (rank := next(iter(ranks))) <= MOST_DIMENSIONS:
        return "the arrays that are written have not one to three dimensions, all the same number"
    iterators = {loop.iterator for statement in region.statements for loop in loops_in(statement)}
    if scop.reasons or any(
        array.rank == 0 and array.scope is not Scope.LOCAL and array not in iterators for array in region.written
    ):
        return "a scalar is written, or something is not affine"
    points = []
    for statement in scop.statements:
        point = _point(statement, time, rank)
        if point is None:
            line = statement.range.start.line
            return f"the statement on line {line} does not write an element whose subscripts are its loops' iterators"
        if not all(on_host(end) for place in point.places for end in _spelled(place.bounds)):
            return "a loop's bounds are not known at launch"
        points.append(point)
    return Stencil(time, steps, rank, tuple(points))


def _spelled(ends: Bounds | None) -> tuple[Expression, ...]:
    return () if ends is None else (expression(ends.low), expression(ends.high))


def _point(statement: ScopStatement, time: Loop, rank: int) -> Point | None:
    node = statement.node
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or statement.parts:
        return None
    target = node.expression.target
    if not isinstance(target, Access) or target.object.rank != rank or len(target.subscripts) != rank or target.path:
        return None
    if sum(reference.writes for reference in statement.references) != 1:
        return None
    inner = {loop.iterator: loop for loop in statement.loops if loop is not time}
    if len(inner) != len(statement.loops) - 1:
        return None
    places = [_place(polynomial(subscript), inner) for subscript in target.subscripts]
    known = [place for place in places if place is not None]
    if len(known) != rank or {place.iterator for place in known} - {None} != inner.keys():
        return None
    if len([place for place in known if place.iterator is not None]) != len(inner):
        return None
    return Point(statement, tuple(known))


def _place(subscript: Polynomial, inner: dict[DataObject, Loop]) -> Place | None:
    mentioned = [iterator for iterator in inner if access_to(iterator) in subscript.atoms]
    if not mentioned:
        return Place(None, subscript, None) if subscript.constant is not None else None
    iterator = mentioned[0]
    shift, bounds = subscript - term(iterator), loop_ends(inner[iterator], {})
    return None if shift.constant is None or bounds is None else Place(iterator, shift, bounds)


# -- launches


@dataclass
class OverlappedTree:
    """Builds the launches of a form. With a `stream`, `lengths` are the default interior along the
    first dimension, then the scratchpad lengths in the others. `most_steps` is the number of time
    steps that scratchpads have room for.
    """

    region: Region
    stencil: Stencil
    overlap: Overlap
    names: Names
    lengths: tuple[int, ...]
    stream: Stream | None
    most_steps: int
    tiles: dict[int, tuple[TileClause, ...]] = field(init=False, default_factory=dict)
    meanings: Meanings = field(init=False, default_factory=Meanings)

    def __post_init__(self) -> None:
        self.numbers = self.region.loop_numbers()
        self.name = "overlapped tiles" if self.stream is None else "streamed tiles"
        places = max(self.stencil.points, key=lambda point: len(point.statement.loops)).places
        self.bases = [f"x{k}" if place.iterator is None else place.iterator.name for k, place in enumerate(places)]
        self.degree = self.names.scalar(f"{self.stencil.time.iterator.name}_degree")
        suffixes = ("scratchpad" if self.stream is None else "chunk", *("scratchpad" for _ in self.bases[1:]))
        self.extents = [self.names.scalar(f"{base}_{kind}") for base, kind in zip(self.bases, suffixes, strict=True)]
        self.copies = {array.object: self._copy(array) for array in self.overlap.arrays if array.carried}

    @property
    def sizes(self) -> tuple[TileSize, ...]:
        """The time steps of a launch and the scratchpad extents, with their defaults."""
        steps = self.most_steps
        if self.stream is None:
            steps = min(DEGREE, steps, _most_steps_of(self.stencil, DEGREE))
        return (
            TileSize(self.degree, steps, steps, stream=self._grid),
            *(TileSize(extent, size, size) for extent, size in zip(self.extents, self.lengths, strict=True)),
        )

    @property
    def _grid(self) -> StreamedGrid | None:
        """What devices choose the time steps and planes by."""
        if self.stream is None:
            return None
        more = [
            (sum(reach), sum(growth)) for reach, growth in zip(self.overlap.reach, self.overlap.growth, strict=True)
        ]
        extents = [expression(high - low + number(1)) for low, high in map(self.grid, range(len(more)))]
        # A walk begins with the halo's planes and ends when the last plane is stored.
        (before, _), (first, _) = self.overlap.reach[0], self.overlap.growth[0]
        planes = before + self.stream.store, first + self.stream.shift
        moved = sum(2 * element_bytes(array.object) for array in self.overlap.arrays if array.carried)
        return StreamedGrid(
            self.extents[0],
            expression(self.stencil.steps.high - self.stencil.steps.low + number(1)),
            extents[0],
            planes,
            tuple(map(StreamedSide, self.extents[1:], extents[1:], self.lengths[1:], more[1:])),
            len(self.stencil.points),
            moved,
        )

    def _copy(self, array: GridArray) -> DataObject:
        """The ping-pong copy of the array between the two launches."""
        name = self.names.scalar(f"{array.object.name}_next").name
        lengths = tuple(expression(maximum((side.high + number(1), number(1)))) for side in array.touched)
        element = array.object.element
        return DataObject(name, name, element, Storage.CONTIGUOUS, Scope.TEMPORARY, lengths, range=array.object.range)

    # -- numbers of tiles: expressions over the sizes

    @property
    def steps(self) -> Polynomial:
        """The time steps of one launch."""
        return minimum((term(self.degree), number(self.most_steps)))

    def halo(self, place: int) -> Polynomial:
        """The length of a scratchpad's halo, both sides together."""
        (low, high), (before, behind) = self.overlap.reach[place], self.overlap.growth[place]
        return number(before + behind) * (self.steps - number(1)) + number(low + high)

    def home(self, place: int) -> Polynomial:
        """The length of a tile's interior; free along the dimension of a stream."""
        if self.stream is not None and place == 0:
            return maximum((minimum((term(self.extents[0]), number(_MOST_PLANES))), number(1)))
        extent = minimum((term(self.extents[place]), number(self.lengths[place])))
        return maximum((extent - self.halo(place), number(1)))

    def grid(self, place: int) -> tuple[Polynomial, Polynomial]:
        """The least and the greatest subscript over all arrays."""
        sides = [array.touched[place] for array in self.overlap.arrays]
        return minimum(side.low for side in sides), maximum(side.high for side in sides)

    # -- the host's loop

    def ping_pong(self, *, guarded: bool) -> ScheduleNode:
        """The host loop over pairs of launches; `guarded`: only if they write something."""
        pair = self.names.scalar("pair")
        steps = self.stencil.steps
        rounds = floor_quotient(steps.high - steps.low, expression(number(2) * self.steps))
        launches = tuple(_TileLaunch(self, pair, second).node() for second in range(2))
        loop = HostLoop(self.loop(pair, number(0), rounds), launches, f"{self.name} of time steps, there and back")
        if not guarded:
            return loop
        tests = (at_least(side.high, side.low) for array in self.overlap.arrays for side in array.written)
        return HostCondition(conjunction(dict.fromkeys(tests)), (loop,))

    def loop(self, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()) -> Loop:
        """A loop from `lower` to `upper`, inclusive."""
        return counted_loop(next(self.numbers), iterator, lower, upper, body)

    def nest(
        self, iterators: list[DataObject], last: list[Polynomial], body: Iterable[Statement], *kinds: TileKind
    ) -> Statement:
        """Loops from 0 to `last`, mapped to these kinds; the innermost is dimension 0."""
        spans = (Bounds(number(0), end) for end in last)
        return mapped_nest(iterators, spans, body, self.numbers, self.tiles, *kinds)[0]


class _TileLaunch:
    """Builds one of the two launches of a pair; `second` is 1 for the one that writes the arrays.
    Where gangs stream, the launch does its work at each `position` along the first dimension.
    """

    def __init__(self, tree: OverlappedTree, pair: DataObject, second: int) -> None:
        self.tree, self.pair, self.second = tree, pair, second
        self.stream, self.rank = tree.stream, tree.stencil.rank
        scalar = tree.names.scalar
        if self.stream is not None:
            self.position = scalar(f"{tree.bases[0]}_front", INDEX)
        self.time = scalar(f"{tree.stencil.time.iterator.name}_first")
        self.steps = scalar(f"{tree.stencil.time.iterator.name}_steps", INDEX)
        self.home = [scalar(f"{base}_home", INDEX) for base in tree.bases]
        self.first = [scalar(f"{base}_first", INDEX) for base in tree.bases]
        self.origin = [scalar(f"{base}_origin", INDEX) for base in tree.bases]
        self.limits: dict[tuple[str, Polynomial], DataObject] = {}
        self.scratchpads = {array.object: self._scratchpad(array.object) for array in tree.overlap.arrays}

    @property
    def once(self) -> bool:
        """Whether workers wait once a position only."""
        return self.stream is not None and self.stream.once

    def _scratchpad(self, array: DataObject) -> Scratchpad:
        """The scratchpad of an array: a box, or a circular buffer, maybe with a register queue."""
        name = self.tree.names.scalar(f"{array.name}_scratchpad").name
        lengths, origin = self.tree.lengths, list[DataObject | None](self.origin)
        if self.stream is not None:
            planes = self.stream.planes(array, self.tree.most_steps)
            lengths, origin = (planes, *lengths[1:]), [None, *origin[1:]]
        made = scratchpad(name, array, tuple(map(integer, lengths)), tuple(origin))
        if self.stream is None or not self.once:
            return made
        name = self.tree.names.scalar(f"{array.name}_column").name
        steps = self.tree.most_steps
        queue = replace(made.object, name=name, host=name)
        column = RegisterQueue(
            queue,
            self.position,
            self.stream.behind(array, steps),
            steps,
            self.tree.degree,
            self.stream.shift,
            tuple(self.first),
        )
        return replace(made, column=column)

    def node(self) -> LaunchNode:
        """The launch: all tiles, mapped to gangs."""
        tree, dimensions = self.tree, range(self.rank)
        blocks = [tree.names.scalar(f"{base}_block") for base in tree.bases]
        steps = term(self.steps)
        start = tree.stencil.steps.low + (number(2) * term(self.pair) + number(self.second)) * steps
        homes = [tree.home(place) for place in dimensions]
        grid = [tree.grid(place) for place in dimensions]
        reach, growth = tree.overlap.reach, tree.overlap.growth
        work = self._work()
        body = (
            declared(self.steps, tree.steps),
            declared(self.time, start),
            *(declared(self.home[k], homes[k]) for k in dimensions),
            *(declared(self.first[k], grid[k][0] + term(blocks[k]) * term(self.home[k])) for k in dimensions),
            *(
                declared(
                    self.origin[k],
                    term(self.first[k]) - number(growth[k][0]) * (steps - number(1)) - number(reach[k][0]),
                )
                for k in dimensions
            ),
            *(declared(limit, value) for (_, value), limit in self.limits.items()),
            *work,
            Barrier(),
        )
        last = [floor_quotient(grid[k][1] - grid[k][0], expression(homes[k])) for k in dimensions]
        nest = tree.nest(blocks, last, body, TileKind.DYNAMIC, TileKind.GANG)
        for point in tree.stencil.points:
            self._add_meanings(point, blocks)
        scratchpads = tuple(self.scratchpads.values())
        return LaunchNode(Block((nest,)), dict(tree.tiles), scratchpads=scratchpads, waits=not self.once)

    def _add_meanings(self, point: Point, blocks: list[DataObject]) -> None:
        """A pair of launches has 2 * steps time steps. A tile has a box, its halo included."""
        tree, places = self.tree, (point.statement.range,)
        time, low = ((tree.stencil.time.iterator, 1),), expression(-tree.stencil.steps.low)
        tree.meanings.add(self.pair, places, Hyperplane(time, low, expression(number(2) * tree.steps)))
        for k, place in enumerate(point.places):
            factors = () if place.iterator is None else ((place.iterator, 1),)
            ends = zip(tree.overlap.growth[k], tree.overlap.reach[k], strict=True)
            before, behind = (expression(number(grow) * (tree.steps - number(1)) + number(far)) for grow, far in ends)
            offset, home = expression(place.shift - tree.grid(k)[0]), expression(tree.home(k))
            tree.meanings.add(blocks[k], places, Hyperplane(factors, offset, home, (before, behind)))

    def _work(self) -> tuple[Statement, ...]:
        """The work of a gang on a tile."""
        if self.stream is None:
            return (*self._fill(), self._time_loop(), *self._stores())
        base, (least, greatest) = self.tree.bases[0], self.tree.grid(0)
        last = minimum((term(self.first[0]) + term(self.home[0]) - number(1), greatest)) + self._store_delay
        first = self._limit(base, maximum((term(self.origin[0]), least)))
        last = self._limit(base, last)
        barriers = (Barrier(),) if self.once else ()
        work = (*self._fill(), self._time_loop(), *self._stores(), *barriers)
        return (self.tree.loop(self.position, first, last, work),)

    def _workers(
        self,
        points: list[DataObject],
        body: Iterable[Statement],
        plane: tuple[Expression, ...] = (),
        others: tuple[Expression, ...] = (),
        *,
        delay: Polynomial = _NO_DELAY,
        home: bool = False,
    ) -> tuple[Statement, ...]:
        """Run `body` at the points of the scratchpad, or of its interior (`home`), that pass the
        tests of the first dimension, `plane`, and of the others.

        `delay` counts planes behind the position of a streaming gang; boxes ignore it.
        """
        if self.stream is None:
            return (self._mapped(points, range(self.rank), where((*plane, *others), *body), home=home),)
        inner = range(1, self.rank)
        if home and self.once:
            # Over the whole scratchpad, so that the worker that computed a column stores it.
            kept = tuple(test for k in inner for test in self._of_home(points, k))
            nest = self._mapped(points, inner, where((*kept, *others), *body), home=False)
        else:
            nest = self._mapped(points, inner, where(others, *body), home=home)
        tests = (*plane, *(self._of_home(points, 0) if home else ()))
        return (declared(points[0], term(self.position) - delay), *where(tests, nest))

    def _of_home(self, points: list[DataObject], place: int) -> Iterable[Expression]:
        point, first, home = term(points[place]), term(self.first[place]), term(self.home[place])
        return at_least(point, first), at_least(first + home - number(1), point)

    def _mapped(
        self, points: list[DataObject], dimensions: range, body: Iterable[Statement], *, home: bool
    ) -> Statement:
        """Loops over points along these dimensions of the scratchpad or interior, over workers."""
        tree = self.tree
        steps = [tree.names.scalar(f"{tree.bases[k]}_step", INDEX) for k in dimensions]
        starts = self.first if home else self.origin
        last = [tree.home(k) - number(1) if home else tree.home(k) + tree.halo(k) - number(1) for k in dimensions]
        placed = (declared(points[k], term(starts[k]) + term(step)) for k, step in zip(dimensions, steps, strict=True))
        return tree.nest(steps, last, (*placed, *body), TileKind.DYNAMIC, TileKind.WORKER)

    @property
    def _store_delay(self) -> Polynomial:
        """The delay of the stores."""
        if self.stream is None:
            return _NO_DELAY
        return number(self.stream.shift) * (term(self.steps) - number(1)) + number(self.stream.store)

    def _delay(self, point: Point, step: Polynomial) -> Polynomial:
        """The delay of a statement, `step` time steps after the launch's first."""
        if self.stream is None:
            return _NO_DELAY
        return number(self.stream.shift) * step + number(self.stream.delays[point.statement.name])

    def _points(self) -> list[DataObject]:
        """Fresh scalars for the subscripts of an element."""
        return [self.tree.names.scalar(f"{base}_point", INDEX) for base in self.tree.bases]

    def _limit(self, base: str, value: Polynomial) -> Polynomial:
        """A bound for short integers: a number, or a short scalar declared once a tile."""
        if short_or_long(value) == INDEX:
            return value
        if (base, value) not in self.limits:
            self.limits[base, value] = self.tree.names.scalar(f"{base}_limit", INDEX)
        return term(self.limits[base, value])

    def _box(self, sides: Iterable[Bounds]) -> list[Bounds]:
        """The inclusive limits of the subscripts."""
        pairs = zip(self.tree.bases, sides, strict=True)
        return [Bounds(self._limit(base, side.low), self._limit(base, side.high)) for base, side in pairs]

    # -- copies

    def _fill(self) -> tuple[Statement, ...]:
        """Copy the elements that steps read from before into the scratchpads."""
        points = self._points()
        copies: list[Statement] = []
        for array in self.tree.overlap.arrays:
            if array.carried or array.border:
                source = self.tree.copies[array.object] if array.carried and self.second else array.object
                inside = within(points, self._box(array.touched))
                if not array.carried:
                    inside = (*inside, _outside(points, self._box(array.written)))
                element = self._in_scratchpad(element_at(array.object, points), by_writer=False)
                copies += where(inside, assign(element, element_at(source, points)))
        return self._workers(points, copies)

    def _stores(self) -> Iterable[Statement]:
        """Copy the tile's interior to where later steps or the host read it."""
        points = self._points()
        always: list[Statement] = []
        last: list[Statement] = []
        for array in self.tree.overlap.arrays:
            target = self.tree.copies[array.object] if array.carried and not self.second else array.object
            inside = within(points, self._box(array.written if target == array.object else array.touched))
            computed = self._in_scratchpad(element_at(array.object, points), by_writer=True)
            (always if array.carried else last).extend(where(inside, assign(element_at(target, points), computed)))
        yield from self._workers(points, always, delay=self._store_delay, home=True)
        if last:
            # Only the last step stores elements that no later step reads.
            end = self.tree.stencil.steps.high
            is_last = (at_least(end, term(self.time)), at_least(term(self.time) + term(self.steps) - number(1), end))
            last_points = self._points()
            renamed = with_objects(tuple(last), dict(zip(points, last_points, strict=True)))
            yield from where(is_last, *self._workers(last_points, renamed, delay=self._store_delay, home=True))

    def _in_scratchpad(self, access: Access, *, by_writer: bool) -> Access:
        """The access in its array's scratchpad; a worker reads what it wrote itself (`by_writer`)
        in the register queue, if there is one.
        """
        local, held = in_scratchpad(access, self.scratchpads), self.scratchpads.get(access.object)
        if held is None or held.column is None or not by_writer:
            return local
        return replace(local, object=held.column.object)

    # -- time steps

    def _time_loop(self) -> Statement:
        """The statements, step by step; without barriers the number of steps is a constant."""
        tree, name = self.tree, self.tree.stencil.time.iterator.name
        scalar, last = tree.names.scalar, term(self.steps) - number(1)
        if self.once:
            step, left = scalar(f"{name}_step", INDEX), scalar(f"{name}_left", INDEX)
            row = term(self.time) + term(step)
            body = (declared(left, last - term(step)), *self._step_of_time(row, left, term(step)))
            left_at_all = self._limit(name, tree.stencil.steps.high - term(self.time))
            return tree.loop(step, number(0), last, where((at_least(left_at_all, term(step)),), *body))
        counter, left = scalar(f"{name}_row"), scalar(f"{name}_left", INDEX)
        row, after = term(counter), term(self.time) + last
        body = (declared(left, after - row), *self._step_of_time(row, left, row - term(self.time)))
        return tree.loop(counter, term(self.time), minimum((after, tree.stencil.steps.high)), body)

    def _step_of_time(self, row: Polynomial, left: DataObject, step: Polynomial) -> Iterable[Statement]:
        """The statements of time step `row`, `step` after the first and `left` before the last."""
        return (each for point in self.tree.stencil.points for each in self._statement(point, row, left, step))

    def _statement(self, point: Point, row: Polynomial, left: DataObject, step: Polynomial) -> tuple[Statement, ...]:
        points, tree = self._points(), self.tree
        margins = tree.overlap.margins[point.statement.name]
        conditions: list[tuple[Expression, ...]] = []
        values = {tree.stencil.time.iterator: row}
        for k, place in enumerate(point.places):
            (low, high), (before, behind) = margins[k], tree.overlap.growth[k]
            position, home = term(points[k]), term(self.home[k])
            reached = (
                at_least(position, term(self.first[k]) - number(low) - number(before) * term(left)),
                at_least(term(self.first[k]) + home - number(1) + number(high) + number(behind) * term(left), position),
            )
            if place.iterator is None or place.bounds is None:
                conditions.append((*reached, compared("==", position, self._limit(tree.bases[k], place.shift))))
                continue
            ends = (place.bounds.low, place.bounds.high)
            first, last = (self._limit(tree.bases[k], end + place.shift) for end in ends)
            conditions.append((*reached, at_least(position, first), at_least(last, position)))
            values[place.iterator] = position - place.shift
        instead = {iterator: replace(iterator, scope=Scope.LOCAL, const=True) for iterator in values}
        node = self._placed(with_objects(point.statement.node, instead), _in_own_column(point, instead))
        iterators = (
            Declaration((Declarator(instead[iterator], expression(value, short_or_long(value))),))
            for iterator, value in values.items()
        )
        others = tuple(test for condition in conditions[1:] for test in condition)
        return self._workers(points, (*iterators, node), conditions[0], others, delay=self._delay(point, step))

    def _placed(self, node: Statement, by_writer: Callable[[Access], bool]) -> Statement:
        """The statement on scratchpads; `by_writer` selects reads of the worker's own writes."""

        def shared(access: Access) -> Access:
            return self._in_scratchpad(access, by_writer=False)

        if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment):
            return with_accesses(node, shared)
        target = with_accesses(node.expression.target, shared)
        read = with_accesses(
            node.expression.value, lambda access: self._in_scratchpad(access, by_writer=by_writer(access))
        )
        return replace(node, expression=replace(node.expression, target=target, value=read))


def _in_own_column(point: Point, instead: Mapping[DataObject, DataObject]) -> Callable[[Access], bool]:
    """A predicate: does an access lie in the column that the statement writes?"""
    columns = [
        place.shift if place.iterator is None else term(instead.get(place.iterator, place.iterator)) + place.shift
        for place in point.places[1:]
    ]

    def own(access: Access) -> bool:
        return len(access.subscripts) == len(columns) + 1 and list(map(polynomial, access.subscripts[1:])) == columns

    return own


def _outside(points: list[DataObject], box: list[Bounds]) -> Expression:
    tests = [
        compared("<", left, right)
        for point, side in zip(points, box, strict=True)
        for left, right in ((term(point), side.low), (side.high, term(point)))
    ]
    return disjunction(tests)
