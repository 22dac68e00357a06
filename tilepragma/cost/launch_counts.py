"""The launches of a plan under the host's loops: how often each is launched, and with which values of their iterators."""

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

#: Iterations of one of the host's loops that launches are looked at in; of more, so many spread
#: evenly stand for those around them.
ENTRIES = 64


@dataclass(frozen=True)
class Place:
    """A launch and the steps around it, outermost first; `lanes` are the cases."""

    launch: Launch
    around: tuple[HostLoop | HostCondition, ...]
    lanes: ParameterBatch


def places_of(
    steps: tuple[Step, ...], lanes: ParameterBatch, around: tuple[HostLoop | HostCondition, ...] = ()
) -> Iterator[Place]:
    """The launches of a tree in textual order."""
    for step in steps:
        if isinstance(step, Launch):
            yield Place(step, around, lanes)
        else:
            yield from places_of(step.steps, lanes, (*around, step))


@dataclass(frozen=True)
class Entries:
    """Launches, those of each case together: `lanes` with values of the host's iterators, the
    `case` of each, and for how many launches it stands. `exact`: no loop was too long for all of
    its iterations to be among them.
    """

    lanes: ParameterBatch
    case: Numbers
    repeats: Numbers
    exact: bool = True

    @cached_property
    def starts(self) -> Numbers:
        """The first entry of each case, which has one at least."""
        return np.flatnonzero(np.diff(self.case, prepend=-1))

    def at_part(self, numerator: int, denominator: int) -> ParameterBatch:
        """Of each case the entry that such a part of the others is before, to the nearest."""
        lengths = np.diff(np.append(self.starts, len(self.case)))
        return self.lanes.at(self.starts + (2 * (lengths - 1) * numerator + denominator) // (2 * denominator))


def entries_of(place: Place, most: int | None) -> Entries:
    """The launches; of loops with more than `most` iterations so many, spread evenly, each in the
    middle of those that it stands for.

    Raises UncountableError.
    """
    cases = place.lanes.count
    found = Entries(place.lanes, np.arange(cases), np.ones(cases, dtype=np.int64))
    for depth, step in enumerate(place.around):
        evaluation = found.lanes.evaluation
        if isinstance(step, HostCondition):
            holds = np.broadcast_to(evaluation.holds(step.condition), (found.lanes.count,))
            found = Entries(found.lanes, found.case, found.repeats * holds, found.exact)
            continue
        trips = found.lanes.all(evaluation.trips(step.loop))
        if step.loop.iterator.name in _deciding(place, depth + 1):
            found = _sampled(step.loop, found, trips, most)
        else:
            inside = found.lanes.inside({step.loop.iterator.name: step.loop.lower})
            found = Entries(inside, found.case, found.repeats * trips, found.exact)
    return found


def _sampled(loop: Loop, found: Entries, trips: Numbers, most: int | None) -> Entries:
    """The iterations of a loop of the host, at most so many for each entry, at least one."""
    taken = np.maximum(trips if most is None else np.minimum(trips, most), 1)
    index, place = members(taken)
    first, beyond = place * trips[index] // taken[index], (place + 1) * trips[index] // taken[index]
    lower, step = (chosen(found.lanes.evaluation.value(bound), index) for bound in (loop.lower, loop.step))
    middle = np.maximum(first + beyond - 1, 0) // 2
    lanes = found.lanes.at(index, {loop.iterator.name: lower + step * middle})
    exact = found.exact and (most is None or bool(np.all(trips <= most)))
    return Entries(lanes, found.case[index], found.repeats[index] * (beyond - first), exact)


def _deciding(place: Place, depth: int) -> frozenset[str]:
    """Names that decide how much is launched inside the steps around at this depth."""
    loops = tuple(step.loop for step in place.around[depth:] if isinstance(step, HostLoop))
    conditions = tuple(step.condition for step in place.around[depth:] if isinstance(step, HostCondition))
    tests = tuple(If(condition, Block(()), None) for condition in conditions)
    return Counter().decisive(loops, Block((*tests, place.launch.body)))
