"""An upper bound of the memory traffic of large tiles, by boxes of subscripts instead of elements.

Every iterator of a tile has a range, computed from the ranges of the iterators around it; a
subscript's range follows by interval arithmetic. An array has at most the elements of the hull of
its accesses, and at most the sum over its accesses' boxes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import field

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.launch_counts import ENTRIES, entries_of
from tilepragma.cost.parameter_batch import Numbers, ParameterBatch
from tilepragma.cost.tile_traffic import ArrayTraffic, GangTile, is_of_memory
from tilepragma.cost.tile_work import MappedNest, axis_of, mapped_nest
from tilepragma.ir.accesses import uses
from tilepragma.ir.evaluation import UncountableError, Values, maximum, minimum
from tilepragma.ir.expressions import (
    Access,
    Binary,
    Call,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Unary,
)
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop, PackedPanels, Statement, TileNest
from tilepragma.ir.types import ScalarType
from tilepragma.plan.array_bytes import element_bytes


@dataclass(frozen=True, eq=False)
class _Range:
    """All values from `low` to `high`, in each case."""

    low: Values
    high: Values

    def around(self, range_: _Range) -> _Range:
        return _Range(minimum(self.low, range_.low), maximum(self.high, range_.high))

    def plus(self, range_: _Range) -> _Range:
        return _Range(self.low + range_.low, self.high + range_.high)

    def negative(self) -> _Range:
        return _Range(-self.high, -self.low)

    def times(self, range_: _Range) -> _Range:
        corners = [left * right for left in (self.low, self.high) for right in (range_.low, range_.high)]
        low, high = corners[0], corners[0]
        for corner in corners[1:]:
            low, high = minimum(low, corner), maximum(high, corner)
        return _Range(low, high)


def boxed_traffic(tile: GangTile) -> tuple[ArrayTraffic, ...]:
    """The traffic of each array, at most. Raises UncountableError."""
    of_launches, of_tiles = tile.order[0]
    nest = mapped_nest(tile.place.launch, entries_of(tile.place, ENTRIES).at_part(*of_launches))
    if nest is None:
        raise UncountableError(f"{tile.place.launch.name} has no tiles")
    boxes = _Boxes()
    boxes.visit(nest.body, _Ranges(nest.at_part(*of_tiles), _gang(nest, tile, of_tiles)))
    return tuple(boxes.traffic(tile.cases))


def _gang(nest: MappedNest, tile: GangTile, of_tiles: tuple[int, int]) -> dict[str, _Range | None]:
    """The iterators that the workers of a gang take together."""
    ranges: dict[str, _Range | None] = {}
    batch = nest.at_part(*of_tiles)
    for tiled in nest.loops:
        dimension, with_workers, points = axis_of(tiled)
        if with_workers:
            evaluation, name = batch.evaluation, tiled.loop.iterator.name
            first, step = batch.get(name), evaluation.value(tiled.loop.step)
            assert first is not None
            last = evaluation.value(tiled.loop.lower) + step * (evaluation.trips(tiled.loop) - 1)
            extent = first + step * (tile.workers.get(dimension, 1) * points - 1)
            reached = minimum(extent, last) if not tiled.loop.decreasing else maximum(extent, last)
            ranges[name] = _Range(minimum(first, reached), maximum(first, reached))
    return ranges


@dataclass(frozen=True)
class _Ranges:
    """What is known of names inside a tile; of others the cases know the values."""

    batch: ParameterBatch
    known: dict[str, _Range | None]

    def with_range(self, name: str, range_: _Range | None) -> _Ranges:
        return _Ranges(self.batch, {**self.known, name: range_})

    def of(self, node: Expression) -> _Range:
        """Raises UncountableError."""
        match node:
            case Access(subscripts=(), path=()) if node.object.name in self.known:
                range_ = self.known[node.object.name]
                if range_ is None:
                    raise UncountableError(f"'{node.object.host}' depends on data")
                return range_
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
        return _Range(value, value)

    def _helper(self, node: Call) -> _Range:
        left, right = (self.of(argument) for argument in node.arguments)
        if node.function == "tilek_minimum":
            return _Range(minimum(left.low, right.low), minimum(left.high, right.high))
        if node.function == "tilek_maximum":
            return _Range(maximum(left.low, right.low), maximum(left.high, right.high))
        up = right.low - 1 if node.function == "tilek_ceiling_quotient" else 0
        if np.any(np.asarray(right.low != right.high)) or np.any(np.asarray(right.low <= 0)):
            raise UncountableError("a tile's bound is divided by what differs inside the tile")
        return _Range((left.low + up) // right.low, (left.high + up) // right.low)

    def of_loop(self, loop: Loop) -> _Range:
        """The values of a loop's iterator."""
        lower, upper = self.of(loop.lower), self.of(loop.upper)
        inside = 0 if len(loop.comparison) == 2 and loop.comparison != "!=" else 1
        if loop.decreasing:
            return _Range(upper.low + inside, lower.high)
        return _Range(lower.low, upper.high - inside)

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

    def where(self, condition: Expression) -> _Ranges:
        """With the ranges narrowed by the condition's inequalities."""
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

    def _limited(self, node: Expression, limit: Expression, strict: int, *, below: bool) -> _Ranges:
        while isinstance(node, Cast):
            node = node.operand
        range_ = self.known.get(node.object.name) if isinstance(node, Access) and not node.subscripts else None
        if range_ is None or not isinstance(node, Access):
            return self
        try:
            bound = self.of(limit)
        except UncountableError:
            return self
        if below:
            return self.with_range(node.object.name, _Range(range_.low, minimum(range_.high, bound.high - strict)))
        return self.with_range(node.object.name, _Range(maximum(range_.low, bound.low + strict), range_.high))


@dataclass
class _Boxes:
    """The boxes of accesses, by array and by whether it is written."""

    boxes: dict[tuple[DataObject, bool], list[tuple[_Range, ...]]] = field(default_factory=dict)

    def visit(self, node: Statement, ranges: _Ranges) -> None:
        if isinstance(node, Block):
            for statement in node.statements:
                self._touch(statement, ranges) if not _has_parts(statement) else self.visit(statement, ranges)
                if isinstance(statement, Declaration):
                    ranges = _declared(statement, ranges)
        elif isinstance(node, If):
            if not ranges.never(node.condition):
                self.visit(node.then, ranges.where(node.condition))
            if node.otherwise is not None:
                self.visit(node.otherwise, ranges)
        elif isinstance(node, (Loop, TileNest)):
            for loop in (node,) if isinstance(node, Loop) else (tiled.loop for tiled in node.loops):
                ranges = ranges.with_range(loop.iterator.name, ranges.of_loop(loop))
            self.visit(node.body, ranges)
        elif isinstance(node, PackedPanels):
            self.visit(node.body, ranges)

    def _touch(self, statement: Statement, ranges: _Ranges) -> None:
        for use in uses(statement):
            if is_of_memory(use):
                box = tuple(ranges.of(subscript) for subscript in use.subscripts)
                for writes, done in ((False, use.reads), (True, use.writes)):
                    if done:
                        self.boxes.setdefault((use.object, writes), []).append(box)

    def traffic(self, cases: int) -> Iterator[ArrayTraffic]:
        """Upper bounds of the elements and rows."""
        for array in dict.fromkeys(array for array, _ in self.boxes):
            read, written = (self.boxes.get((array, writes), []) for writes in (False, True))
            rows = [[box[:-1] for box in boxes] for boxes in (read, written)]
            yield ArrayTraffic(
                array,
                element_bytes(array),
                read=_elements(read, cases),
                written=_elements(written, cases),
                touched=_elements([*read, *written], cases),
                read_rows=_elements(rows[0], cases),
                written_rows=_elements(rows[1], cases),
            )


def _has_parts(statement: Statement) -> bool:
    return any(
        isinstance(getattr(statement, field.name), Block) for field in dataclasses.fields(statement)
    ) or isinstance(statement, (Block, TileNest))


def _declared(declaration: Declaration, ranges: _Ranges) -> _Ranges:
    for declarator in declaration.declarators:
        range_: _Range | None = None
        if declarator.initializer is not None and not isinstance(declarator.initializer, tuple):
            try:
                range_ = ranges.of(declarator.initializer)
            except UncountableError:
                range_ = None
        ranges = ranges.with_range(declarator.object.name, range_)
    return ranges


def _elements(boxes: list[tuple[_Range, ...]], cases: int) -> Numbers:
    """An upper bound of the elements in the union of boxes."""
    if not boxes:
        return np.zeros(cases, dtype=np.int64)
    around = boxes[0]
    for box in boxes[1:]:
        around = tuple(left.around(right) for left, right in zip(around, box, strict=True))
    every = np.sum([_size(box, cases) for box in boxes], axis=0)
    return np.asarray(np.minimum(_size(around, cases), every), dtype=np.int64)


def _size(box: tuple[_Range, ...], cases: int) -> Numbers:
    size = np.ones(cases, dtype=np.int64)
    for side in box:
        size = size * np.maximum(side.high - side.low + 1, 0)
    return size
