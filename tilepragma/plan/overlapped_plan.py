"""Overlapped tiles of time steps for devices: each gang computes several steps of a box by itself, what it needs of its neighbours too.

    for (pair)                                   the host: two launches, one reads the arrays and writes copies, the other reads those
        for each tile, over gangs
            windows = a box of the arrays, home and what it reaches
            for (t of `degree` steps)            barriers between statements; boxes get smaller
                statements, in the windows
            home of the tile = the windows

What a launch reads and what it writes are different arrays, so that tiles do not wait for each other. A second launch that has no step left
only copies. That all this is right is proven by polyhedral/plan_proof_windows.py, whatever was meant here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import isqrt
from typing import TYPE_CHECKING

from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    conjunction,
    disjunction,
    integer,
)
from tilepragma.ir.looptree import (
    Barrier,
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Loop,
    Statement,
    Window,
)
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, polynomial
from tilepragma.ir.substitution import with_accesses, with_objects
from tilepragma.ir.traversal import loops_in
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.plan.drafts import DraftCondition, DraftLaunch, DraftLoop, make_automatic
from tilepragma.plan.invariance import host_evaluable
from tilepragma.plan.kernel_plan import TileSize
from tilepragma.plan.mapping import MOST_DIMENSIONS
from tilepragma.plan.row_loops import Names, clauses, counted_loop, declared, floor_quotient, names_in, term
from tilepragma.plan.staging import LOCAL_BYTES
from tilepragma.plan.staging_references import Span, loop_ends
from tilepragma.plan.strategy import Automatic, Depths, Refusal, Region

if TYPE_CHECKING:
    from tilepragma.polyhedral.overlap import GridArray, Overlap
    from tilepragma.polyhedral.scop import ScopStatement

DEGREE = 4
"""Time steps of a launch where nobody says another number."""

_FEWEST_ALONG = 2
"""A window is so many times as long in the last dimension as in the others, where there are two: rows are read by neighbouring workers."""


def overlapped(region: Region, taken: Iterable[str]) -> tuple[Automatic | Refusal, ...]:
    """Device steps in overlapped tiles (the host steps are the same and not for use), or why there are none; no name is one of `taken`.

    The second way, if there is one, asks first whether there is anything to do: arrays may be too short for their borders.
    """
    found = _found(region)
    if isinstance(found, Refusal):
        return (found,)
    stencil, tiles = found
    names = {*names_in(region.kernel), *taken}
    plain = _answer(region, stencil, tiles, Names(set(names)), asking=False)
    return (
        (plain,) if isinstance(plain, Refusal) else (plain, _answer(region, stencil, tiles, Names(names), asking=True))
    )


def _found(region: Region) -> tuple[_Stencil, Overlap] | Refusal:
    """The region as a stencil, and how far its tiles reach."""
    from tilepragma.polyhedral.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

    try:
        stencil = _stencil(region)
        if isinstance(stencil, str):
            return Refusal(stencil)
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for overlapped tiles"):
            from tilepragma.polyhedral.overlap import overlap

            found = overlap(region.scop, region.dependences, stencil.rank)
    except OperationLimitError as limit:
        return Refusal(str(limit))
    if isinstance(found, str):
        return Refusal(found)
    return stencil, found


# -- what a stencil is ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """One subscript of what a statement writes: `iterator + shift`, or `shift` alone; the iterator's values are within `bounds`."""

    iterator: DataObject | None
    shift: Polynomial
    bounds: Span | None


@dataclass(frozen=True)
class _Point:
    """A statement with the subscripts of what it writes."""

    statement: ScopStatement
    places: tuple[_Place, ...]


@dataclass(frozen=True)
class _Stencil:
    time: Loop
    steps: Span
    rank: int
    points: tuple[_Point, ...]


def _stencil(region: Region) -> _Stencil | str:
    """The region as a loop over time steps around loops that write grids; a clause that says why it is none."""
    scop = region.scop
    heads = {id(one.loops[0]): one.loops[0] for one in scop.statements if one.loops}
    if len(region.statements) != 1 or len(heads) != 1 or not isinstance(region.statements[0], Loop):
        return "there is no one loop over time steps"
    (time,) = heads.values()
    on_host = host_evaluable(region.written)
    steps = loop_ends(time, {})
    if time is not region.statements[0] or steps is None or not all(on_host(one) for one in _spelled(steps)):
        return "the loop over time steps does not count up by 1 between bounds that are known at launch"
    ranks = {one.rank for one in region.written if one.rank}
    if len(ranks) != 1 or not 1 <= (rank := next(iter(ranks))) <= MOST_DIMENSIONS:
        return "the arrays that are written have not one to three dimensions, all the same number"
    if scop.reasons or any(
        one.rank == 0 and one.scope is not Scope.LOCAL and one not in _iterators(region) for one in region.written
    ):
        return "a scalar is written, or something is not affine"
    points = []
    for statement in scop.statements:
        point = _point(statement, time, rank)
        if point is None:
            return f"the statement on line {statement.range.start.line} does not write an element whose subscripts are its loops' iterators"
        if not all(on_host(end) for place in point.places for end in _spelled(place.bounds)):
            return "a loop's bounds are not known at launch"
        points.append(point)
    return _Stencil(time, steps, rank, tuple(points))


def _spelled(ends: Span | None) -> tuple[Expression, ...]:
    return () if ends is None else (expression(ends.least), expression(ends.greatest))


def _iterators(region: Region) -> set[DataObject]:
    return {loop.iterator for statement in region.statements for loop in loops_in(statement)}


def _point(statement: ScopStatement, time: Loop, rank: int) -> _Point | None:
    node = statement.node
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or statement.parts:
        return None
    target = node.expression.target
    if not isinstance(target, Access) or target.object.rank != rank or len(target.subscripts) != rank or target.path:
        return None
    if sum(one.writes for one in statement.references) != 1:
        return None
    inner = {loop.iterator: loop for loop in statement.loops if loop is not time}
    if len(inner) != len(statement.loops) - 1:
        return None
    places = [_place(polynomial(one), inner) for one in target.subscripts]
    found = [one for one in places if one is not None]
    if len(found) != rank or {one.iterator for one in found} - {None} != inner.keys():
        return None
    if len([one for one in found if one.iterator is not None]) != len(inner):
        return None
    return _Point(statement, tuple(found))


def _place(subscript: Polynomial, inner: dict[DataObject, Loop]) -> _Place | None:
    mentioned = [one for one in inner if access_to(one) in subscript.atoms]
    if not mentioned:
        return _Place(None, subscript, None) if subscript.constant is not None else None
    iterator = mentioned[0]
    shift, bounds = subscript - term(iterator), loop_ends(inner[iterator], {})
    if shift.constant is None or bounds is None:
        return None
    return _Place(iterator, shift, bounds)


# -- drafts -----------------------------------------------------------------------------------------------------------


def _answer(region: Region, stencil: _Stencil, found: Overlap, names: Names, *, asking: bool) -> Automatic | Refusal:
    if not any(one.carried for one in found.arrays):
        return Refusal("no time step reads what the one before it left")
    if any(side.negative for one in found.arrays for side in one.touched):
        return Refusal("an array begins below 0")
    if any(not isinstance(one.object.element, ScalarType) for one in found.arrays):
        return Refusal("an array is not of numbers")
    lengths = _lengths(found, stencil.rank)
    drafts = None if lengths is None else _Drafts(region, stencil, found, names, lengths)
    if lengths is None or drafts is None or drafts.most_steps < 1:
        return Refusal(f"what one time step of a tile needs is more than {LOCAL_BYTES} bytes of a gang's memory")
    draft = drafts.pairs(asking=asking)
    depth = max(len(one.statement.loops) for one in stencil.points)
    made = make_automatic("overlapped tiles", region, (draft,), (draft,), drafts.sizes, depths=Depths(depth, 0, depth))
    if isinstance(made, Refusal):
        return made
    pairs = " and ".join(f"'{one.host}' and '{copy.host}'" for one, copy in drafts.copies.items())
    note = (
        f"overlapped tiles: gangs of devices compute up to {drafts.most_steps} time steps ({drafts.degree.name} says how many) in memory of their "
        f"own, what they need of other tiles again; values go to and fro between {pairs}"
    )
    return replace(made, storage=tuple(drafts.copies.values()), kept=(note,))


def _lengths(found: Overlap, rank: int) -> tuple[int, ...] | None:
    """The lengths of windows that fit a gang's memory, the last one longest."""
    bytes_of_all = sum(
        one.object.element.bits // 8 for one in found.arrays if isinstance(one.object.element, ScalarType)
    )
    room = LOCAL_BYTES // bytes_of_all
    if rank == 1:
        return (room,)
    if rank == 2:
        rows = isqrt(room // _FEWEST_ALONG)
        return (rows, room // rows)
    side = max(one for one in range(1, room) if one**3 <= room)
    return (side, side, room // side**2)


@dataclass
class _Drafts:
    """Makes the launches; `lengths` are those of the windows."""

    region: Region
    stencil: _Stencil
    found: Overlap
    names: Names
    lengths: tuple[int, ...]
    next_index: int = 0
    tiles: dict[int, tuple[TileClause, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.next_index = self.region.first_index
        deepest = max(self.stencil.points, key=lambda one: len(one.statement.loops))
        self.bases = [f"x{k}" if one.iterator is None else one.iterator.name for k, one in enumerate(deepest.places)]
        self.degree = self.names.scalar(f"{self.stencil.time.iterator.name}_degree")
        self.extents = [self.names.scalar(f"{base}_window") for base in self.bases]
        self.copies = {one.object: self._copy(one) for one in self.found.arrays if one.carried}

    @property
    def sizes(self) -> tuple[TileSize, ...]:
        degree = TileSize(self.degree, *(max(1, min(DEGREE, self.most_steps)),) * 2)
        return (degree, *(TileSize(one, size, size) for one, size in zip(self.extents, self.lengths, strict=True)))

    @property
    def most_steps(self) -> int:
        """The most time steps of which one element at least has all it needs in a window."""
        room = [
            (length - 1 - low - high) // (more + most) + 1 if more + most else DEGREE if length > low + high else 0
            for length, (low, high), (more, most) in zip(self.lengths, self.found.reach, self.found.growth, strict=True)
        ]
        return (
            min(room)
            if all(length > sum(one) for length, one in zip(self.lengths, self.found.reach, strict=True))
            else 0
        )

    def _copy(self, array: GridArray) -> DataObject:
        """Storage for what the array holds between the two launches."""
        name = self.names.scalar(f"{array.object.name}_next").name
        lengths = tuple(expression(maximum((side.greatest + number(1), number(1)))) for side in array.touched)
        element = array.object.element
        return DataObject(name, name, element, Storage.CONTIGUOUS, Scope.TEMPORARY, lengths, range=array.object.range)

    # -- numbers of tiles: expressions over the sizes ------------------------------------------------------------------

    @property
    def steps(self) -> Polynomial:
        """The time steps of one launch."""
        return minimum((term(self.degree), number(self.most_steps)))

    def halo(self, place: int) -> Polynomial:
        """What a window is longer than a tile's home."""
        (low, high), (more, most) = self.found.reach[place], self.found.growth[place]
        return number(more + most) * (self.steps - number(1)) + number(low + high)

    def home(self, place: int) -> Polynomial:
        """The length of a tile's home."""
        extent = minimum((term(self.extents[place]), number(self.lengths[place])))
        return maximum((extent - self.halo(place), number(1)))

    def grid(self, place: int) -> tuple[Polynomial, Polynomial]:
        """The first and the last index of all arrays."""
        sides = [one.touched[place] for one in self.found.arrays]
        return minimum(one.least for one in sides), maximum(one.greatest for one in sides)

    # -- the host's loop -----------------------------------------------------------------------------------------------

    def pairs(self, *, asking: bool) -> DraftLoop | DraftCondition:
        """Two launches for each round; with `asking`, where something is written."""
        pair = self.names.scalar("pair")
        steps = self.stencil.steps
        rounds = floor_quotient(steps.greatest - steps.least, expression(number(2) * self.steps))
        launches = tuple(_Launch(self, pair, place).draft() for place in range(2))
        loop = DraftLoop(self.loop(pair, number(0), rounds), launches, "overlapped tiles of time steps, there and back")
        if not asking:
            return loop
        tests = (_at_least(side.greatest, side.least) for one in self.found.arrays for side in one.written)
        return DraftCondition(conjunction(dict.fromkeys(tests)), (loop,))

    def loop(self, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()) -> Loop:
        self.next_index += 1
        return counted_loop(self.next_index - 1, iterator, lower, upper, body)

    def nest(
        self, iterators: list[DataObject], last: list[Polynomial], body: Iterable[Statement], *kinds: TileKind
    ) -> Statement:
        """Loops from 0 to `last`, the innermost being dimension 0 of what they are dealt out over."""
        inner = tuple(body)
        for dimension, (iterator, end) in enumerate(reversed(list(zip(iterators, last, strict=True)))):
            loop = self.loop(iterator, number(0), end, inner)
            self.tiles[loop.index] = clauses(*kinds, dimension=dimension)
            inner = (loop,)
        return inner[0]


class _Launch:
    """One of the two launches of a round: `second` is 1 for the one that goes back to the arrays."""

    def __init__(self, drafts: _Drafts, pair: DataObject, second: int) -> None:
        self.drafts = drafts
        self.second = second
        self.pair = pair
        self.rank = drafts.stencil.rank
        scalar = drafts.names.scalar
        self.time = scalar(f"{drafts.stencil.time.iterator.name}_first")
        self.steps = scalar(f"{drafts.stencil.time.iterator.name}_steps")
        self.home = [scalar(f"{base}_home") for base in drafts.bases]
        self.first = [scalar(f"{base}_first") for base in drafts.bases]
        self.origin = [scalar(f"{base}_origin") for base in drafts.bases]
        self.windows = {one.object: self._window(one.object) for one in drafts.found.arrays}

    def _window(self, array: DataObject) -> Window:
        name = self.drafts.names.scalar(f"{array.name}_window").name
        lengths = tuple(integer(one) for one in self.drafts.lengths)
        own = DataObject(name, name, array.element, Storage.CONTIGUOUS, Scope.GANG, lengths)
        return Window(own, array, tuple(self.origin))

    def draft(self) -> DraftLaunch:
        drafts, dimensions = self.drafts, range(self.rank)
        blocks = [drafts.names.scalar(f"{base}_block") for base in drafts.bases]
        steps = term(self.steps)
        start = drafts.stencil.steps.least + (number(2) * term(self.pair) + number(self.second)) * steps
        homes = [drafts.home(place) for place in dimensions]
        grid = [drafts.grid(place) for place in dimensions]
        reach, growth = drafts.found.reach, drafts.found.growth
        body = (
            declared(self.steps, drafts.steps),
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
            self._fill(),
            self._time_loop(),
            *self._stores(),
            Barrier(),
        )
        last = [floor_quotient(grid[k][1] - grid[k][0], expression(homes[k])) for k in dimensions]
        nest = drafts.nest(blocks, last, body, TileKind.DYNAMIC, TileKind.GANG)
        return DraftLaunch(Block((nest,)), dict(drafts.tiles), windows=tuple(self.windows.values()))

    def _workers(self, body: Iterable[Statement], points: list[DataObject], *, home: bool = False) -> Statement:
        """Over the points of the window, or of its home alone."""
        drafts, dimensions = self.drafts, range(self.rank)
        steps = [drafts.names.scalar(f"{base}_step") for base in drafts.bases]
        starts = self.first if home else self.origin
        last = [drafts.home(k) - number(1) if home else drafts.home(k) + drafts.halo(k) - number(1) for k in dimensions]
        placed = (declared(points[k], term(starts[k]) + term(steps[k])) for k in dimensions)
        return drafts.nest(steps, last, (*placed, *body), TileKind.DYNAMIC, TileKind.WORKER)

    def _points(self) -> list[DataObject]:
        return [self.drafts.names.scalar(f"{base}_point") for base in self.drafts.bases]

    # -- copies --------------------------------------------------------------------------------------------------------

    def _fill(self) -> Statement:
        points = self._points()
        copies: list[Statement] = []
        for one in self.drafts.found.arrays:
            if one.carried or one.border:
                source = self.drafts.copies[one.object] if one.carried and self.second else one.object
                inside = _within(points, [(side.least, side.greatest) for side in one.touched])
                if not one.carried:
                    inside = (*inside, _outside(points, [(side.least, side.greatest) for side in one.written]))
                window = self._local(self.windows[one.object], points)
                copies.append(_if(inside, _assign(window, _element(source, points))))
        return self._workers(copies, points)

    def _stores(self) -> Iterable[Statement]:
        points = self._points()
        always: list[Statement] = []
        last: list[Statement] = []
        for one in self.drafts.found.arrays:
            target = self.drafts.copies[one.object] if one.carried and not self.second else one.object
            box = one.written if target == one.object else one.touched
            inside = _within(points, [(side.least, side.greatest) for side in box])
            kept = _if(inside, _assign(_element(target, points), self._local(self.windows[one.object], points)))
            (always if one.carried else last).append(kept)
        yield self._workers(always, points, home=True)
        if last:
            # What no later step reads is wanted of the last step alone.
            end = self.drafts.stencil.steps.greatest
            is_last = (
                _at_least(end, term(self.time)),
                _at_least(term(self.time) + term(self.steps) - number(1), end),
            )
            more = self._points()
            renamed = with_objects(tuple(last), dict(zip(points, more, strict=True)))
            yield _if(is_last, self._workers(renamed, more, home=True))

    def _local(self, window: Window, points: list[DataObject]) -> Access:
        return self._in_window(Access(window.array, tuple(map(access_to, points)), (), window.array.element))

    def _in_window(self, access: Access) -> Access:
        window = self.windows.get(access.object)
        if window is None:
            return access
        places = (
            Binary("-", one, access_to(origin), LONG)
            for one, origin in zip(access.subscripts, window.origin, strict=True)
        )
        return dataclasses.replace(access, object=window.object, subscripts=tuple(places))

    # -- time steps ----------------------------------------------------------------------------------------------------

    def _time_loop(self) -> Statement:
        drafts = self.drafts
        name = drafts.stencil.time.iterator.name
        row, left = drafts.names.scalar(f"{name}_row"), drafts.names.scalar(f"{name}_left")
        after = term(self.time) + term(self.steps) - number(1)
        body = (declared(left, after - term(row)), *(self._statement(one, row, left) for one in drafts.stencil.points))
        return drafts.loop(row, term(self.time), minimum((after, drafts.stencil.steps.greatest)), body)

    def _statement(self, point: _Point, row: DataObject, left: DataObject) -> Statement:
        points, drafts = self._points(), self.drafts
        margins = drafts.found.margins[point.statement.name]
        conditions: list[Expression] = []
        own = {drafts.stencil.time.iterator: term(row)}
        for k, place in enumerate(point.places):
            (low, high), (more, most) = margins[k], drafts.found.growth[k]
            at, home = term(points[k]), term(self.home[k])
            conditions.append(_at_least(at, term(self.first[k]) - number(low) - number(more) * term(left)))
            conditions.append(
                _at_least(term(self.first[k]) + home - number(1) + number(high) + number(most) * term(left), at)
            )
            if place.iterator is None or place.bounds is None:
                conditions.append(Binary("==", expression(at), expression(place.shift), INT))
                continue
            conditions.append(_at_least(at, place.bounds.least + place.shift))
            conditions.append(_at_least(place.bounds.greatest + place.shift, at))
            own[place.iterator] = at - place.shift
        instead = {one: replace(one, scope=Scope.LOCAL, const=True) for one in own}
        node = with_accesses(with_objects(point.statement.node, instead), self._in_window)
        iterators = (Declaration((Declarator(instead[one], expression(value)),)) for one, value in own.items())
        return self._workers((_if(conditions, *iterators, node),), points)


def _at_least(value: Polynomial, least: Polynomial) -> Expression:
    return Binary(">=", expression(value), expression(least), INT)


def _within(points: list[DataObject], box: list[tuple[Polynomial, Polynomial]]) -> tuple[Expression, ...]:
    return tuple(
        test
        for one, (least, most) in zip(points, box, strict=True)
        for test in (_at_least(term(one), least), _at_least(most, term(one)))
    )


def _outside(points: list[DataObject], box: list[tuple[Polynomial, Polynomial]]) -> Expression:
    tests = [
        Binary("<", expression(left), expression(right), INT)
        for one, (least, most) in zip(points, box, strict=True)
        for left, right in ((term(one), least), (most, term(one)))
    ]
    return disjunction(tests)


def _if(conditions: Iterable[Expression], *body: Statement) -> If:
    return If(conjunction(conditions), Block(body), None)


def _element(array: DataObject, points: list[DataObject]) -> Access:
    return Access(array, tuple(map(access_to, points)), (), array.element)


def _assign(target: Access, source: Access) -> ExpressionStatement:
    return ExpressionStatement(Assignment("=", target, source, target.type))
