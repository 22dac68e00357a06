"""The launches of a plan under host loops: how often each runs, with which iterator values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter
from tilepragma.cost.parameter_batch import ParameterBatch, samples
from tilepragma.ir.expressions import Access
from tilepragma.ir.loop_tree import Block, If, Loop
from tilepragma.ir.traversal import walk
from tilepragma.model.execution_time import Integers
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

    @property
    def names(self) -> frozenset[str]:
        """The names that the launch or the steps around it mention."""
        steps = (step.loop if isinstance(step, HostLoop) else step.condition for step in self.around)
        parts = (self.launch.body, *steps)
        return frozenset(node.object.name for part in parts for node in walk(part) if isinstance(node, Access))


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
    case: Integers
    repeats: Integers
    exact: bool = True

    @cached_property
    def starts(self) -> Integers:
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
        if isinstance(step, HostCondition):
            entries = replace(entries, repeats=entries.repeats * entries.batch.holds(step.condition))
            continue
        trips = entries.batch.all(entries.batch.evaluation.trips(step.loop))
        if step.loop.iterator.name in _deciding(place, depth + 1):
            entries = _sampled(step.loop, entries, trips, most)
        else:
            inside = entries.batch.inside({step.loop.iterator.name: step.loop.lower})
            entries = replace(entries, batch=inside, repeats=entries.repeats * trips)
    return entries


def _sampled(loop: Loop, entries: Entries, trips: Integers, most: int | None) -> Entries:
    """The iterations of a host loop: at most `most` for each entry, at least one."""
    limit = int(trips.max()) if most is None else most
    index, place = members(np.maximum(np.minimum(trips, limit), 1))
    middle, repeats = samples(trips, limit, place, index)
    exact = entries.exact and bool(np.all(trips <= limit))
    batch = entries.batch.iterations(loop, index, middle)
    return Entries(batch, entries.case[index], entries.repeats[index] * repeats, exact)


def _deciding(place: Place, depth: int) -> frozenset[str]:
    """Names that decide how much runs inside the steps from this depth on."""
    loops = tuple(step.loop for step in place.around[depth:] if isinstance(step, HostLoop))
    conditions = tuple(step.condition for step in place.around[depth:] if isinstance(step, HostCondition))
    tests = tuple(If(condition, Block(()), None) for condition in conditions)
    return Counter().decisive(loops, Block((*tests, place.launch.body)))
