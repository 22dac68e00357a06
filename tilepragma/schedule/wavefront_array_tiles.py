"""Array tiles in shared memory for device wavefronts: a gang copies what a tile touches row by row,
runs the tile's wavefronts of points on the copy, and stores what the tile wrote.

    if (the tile has points) {
        u_box = the elements that the tile touches      neighbouring workers, neighbouring elements
        for (front ...)                                 wavefronts of points, on u_box
            ... u_box[i - i_origin][j - j_origin] ...
        u = what the tile has written of u_box
    }

All accesses to the array name the iterators of its dimensions, and miss at most one loop (time).
Let the rows be phi_k = C_k x + c_k t + v_k for an access to element x, where only v_k differs
between accesses. A tile has first_k <= phi_k < first_k + size_k. Some of a set of accesses touch x
if

    for some t:    first_k - max v_k <= C_k x + c_k t <= first_k + size_k - 1 - min v_k   for all k

This is too much if v_k differ in both directions: an element of the box may then be written by
another tile of the wavefront. So only accesses on one side of the write (all v_k at least, or at
most, those of the write) are joined. Shared memory holds the smallest box around x = C^-1 (phi -
v). The verifier proves the result independently (verify/scratchpads.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import LoopDirective, TileClause, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Call,
    Callee,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    conjunction,
    disjunction,
    integer,
)
from tilepragma.ir.loop_tree import Declaration, ExpressionStatement, Loop, Scratchpad, Statement
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INDEX, LONG, ScalarType
from tilepragma.lower.band_loops import (
    BandLoops,
    PlannedBand,
    TileConstraint,
    TileConstraints,
    clauses,
    declared,
    floor_quotient,
    term,
)
from tilepragma.poly.linear_independence import integral_inverse
from tilepragma.poly.reference_spans import Span
from tilepragma.poly.schedule import StatementSchedule
from tilepragma.poly.scop import ScopStatement
from tilepragma.schedule.scratchpad_copies import assign, at_least, element_at, in_scratchpad, where
from tilepragma.schedule.tree import ArrayTiles

#: ptxas doubles a worker's registers for unrolled copies, which halves the number of gangs.
_ROLLED = LoopDirective(NOWHERE, unroll=1)


_MOST_ACCESSES = 16
"""The most accesses to one array: proving a cube of 27 points takes ten seconds, fewer two or
three.
"""


def array_tiles(
    loops: BandLoops,
    planned: PlannedBand,
    tile: TileConstraints,
    inner: Mapping[int, tuple[TileClause, ...]],
) -> ArrayTiles | None:
    """The array tiles of a band's tile in shared memory; None if accesses or rows have another
    form. `tile` restricts the band's rows, `inner` are the clauses of the loops over its points.
    """
    shapes, written = _shapes(loops, planned, tile), loops.scop.written
    arrays = None if shapes is None else _arrays(shapes, written)
    dimensions = [clause.dimension for each in inner.values() for clause in each if clause.kind is TileKind.WORKER]
    if not arrays or not dimensions:
        return None
    if any(len(array.names) <= max(dimensions) for array in arrays):
        return None
    maker = _Maker(loops, 1 + max(dimensions))
    return maker.array_tiles(arrays)


# -- the form of the accesses


@dataclass(frozen=True)
class _Shape:
    """A statement of the band: node, loops, iterator ranges, and rows as sums of iterators."""

    node: ExpressionStatement
    loops: tuple[Loop, ...]
    values: tuple[Span, ...]
    rows: tuple[tuple[int, ...], ...]
    constants: tuple[int, ...]
    tile: tuple[Span, ...]


@dataclass(frozen=True)
class _Touch:
    """An access to element x: the band's rows are `rows` x + `time` t + `apart`. `ends` are the
    ranges of each subscript over all loops, `times` that of t; None if all iterators occur in the
    subscripts.
    """

    rows: tuple[tuple[int, ...], ...]
    time: tuple[int, ...]
    apart: tuple[int, ...]
    ends: tuple[Span, ...]
    times: Span | None
    writes: bool


@dataclass(frozen=True)
class _Array:
    """A staged array: subscript names, accesses, the tile's rows, their inverse over (x, t)."""

    object: DataObject
    names: tuple[str, ...]
    touches: tuple[_Touch, ...]
    tile: tuple[Span, ...]
    inverse: tuple[tuple[int, ...], ...]

    def origin(self, dimension: int) -> Polynomial:
        """The least subscript that a tile touches; the last dimension is the least t."""
        weights = self.inverse[dimension]
        least = min(self._offsets(dimension))
        parts = (
            number(weight) * (bounds.least if weight > 0 else bounds.greatest)
            for weight, bounds in zip(weights, self.tile, strict=True)
        )
        return sum(parts, number(least))

    def length(self, dimension: int) -> Polynomial:
        """The number of subscripts that a full tile spans."""
        offsets = self._offsets(dimension)
        parts = (
            number(abs(weight)) * (bounds.greatest - bounds.least)
            for weight, bounds in zip(self.inverse[dimension], self.tile, strict=True)
        )
        return sum(parts, number(max(offsets) - min(offsets) + 1))

    def _offsets(self, dimension: int) -> list[int]:
        weights = self.inverse[dimension]
        return [-sum(w * v for w, v in zip(weights, touch.apart, strict=True)) for touch in self.touches]

    @property
    def is_written(self) -> bool:
        """Whether an access of the band writes it."""
        return any(touch.writes for touch in self.touches)

    @property
    def is_used_again(self) -> bool:
        """Whether a tile reuses elements: in several time steps, or by several accesses."""
        return self.touches[0].times is not None or len({touch.apart for touch in self.touches}) > 1


def _shapes(loops: BandLoops, planned: PlannedBand, tile: TileConstraints) -> tuple[_Shape, ...] | None:
    """The band's statements, if the tile restricts all their rows; None if one has another form."""
    by_name = {statement.name: statement for statement in loops.scop.statements}
    by_level = {constraint.level: constraint for constraint in tile}
    shapes = []
    for each in planned.part.statements:
        statement = by_name.get(each.statement.name)
        shape = None if statement is None else _shape(each, statement, by_level)
        if shape is None:
            return None
        shapes.append(shape)
    return tuple(shapes)


def _shape(each: StatementSchedule, statement: ScopStatement, tile: Mapping[int, object]) -> _Shape | None:
    node = statement.node
    values = [_values(loop) for loop in statement.loops]
    calls = (node for node in walk(node) if isinstance(node, Call) and node.callee is Callee.USER)
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or any(calls):
        return None
    iterators = {access_to(loop.iterator) for loop in statement.loops}
    if len(statement.parts) > 1 or any(
        value is None or (value.least.atoms | value.greatest.atoms) & iterators for value in values
    ):
        return None
    levels = [level for level, row in enumerate(each.rows) if not row.scalar]
    restrictions = [tile.get(level) for level in levels]
    if len(levels) != len(statement.loops):
        return None
    signs = [-1 if loop.decreasing else 1 for loop in statement.loops]
    bounds = []
    for constraint in restrictions:
        if not isinstance(constraint, TileConstraint):
            return None
        first = polynomial(constraint.origin)
        bounds.append(
            Span(first, first if constraint.size is None else first + polynomial(constraint.size) - number(1))
        )
    rows = tuple(
        tuple(sign * value for sign, value in zip(signs, each.rows[level].coefficients, strict=True))
        for level in levels
    )
    constants = tuple(each.rows[level].constant for level in levels)
    known = tuple(value for value in values if value is not None)
    return _Shape(node, statement.loops, known, rows, constants, tuple(bounds))


def _values(loop: Loop) -> Span | None:
    """The range of an iterator that steps by one between bounds without other iterators."""
    step = polynomial(loop.step).constant
    if step is None or abs(step) != 1:
        return None
    lower, upper = polynomial(loop.lower), polynomial(loop.upper)
    closed = {"<": -1, ">": 1, "<=": 0, ">=": 0}.get(loop.comparison)
    if closed is None:
        return None
    last = upper + number(closed)
    return Span(last, lower) if loop.decreasing else Span(lower, last)


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
    names: tuple[str, ...] = ()
    for shape in shapes:
        assert isinstance(shape.node.expression, Assignment)
        target = shape.node.expression.target
        for node in walk(shape.node):
            if isinstance(node, Access) and node.object == object_:
                touch = _touch(node, shape, writes=node is target)
                if touch is None:
                    return None
                touches.append(touch)
                names = names or _iterators(node, shape)
    first = touches[0]
    if (
        len(touches) > _MOST_ACCESSES
        or len(names) != object_.rank
        or any((touch.rows, touch.time) != (first.rows, first.time) for touch in touches)
    ):
        return None
    square = tuple(
        (*row, factor) if first.times is not None else row for row, factor in zip(first.rows, first.time, strict=True)
    )
    inverse = integral_inverse(square) if len(square) == len(square[0]) else None
    same_tile = all(shape.tile == shapes[0].tile for shape in shapes)
    return None if inverse is None or not same_tile else _Array(object_, names, tuple(touches), shapes[0].tile, inverse)


def _place(subscript: Expression, shape: _Shape) -> tuple[int, int] | None:
    """The loop whose iterator a subscript equals up to a constant, and that constant."""
    value = polynomial(subscript)
    for place, loop in enumerate(shape.loops):
        apart = (value - term(loop.iterator)).constant
        if apart is not None:
            return place, apart
    return None


def _iterators(access: Access, shape: _Shape) -> tuple[str, ...]:
    places = [_place(subscript, shape) for subscript in access.subscripts]
    return tuple(shape.loops[place[0]].iterator.name for place in places if place is not None)


def _touch(access: Access, shape: _Shape, *, writes: bool) -> _Touch | None:
    """An access by distinct iterators plus constants, at most one loop missing; else None."""
    places = [place for place in (_place(each, shape) for each in access.subscripts) if place is not None]
    named = [place for place, _ in places]
    left = [place for place in range(len(shape.loops)) if place not in named]
    if access.path or len(places) != access.object.rank or len(set(named)) != len(named) or len(left) > 1:
        return None
    rows = tuple(tuple(row[place] for place in named) for row in shape.rows)
    apart = tuple(
        constant - sum(row[place] * offset for place, offset in places)
        for row, constant in zip(shape.rows, shape.constants, strict=True)
    )
    values = ((shape.values[place], number(offset)) for place, offset in places)
    ends = tuple(Span(value.least + offset, value.greatest + offset) for value, offset in values)
    times = shape.values[left[0]] if left else None
    return _Touch(rows, tuple(row[left[0]] if left else 0 for row in shape.rows), apart, ends, times, writes)


# -- which elements


@dataclass(frozen=True)
class _Limit:
    """factor t >= value, or factor t <= value; `whole_tile`: the value holds for the tile."""

    value: Polynomial
    factor: int
    whole_tile: bool


@dataclass
class _Maker:
    """Builds the copy loops of a band's array tiles, mapped to `axes` axes of workers."""

    loops: BandLoops
    axes: int
    scratchpads: dict[DataObject, Scratchpad] = field(default_factory=dict)
    clauses: dict[int, tuple[TileClause, ...]] = field(default_factory=dict)
    declarations: list[Declaration] = field(default_factory=list)
    times: dict[tuple[str, Polynomial], DataObject] = field(default_factory=dict)

    def array_tiles(self, arrays: Sequence[_Array]) -> ArrayTiles:
        """The array tiles with their copies."""
        self.scratchpads |= {array.object: self._scratchpad(array) for array in arrays}
        fills = tuple(map(self._fill, arrays))
        stores = tuple(self._store(array) for array in arrays if array.is_written)
        return ArrayTiles(self.scratchpads, tuple(self.declarations), fills, stores, dict(self.clauses))

    def _constant(self, base: str, value: Polynomial, type_: ScalarType = INDEX) -> DataObject:
        """A number that a tile declares once."""
        made = self.loops.names.scalar(base, type_)
        self.declarations.append(declared(made, value))
        return made

    def _scratchpad(self, array: _Array) -> Scratchpad:
        origin = tuple(self._constant(f"{name}_origin", array.origin(place)) for place, name in enumerate(array.names))
        lengths = tuple(expression(array.length(place)) for place in range(len(array.names)))
        name = self.loops.names.scalar(f"{array.object.name}_box").name
        box = DataObject(name, name, array.object.element, Storage.CONTIGUOUS, Scope.GANG, lengths)
        return Scratchpad(box, array.object, origin)

    def _fill(self, array: _Array) -> Statement:
        """Fill the box with the elements that the tile touches."""
        steps, points = self._steps(array), self._points(array)
        within = [
            test
            for place, point in enumerate(points)
            for test in (
                at_least(term(point), minimum(touch.ends[place].least for touch in array.touches)),
                at_least(maximum(touch.ends[place].greatest for touch in array.touches), term(point)),
            )
        ]
        reached = [tuple(self._reached(array, steps, touches)) for touches in _sides(array)]
        # Accesses without conditions reach the whole box.
        asked = (disjunction(dict.fromkeys(map(conjunction, reached))),) if reached and all(reached) else ()
        element = element_at(array.object, points)
        copy = assign(in_scratchpad(element, self.scratchpads), element)
        tests = (*within, *asked)
        return self._over(array, steps, points, where(tests, copy))

    def _store(self, array: _Array) -> Statement:
        """Store the elements that the tile has written."""
        steps, points = self._steps(array), self._points(array)
        tests = []
        for touch in array.touches:
            if touch.writes:
                ends = (
                    test
                    for end, point in zip(touch.ends, points, strict=True)
                    for test in (at_least(term(point), end.least), at_least(end.greatest, term(point)))
                )
                tests.append(conjunction((*ends, *self._reached(array, steps, [touch]))))
        element = element_at(array.object, points)
        copy = assign(element, in_scratchpad(element, self.scratchpads))
        return self._over(array, steps, points, where((disjunction(tuple(dict.fromkeys(tests))),), copy))

    def _steps(self, array: _Array) -> list[DataObject]:
        return [self.loops.names.scalar(f"{name}_step") for name in array.names]

    def _points(self, array: _Array) -> list[DataObject]:
        return [self.loops.names.scalar(f"{name}_point") for name in array.names]

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
            lowers.append(_Limit(first.times.least - start, 1, True))
            uppers.append(_Limit(first.times.greatest - start, 1, True))
        for row, bounds in enumerate(array.tile):
            apart = [touch.apart[row] for touch in touches]
            position = number(first.time[row]) * start
            for place, (factor, step) in enumerate(zip(first.rows[row], steps, strict=True)):
                position = position + number(factor) * (array.origin(place) + term(step))
            low, high = bounds.least - number(max(apart)) - position, bounds.greatest - number(min(apart)) - position
            factor, whole = first.time[row], not any(first.rows[row])
            if factor == 0:
                yield from (at_least(number(0), low), at_least(high, number(0)))
                continue
            if factor < 0:
                low, high = -high, -low
            lowers.append(_Limit(low, abs(factor), whole))
            uppers.append(_Limit(high, abs(factor), whole))
        lowers, uppers = (
            self._tightest(lowers, maximum, "sweep_first"),
            self._tightest(uppers, minimum, "sweep_last"),
        )
        for place, lower in enumerate(lowers):
            for upper_place, upper in enumerate(uppers):
                if place != upper_place or lower.factor != 1 or lower.whole_tile:
                    yield _meet(lower, upper)

    def _tightest(
        self, limits: list[_Limit], extreme: Callable[[Iterable[Polynomial]], Polynomial], name: str
    ) -> list[_Limit]:
        """Replace limits that are the same for the whole tile by the tightest, declared once."""
        whole = [limit for limit in limits if limit.whole_tile and limit.factor == 1]
        if len(whole) < 2:
            return limits
        value = extreme(limit.value for limit in whole)
        if (name, value) not in self.times:
            self.times[name, value] = self._constant(name, value, LONG)
        return [_Limit(term(self.times[name, value]), 1, True), *(limit for limit in limits if limit not in whole)]

    def _over(
        self,
        array: _Array,
        steps: list[DataObject],
        points: list[DataObject],
        body: Iterable[Statement],
    ) -> Statement:
        """Loops over the box, the last mapped to workers, neighbours along its rows."""
        origins = [origin for origin in self.scratchpads[array.object].origin if origin is not None]
        placed = (
            declared(point, term(origin) + term(step))
            for point, origin, step in zip(points, origins, steps, strict=True)
        )
        inner: tuple[Statement, ...] = (*placed, *body)
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
    base = next((touch.apart for touch in array.touches if touch.writes), None)
    sides: dict[tuple[object, tuple[int, ...]], list[_Touch]] = {}
    for touch in array.touches:
        apart = () if base is None else tuple(v - w for v, w in zip(touch.apart, base, strict=True))
        signs = [sign for sign in (1, -1) if all(sign * value >= 0 for value in apart)]
        for side in [(sign,) for sign in signs] if base is not None and signs else [apart]:
            sides.setdefault((touch.times, side), []).append(touch)
    return sides.values()


def _meet(lower: _Limit, upper: _Limit) -> Expression:
    """Whether an integer t has lower.factor t >= lower.value and upper.factor t <= upper.value."""
    if lower.factor == 1:
        return at_least(upper.value, number(upper.factor) * lower.value)
    if upper.factor == 1:
        return at_least(number(lower.factor) * upper.value, lower.value)
    least = floor_quotient(lower.value + number(lower.factor - 1), integer(lower.factor, LONG))
    return at_least(floor_quotient(upper.value, integer(upper.factor, LONG)), least)
