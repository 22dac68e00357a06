"""The work of a mapped nest's iterations on a core: points, loops, and the bytes that caches move.

A cache that holds one iteration's footprint moves each element once for all iterations of the loop:
consecutive iterations share elements. A smaller cache moves each iteration's data again. So the
bytes of a nest follow from the footprints of its loops, outermost first:

    moved(loop) = | footprint(loop) |              if | footprint(iteration) | <= cache
                  sum over iterations of moved(iteration)      otherwise

Footprints are boxes of subscripts. Uses of an array whose subscripts differ only in constants share
one box. The bytes of an array are those of the hull of its boxes, or the sum over its boxes,
whichever is smaller. Rows count in whole cache lines.

A long loop is sampled: the first and the last iteration, and three between them that represent a
third of the rest each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter, branches
from tilepragma.cost.launch_counts import ENTRIES, Place, entries_of
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import ParameterBatch, declared_along, is_leaf, loops_of
from tilepragma.cost.statement_counts import distinct_cases
from tilepragma.cost.tile_traffic import is_of_memory
from tilepragma.cost.tile_work import MappedNest, mapped_nest
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import Access, Cast, DataObject, Expression, IntegerLiteral
from tilepragma.ir.loop_tree import Barrier, Block, If, Loop, PackedPanels, Stage, Statement, TileNest
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.model.execution_time import Integers, Numbers
from tilepragma.plan.array_bytes import element_bytes

#: The sampled launches, as fractions of all launches.
_PLACES = ((1, 6), (1, 2), (5, 6))
#: Loops of at most this length are enumerated; longer loops are sampled at as many iterations.
_FEW = 5
#: Loops of literal bounds up to this length are unrolled into the loop around.
_UNROLLED = 64
#: Ends of an empty box: doubling it does not overflow.
_NOWHERE = 2**62 - 1


# -- Footprints


@dataclass(frozen=True)
class References:
    """Uses of `array` under one statement with subscripts `linear` + constants from `low` to `high`
    along each dimension. `written`: the range of the constants of writes, None without any.
    """

    array: DataObject
    linear: tuple[Polynomial, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    written: tuple[tuple[int, ...], tuple[int, ...]] | None


def references(statement: Statement) -> tuple[References, ...]:
    """The statement's references to arrays in memory."""
    groups: dict[tuple[DataObject, tuple[Polynomial, ...]], list[tuple[tuple[int, ...], bool]]] = {}
    for use in uses(statement):
        if is_of_memory(use):
            linear, constants = _split(use)
            groups.setdefault((use.object, linear), []).append((constants, use.writes))
    return tuple(_references(array, linear, members) for (array, linear), members in groups.items())


def _split(use: Use) -> tuple[tuple[Polynomial, ...], tuple[int, ...]]:
    parts = [polynomial(subscript) for subscript in use.subscripts]
    constants = tuple(part.constant_term for part in parts)
    return tuple(part - number(constant) for part, constant in zip(parts, constants, strict=True)), constants


def _references(
    array: DataObject, linear: tuple[Polynomial, ...], members: list[tuple[tuple[int, ...], bool]]
) -> References:
    every = [constants for constants, _ in members]
    writing = [constants for constants, writes in members if writes]
    return References(array, linear, *_around(every), _around(writing) if writing else None)


def _around(constants: list[tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    columns = list(zip(*constants, strict=True))
    return tuple(map(min, columns)), tuple(map(max, columns))


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of `count` cases: `index` has the case of each member, in ascending order."""

    index: Integers
    count: int

    @cached_property
    def _starts(self) -> Integers:
        """The first member of each case that has members."""
        return np.flatnonzero(np.diff(self.index, prepend=-1))

    def least(self, values: npt.NDArray[Any], nothing: float) -> npt.NDArray[Any]:
        """The least of each case's values, along the last axis; `nothing` without members."""
        length, odd = divmod(len(self.index), max(self.count, 1))
        if length and not odd and np.array_equal(self._starts, np.arange(0, len(self.index), length)):
            # Groups of equal size: slices take a third of the time.
            return reduce(np.minimum, (values[..., first::length] for first in range(length)))
        result = np.full((*values.shape[:-1], self.count), nothing, dtype=values.dtype)
        if len(self.index):
            result[..., self.index[self._starts]] = np.minimum.reduceat(values, self._starts, axis=-1)
        return result


#: The ends of a box along each dimension of an array, a column for each case: the lower ends, then
#: the negated upper ends, so that the least ends are those of a hull. A box is empty if a lower end
#: is above its upper end.
Box = Integers


def _box(origin: Integers, low: tuple[int, ...], high: tuple[int, ...]) -> Box:
    """The box from `low` to `high`, both relative to the subscripts."""
    rank, count = origin.shape
    ends = np.empty((2 * rank, count), dtype=np.int64)
    np.add(origin, np.array(low)[:, None], out=ends[:rank])
    np.subtract(-np.array(high)[:, None], origin, out=ends[rank:])
    return ends


def _bytes(box: Box, element: int, line: int) -> Numbers:
    """Bytes of the box's rows in whole cache lines, for any alignment of the rows."""
    rank = len(box) // 2
    lengths = np.maximum(1 - box[:rank] - box[rank:], 0).astype(np.float64)
    row = np.where(lengths[-1] > 0, lengths[-1] * element + (line - element), 0.0)
    return np.asarray(np.prod(lengths[:-1], axis=0) * row)


@dataclass(frozen=True, eq=False)
class Footprint:
    """The data touched in each case: a box for each group of references, and a box for the group's
    writes. The two are one object where all touched elements are written.
    """

    boxes: dict[tuple[References, bool], Box]
    _held: dict[int, Numbers] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(groups: Iterable[References], batch: ParameterBatch) -> Footprint:
        """The footprint of references at these values. Omits subscripts that depend on data."""
        boxes = {}
        for group in groups:
            try:
                origin = np.array([batch.all(batch.evaluation.value(expression(linear))) for linear in group.linear])
            except UncountableError:
                continue
            box = boxes[group, False] = _box(origin, group.low, group.high)
            if group.written is not None:
                boxes[group, True] = box if group.written == (group.low, group.high) else _box(origin, *group.written)
        return Footprint(boxes)

    def around(self, footprint: Footprint) -> Footprint:
        """The hulls of both footprints."""
        boxes = dict(self.boxes)
        for key, box in footprint.boxes.items():
            boxes[key] = np.minimum(boxes[key], box) if key in boxes else box
        return Footprint(boxes)

    def at(self, index: Integers) -> Footprint:
        """The cases at `index`."""
        return Footprint({key: box[:, index] for key, box in self.boxes.items()})

    def gathered(self, groups: Groups) -> Footprint:
        """For each case the footprint of its members."""
        distinct = {id(box): box for box in self.boxes.values()}
        gathered = {key: groups.least(box, _NOWHERE) for key, box in distinct.items()}
        return Footprint({key: gathered[id(box)] for key, box in self.boxes.items()})

    def held(self, line: int, count: int) -> Numbers:
        """Bytes of the cache lines that hold the footprint."""
        if line not in self._held:
            self._held[line] = sum(self._of_arrays(line, False), np.zeros(count))
        return self._held[line]

    def moved(self, line: int, count: int) -> Numbers:
        """Bytes that enter and leave the cache if each line does so once."""
        return sum(self._of_arrays(line, True), self.held(line, count))

    def _of_arrays(self, line: int, written: bool) -> Iterator[Numbers]:
        arrays: dict[DataObject, list[Box]] = {}
        for (group, writes), box in self.boxes.items():
            if writes == written:
                arrays.setdefault(group.array, []).append(box)
        for array, (hull, *others) in arrays.items():
            size = element_bytes(array)
            separate = _bytes(hull, size, line)
            if not others:
                yield separate
                continue
            for box in others:
                hull = np.minimum(hull, box)
                separate = separate + _bytes(box, size, line)
            yield np.minimum(_bytes(hull, size, line), separate)


# -- Nests


@dataclass(frozen=True, eq=False)
class NestWork:
    """Work in each case: the `points`; `padding`, points that register tiles compute without a use
    (`If.padded`) and that touch no memory; `rows`, executions of innermost loops; `control`,
    operations of bounds and conditions; the footprint; and the bytes that each cache moves, a row
    for each cache.
    """

    points: Numbers
    padding: Numbers
    rows: Numbers
    control: Numbers
    footprint: Footprint
    moved: Numbers

    def at(self, index: Integers) -> NestWork:
        """The cases at `index`."""
        parts = (self.points[index], self.padding[index], self.rows[index], self.control[index])
        return NestWork(*parts, self.footprint.at(index), self.moved[:, index])

    def gathered(self, groups: Groups, weights: Numbers) -> NestWork:
        """For each case the weighted sum of its members."""

        def summed(values: Numbers) -> Numbers:
            sums = np.bincount(groups.index, weights=values * weights, minlength=groups.count)
            return np.asarray(sums, dtype=np.float64)

        points, padding, rows, control = map(summed, (self.points, self.padding, self.rows, self.control))
        moved = np.array([summed(row) for row in self.moved]).reshape(len(self.moved), groups.count)
        return NestWork(points, padding, rows, control, self.footprint.gathered(groups), moved)


@dataclass
class NestCounter:
    """Counts the work of nests for `caches` (bytes, ascending) with lines of `line` bytes."""

    caches: tuple[int, ...]
    line: int
    _counter: Counter = field(default_factory=Counter)
    _references: dict[int, tuple[Statement, tuple[References, ...]]] = field(default_factory=dict)

    def work(self, node: Statement, batch: ParameterBatch) -> NestWork:
        """The work of one execution of the statement in each case. Raises UncountableError."""
        match node:
            case Block():
                return self._block(node, batch)
            case Loop():
                return self._loop(node, batch)
            case If():
                return self._padded(node, batch) if node.padded else self._branches(node, batch)
            case PackedPanels():
                return self._buffered(node, batch)
            case TileNest():
                return self._loops(loops_of(node), node.body, batch)
            case Barrier() | Stage():
                return self._nothing(batch.count)
        return self._block(Block((node,)), batch)

    def mapped(self, nest: MappedNest) -> NestWork:
        """The work of all iterations of a mapped nest. Raises UncountableError."""
        return self._loops(tuple(tiled.loop for tiled in nest.loops), nest.body, nest.batch)

    def _nothing(self, count: int) -> NestWork:
        none = np.zeros(count)
        return NestWork(none, none, none, none, Footprint({}), np.zeros((len(self.caches), count)))

    def _block(self, block: Block, batch: ParameterBatch) -> NestWork:
        work = self._nothing(batch.count)
        parts = 0
        leaf = False
        for declared, statement in declared_along(block, batch):
            if is_leaf(statement, declared):
                part = self._leaf(statement, declared)
                if not part.footprint.boxes:
                    continue
                # Adjacent statements are one point.
                part = replace(part, points=np.zeros(batch.count)) if leaf else part
                leaf = True
            else:
                part = self.work(statement, declared)
            work = self._held(_together(work, part), None) if parts else part
            parts += 1
        return work

    def _held(self, work: NestWork, iterations: tuple[NestWork, Groups] | None) -> NestWork:
        """Bounds the bytes of caches that hold everything, or each of the `iterations`."""
        count = len(work.points)
        if iterations is None:
            held = work.footprint.held(self.line, count)
        else:
            iteration, groups = iterations
            held = -groups.least(-iteration.footprint.held(self.line, len(groups.index)), 0.0)
        once = work.footprint.moved(self.line, count)
        fits = held <= np.array(self.caches, dtype=np.float64)[:, None]
        return replace(work, moved=np.where(fits, np.minimum(once, work.moved), work.moved))

    def _leaf(self, statement: Statement, batch: ParameterBatch) -> NestWork:
        key = id(statement)
        if key not in self._references:
            self._references[key] = statement, references(statement)
        count = batch.count
        footprint = Footprint.of(self._references[key][1], batch)
        moved = footprint.moved(self.line, count)
        none = np.zeros(count)
        return NestWork(np.ones(count), none, none, none, footprint, np.tile(moved, (len(self.caches), 1)))

    def _buffered(self, node: PackedPanels, batch: ParameterBatch) -> NestWork:
        """The body, and the loops that pack panels as rows: these are so short that the copy
        overlaps their start and end. Loads and stores of a register tile have no loop and are part
        of the body.
        """
        work = self._block(node.body, batch)
        packed = [buffer.loops for buffer in node.buffers if not buffer.stored]
        rows = [math.prod(batch.all(batch.evaluation.trips(loop)) for loop in loops[:-1]) for loops in packed if loops]
        return replace(work, rows=work.rows + sum(rows))

    def _branches(self, node: If, batch: ParameterBatch) -> NestWork:
        work = self._nothing(batch.count)
        for part, index in branches(node, batch):
            work = _together(work, self._where(index, part, batch))
        return replace(work, control=work.control + operators_in((node.condition,)))

    def _padded(self, node: If, batch: ParameterBatch) -> NestWork:
        """Registers compute the padding where the condition does not hold; no code tests it."""
        holds = batch.holds(node.condition)
        inside, beside = (self._where(np.flatnonzero(taken), node.then, batch) for taken in (holds, ~holds))
        return replace(inside, padding=inside.padding + beside.points + beside.padding)

    def _where(self, index: Integers, part: Block, batch: ParameterBatch) -> NestWork:
        """The part's work in the cases at `index`, none in the other cases."""
        if not len(index):
            return self._nothing(batch.count)
        return self.work(part, batch.at(index)).gathered(Groups(index, batch.count), np.ones(len(index)))

    def _loops(self, loops: tuple[Loop, ...], body: Block, batch: ParameterBatch) -> NestWork:
        for loop in reversed(loops):
            body = Block((replace(loop, body=body),))
        return self._block(body, batch)

    def _loop(self, loop: Loop, batch: ParameterBatch) -> NestWork:
        trips = batch.all(batch.evaluation.trips(loop))
        index, place, weights = self._looked_at(loop, trips)
        iteration = self._block(loop.body, batch.iterations(loop, index, place))
        groups = Groups(index, batch.count)
        work = iteration.gathered(groups, weights)
        control = work.control + operators_in((loop.lower, loop.upper))
        is_row = not iteration.rows.any() and not _is_unrolled(loop)
        rows = (trips > 0).astype(np.float64) if is_row else work.rows
        return self._held(replace(work, rows=rows, control=control), (iteration, groups))

    def _looked_at(self, loop: Loop, trips: Integers) -> tuple[Integers, Integers, Numbers]:
        """Sampled iterations of the loop: case, iteration, and the number that it represents."""
        few = _FEW if loop.iterator.name in self._counter.decisive((), loop.body) else 2
        taken = np.minimum(trips, few)
        index, place = members(taken)
        every = trips[index]
        if few == 2:
            return index, place * (every - 1), every / taken[index]
        inner, part = every - 2, few - 2
        between = 1 + inner * (2 * place - 1) // (2 * part)
        ends = (place == 0) | (place == few - 1)
        spread = np.where(ends, np.where(place == 0, 0, every - 1), between)
        all_of_them = every <= few
        weights = np.where(ends | all_of_them, 1.0, inner / part)
        return index, np.where(all_of_them, place, spread), weights


def launch_nest(work: LaunchWork, counter: NestCounter) -> NestWork:
    """All work of a launch in each case: sampled launches, scaled to the launch's points. Raises
    UncountableError.

    A core runs iterations of mapped loops one after another, as if it ran all of them. The
    footprint is that of the last sampled launch. If no sampled launch has a point but others do,
    the rows are infinite, so that no such layout is chosen.
    """
    place, which = _distinct_launches(work.place)
    launch, entries = place.launch, entries_of(place, ENTRIES)
    total = None
    alone = len(entries.case) == len(entries.starts)
    for part in _PLACES[:1] if alone else _PLACES:
        batch = entries.at_part(*part)
        nest = mapped_nest(launch, batch)
        nest_work = counter.work(launch.body, batch) if nest is None else counter.mapped(nest)
        total = nest_work if total is None else replace(_together(total, nest_work), footprint=nest_work.footprint)
    assert total is not None
    total = total.at(which)
    seen = total.points > 0
    scale = np.where(seen, work.points, 0) / np.where(seen, total.points, 1)
    rows = np.where(seen | (work.points == 0), total.rows * scale, np.inf)
    return NestWork(
        total.points * scale, total.padding * scale, rows, total.control * scale, total.footprint, total.moved * scale
    )


def _distinct_launches(place: Place) -> tuple[Place, Integers]:
    """The launch in the distinct cases of the names it mentions, and each case's distinct case."""
    values = {name: value for name in sorted(place.names) if (value := place.batch.get(name)) is not None}
    cases, distinct, index = distinct_cases(values)
    return replace(place, batch=ParameterBatch(cases, distinct)), np.broadcast_to(index, (place.batch.count,))


def _together(first: NestWork, second: NestWork) -> NestWork:
    """The sum of both, in sequence or for disjoint cases."""
    return NestWork(
        first.points + second.points,
        first.padding + second.padding,
        first.rows + second.rows,
        first.control + second.control,
        first.footprint.around(second.footprint),
        first.moved + second.moved,
    )


def operators_in(parts: Iterable[Expression]) -> int:
    """Operators and calls in expressions."""
    return sum(1 for part in parts for node in walk(part) if not isinstance(node, (Access, Cast, IntegerLiteral)))


def _is_unrolled(loop: Loop) -> bool:
    low, high = loop.lower, loop.upper
    return isinstance(low, IntegerLiteral) and isinstance(high, IntegerLiteral) and high.value - low.value <= _UNROLLED
