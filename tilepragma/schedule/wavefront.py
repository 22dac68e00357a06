"""Two-level wavefronts of a permutable band: thesis (3.17) to (3.19), Figure 3.17.

    t_k = floor(phi_k / s_k)          tiles, s_k a symbol
    w   = t_1 + ... + t_m             wavefronts of tiles, one after another: a host loop
    t_1, ..., t_(m-1)                 parallel tiles of one wavefront: a launch

If two rows have concurrent start (poly/wavefronts.py), w = t_1 + t_2 of these two is parallel
to time: diamond tiles, as many in each wavefront.

On the host, and for diamonds, w = t_1 + t_2, and the tiles t_3, ..., t_m of a pair run in sequence
inside its instance. This gives fewer wavefronts, and shared data stays in the cache. Both are legal
because every dependence has t(target) >= t(source) in all rows of the band.

Inside a device tile run wavefronts of points, mapped cyclically to the gang's workers:

    for (e_1 ...)                          one wavefront after another; barriers after each
        for each group of statements       a barrier between
            for (parallel rows)            workers
                the points that have them

user_tiles/barrier_placement.py inserts the barriers later. They may run in shared memory, on array
tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from operator import mul

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import LoopDirective, TileClause, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    DataObject,
    Expression,
    Storage,
    access_to,
    conjunction,
    disjunction,
    integer,
)
from tilepragma.ir.loop_tree import Block, ExpressionStatement, If, Loop, Scratchpad, Statement, assign
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, of_atom, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INDEX, LONG, ScalarType
from tilepragma.lower.band_loops import (
    BandLoops,
    EnclosingTile,
    PlannedBand,
    TileConstraint,
    TileConstraints,
    base_name,
    clauses,
    declared,
    floor_quotient,
    mapped_nest,
    term,
    total,
)
from tilepragma.model.bank_conflicts import odd_rows
from tilepragma.plan.kernel_plan import HostLoop
from tilepragma.poly.bands import Band
from tilepragma.poly.extents import Bounds, around
from tilepragma.poly.intra_tile_schedule import row_order
from tilepragma.poly.schedule import StatementSchedule, integral_inverse
from tilepragma.poly.wavefronts import IntraTile, concurrent_tile, intra_tile
from tilepragma.schedule.coalescing import private_names
from tilepragma.schedule.cpu_register_tiles import with_full_tiles
from tilepragma.schedule.default_sizes import device_tile, host_tile, processor_tile
from tilepragma.schedule.point_guards import PointGuards, ShortNumbers
from tilepragma.schedule.scratchpad_copies import at_least, element_at, in_scratchpad, scratchpad, where
from tilepragma.schedule.tree import ArrayTiles, LaunchNode, ScheduleNode

DIAMONDS = "diamond tiles: concurrent start"
HOST_ROWS, DEVICE_ROWS = 2, 4
"""Rows of a band in a wavefront: a device launch has three dimensions for all but one row."""


@dataclass(frozen=True)
class _TiledRow:
    """A tiled row: tile coordinate `tile` in a range, and tile origin `first`."""

    level: int
    size: DataObject
    tile: DataObject
    first: DataObject
    range: Bounds

    @property
    def inside(self) -> TileConstraint:
        """The points of one tile."""
        return TileConstraint(self.level, access_to(self.first), access_to(self.size))

    @property
    def origin(self) -> Statement:
        """`const long first = tile * size;`"""
        return declared(self.first, term(self.tile) * term(self.size))


def wavefront_node(loops: BandLoops, planned: PlannedBand, around: EnclosingTile) -> ScheduleNode:
    """The host loop over wavefronts of the band's tiles, around the launch of a wavefront."""
    part, outside = planned.part, around.rows
    # The row along vectors has the longest tiles, hence the fewest.
    levels = sorted(part.carrying, key=lambda level: not loops.device and level == planned.points.along)
    count = DEVICE_ROWS if loops.device else HOST_ROWS
    summed = planned.pair or tuple(levels[:count])
    inner_levels = tuple(level for level in levels if level not in summed)
    # Columns are tiles of the first row. Narrow ones would cut register tiles; a pair has tiles of
    # one size.
    can_be_even = not loops.device and not planned.pair and not planned.registers
    rows = [_tiled_row(loops, planned, level, outside, int(can_be_even and level == summed[0])) for level in summed]
    wavefront = loops.names.scalar("wavefront")
    tile = (*outside, *(row.inside for row in rows))
    bounded = EnclosingTile(tile, around.known, frozenset(summed[:-1]))
    inner, tiles = inner_tiles(loops, planned, inner_levels, bounded)
    staged = loops.device and not planned.pair and not inner_levels
    staging = array_tiles(loops, planned, tile, tiles) if staged else None
    sizes = {row.level: row.size for row in rows}
    every, mapped = loops.wavefronts(part.statements, sizes, wavefront, outside)
    # t_m = w - t_1 - ... - t_(m-1). Positions beyond the wavefront run empty.
    *others, last = rows
    number_of_last = term(wavefront) - total(term(row.tile) for row in others)
    body = (declared(last.tile, number_of_last), *(row.origin for row in rows), *inner)
    kinds = (TileKind.DYNAMIC, TileKind.GANG if loops.device else TileKind.THREAD)
    nest = mapped_nest((row.tile for row in others), mapped, body, loops.numbers, tiles, *kinds)
    launch = LaunchNode(Block(nest), tiles, pipelined=True, array_tiles=staging)
    loops.means(wavefront, part.statements, sizes)
    return HostLoop(loops.loop(wavefront, every.low, every.high), (launch,), DIAMONDS if planned.pair else "")


def _size_level(planned: PlannedBand, level: int) -> int:
    """The level whose tile size a row has: wavefronts of a pair are parallel to time where its
    tiles have one size.
    """
    return planned.pair[-1] if level in planned.pair else level


def _tiled_row(loops: BandLoops, planned: PlannedBand, level: int, inside: TileConstraints, unit: int = 0) -> _TiledRow:
    """A row's tile names, and the range of tiles with points `inside`; `unit` as in TileSize."""
    part = planned.part
    device = device_tile(planned, level)
    named = _size_level(planned, level)
    base = base_name(part.statements, named)
    processor = () if loops.device else processor_tile(planned, level)
    size = loops.size_of(planned.number, named, base, host_tile(planned, level), device, unit, processor)
    tiles = loops.tile_range(part.statements, level, size, inside)
    number = loops.names.scalar(f"{base}_block")
    loops.means(number, part.statements, {level: size})
    return _TiledRow(level, size, number, loops.names.scalar(f"{base}_first"), tiles)


def inner_tiles(
    loops: BandLoops, planned: PlannedBand, levels: tuple[int, ...], tile: EnclosingTile
) -> tuple[tuple[Statement, ...], dict[int, tuple[TileClause, ...]]]:
    """The sequential tiles of rows at `levels` in the tile around, with points and clauses."""
    if not levels and loops.device:
        return _point_wavefronts(loops, planned, tile)
    if not levels:
        points = loops.points(planned.part, planned.points.order, tile)
        return (points if loops.device else with_full_tiles(loops, planned, tile, points)), {}
    row = _tiled_row(loops, planned, levels[0], tile.rows)
    body, tiles = inner_tiles(loops, planned, levels[1:], replace(tile, rows=(*tile.rows, row.inside)))
    return (loops.loop(row.tile, row.range.low, row.range.high, (row.origin, *body)),), tiles


# -- wavefronts of points in a device tile

_WORKER_DIMENSIONS = 3

Tiles = dict[int, tuple[TileClause, ...]]


def _point_wavefronts(
    loops: BandLoops, planned: PlannedBand, inside: EnclosingTile
) -> tuple[tuple[Statement, ...], Tiles]:
    """The loops over a tile's points, and the clauses of those mapped to workers. Workers count
    from 0 to the extent of a tile, or of the row if that is less, so that the launch knows the loop
    bounds. Conditions skip positions without a point. Empty tiles are skipped whole: otherwise all
    workers would run their fronts. Raises UnboundedRowError, OperationLimitError.
    """
    part, schedule = planned.part, _fronts_of(loops, planned)
    whole = tuple(replace(each, level=_shifted(part, each.level)) for each in inside.rows)
    bounded = frozenset(_shifted(part, level) for level in inside.bounded)
    condition, known = loops.has_points(schedule.part.statements, EnclosingTile(whole, inside.known, bounded))
    tile = {each.level: each for each in whole}
    # Fronts are counted from the tile's first corner: small numbers.
    front = loops.names.scalar("front", INDEX if schedule.summed else LONG)
    base = total(polynomial(tile[level].origin) for level in schedule.summed)
    fronts = _fronts(loops, schedule, tile)
    step = TileConstraint(schedule.level, expression(base + term(front)))
    numbers = ShortNumbers(loops.names)
    rows = schedule.summed or (schedule.level,)
    known &= loops.known_sum(schedule.part.statements, rows, _outside(schedule, tile), step.parameter)
    if schedule.summed:
        known &= loops.known_in_tiles(tuple(tile[level] for level in schedule.summed), step.parameter)
    if len(schedule.summed) == 1:
        del tile[schedule.summed[0]]
    tile[schedule.level] = step
    tiles: Tiles = {}
    groups: list[Statement] = []
    for names in schedule.groups:
        groups += _group(loops, schedule, names, tile, known, tiles, PointGuards(numbers, front))
    if schedule.summed:
        fronts = Bounds(numbers.short("front_start", fronts.low), numbers.short("front_end", fronts.high))
    body: tuple[Statement, ...] = (*numbers.declarations, loops.loop(front, fronts.low, fronts.high, groups))
    return body if condition is None else (If(condition, Block(body), None),), tiles


def _fronts_of(loops: BandLoops, planned: PlannedBand) -> IntraTile:
    """The wavefronts of points in a tile of the band; along time under concurrent start."""
    dependences, private = loops.dependences, private_names(loops.scop)
    if planned.concurrent is None:
        return intra_tile(planned.part, dependences, private)
    schedule = concurrent_tile(planned.concurrent, dependences, private)
    if schedule is None:
        raise ValueError("points of one time step wait for each other")
    return schedule


def _shifted(part: Band, level: int) -> int:
    """The level of a row of the band after inserting the row of fronts."""
    return level + (level >= part.outer)


def _outside(schedule: IntraTile, tile: dict[int, TileConstraint]) -> TileConstraints:
    return tuple(each for level, each in tile.items() if level < schedule.level)


def _fronts(loops: BandLoops, schedule: IntraTile, tile: dict[int, TileConstraint]) -> Bounds:
    """The wavefronts of a tile, from its first corner on, in the ranges of its rows; all values of
    the row where tiles have no such row.
    """
    outside, statements = _outside(schedule, tile), schedule.part.statements
    if not schedule.summed:
        every, inside = (loops.row_range(statements, schedule.level, rows) for rows in (outside, (*tile.values(),)))
        return Bounds(maximum((every.low, inside.low)), minimum((every.high, inside.high)))
    first, last = number(0), number(0)
    for level in schedule.summed:
        whole, origin, size = loops.row_range(statements, level, outside), tile[level].origin, tile[level].size
        assert size is not None, "rows of a tile have sizes"
        first = first + maximum((number(0), whole.low - polynomial(origin)))
        last = last + minimum((polynomial(size) - number(1), whole.high - polynomial(origin)))
    return Bounds(first, last)


def _group(
    loops: BandLoops,
    schedule: IntraTile,
    names: tuple[str, ...],
    tile: dict[int, TileConstraint],
    known: isl.Set,
    tiles: Tiles,
    guards: PointGuards,
) -> tuple[Statement, ...]:
    """The loops of one statement group of a wavefront over its parallel rows; adds to `tiles`."""
    group = schedule.of_group(names)
    steps, spans, fixed = [], [], []
    for level in schedule.parallel[-_WORKER_DIMENSIONS:]:
        whole = loops.row_range(schedule.part.statements, level, _outside(schedule, tile))
        base = base_name(group.statements, level)
        sized = level in tile and tile[level].size is not None
        step = loops.names.scalar(f"{base}_step", INDEX if sized else LONG)
        last, start = whole.high - whole.low, whole.low
        if level in tile and (size := tile[level].size) is not None:
            start = polynomial(tile[level].origin)
            least = floor_quotient(whole.low, size) * polynomial(size)
            last = minimum((whole.high - least, polynomial(size) - number(1)))
        fixed.append(TileConstraint(level, expression(start + term(step))))
        if sized:
            known &= loops.known_in_tiles((tile[level],), fixed[-1].parameter)
        else:
            outside = _outside(schedule, tile)
            known &= loops.known_sum(schedule.part.statements, (level,), outside, fixed[-1].parameter)
        steps.append(step)
        spans.append(Bounds(number(0), last))
    points = loops.points(group, row_order(group), EnclosingTile((*tile.values(), *fixed), known))
    guarded = guards.guarded(points, steps)
    return mapped_nest(steps, spans, guarded, loops.numbers, tiles, TileKind.DYNAMIC, TileKind.WORKER)


# -- array tiles in shared memory: a gang copies what a tile touches row by row, runs the tile's
# wavefronts of points on the copy, and stores what the tile wrote
#
#     if (the tile has points) {
#         u_box = the elements that the tile touches    neighbouring workers, neighbouring elements
#         for (front ...)                               wavefronts of points, on u_box
#             ... u_box[i - i_origin][j - j_origin] ...
#         u = what the tile has written of u_box
#     }
#
# All accesses to the array name the iterators of its dimensions, and miss at most one loop (time).
# Let the rows be phi_k = C_k x + c_k t + v_k for an access to element x, where only v_k differs
# between accesses. A tile has first_k <= phi_k < first_k + size_k. Some of a set of accesses touch
# x if for some t
#
#     first_k - max v_k <= C_k x + c_k t <= first_k + size_k - 1 - min v_k   for all k
#
# This is too much if v_k differ in both directions: an element of the box may then be written by
# another tile of the wavefront. So only accesses on one side of the write (all v_k at least, or at
# most, those of the write) are joined. Shared memory holds the smallest box around x = C^-1 (phi -
# v). The verifier proves the result independently (verify/overlapped_tiles.py).

#: ptxas doubles a worker's registers for unrolled copies, which halves the number of gangs.
_ROLLED = LoopDirective(NOWHERE, unroll=1)

_MOST_ACCESSES = 16
"""The most accesses to one array: proving a cube of 27 points takes ten seconds, fewer two or
three.
"""


def array_tiles(
    loops: BandLoops, planned: PlannedBand, tile: TileConstraints, inner: Mapping[int, tuple[TileClause, ...]]
) -> ArrayTiles | None:
    """The array tiles of a band's tile in shared memory; None if accesses or rows have another
    form. `tile` restricts the band's rows, `inner` are the clauses of the loops over its points.
    """
    shapes, written = _shapes(planned, tile), loops.scop.written
    arrays = None if shapes is None else _arrays(shapes, written)
    dimensions = [clause.dimension for each in inner.values() for clause in each if clause.kind is TileKind.WORKER]
    if shapes is None or not arrays or not dimensions or any(len(array.names) <= max(dimensions) for array in arrays):
        return None
    sizes = tuple(each.size.object for each in tile if isinstance(each.size, Access))
    apart = _to_neighbours(loops, planned)
    steps = tuple(apart.get(level, 0) for level in shapes[0].levels)
    return _Maker(loops, 1 + max(dimensions), ShortNumbers(loops.names, sizes), steps).array_tiles(arrays)


def _to_neighbours(loops: BandLoops, planned: PlannedBand) -> dict[int, int]:
    """How the band's rows change from a worker's point to its neighbour's in the same wavefront, by
    level: the last parallel row counts workers, and the row that e_1 determines makes up for it.
    """
    schedule = _fronts_of(loops, planned)
    along = schedule.parallel[-1]
    determined = [level for level in schedule.summed if level not in schedule.parallel]
    steps = {along: 1} | (dict.fromkeys(determined, -1) if along in schedule.summed else {})
    return {level - 1: step for level, step in steps.items()}


@dataclass(frozen=True)
class _Shape:
    """A statement of the band: node, loops, iterator ranges, and rows, at `levels`, as sums of
    iterators.
    """

    node: ExpressionStatement
    loops: tuple[Loop, ...]
    values: tuple[Bounds, ...]
    levels: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    constants: tuple[int, ...]
    tile: tuple[Bounds, ...]


@dataclass(frozen=True)
class _Touch:
    """An access to element x: the band's rows are `rows` x + `time` t + `offsets`. `ends` are the
    ranges of each subscript over all loops, `times` that of t; None if all iterators occur in the
    subscripts. `names` are those of the subscripts' iterators.
    """

    rows: tuple[tuple[int, ...], ...]
    time: tuple[int, ...]
    offsets: tuple[int, ...]
    ends: tuple[Bounds, ...]
    times: Bounds | None
    names: tuple[str, ...]
    writes: bool


@dataclass(frozen=True)
class _Array:
    """A staged array: subscript names, accesses, the tile's rows, their inverse over (x, t)."""

    object: DataObject
    names: tuple[str, ...]
    touches: tuple[_Touch, ...]
    tile: tuple[Bounds, ...]
    inverse: tuple[tuple[int, ...], ...]

    def origin(self, dimension: int) -> Polynomial:
        """The least subscript that a tile touches; the last dimension is the least t."""
        parts = (
            number(weight) * (bounds.low if weight > 0 else bounds.high)
            for weight, bounds in zip(self.inverse[dimension], self.tile, strict=True)
        )
        return sum(parts, number(min(self._offsets(dimension))))

    def length(self, dimension: int) -> Polynomial:
        """The number of subscripts that a full tile spans."""
        offsets = self._offsets(dimension)
        parts = (
            number(abs(weight)) * (bounds.high - bounds.low)
            for weight, bounds in zip(self.inverse[dimension], self.tile, strict=True)
        )
        return sum(parts, number(max(offsets) - min(offsets) + 1))

    def _offsets(self, dimension: int) -> list[int]:
        weights = self.inverse[dimension]
        return [-sum(w * v for w, v in zip(weights, touch.offsets, strict=True)) for touch in self.touches]

    @property
    def is_written(self) -> bool:
        """Whether an access of the band writes it."""
        return any(touch.writes for touch in self.touches)

    @property
    def is_used_again(self) -> bool:
        """Whether a tile reuses elements: in several time steps, or by several accesses."""
        return self.touches[0].times is not None or len({touch.offsets for touch in self.touches}) > 1


def _shapes(planned: PlannedBand, tile: TileConstraints) -> tuple[_Shape, ...] | None:
    """The band's statements, if the tile restricts all their rows; None if one has another form."""
    spans = {}
    for constraint in tile:
        first = polynomial(constraint.origin)
        length = number(1) if constraint.size is None else polynomial(constraint.size)
        spans[constraint.level] = Bounds(first, first + length - number(1))
    shapes = [_shape(each, spans) for each in planned.part.statements]
    return None if None in shapes else tuple(shape for shape in shapes if shape is not None)


def _shape(each: StatementSchedule, tile: Mapping[int, Bounds]) -> _Shape | None:
    statement = each.statement
    node, values = statement.node, [_values(loop) for loop in statement.loops]
    calls = (node for node in walk(node) if isinstance(node, Call) and node.callee is Callee.USER)
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or any(calls):
        return None
    iterators = {access_to(loop.iterator) for loop in statement.loops}
    known = tuple(value for value in values if value is not None)
    if (
        len(statement.parts) > 1
        or len(known) < len(values)
        or any((value.low.atoms | value.high.atoms) & iterators for value in known)
    ):
        return None
    levels = tuple(level for level, row in enumerate(each.rows) if not row.scalar)
    if len(levels) != len(statement.loops) or any(level not in tile for level in levels):
        return None
    rows = [each.user_rows[level] for level in levels]
    coefficients, constants = tuple(row.coefficients for row in rows), tuple(row.constant for row in rows)
    return _Shape(node, statement.loops, known, levels, coefficients, constants, tuple(tile[level] for level in levels))


def _values(loop: Loop) -> Bounds | None:
    """The range of an iterator that steps by one between bounds without other iterators."""
    step = polynomial(loop.step).constant
    if step is None or abs(step) != 1:
        return None
    lower, upper = polynomial(loop.lower), polynomial(loop.upper)
    closed = {"<": -1, ">": 1, "<=": 0, ">=": 0}.get(loop.comparison)
    if closed is None:
        return None
    last = upper + number(closed)
    return Bounds(last, lower) if loop.decreasing else Bounds(lower, last)


def _arrays(shapes: Sequence[_Shape], written: frozenset[DataObject]) -> tuple[_Array, ...]:
    """The arrays to stage: written or reused ones; none if a written array has another form."""
    nodes = [node for shape in shapes for node in walk(shape.node) if isinstance(node, Access) and node.object.rank]
    arrays = []
    for object_ in dict.fromkeys(node.object for node in nodes):
        array = _array(object_, shapes)
        if array is None and object_ in written:
            return ()
        if array is not None and (object_ in written or array.is_used_again):
            arrays.append(array)
    return tuple(arrays) if any(array.is_written for array in arrays) else ()


def _array(object_: DataObject, shapes: Sequence[_Shape]) -> _Array | None:
    if object_.storage is not Storage.CONTIGUOUS or not isinstance(object_.element, ScalarType) or object_.volatile:
        return None
    touches: list[_Touch] = []
    for shape in shapes:
        assert isinstance(shape.node.expression, Assignment)
        target = shape.node.expression.target
        for node in walk(shape.node):
            if isinstance(node, Access) and node.object == object_:
                touch = _touch(node, shape, writes=node is target)
                if touch is None:
                    return None
                touches.append(touch)
    first = touches[0]
    if len(touches) > _MOST_ACCESSES or any((touch.rows, touch.time) != (first.rows, first.time) for touch in touches):
        return None
    square = tuple(
        (*row, factor) if first.times is not None else row for row, factor in zip(first.rows, first.time, strict=True)
    )
    inverse = integral_inverse(square) if len(square) == len(square[0]) else None
    if inverse is None or any(shape.tile != shapes[0].tile for shape in shapes):
        return None
    return _Array(object_, first.names, tuple(touches), shapes[0].tile, inverse)


def _place(subscript: Expression, shape: _Shape) -> tuple[int, int] | None:
    """The loop whose iterator a subscript equals up to a constant, and that constant."""
    value = polynomial(subscript)
    for place, loop in enumerate(shape.loops):
        offset = (value - term(loop.iterator)).constant
        if offset is not None:
            return place, offset
    return None


def _touch(access: Access, shape: _Shape, *, writes: bool) -> _Touch | None:
    """An access by distinct iterators plus constants, at most one loop missing; else None."""
    places = [place for place in (_place(each, shape) for each in access.subscripts) if place is not None]
    named = [place for place, _ in places]
    left = [place for place in range(len(shape.loops)) if place not in named]
    if access.path or len(places) != access.object.rank or len(set(named)) != len(named) or len(left) > 1:
        return None
    rows = tuple(tuple(row[place] for place in named) for row in shape.rows)
    offsets = tuple(
        constant - sum(row[place] * offset for place, offset in places)
        for row, constant in zip(shape.rows, shape.constants, strict=True)
    )
    values = ((shape.values[place], number(offset)) for place, offset in places)
    ends = tuple(Bounds(value.low + offset, value.high + offset) for value, offset in values)
    times = shape.values[left[0]] if left else None
    names = tuple(shape.loops[place].iterator.name for place in named)
    return _Touch(rows, tuple(row[left[0]] if left else 0 for row in shape.rows), offsets, ends, times, names, writes)


@dataclass(frozen=True)
class _Limit:
    """factor t >= value, or factor t <= value; `whole_tile`: the value holds for the tile. `spare`:
    by how much a row's greatest value is above its least, at the least.
    """

    value: Polynomial
    factor: int
    whole_tile: bool
    spare: int = 0


@dataclass
class _Maker:
    """Builds the copy loops of a band's array tiles, mapped to `axes` axes of workers. `apart`: how
    a tile's rows change from a worker's point to its neighbour's.
    """

    loops: BandLoops
    axes: int
    numbers: ShortNumbers
    apart: tuple[int, ...]
    scratchpads: dict[DataObject, Scratchpad] = field(default_factory=dict)
    clauses: dict[int, tuple[TileClause, ...]] = field(default_factory=dict)

    def array_tiles(self, arrays: Sequence[_Array]) -> ArrayTiles:
        self.scratchpads |= {array.object: self._scratchpad(array) for array in arrays}
        fills = tuple(map(self._fill, arrays))
        stores = tuple(self._store(array) for array in arrays if array.is_written)
        return ArrayTiles(self.scratchpads, tuple(self.numbers.declarations), fills, stores, dict(self.clauses))

    def _scratchpad(self, array: _Array) -> Scratchpad:
        origin = tuple(self.loops.names.scalar(f"{name}_origin", INDEX) for name in array.names)
        for place, first in enumerate(origin):
            self.numbers.declarations.append(declared(first, array.origin(place)))
        name = self.loops.names.scalar(f"{array.object.name}_box").name
        return scratchpad(name, array.object, self._lengths(array), origin)

    def _lengths(self, array: _Array) -> tuple[Expression, ...]:
        """The box's lengths; rows are padded for workers, whose neighbours are in other rows."""
        *outer, row = (array.length(place) for place in range(len(array.names)))
        *across, within = (sum(map(mul, weights, self.apart)) for weights in array.inverse[: len(array.names)])
        rows = number(0)
        for step, length in zip(across, outer, strict=True):
            rows = rows * length + number(step)
        # An even number of rows needs no padding: where it is not known, it counts as odd.
        odd = odd_rows(within, 1 if rows.constant is None else rows.constant)
        padding = () if odd is None else (Binary("%", expression(row + number(int(odd))), integer(2, LONG), LONG),)
        return (*map(expression, outer), expression(sum(map(of_atom, padding), row)))

    def _fill(self, array: _Array) -> Statement:
        """Fill the box with the elements that the tile touches."""
        steps = self._steps(array)
        sides = (around(ends) for ends in zip(*(touch.ends for touch in array.touches), strict=True))
        reached = (tuple(self._reached(array, steps, touches)) for touches in _sides(array))
        return self._copy(array, steps, self._within(array, steps, sides), reached, fills=True)

    def _store(self, array: _Array) -> Statement:
        """Store the elements that the tile has written."""
        steps = self._steps(array)
        written = (
            (*self._within(array, steps, touch.ends), *self._reached(array, steps, [touch]))
            for touch in array.touches
            if touch.writes
        )
        return self._copy(array, steps, (), written, fills=False)

    def _copy(
        self,
        array: _Array,
        steps: list[DataObject],
        inside: Iterable[Expression],
        reached: Iterable[tuple[Expression, ...]],
        *,
        fills: bool,
    ) -> Statement:
        """Copy the elements of the box for which all tests `inside` hold, and all of one set of
        `reached`.
        """
        guards = PointGuards(self.numbers, steps[-1])
        points = self._points(array)
        element = element_at(array.object, points)
        held = in_scratchpad(element, self.scratchpads)
        origins = [origin for origin in self.scratchpads[array.object].origin if origin is not None]
        dimensions = zip(points, origins, steps, strict=True)
        placed = (declared(point, term(origin) + term(step)) for point, origin, step in dimensions)
        copy: tuple[Statement, ...] = (*placed, assign(held, element) if fills else assign(element, held))
        sets = tuple(dict.fromkeys(reached))
        if len(sets) == 1:
            inside = (*inside, *sets[0])
        elif all(sets):  # accesses without conditions reach the whole box
            tests = (chain(*guards.tests(each, steps[:-1])) for each in sets)
            copy = where((disjunction(map(conjunction, tests)),), *copy)
        before, after = guards.tests(inside, steps[:-1])
        return self._over(array, steps, where(before, *where(after, *copy)))

    def _steps(self, array: _Array) -> list[DataObject]:
        return [self.loops.names.scalar(f"{name}_step", INDEX) for name in array.names]

    def _within(self, array: _Array, steps: list[DataObject], box: Iterable[Bounds]) -> Iterator[Expression]:
        """Tests that the element `steps` into the box lies in another one."""
        for place, (step, side) in enumerate(zip(steps, box, strict=True)):
            origin = self.scratchpads[array.object].origin[place]
            assert origin is not None, "array tiles begin somewhere"
            name = array.names[place]
            first, last = self.numbers.short(f"{name}_least", side.low), self.numbers.short(f"{name}_most", side.high)
            yield at_least(term(origin) + term(step), first)
            yield at_least(last, term(origin) + term(step))

    def _points(self, array: _Array) -> list[DataObject]:
        return [self.loops.names.scalar(f"{name}_point", INDEX) for name in array.names]

    def _reached(self, array: _Array, steps: list[DataObject], touches: Sequence[_Touch]) -> Iterator[Expression]:
        """Tests that for some t one of `touches` reaches the element `steps` into the box.

        Per row, the test spans the first to the last access. It counts from the origins of the box
        and of the tile's times, so that it compares small numbers and tile sizes.
        """
        first = touches[0]
        lowers: list[_Limit] = []
        uppers: list[_Limit] = []
        start = number(0)
        if first.times is not None:
            start = array.origin(len(steps))
            lowers.append(_Limit(first.times.low - start, 1, True))
            uppers.append(_Limit(first.times.high - start, 1, True))
        for row, bounds in enumerate(array.tile):
            offsets = [touch.offsets[row] for touch in touches]
            position = number(first.time[row]) * start
            for place, (factor, step) in enumerate(zip(first.rows[row], steps, strict=True)):
                position = position + number(factor) * (array.origin(place) + term(step))
            low, high = bounds.low - number(max(offsets)) - position, bounds.high - number(min(offsets)) - position
            factor, whole, spare = first.time[row], not any(first.rows[row]), max(offsets) - min(offsets)
            if factor == 0:
                yield from (at_least(number(0), low), at_least(high, number(0)))
                continue
            if factor < 0:
                low, high = -high, -low
            lowers.append(_Limit(low, abs(factor), whole, spare))
            uppers.append(_Limit(high, abs(factor), whole, spare))
        lowers, uppers = (self._tightest(lowers, maximum, "sweep_first"), self._tightest(uppers, minimum, "sweep_last"))
        for place, lower in enumerate(lowers):
            for upper_place, upper in enumerate(uppers):
                # As many numbers as the factor, one after the other, have a multiple of it.
                if place != upper_place or lower.factor > lower.spare + 1 or lower.whole_tile:
                    yield _meet(lower, upper)

    def _tightest(
        self, limits: list[_Limit], extreme: Callable[[Iterable[Polynomial]], Polynomial], name: str
    ) -> list[_Limit]:
        """Replace limits that are the same for the whole tile by the tightest, declared once."""
        whole = [limit for limit in limits if limit.whole_tile and limit.factor == 1]
        if len(whole) < 2:
            return limits
        value = extreme(limit.value for limit in whole)
        tightest = _Limit(self.numbers.short(name, value), 1, True)
        return [tightest, *(limit for limit in limits if limit not in whole)]

    def _over(self, array: _Array, steps: list[DataObject], inner: tuple[Statement, ...]) -> Statement:
        """Loops over the box, the last mapped to workers, neighbours along its rows."""
        kept = len(steps) - self.axes
        # Unmapped loops stand inside, without barriers between their iterations.
        for place in (*reversed(range(kept)), *reversed(range(kept, len(steps)))):
            loop = self.loops.loop(steps[place], number(0), array.length(place) - number(1), inner)
            loop = replace(loop, directive=_ROLLED)
            if place >= kept:
                dimension = len(steps) - 1 - place
                self.clauses[loop.index] = clauses(TileKind.DYNAMIC, TileKind.WORKER, dimension=dimension)
            inner = (loop,)
        return inner[0]


def _sides(array: _Array) -> Iterable[list[_Touch]]:
    """Accesses by their side of the write; an unwritten array's box may have unused elements."""
    base = next((touch.offsets for touch in array.touches if touch.writes), None)
    sides: dict[tuple[object, tuple[int, ...]], list[_Touch]] = {}
    for touch in array.touches:
        offsets = () if base is None else tuple(v - w for v, w in zip(touch.offsets, base, strict=True))
        signs = [sign for sign in (1, -1) if all(sign * value >= 0 for value in offsets)]
        for side in [(sign,) for sign in signs] if base is not None and signs else [offsets]:
            sides.setdefault((touch.times, side), []).append(touch)
    return sides.values()


def _meet(lower: _Limit, upper: _Limit) -> Expression:
    """Whether an integer t has lower.factor t >= lower.value and upper.factor t <= upper.value."""
    if lower.factor == 1:
        return at_least(upper.value, number(upper.factor) * lower.value)
    if upper.factor == 1:
        return at_least(number(lower.factor) * upper.value, lower.value)
    least = floor_quotient(lower.value + number(lower.factor - 1), integer(lower.factor, LONG))
    meets = at_least(floor_quotient(upper.value, integer(upper.factor, LONG)), least)
    if lower.factor != upper.factor:
        return meets
    return disjunction((at_least(upper.value - lower.value, number(lower.factor - 1)), meets))
