"""What an iteration of a nest that is dealt out does on a core: points, loops, and the bytes that
caches of given sizes move for it.

A cache that holds what one iteration of a loop touches takes in what all of its iterations touch
once: of two that follow each other one touches the same, some of it, or something new. Where it
does not hold that, it takes in what each iteration does by itself. So the bytes of a nest follow
from its loops, outermost first, by footprints alone:

    moved(loop) = | footprint(loop) |              if | footprint(iteration) | <= cache
                  sum over iterations of moved(iteration)      otherwise

Of long loops a few iterations are looked at: the first and the last, and three between them that
stand for a third each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field, replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter, branches
from tilepragma.cost.footprint_boxes import Footprint, Groups, Reals, References, references
from tilepragma.cost.launch_counts import ENTRIES, Place, entries_of
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.parameter_batch import Numbers, ParameterBatch, chosen, declared_along, is_leaf
from tilepragma.cost.statement_counts import apart
from tilepragma.cost.tile_work import MappedNest, dealt_nest
from tilepragma.ir.expressions import Access, Cast, Expression, IntegerLiteral
from tilepragma.ir.loop_tree import Barrier, Block, If, Loop, PackedPanels, Stage, Statement, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostLoop

#: Launches that are looked at, by the part of the others that is before them.
_PLACES = ((1, 6), (1, 2), (5, 6))
#: Loops with as few iterations are gone through; of longer ones as many are looked at.
_FEW = 5
#: Loops of literal bounds up to this length are unrolled: they are part of what stands in them.
_UNROLLED = 64


@dataclass(frozen=True, eq=False)
class NestWork:
    """For each case the `points`; those that register tiles compute besides, as `padding`
    (`If.padded`), which touch no memory; the `rows`, which are innermost loops that run; the
    `control`, operations of bounds and conditions; what is touched; and the bytes that each cache
    moves, a row for each of them.
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
        """For each case the sum of those that belong to it, by their weights."""

        def summed(values: Reals) -> Reals:
            found = np.bincount(groups.index, weights=values * weights, minlength=groups.count)
            return np.asarray(found, dtype=np.float64)

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
    """Looks at nests; `caches` are sizes in bytes, in ascending order, `line` the bytes that they move at once."""

    caches: tuple[int, ...]
    line: int
    _counter: Counter = field(default_factory=Counter)
    _references: dict[int, tuple[Statement, tuple[References, ...]]] = field(default_factory=dict)

    def work(self, node: Statement, lanes: ParameterBatch) -> NestWork:
        """Of one execution of the statement in each case. Raises UncountableError."""
        match node:
            case Block():
                return self._block(node, lanes)
            case Loop():
                return self._loop(node, lanes)
            case If():
                return self._padded(node, lanes) if node.padded else self._branches(node, lanes)
            case PackedPanels():
                return self._buffered(node, lanes)
            case TileNest():
                return self._loops(tuple(tiled.loop for tiled in node.loops), node.body, lanes)
            case Barrier() | Stage():
                return self._nothing(lanes.count)
        return self._block(Block((node,)), lanes)

    def dealt(self, nest: MappedNest) -> NestWork:
        """Of all iterations of a nest that is dealt out. Raises UncountableError."""
        return self._loops(tuple(tiled.loop for tiled in nest.loops), nest.body, nest.lanes)

    def _nothing(self, count: int) -> NestWork:
        none = np.zeros(count)
        return NestWork(none, none, none, none, Footprint({}), np.zeros((len(self.caches), count)))

    def _block(self, block: Block, lanes: ParameterBatch) -> NestWork:
        found = self._nothing(lanes.count)
        parts = 0
        leaf = False
        for there, statement in declared_along(block, lanes):
            if is_leaf(statement, there):
                one = self._leaf(statement, there)
                if not one.footprint.boxes:
                    continue
                # Statements that stand together are one point.
                one = replace(one, points=np.zeros(lanes.count)) if leaf else one
                leaf = True
            else:
                one = self.work(statement, there)
            found = self._held(_together(found, one), None) if parts else one
            parts += 1
        return found

    def _held(self, found: NestWork, iterations: tuple[NestWork, Groups] | None) -> NestWork:
        """What each cache moves that holds everything, or each of the `iterations`, which belong to these cases."""
        count = len(found.points)
        if iterations is None:
            held = found.footprint.held(self.line, count)
        else:
            iteration, groups = iterations
            held = -groups.least(-iteration.footprint.held(self.line, len(groups.index)), 0.0)
        once = found.footprint.moved(self.line, count)
        fits = held <= np.array(self.caches, dtype=np.float64)[:, None]
        return replace(found, moved=np.where(fits, np.minimum(once, found.moved), found.moved))

    def _leaf(self, statement: Statement, lanes: ParameterBatch) -> NestWork:
        key = id(statement)
        if key not in self._references:
            self._references[key] = statement, references(statement)
        count = lanes.count
        footprint = Footprint.of(self._references[key][1], lanes)
        moved = footprint.moved(self.line, count)
        none = np.zeros(count)
        return NestWork(np.ones(count), none, none, none, footprint, np.tile(moved, (len(self.caches), 1)))

    def _buffered(self, node: PackedPanels, lanes: ParameterBatch) -> NestWork:
        """The body, and the rows by which panels are packed: short ones, so that what is copied
        passes while they begin and end. Loads and stores of a register tile, in no loop, are part
        of what stands in it.
        """
        found = self._block(node.body, lanes)
        packed = [buffer.loops for buffer in node.buffers if not buffer.stored]
        rows = [math.prod(lanes.all(lanes.evaluation.trips(loop)) for loop in loops[:-1]) for loops in packed if loops]
        return replace(found, rows=found.rows + sum(rows))

    def _branches(self, node: If, lanes: ParameterBatch) -> NestWork:
        found = self._nothing(lanes.count)
        for part, index in branches(node, lanes):
            found = _together(found, self._where(index, part, lanes))
        return replace(found, control=found.control + operators_in((node.condition,)))

    def _padded(self, node: If, lanes: ParameterBatch) -> NestWork:
        """Nobody asks the condition: where it does not hold, the same is computed of what is in registers alone."""
        holds = np.broadcast_to(lanes.evaluation.holds(node.condition), (lanes.count,))
        there, beside = (self._where(np.flatnonzero(one), node.then, lanes) for one in (holds, ~holds))
        return replace(there, padding=there.padding + beside.points + beside.padding)

    def _where(self, index: Numbers, part: Block, lanes: ParameterBatch) -> NestWork:
        """What the part does in the cases at `index`, and nothing in the others."""
        if not len(index):
            return self._nothing(lanes.count)
        return self.work(part, lanes.at(index)).gathered(Groups(index, lanes.count), np.ones(len(index)))

    def _loops(self, loops: tuple[Loop, ...], body: Block, lanes: ParameterBatch) -> NestWork:
        for loop in reversed(loops):
            body = Block((replace(loop, body=body),))
        return self._block(body, lanes)

    def _loop(self, loop: Loop, lanes: ParameterBatch) -> NestWork:
        trips = lanes.all(lanes.evaluation.trips(loop))
        index, place, weights = self._looked_at(loop, trips)
        lower, step = (lanes.evaluation.value(bound) for bound in (loop.lower, loop.step))
        inside = lanes.at(index, {loop.iterator.name: chosen(lower, index) + chosen(step, index) * place})
        iteration = self._block(loop.body, inside)
        groups = Groups(index, lanes.count)
        found = iteration.gathered(groups, weights)
        control = found.control + operators_in((loop.lower, loop.upper))
        if iteration.rows.any() or _is_unrolled(loop):
            return self._held(replace(found, control=control), (iteration, groups))
        return self._held(replace(found, rows=(trips > 0).astype(np.float64), control=control), (iteration, groups))

    def _looked_at(self, loop: Loop, trips: Numbers) -> tuple[Numbers, Numbers, Reals]:
        """Iterations of the loop in each case: its number, theirs, and for how many each stands."""
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
    """All that a launch does in each case: a few launches, in as many's place as make up its
    points. Raises UncountableError.

    A core takes iterations of loops that are dealt out one after another, as if all were its own.
    The footprint is the last launch's. Where those that are looked at have no point and others do,
    nothing is known of what they do: its rows are infinitely many, so that no such layout is taken.
    """
    place, which = _told_apart(work.place)
    launch, entries = place.launch, entries_of(place, ENTRIES)
    found = None
    alone = len(entries.case) == len(entries.starts)
    for part in _PLACES[:1] if alone else _PLACES:
        lanes = entries.at_part(*part)
        nest = dealt_nest(launch, lanes)
        one = counter.work(launch.body, lanes) if nest is None else counter.dealt(nest)
        found = one if found is None else replace(_together(found, one), footprint=one.footprint)
    assert found is not None
    found = found.at(which)
    seen = found.points > 0
    scale = np.where(seen, work.points, 0) / np.where(seen, found.points, 1)
    rows = np.where(seen | (work.points == 0), found.rows * scale, np.inf)
    return NestWork(
        found.points * scale,
        found.padding * scale,
        rows,
        found.control * scale,
        found.footprint,
        found.moved * scale,
    )


def _told_apart(place: Place) -> tuple[Place, Numbers]:
    """The launch in those cases alone that differ in what it mentions, and which of these each case is: few tile sizes are those of all launches."""
    bounds = (step.loop if isinstance(step, HostLoop) else step.condition for step in place.around)
    mentioned = {
        node.object.name for part in (place.launch.body, *bounds) for node in walk(part) if isinstance(node, Access)
    }
    values = {name: value for name in sorted(mentioned) if (value := place.lanes.get(name)) is not None}
    cases, own, which = apart(values)
    return replace(place, lanes=ParameterBatch(cases, own)), np.broadcast_to(which, (place.lanes.count,))


def _together(one: NestWork, other: NestWork) -> NestWork:
    """One after the other, or one in some cases and the other in the rest."""
    return NestWork(
        one.points + other.points,
        one.padding + other.padding,
        one.rows + other.rows,
        one.control + other.control,
        one.footprint.around(other.footprint),
        one.moved + other.moved,
    )


def operators_in(parts: Iterable[Expression]) -> int:
    """Operators and calls in expressions."""
    return sum(1 for part in parts for node in walk(part) if not isinstance(node, (Access, Cast, IntegerLiteral)))


def _is_unrolled(loop: Loop) -> bool:
    if not isinstance(loop.lower, IntegerLiteral) or not isinstance(loop.upper, IntegerLiteral):
        return False
    return loop.upper.value - loop.lower.value <= _UNROLLED
