"""On devices: tiles of wavefronts in memory of gangs. A gang copies the elements that a tile of a
stencil touches, row by row, goes through the tile's wavefronts of points there, and copies what the
tile has written back.

    if (the tile has points) {
        u_box = the elements that the tile touches           neighbouring workers take neighbouring elements
        for (front ...)                                      wavefronts of points, as without boxes, but in u_box
            ... u_box[i - i_origin][j - j_origin] ...
        u = what the tile has written of u_box
    }

All accesses to the array name the iterators of its dimensions, and at most one loop (time) is not
among them. With rows phi_k = C_k x + c_k t + v_k for an access to the element x, v_k differing from
access to access, a tile has first_k <= phi_k < first_k + size_k. It touches x by one of some
accesses if

    there is a t:    first_k - max v_k <= C_k x + c_k t <= first_k + size_k - 1 - min v_k    for all k

which is too much where v_k differ in both directions: then an element of the box may be one that
another tile of the wavefront writes. So accesses that lie on one side of what is written (all v_k
at least, or at most, those of the access that writes) are put together, and no others. The smallest
box around x = C^-1 (phi - v), is what memory is needed for. The verifier proves what comes of it
(verify/scratchpads.py), whatever was meant here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

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
from tilepragma.lower.band_loops import BandLoops, PlannedBand, clauses, declared, floor_quotient, term
from tilepragma.schedule.overlapped_tree import assign, at_least, element_at, place_in, where
from tilepragma.schedule.staged_form import ArrayTiles

if TYPE_CHECKING:
    from tilepragma.lower.band_ast import TileConstraints
    from tilepragma.poly.schedule import StatementSchedule
    from tilepragma.poly.scop import ScopStatement


#: ptxas gives a worker twice as many registers where copies are unrolled, which leaves room for
#: half as many gangs.
_ROLLED = LoopDirective(NOWHERE, unroll=1)


_MOST_ACCESSES = 16
"""To one array: the proof of a cube of 27 points takes ten seconds, of those with fewer two or three."""


def array_tiles(
    loops: BandLoops,
    planned: PlannedBand,
    tile: TileConstraints,
    inner: Mapping[int, tuple[TileClause, ...]],
) -> ArrayTiles | None:
    """What stages a tile of the part in memory of its gang: `tile` restricts its rows, `inner` are
    the clauses of the loops over its points. None where the part's accesses, or its rows, are of
    another form.
    """
    shapes, written = _shapes(loops, planned, tile), loops.code.scop.written
    arrays = None if shapes is None else _arrays(shapes, written)
    dimensions = [one.dimension for each in inner.values() for one in each if one.kind is TileKind.WORKER]
    if not arrays or not dimensions:
        return None
    if any(len(array.names) <= max(dimensions) for array in arrays):
        return None
    maker = _Maker(loops, 1 + max(dimensions))
    return maker.boxed(arrays)


# -- the form of the accesses


@dataclass(frozen=True)
class _Bounds:
    """first, ..., last, inclusive."""

    first: Polynomial
    last: Polynomial

    def moved(self, by: int) -> _Bounds:
        return _Bounds(self.first + number(by), self.last + number(by))


@dataclass(frozen=True)
class _Shape:
    """A statement of the part: its node, its loops with the values of their iterators, and its rows as sums of these."""

    node: ExpressionStatement
    loops: tuple[Loop, ...]
    values: tuple[_Bounds, ...]
    rows: tuple[tuple[int, ...], ...]
    constants: tuple[int, ...]
    tile: tuple[_Bounds, ...]


@dataclass(frozen=True)
class _Touch:
    """An access to the element x: the part's rows are `rows` x + `time` t + `apart`. `ends` are
    those of each subscript over all of the loops, `times` those of t, None where all iterators are
    in the subscripts.
    """

    rows: tuple[tuple[int, ...], ...]
    time: tuple[int, ...]
    apart: tuple[int, ...]
    ends: tuple[_Bounds, ...]
    times: _Bounds | None
    writes: bool


@dataclass(frozen=True)
class _Array:
    """An array whose boxes are staged: names for its subscripts, its accesses, the rows of the tile, and the inverse of these, functions of x, t."""

    object: DataObject
    names: tuple[str, ...]
    touches: tuple[_Touch, ...]
    tile: tuple[_Bounds, ...]
    inverse: tuple[tuple[int, ...], ...]

    def origin(self, dimension: int) -> Polynomial:
        """The least subscript that a tile touches; behind those of all dimensions, the least t."""
        weights = self.inverse[dimension]
        least = min(self._offsets(dimension))
        parts = (
            number(weight) * (bounds.first if weight > 0 else bounds.last)
            for weight, bounds in zip(weights, self.tile, strict=True)
        )
        return sum(parts, number(least))

    def length(self, dimension: int) -> Polynomial:
        """How many subscripts there are from the least to the greatest that a tile of full size touches."""
        offsets = self._offsets(dimension)
        parts = (
            number(abs(weight)) * (bounds.last - bounds.first)
            for weight, bounds in zip(self.inverse[dimension], self.tile, strict=True)
        )
        return sum(parts, number(max(offsets) - min(offsets) + 1))

    def _offsets(self, dimension: int) -> list[int]:
        weights = self.inverse[dimension]
        return [-sum(w * v for w, v in zip(weights, touch.apart, strict=True)) for touch in self.touches]

    @property
    def is_written(self) -> bool:
        """Whether an access of the part writes it."""
        return any(touch.writes for touch in self.touches)

    @property
    def is_used_again(self) -> bool:
        """Whether a tile comes back to an element: in several time steps, or by several accesses."""
        return self.touches[0].times is not None or len({touch.apart for touch in self.touches}) > 1


def _shapes(loops: BandLoops, planned: PlannedBand, tile: TileConstraints) -> tuple[_Shape, ...] | None:
    """The statements of the part, where all of their rows are restricted by the tile; None where they are of another form."""
    by_name = {statement.name: statement for statement in loops.code.scop.statements}
    by_level = {one.level: one for one in tile}
    found = []
    for each in planned.part.statements:
        statement = by_name.get(each.statement.name)
        shape = None if statement is None else _shape(each, statement, by_level)
        if shape is None:
            return None
        found.append(shape)
    return tuple(found)


def _shape(each: StatementSchedule, statement: ScopStatement, tile: Mapping[int, object]) -> _Shape | None:
    from tilepragma.lower.band_ast import TileConstraint

    node = statement.node
    values = [_values(loop) for loop in statement.loops]
    calls = (node for node in walk(node) if isinstance(node, Call) and node.callee is Callee.USER)
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or any(calls):
        return None
    iterators = {access_to(loop.iterator) for loop in statement.loops}
    if len(statement.parts) > 1 or any(
        value is None or (value.first.atoms | value.last.atoms) & iterators for value in values
    ):
        return None
    levels = [level for level, row in enumerate(each.rows) if not row.scalar]
    restrictions = [tile.get(level) for level in levels]
    if len(levels) != len(statement.loops):
        return None
    signs = [-1 if loop.decreasing else 1 for loop in statement.loops]
    bounds = []
    for restriction in restrictions:
        if not isinstance(restriction, TileConstraint):
            return None
        first = polynomial(restriction.origin)
        bounds.append(
            _Bounds(first, first if restriction.size is None else first + polynomial(restriction.size) - number(1))
        )
    rows = tuple(
        tuple(sign * value for sign, value in zip(signs, each.rows[level].coefficients, strict=True))
        for level in levels
    )
    constants = tuple(each.rows[level].constant for level in levels)
    known = tuple(value for value in values if value is not None)
    return _Shape(node, statement.loops, known, rows, constants, tuple(bounds))


def _values(loop: Loop) -> _Bounds | None:
    """The values of a loop's iterator where it takes all between two bounds that no other iterator is in."""
    step = polynomial(loop.step).constant
    if step is None or abs(step) != 1:
        return None
    lower, upper = polynomial(loop.lower), polynomial(loop.upper)
    closed = {"<": -1, ">": 1, "<=": 0, ">=": 0}.get(loop.comparison)
    if closed is None:
        return None
    last = upper + number(closed)
    return _Bounds(last, lower) if loop.decreasing else _Bounds(lower, last)


def _arrays(shapes: Sequence[_Shape], written: frozenset[DataObject]) -> tuple[_Array, ...]:
    """The arrays whose boxes are staged: all that are written, and others that a tile comes back
    to. None of them where one that is written cannot be.
    """
    nodes = [node for shape in shapes for node in walk(shape.node) if isinstance(node, Access) and node.object.rank]
    found = []
    for object_ in dict.fromkeys(node.object for node in nodes):
        array = _array(object_, shapes)
        if array is None and object_ in written:
            return ()
        if array is not None and (object_ in written or array.is_used_again):
            found.append(array)
    return tuple(found) if any(one.is_written for one in found) else ()


def _array(object_: DataObject, shapes: Sequence[_Shape]) -> _Array | None:
    from tilepragma.poly.linear_independence import integral_inverse

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
    """The loop whose iterator a subscript is, but for a number, and that number."""
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
    """An access whose subscripts are different iterators but for numbers, all of them or all but one; None for others."""
    places = [one for one in (_place(each, shape) for each in access.subscripts) if one is not None]
    named = [place for place, _ in places]
    left = [place for place in range(len(shape.loops)) if place not in named]
    if access.path or len(places) != access.object.rank or len(set(named)) != len(named) or len(left) > 1:
        return None
    rows = tuple(tuple(row[place] for place in named) for row in shape.rows)
    apart = tuple(
        constant - sum(row[place] * offset for place, offset in places)
        for row, constant in zip(shape.rows, shape.constants, strict=True)
    )
    ends = tuple(shape.values[place].moved(offset) for place, offset in places)
    times = shape.values[left[0]] if left else None
    return _Touch(rows, tuple(row[left[0]] if left else 0 for row in shape.rows), apart, ends, times, writes)


# -- which elements


@dataclass(frozen=True)
class _Limit:
    """factor t >= value, or factor t <= value; `whole_tile` where the value is the same for all elements."""

    value: Polynomial
    factor: int
    whole_tile: bool


@dataclass
class _Maker:
    """Makes the loops of a part's boxes, which are dealt out over so many `axes` of workers."""

    loops: BandLoops
    axes: int
    clauses: dict[int, tuple[TileClause, ...]] = field(default_factory=dict)
    declarations: list[Declaration] = field(default_factory=list)
    times: dict[tuple[str, Polynomial], DataObject] = field(default_factory=dict)

    def boxed(self, arrays: Sequence[_Array]) -> ArrayTiles:
        """All of it."""
        scratchpads = {array.object: self._scratchpad(array) for array in arrays}
        fills = tuple(self._fill(array, scratchpads[array.object]) for array in arrays)
        stores = tuple(self._store(array, scratchpads[array.object]) for array in arrays if array.is_written)

        def local(access: Access) -> Access:
            scratchpad = scratchpads.get(access.object)
            return access if scratchpad is None else _in(scratchpad, access)

        declarations = tuple(self.declarations)
        return ArrayTiles(tuple(scratchpads.values()), declarations, fills, stores, dict(self.clauses), local)

    def _constant(self, base: str, value: Polynomial, type_: ScalarType = INDEX) -> DataObject:
        """A number that a tile declares once."""
        made = self.loops.names.scalar(base, type_)
        self.declarations.append(declared(made, value))
        return made

    def _scratchpad(self, array: _Array) -> Scratchpad:
        origin = tuple(self._constant(f"{name}_origin", array.origin(place)) for place, name in enumerate(array.names))
        lengths = tuple(expression(array.length(place)) for place in range(len(array.names)))
        name = self.loops.names.scalar(f"{array.object.name}_box").name
        own = DataObject(name, name, array.object.element, Storage.CONTIGUOUS, Scope.GANG, lengths)
        return Scratchpad(own, array.object, origin)

    def _fill(self, array: _Array, scratchpad: Scratchpad) -> Statement:
        """The elements that the tile touches."""
        steps, points = self._steps(array), self._points(array)
        within = [
            test
            for place, point in enumerate(points)
            for test in (
                at_least(term(point), minimum(touch.ends[place].first for touch in array.touches)),
                at_least(maximum(touch.ends[place].last for touch in array.touches), term(point)),
            )
        ]
        reached = [tuple(self._reached(array, steps, touches)) for touches in _sides(array)]
        # Accesses that ask for nothing reach all of the box.
        asked = (disjunction(dict.fromkeys(map(conjunction, reached))),) if reached and all(reached) else ()
        element = element_at(array.object, points)
        copy = assign(_in(scratchpad, element), element)
        tests = (*within, *asked)
        return self._over(array, scratchpad, steps, points, where(tests, copy))

    def _store(self, array: _Array, scratchpad: Scratchpad) -> Statement:
        """The elements that the tile has written."""
        steps, points = self._steps(array), self._points(array)
        found = []
        for touch in array.touches:
            if touch.writes:
                ends = (
                    test
                    for end, point in zip(touch.ends, points, strict=True)
                    for test in (at_least(term(point), end.first), at_least(end.last, term(point)))
                )
                found.append(conjunction((*ends, *self._reached(array, steps, [touch]))))
        element = element_at(array.object, points)
        copy = assign(element, _in(scratchpad, element))
        return self._over(array, scratchpad, steps, points, where((disjunction(tuple(dict.fromkeys(found))),), copy))

    def _steps(self, array: _Array) -> list[DataObject]:
        return [self.loops.names.scalar(f"{name}_step") for name in array.names]

    def _points(self, array: _Array) -> list[DataObject]:
        return [self.loops.names.scalar(f"{name}_point") for name in array.names]

    def _reached(self, array: _Array, steps: list[DataObject], touches: Sequence[_Touch]) -> Iterator[Expression]:
        """Whether some t has the element so many steps into the box reached by accesses that lie
        between the first and the last of these, along each row. All is counted from where the box,
        and the tile's times, begin: what is compared are small numbers, and sizes of tiles.
        """
        first = touches[0]
        lowers: list[_Limit] = []
        uppers: list[_Limit] = []
        start = number(0)
        if first.times is not None:
            start = array.origin(len(steps))
            lowers.append(_Limit(first.times.first - start, 1, True))
            uppers.append(_Limit(first.times.last - start, 1, True))
        for row, bounds in enumerate(array.tile):
            apart = [touch.apart[row] for touch in touches]
            at = number(first.time[row]) * start
            for place, (factor, step) in enumerate(zip(first.rows[row], steps, strict=True)):
                at = at + number(factor) * (array.origin(place) + term(step))
            low, high = bounds.first - number(max(apart)) - at, bounds.last - number(min(apart)) - at
            factor, whole = first.time[row], not any(first.rows[row])
            if factor == 0:
                yield from (at_least(number(0), low), at_least(high, number(0)))
                continue
            if factor < 0:
                low, high = -high, -low
            lowers.append(_Limit(low, abs(factor), whole))
            uppers.append(_Limit(high, abs(factor), whole))
        lowers, uppers = (
            self._together(lowers, maximum, "sweep_first"),
            self._together(uppers, minimum, "sweep_last"),
        )
        for place, lower in enumerate(lowers):
            for other, upper in enumerate(uppers):
                if place != other or lower.factor != 1 or lower.whole_tile:
                    yield _meet(lower, upper)

    def _together(
        self, limits: list[_Limit], extreme: Callable[[Iterable[Polynomial]], Polynomial], name: str
    ) -> list[_Limit]:
        """What is the same for the whole tile as one number, that the tile declares once."""
        whole = [limit for limit in limits if limit.whole_tile and limit.factor == 1]
        if len(whole) < 2:
            return limits
        value = extreme(one.value for one in whole)
        if (name, value) not in self.times:
            self.times[name, value] = self._constant(name, value, LONG)
        return [_Limit(term(self.times[name, value]), 1, True), *(limit for limit in limits if limit not in whole)]

    def _over(
        self,
        array: _Array,
        scratchpad: Scratchpad,
        steps: list[DataObject],
        points: list[DataObject],
        body: Iterable[Statement],
    ) -> Statement:
        """Loops over the box, the last of them dealt out over workers, neighbours along its rows."""
        origins = [origin for origin in scratchpad.origin if origin is not None]
        placed = (
            declared(point, term(origin) + term(step))
            for point, origin, step in zip(points, origins, steps, strict=True)
        )
        inner: tuple[Statement, ...] = (*placed, *body)
        kept = len(steps) - self.axes
        # What is not dealt out stands inside, where nobody waits between its iterations.
        for place in (*reversed(range(kept)), *reversed(range(kept, len(steps)))):
            loop = self.loops.loop(steps[place], number(0), array.length(place) - number(1), inner)
            loop = replace(loop, directive=_ROLLED)
            if place >= kept:
                dimension = len(steps) - 1 - place
                self.clauses[loop.index] = clauses(TileKind.DYNAMIC, TileKind.WORKER, dimension=dimension)
            inner = (loop,)
        return inner[0]


def _sides(array: _Array) -> Iterable[list[_Touch]]:
    """The accesses, those together that lie on one side of what is written. What nobody writes may have elements in its box that no access means."""
    base = next((one.apart for one in array.touches if one.writes), None)
    sides: dict[tuple[object, tuple[int, ...]], list[_Touch]] = {}
    for touch in array.touches:
        apart = () if base is None else tuple(v - w for v, w in zip(touch.apart, base, strict=True))
        signs = [sign for sign in (1, -1) if all(sign * value >= 0 for value in apart)]
        for side in [(sign,) for sign in signs] if base is not None and signs else [apart]:
            sides.setdefault((touch.times, side), []).append(touch)
    return sides.values()


def _in(scratchpad: Scratchpad, element: Access) -> Access:
    places = tuple(place_in(scratchpad, place, subscript) for place, subscript in enumerate(element.subscripts))
    return replace(element, object=scratchpad.object, subscripts=places)


def _meet(lower: _Limit, upper: _Limit) -> Expression:
    """Whether a whole number t has lower.factor t >= lower.value and upper.factor t <= upper.value."""
    if lower.factor == 1:
        return at_least(upper.value, number(upper.factor) * lower.value)
    if upper.factor == 1:
        return at_least(number(lower.factor) * upper.value, lower.value)
    least = floor_quotient(lower.value + number(lower.factor - 1), integer(lower.factor, LONG))
    return at_least(floor_quotient(upper.value, integer(upper.factor, LONG)), least)
