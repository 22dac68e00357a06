"""Memory traffic of one tile: the elements of each array that it reads and writes, each counted
once (ICS'08 4.6: unions of footprints).

    loads  = sum over arrays of | union of the images of the tile's points under its reads  |
    stores = sum over arrays of | union of the images of the tile's points under its writes |

For many tile sizes the numbers of elements are polynomials in the sizes, at most of the array's
rank, while the order of the sizes' lengths stays the same. Small tiles determine the polynomials:
their images are enumerated, and shared elements counted once. Where small tiles cannot be
enumerated, boxes of subscripts give an upper bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from typing import TypeVar

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter, branches, names_behind
from tilepragma.cost.launch_counts import ENTRIES, Place, entries_of
from tilepragma.cost.parameter_batch import ParameterBatch, chosen, declared_along, is_leaf, loops_of
from tilepragma.cost.tile_work import MappedNest, TileParts, tiled_nest
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import UncountableError, Values, maximum, minimum
from tilepragma.ir.expressions import (
    Access,
    Binary,
    Call,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Scope,
    Storage,
    Unary,
    access_to,
)
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop, PackedPanels, Statement, TileNest
from tilepragma.ir.traversal import statements_of
from tilepragma.ir.types import ScalarType
from tilepragma.model.execution_time import Integers, Numbers
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import Launch

#: The most iterations enumerated over all cases.
BUDGET = 2**21
#: Extents of the small tiles, and small tiles for each unknown.
_SMALL, _EACH = (2, 7), 3


@dataclass(frozen=True, eq=False)
class ArrayTraffic:
    """Elements of `array`, of `bytes` each, that a tile reads, writes, and touches in each case;
    and the rows (values of all subscripts but the last) that hold the read and the written
    elements.
    """

    array: DataObject
    bytes: int
    read: Integers
    written: Integers
    touched: Integers
    read_rows: Integers
    written_rows: Integers

    def changed(self, change: Callable[[Integers], Integers]) -> ArrayTraffic:
        """The traffic with all numbers changed."""
        numbers = (self.read, self.written, self.touched, self.read_rows, self.written_rows)
        return ArrayTraffic(self.array, self.bytes, *map(change, numbers))


@dataclass(frozen=True, eq=False)
class GangTile:
    """A launch's tile in each case, at the first place of `order` where it has points. If mapped
    loops go to workers too, it has the iterations of so many `workers` along each dimension.
    """

    place: Place
    order: tuple[TileParts, ...]
    workers: Mapping[int, Values]

    @property
    def cases(self) -> int:
        """The number of cases."""
        return self.place.batch.count


def tile_traffic(tile: GangTile) -> tuple[ArrayTraffic, ...]:
    """An estimate: by polynomials, else by boxes. Raises UncountableError."""
    try:
        return _by_polynomials(tile)
    except UncountableError:
        return boxed_traffic(tile)


#: The accesses of a tile to each array, by whether they write.
_Part = TypeVar("_Part")
_Touched = dict[tuple[DataObject, bool], list[tuple[_Part, ...]]]


def is_of_memory(use: Use) -> bool:
    """Whether the use is an array element in the device's memory."""
    kept = use.object.scope in (Scope.EXTERNAL, Scope.REGION, Scope.TEMPORARY)
    return kept and use.object.storage is not Storage.SCALAR and len(use.subscripts) == use.object.rank


def is_double(launch: Launch) -> bool:
    """Whether the launch uses array elements of double precision."""
    elements = (use.object.element for use in uses(launch.body) if is_of_memory(use))
    return any(isinstance(element, ScalarType) and not element.is_integer and element.bits > 32 for element in elements)


def _touch(touched: _Touched[_Part], use: Use, part: tuple[_Part, ...]) -> None:
    for writes, done in ((False, use.reads), (True, use.writes)):
        if done:
            touched.setdefault((use.object, writes), []).append(part)


def _traffic(
    touched: _Touched[_Part], size: Callable[[Sequence[tuple[_Part, ...]]], Integers]
) -> Iterator[ArrayTraffic]:
    """The traffic of each array; `size` counts the elements of a union."""
    for array in dict.fromkeys(array for array, _ in touched):
        read, written = (touched.get((array, writes), []) for writes in (False, True))
        rows = ([part[:-1] for part in parts] for parts in (read, written))
        yield ArrayTraffic(array, element_bytes(array), *map(size, (read, written, [*read, *written], *rows)))


# -- Polynomials


def _by_polynomials(tile: GangTile) -> tuple[ArrayTraffic, ...]:
    """Traffic by polynomials in the values that vary between cases: scalars that the launch
    mentions, and workers. They come from small tiles. Raises UncountableError.
    """
    place = tile.place
    scalars = {name: value for name in sorted(place.names) if isinstance(value := place.batch.get(name), np.ndarray)}
    workers = {dimension: value for dimension, value in tile.workers.items() if isinstance(value, np.ndarray)}
    rows = [place.batch.all(value) for value in (*scalars.values(), *workers.values())]
    varied = np.array(rows, dtype=np.int64).reshape(len(rows), tile.cases)

    def counted(values: Integers) -> tuple[ArrayTraffic, ...]:
        """The traffic of tiles with these varying values, a column for each."""
        moved = place.batch.at(np.zeros(values.shape[1], dtype=np.int64), dict(zip(scalars, values, strict=False)))
        of_gang = {**tile.workers, **dict(zip(workers, values[len(scalars) :], strict=True))}
        return counted_traffic(replace(tile, place=replace(place, batch=moved), workers=of_gang))

    if not rows:
        same = counted(np.zeros((0, 1), dtype=np.int64))
        return tuple(array.changed(lambda values: np.repeat(values, tile.cases)) for array in same)
    degree = max((use.object.rank for use in uses(place.launch.body) if is_of_memory(use)), default=1)
    powers = [p for p in itertools.product(range(degree + 1), repeat=len(rows)) if sum(p) <= degree]
    generator = np.random.default_rng(len(powers))
    small = generator.integers(*_SMALL, (len(rows), _EACH * len(powers)), endpoint=True)
    terms, wanted = _terms(small, powers), _terms(varied, powers)

    def extended(values: Integers) -> Integers:
        """The polynomial with these values for the small tiles, evaluated for the wanted ones."""
        factors = np.linalg.lstsq(terms, values.astype(np.float64), rcond=None)[0]
        return np.maximum(np.rint(wanted @ factors), 0).astype(np.int64)

    return tuple(array.changed(extended) for array in counted(small))


def _terms(values: Integers, powers: list[tuple[int, ...]]) -> Numbers:
    """The monomials of each column of `values`, a row of terms for each column."""
    numbers = values.astype(np.float64)
    return np.stack([np.prod(numbers ** np.array(exponents)[:, None], axis=0) for exponents in powers], axis=1)


# -- Enumerated images


def counted_traffic(tile: GangTile) -> tuple[ArrayTraffic, ...]:
    """The traffic of each array over all points of the tiles. Raises UncountableError."""
    entries = entries_of(tile.place, ENTRIES)
    launch = tile.place.launch
    images = _Images(launch.body)
    left = np.arange(tile.cases)
    for of_launches, of_tiles in tile.order:
        nest = tiled_nest(launch, entries.at_part(*of_launches).at(left))
        workers = {dimension: chosen(value, left) for dimension, value in tile.workers.items()}
        left = np.setdiff1d(left, images.visit(nest, of_tiles, workers, left))
        if not len(left):
            break
    return tuple(_traffic(images.touched, lambda parts: _distinct(parts, tile.cases)))


def _of_gang(
    nest: MappedNest, batch: ParameterBatch, workers: Mapping[int, Values], wanted: frozenset[str]
) -> tuple[ParameterBatch, Integers]:
    """The iterations of mapped loops with `wanted` iterators that a gang's workers take from the
    first one on, which is in the batch; each with its case.
    """
    case = np.arange(batch.count)
    for mapped in nest.loops:
        loop, name = mapped.loop, mapped.loop.iterator.name
        if not mapped.workers or name not in wanted:
            continue
        evaluation = batch.evaluation
        first, step = evaluation.value(access_to(loop.iterator)), evaluation.value(loop.step)
        beyond = evaluation.value(loop.lower) + step * evaluation.trips(loop)
        together = batch.all(chosen(workers.get(mapped.dimension, 1), case) * mapped.points)
        lengths = np.maximum(np.minimum(together, (beyond - first) // step), 0)
        if lengths.sum() > BUDGET:
            raise UncountableError(f"more than {BUDGET} iterations to enumerate")
        index, place = members(lengths)
        batch = batch.at(index, {name: chosen(first, index) + chosen(step, index) * place})
        case = case[index]
    return batch, case


@dataclass
class _Images:
    """The elements that points under `body` touch: the case and the subscripts.

    Accesses whose subscripts use the same names share one enumeration, over the loops that these
    names or conditions depend on.
    """

    body: Block
    counter: Counter = field(default_factory=lambda: Counter(budget=BUDGET))
    touched: _Touched[Integers] = field(default_factory=dict)
    known: dict[int, tuple[Use, ...]] = field(default_factory=dict)
    names: dict[tuple[Expression, ...], frozenset[str]] = field(default_factory=dict)

    def visit(
        self, nest: MappedNest, of_tiles: tuple[int, int], workers: Mapping[int, Values], cases: Integers
    ) -> Integers:
        """Collects the points of tiles of these cases, and returns the cases that have some."""
        first = nest.at_part(*of_tiles)
        cases_with_points = [np.zeros(0, dtype=np.int64)]
        for wanted in dict.fromkeys(self._wanted(use) for use in uses(self.body) if is_of_memory(use)):
            batch, index = _of_gang(nest, first, workers, wanted | self.counter.decisive((), nest.body))
            cases_with_points += self._visit(nest.body, batch, cases[index], wanted)
        return np.unique(np.concatenate(cases_with_points))

    def _wanted(self, use: Use) -> frozenset[str]:
        if use.subscripts not in self.names:
            self.names[use.subscripts] = names_behind(use.subscripts, self.body)
        return self.names[use.subscripts]

    def _visit(
        self, node: Statement, batch: ParameterBatch, case: Integers, wanted: frozenset[str]
    ) -> Iterator[Integers]:
        if isinstance(node, Block):
            for declared, statement in declared_along(node, batch):
                if isinstance(statement, Declaration):
                    self._touch(statement, declared, case, wanted)
                elif is_leaf(statement, declared):
                    yield case
                    self._touch(statement, declared, case, wanted)
                else:
                    yield from self._visit(statement, declared, case, wanted)
        elif isinstance(node, If):
            for part, index in branches(node, batch):
                yield from self._visit(part, batch.at(index), case[index], wanted)
        elif isinstance(node, (Loop, TileNest)):
            yield from self._loops(loops_of(node), node.body, batch, case, wanted)
        elif isinstance(node, PackedPanels):
            yield from self._visit(node.body, batch, case, wanted)

    def _loops(
        self, loops: tuple[Loop, ...], body: Block, batch: ParameterBatch, case: Integers, wanted: frozenset[str]
    ) -> Iterator[Integers]:
        if not loops:
            yield from self._visit(body, batch, case, wanted)
            return
        name = loops[0].iterator.name
        if name in wanted or name in self.counter.decisive(loops[1:], body):
            for index, child in self.counter.iterations(loops[0], batch):
                yield from self._loops(loops[1:], body, child, case[index], wanted)
            return
        index = np.flatnonzero(batch.all(batch.evaluation.trips(loops[0])))
        inside = batch.inside({name: loops[0].lower}).at(index)
        yield from self._loops(loops[1:], body, inside, case[index], wanted)

    def _touch(self, statement: Statement, batch: ParameterBatch, case: Integers, wanted: frozenset[str]) -> None:
        if id(statement) not in self.known:
            self.known[id(statement)] = tuple(use for use in uses(statement) if is_of_memory(use))
        for use in self.known[id(statement)]:
            if self._wanted(use) == wanted:
                values = (batch.all(batch.evaluation.value(subscript)) for subscript in use.subscripts)
                _touch(self.touched, use, (case, *values))


def _distinct(parts: Sequence[tuple[Integers, ...]], cases: int) -> Integers:
    """The number of distinct subscripts in each case."""
    if not parts:
        return np.zeros(cases, dtype=np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if not len(columns[0]):
        return np.zeros(cases, dtype=np.int64)
    place = columns[0]
    for column in columns[1:]:
        least = column.min()
        place = place * (column.max() - least + 1) + column - least
    _, first = np.unique(place, return_index=True)
    return np.bincount(columns[0][first], minlength=cases)


# -- Boxes


@dataclass(frozen=True, eq=False)
class _Interval:
    """The numbers from `low` to `high`, in each case: bounds, where sums lose what they share."""

    low: Values
    high: Values

    def around(self, interval: _Interval) -> _Interval:
        return _Interval(minimum(self.low, interval.low), maximum(self.high, interval.high))

    def plus(self, interval: _Interval) -> _Interval:
        return _Interval(self.low + interval.low, self.high + interval.high)

    def negative(self) -> _Interval:
        return _Interval(-self.high, -self.low)

    def times(self, interval: _Interval) -> _Interval:
        corners = [left * right for left in (self.low, self.high) for right in (interval.low, interval.high)]
        return _Interval(reduce(minimum, corners), reduce(maximum, corners))


def boxed_traffic(tile: GangTile) -> tuple[ArrayTraffic, ...]:
    """The traffic of each array, at most. Raises UncountableError.

    Every iterator of a tile has an interval, computed from those of the iterators around it; a
    subscript's follows by interval arithmetic. An array has at most the elements of the hull
    of its accesses, and at most the sum over its accesses' boxes.
    """
    of_launches, of_tiles = tile.order[0]
    nest = tiled_nest(tile.place.launch, entries_of(tile.place, ENTRIES).at_part(*of_launches))
    batch = nest.at_part(*of_tiles)
    boxes: _Touched[_Interval] = {}
    _visit(nest.body, _Intervals(batch, _of_workers(nest, batch, tile.workers)), boxes)
    return tuple(_traffic(boxes, lambda parts: _elements(parts, tile.cases)))


def _of_workers(nest: MappedNest, batch: ParameterBatch, workers: Mapping[int, Values]) -> dict[str, _Interval | None]:
    """The iterators that the workers of a gang take together."""
    intervals: dict[str, _Interval | None] = {}
    for mapped in nest.loops:
        if mapped.workers:
            evaluation, loop, name = batch.evaluation, mapped.loop, mapped.loop.iterator.name
            first, step = batch.get(name), evaluation.value(loop.step)
            assert first is not None
            last = evaluation.value(loop.lower) + step * (evaluation.trips(loop) - 1)
            extent = first + step * (workers.get(mapped.dimension, 1) * mapped.points - 1)
            reached = minimum(extent, last) if not loop.decreasing else maximum(extent, last)
            intervals[name] = _Interval(minimum(first, reached), maximum(first, reached))
    return intervals


@dataclass(frozen=True)
class _Intervals:
    """What is known of names inside a tile; of others the cases know the values."""

    batch: ParameterBatch
    known: dict[str, _Interval | None]

    def with_interval(self, name: str, interval: _Interval | None) -> _Intervals:
        return _Intervals(self.batch, {**self.known, name: interval})

    def of(self, node: Expression) -> _Interval:
        """Raises UncountableError."""
        match node:
            case Access(subscripts=(), path=()) if node.object.name in self.known:
                interval = self.known[node.object.name]
                if interval is None:
                    raise UncountableError(f"'{node.object.host}' depends on data")
                return interval
            case Cast(type=ScalarType(is_integer=True)):
                return self.of(node.operand)
            case Unary(operator="-"):
                return self.of(node.operand).negative()
            case Binary(operator="+"):
                return self.of(node.left).plus(self.of(node.right))
            case Binary(operator="-"):
                return self.of(node.left).plus(self.of(node.right).negative())
            case Binary(operator="*"):
                return self.of(node.left).times(self.of(node.right))
            case Conditional():
                return self.of(node.then).around(self.of(node.otherwise))
            case Call(arguments=(_, _)):
                return self._helper(node)
        value = self.batch.evaluation.value(node)
        return _Interval(value, value)

    def _helper(self, node: Call) -> _Interval:
        left, right = (self.of(argument) for argument in node.arguments)
        if node.function == "tilek_minimum":
            return _Interval(minimum(left.low, right.low), minimum(left.high, right.high))
        if node.function == "tilek_maximum":
            return _Interval(maximum(left.low, right.low), maximum(left.high, right.high))
        up = right.low - 1 if node.function == "tilek_ceiling_quotient" else 0
        if np.any(np.asarray(right.low != right.high)) or np.any(np.asarray(right.low <= 0)):
            raise UncountableError("a tile's bound is divided by what differs inside the tile")
        return _Interval((left.low + up) // right.low, (left.high + up) // right.low)

    def of_loop(self, loop: Loop) -> _Interval:
        lower, upper = self.of(loop.lower), self.of(loop.upper)
        inside = 0 if len(loop.comparison) == 2 and loop.comparison != "!=" else 1
        if loop.decreasing:
            return _Interval(upper.low + inside, lower.high)
        return _Interval(lower.low, upper.high - inside)

    def never(self, condition: Expression) -> bool:
        """Whether the condition is false in the tile of every case."""
        match condition:
            case Binary(operator="&&"):
                return self.never(condition.left) or self.never(condition.right)
            case Binary(operator="||"):
                return self.never(condition.left) and self.never(condition.right)
            case Binary(operator=("<" | "<=" | ">" | ">=") as operator):
                least, most = condition.left, condition.right
                if operator in (">", ">="):
                    least, most = most, least
                try:
                    return bool(np.all(self.of(least).low + (len(operator) == 1) > self.of(most).high))
                except UncountableError:
                    return False
        return False

    def where(self, condition: Expression) -> _Intervals:
        """With the intervals narrowed by the condition's inequalities."""
        match condition:
            case Binary(operator="&&"):
                return self.where(condition.left).where(condition.right)
            case Binary(operator=("<" | "<=" | ">" | ">=") as operator):
                least, most = condition.left, condition.right
                if operator in (">", ">="):
                    least, most = most, least
                strict = int(len(operator) == 1)
                return self._limited(least, most, strict, below=True)._limited(most, least, strict, below=False)
        return self

    def _limited(self, node: Expression, limit: Expression, strict: int, *, below: bool) -> _Intervals:
        while isinstance(node, Cast):
            node = node.operand
        interval = self.known.get(node.object.name) if isinstance(node, Access) and not node.subscripts else None
        if interval is None or not isinstance(node, Access):
            return self
        try:
            bound = self.of(limit)
        except UncountableError:
            return self
        if below:
            narrowed = _Interval(interval.low, minimum(interval.high, bound.high - strict))
        else:
            narrowed = _Interval(maximum(interval.low, bound.low + strict), interval.high)
        return self.with_interval(node.object.name, narrowed)


def _visit(node: Statement, intervals: _Intervals, boxes: _Touched[_Interval]) -> None:
    if isinstance(node, Block):
        for statement in node.statements:
            if any(isinstance(part, Block) for part in (statement, *statements_of(statement))):
                _visit(statement, intervals, boxes)
            else:
                for use in uses(statement):
                    if is_of_memory(use):
                        _touch(boxes, use, tuple(intervals.of(subscript) for subscript in use.subscripts))
            if isinstance(statement, Declaration):
                intervals = _declared(statement, intervals)
    elif isinstance(node, If):
        if not intervals.never(node.condition):
            _visit(node.then, intervals.where(node.condition), boxes)
        if node.otherwise is not None:
            _visit(node.otherwise, intervals, boxes)
    elif isinstance(node, (Loop, TileNest)):
        for loop in loops_of(node):
            intervals = intervals.with_interval(loop.iterator.name, intervals.of_loop(loop))
        _visit(node.body, intervals, boxes)
    elif isinstance(node, PackedPanels):
        _visit(node.body, intervals, boxes)


def _declared(declaration: Declaration, intervals: _Intervals) -> _Intervals:
    for declarator in declaration.declarators:
        interval: _Interval | None = None
        if declarator.initializer is not None and not isinstance(declarator.initializer, tuple):
            try:
                interval = intervals.of(declarator.initializer)
            except UncountableError:
                interval = None
        intervals = intervals.with_interval(declarator.object.name, interval)
    return intervals


def _elements(boxes: Sequence[tuple[_Interval, ...]], cases: int) -> Integers:
    """An upper bound of the elements in the union of boxes."""
    if not boxes:
        return np.zeros(cases, dtype=np.int64)
    hull = [reduce(_Interval.around, sides) for sides in zip(*boxes, strict=True)]
    every = np.sum([_size(box, cases) for box in boxes], axis=0)
    return np.asarray(np.minimum(_size(hull, cases), every), dtype=np.int64)


def _size(box: Sequence[_Interval], cases: int) -> Integers:
    size = np.ones(cases, dtype=np.int64)
    for side in box:
        size = size * np.maximum(side.high - side.low + 1, 0)
    return size
