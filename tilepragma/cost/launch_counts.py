"""The launches of a plan under host loops: how often each runs, with which iterator values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter
from tilepragma.cost.parameter_batch import Numbers, ParameterBatch, chosen
from tilepragma.ir.loop_tree import Block, If, Loop
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, Launch, Step

#: The most iterations of a host loop that are enumerated; evenly spread samples stand for a longer
#: loop.
ENTRIES = 64


@dataclass(frozen=True)
class Place:
    """A launch and the steps around it, outermost first; `batch` has the cases."""

    launch: Launch
    around: tuple[HostLoop[Launch] | HostCondition[Launch], ...]
    batch: ParameterBatch


def places_of(
    steps: tuple[Step, ...], batch: ParameterBatch, around: tuple[HostLoop[Launch] | HostCondition[Launch], ...] = ()
) -> Iterator[Place]:
    """The launches of a tree in textual order."""
    for step in steps:
        if isinstance(step, Launch):
            yield Place(step, around, batch)
        else:
            yield from places_of(step.steps, batch, (*around, step))


@dataclass(frozen=True)
class Entries:
    """Launches, grouped by case: `batch` with values of the host's iterators, the `case` of each
    entry, and the number of launches that it represents. `exact`: every loop was enumerated in
    full.
    """

    batch: ParameterBatch
    case: Numbers
    repeats: Numbers
    exact: bool = True

    @cached_property
    def starts(self) -> Numbers:
        """The first entry of each case; each has at least one."""
        return np.flatnonzero(np.diff(self.case, prepend=-1))

    def at_part(self, numerator: int, denominator: int) -> ParameterBatch:
        """The entry of each case at the fraction numerator / denominator, rounded."""
        lengths = np.diff(np.append(self.starts, len(self.case)))
        return self.batch.at(self.starts + (2 * (lengths - 1) * numerator + denominator) // (2 * denominator))


def entries_of(place: Place, most: int | None) -> Entries:
    """The launches. Of a loop with more than `most` iterations, `most` evenly spread iterations
    represent the rest. Raises UncountableError.
    """
    cases = place.batch.count
    entries = Entries(place.batch, np.arange(cases), np.ones(cases, dtype=np.int64))
    for depth, step in enumerate(place.around):
        evaluation = entries.batch.evaluation
        if isinstance(step, HostCondition):
            holds = np.broadcast_to(evaluation.holds(step.condition), (entries.batch.count,))
            entries = Entries(entries.batch, entries.case, entries.repeats * holds, entries.exact)
            continue
        trips = entries.batch.all(evaluation.trips(step.loop))
        if step.loop.iterator.name in _deciding(place, depth + 1):
            entries = _sampled(step.loop, entries, trips, most)
        else:
            inside = entries.batch.inside({step.loop.iterator.name: step.loop.lower})
            entries = Entries(inside, entries.case, entries.repeats * trips, entries.exact)
    return entries


def _sampled(loop: Loop, entries: Entries, trips: Numbers, most: int | None) -> Entries:
    """The iterations of a host loop: at most `most` for each entry, at least one."""
    taken = np.maximum(trips if most is None else np.minimum(trips, most), 1)
    index, place = members(taken)
    first, beyond = place * trips[index] // taken[index], (place + 1) * trips[index] // taken[index]
    lower, step = (chosen(entries.batch.evaluation.value(bound), index) for bound in (loop.lower, loop.step))
    middle = np.maximum(first + beyond - 1, 0) // 2
    batch = entries.batch.at(index, {loop.iterator.name: lower + step * middle})
    exact = entries.exact and (most is None or bool(np.all(trips <= most)))
    return Entries(batch, entries.case[index], entries.repeats[index] * (beyond - first), exact)


def _deciding(place: Place, depth: int) -> frozenset[str]:
    """Names that decide how much runs inside the steps from this depth on."""
    loops = tuple(step.loop for step in place.around[depth:] if isinstance(step, HostLoop))
    conditions = tuple(step.condition for step in place.around[depth:] if isinstance(step, HostCondition))
    tests = tuple(If(condition, Block(()), None) for condition in conditions)
    return Counter().decisive(loops, Block((*tests, place.launch.body)))
