"""The work of a mapped nest's iterations on a core: points, loops, and the bytes that caches move.

A cache that holds one iteration's footprint moves each element once for all iterations of the loop:
consecutive iterations share elements. A smaller cache moves each iteration's data again. So the
bytes of a nest follow from the footprints of its loops, outermost first:

    moved(loop) = | footprint(loop) |              if | footprint(iteration) | <= cache
                  sum over iterations of moved(iteration)      otherwise

A long loop is sampled: the first and the last iteration, and three between them that represent a
third of the rest each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field, replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter, branches
from tilepragma.cost.footprint_boxes import Footprint, Groups, References, references
from tilepragma.cost.launch_counts import ENTRIES, Place, entries_of
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import Numbers, ParameterBatch, Reals, declared_along, is_leaf
from tilepragma.cost.statement_counts import distinct_cases
from tilepragma.cost.tile_work import MappedNest, mapped_nest
from tilepragma.ir.expressions import Access, Cast, Expression, IntegerLiteral
from tilepragma.ir.loop_tree import Barrier, Block, If, Loop, PackedPanels, Stage, Statement, TileNest
from tilepragma.ir.traversal import walk

#: The sampled launches, as fractions of all launches.
_PLACES = ((1, 6), (1, 2), (5, 6))
#: Loops of at most this length are enumerated; longer loops are sampled at as many iterations.
_FEW = 5
#: Loops of literal bounds up to this length are unrolled into the loop around.
_UNROLLED = 64


@dataclass(frozen=True, eq=False)
class NestWork:
    """Work in each case: the `points`; `padding`, points that register tiles compute without a use
    (`If.padded`) and that touch no memory; `rows`, executions of innermost loops; `control`,
    operations of bounds and conditions; the footprint; and the bytes that each cache moves, a row
    for each cache.
    """

    points: Reals
    padding: Reals
    rows: Reals
    control: Reals
    footprint: Footprint
    moved: Reals

    def at(self, index: Numbers) -> NestWork:
        """The cases at `index`."""
        parts = (self.points[index], self.padding[index], self.rows[index], self.control[index])
        return NestWork(*parts, self.footprint.at(index), self.moved[:, index])

    def gathered(self, groups: Groups, weights: Reals) -> NestWork:
        """For each case the weighted sum of its members."""

        def summed(values: Reals) -> Reals:
            sums = np.bincount(groups.index, weights=values * weights, minlength=groups.count)
            return np.asarray(sums, dtype=np.float64)

        return NestWork(
            summed(self.points),
            summed(self.padding),
            summed(self.rows),
            summed(self.control),
            self.footprint.gathered(groups),
            np.array([summed(row) for row in self.moved]).reshape(len(self.moved), groups.count),
        )


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
                return self._loops(tuple(tiled.loop for tiled in node.loops), node.body, batch)
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

    def _where(self, index: Numbers, part: Block, batch: ParameterBatch) -> NestWork:
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

    def _looked_at(self, loop: Loop, trips: Numbers) -> tuple[Numbers, Numbers, Reals]:
        """Sampled iterations of the loop: case, iteration, and the number that it represents."""
        few = _FEW if loop.iterator.name in self._counter.decisive((), loop.body) else 2
        taken = np.minimum(trips, few)
        index, number = members(taken)
        every = trips[index]
        if few == 2:
            return index, number * (every - 1), every / taken[index]
        inner, part = every - 2, few - 2
        between = 1 + inner * (2 * number - 1) // (2 * part)
        ends = (number == 0) | (number == few - 1)
        place = np.where(ends, np.where(number == 0, 0, every - 1), between)
        all_of_them = every <= few
        weights = np.where(ends | all_of_them, 1.0, inner / part)
        return index, np.where(all_of_them, number, place), weights


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
        total.points * scale,
        total.padding * scale,
        rows,
        total.control * scale,
        total.footprint,
        total.moved * scale,
    )


def _distinct_launches(place: Place) -> tuple[Place, Numbers]:
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
    if not isinstance(loop.lower, IntegerLiteral) or not isinstance(loop.upper, IntegerLiteral):
        return False
    return loop.upper.value - loop.lower.value <= _UNROLLED
