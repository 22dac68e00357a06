"""What a plan has to do for given sizes: launches, tiles, points and intra-tile wavefronts, for many tile sizes at once.

Everything is read off the plan's own bounds; nothing goes through points. A *tile* is what is dealt out: an iteration of the loops that gangs or
threads take (where workers take them too, as many iterations as a gang has workers). A *point* is an execution of statements that stand together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilepragma.ir.directives import Target
from tilepragma.ir.looptree import Block, If, Loop
from tilepragma.plan.counting import Counter
from tilepragma.plan.evaluation import UncountableError, Values
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step, launches_in
from tilepragma.plan.lanes import Counts, Lanes, Numbers, chosen, total
from tilepragma.plan.source_counts import SourceCounts
from tilepragma.plan.tile_work import axis_of, dealt_nest, middle_tile

#: Iterations of one of the host's loops that launches are looked at in; of more, so many spread evenly stand for those around them.
ENTRIES = 64


@dataclass(frozen=True)
class Uncounted:
    """Why nothing can be said of a plan's work; a sentence without its full stop."""

    reason: str


@dataclass(frozen=True, eq=False)
class DealtLoop:
    """A loop that is dealt out along one `dimension`: `trips`, its iterations in each entry of the launch. `workers`: to workers as well as to
    gangs, to each of whom `points` of them.
    """

    dimension: int
    workers: bool
    points: int
    trips: Numbers


@dataclass(frozen=True, eq=False)
class LaunchWork:
    """One launch in each case of the sizes. `starts` has where each case's entries begin; an entry stands for `repeats` launches one after the
    other that deal out `loops` alike (0 where a case has none at all): exactly where `exact`, else it is the middle one of so many.

    `points` and `operations`, of floating type, are what all of them make together, one number a case. `fronts` are the points of each
    intra-tile wavefront of a tile in the middle, a row a case, padded with 0, an array for each group of workers between two barriers;
    none where workers do not wait for each other inside a tile. `tile_points` are the points of that tile; None where they are too many to count.
    """

    name: str
    starts: Numbers
    repeats: Numbers
    loops: tuple[DealtLoop, ...]
    exact: bool
    points: Numbers
    operations: Numbers
    fronts: tuple[Numbers, ...]
    tile_points: Numbers | None

    def tiles(self, workers: tuple[Values, ...] = (1, 1, 1)) -> Numbers:
        """Tiles of each entry where a gang has so many `workers` along each dimension, for each case; what has no points counts too."""
        case = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.repeats))))
        result = np.ones(len(self.repeats), dtype=np.int64)
        for loop in self.loops:
            extent: Values = chosen(workers[loop.dimension], case) * loop.points if loop.workers else 1
            result = result * -(-loop.trips // extent)
        return np.asarray(result, dtype=np.int64)

    @cached_property
    def launches(self) -> Numbers:
        """How often it is launched, for each case."""
        return np.add.reduceat(self.repeats, self.starts)


@dataclass(frozen=True, eq=False)
class PlanWork:
    """The launches of a plan on one kind of target, in textual order; `cases` is how many cases of the sizes there are."""

    cases: int
    launches: tuple[LaunchWork, ...]


def plan_work(
    plan: KernelPlan, scalars: Mapping[str, int], sizes: Mapping[str, Values], target: Target, entries: int = ENTRIES
) -> PlanWork | Uncounted:
    """The work of a plan where its scalars and tile sizes have these values, by name: arrays of one length for `sizes` are as many cases.

    Sizes that are not said are the plan's own. `entries`: see ENTRIES.
    """
    if plan.as_written is not None:
        return Uncounted(f"it runs as written: {plan.as_written}")
    on_host = target in (Target.SERIAL, Target.THREADS)
    own = {size.object.name: size.host if on_host else size.device for size in plan.sizes}
    values: dict[str, Values] = {**own, **scalars, **sizes}
    cases = max((value.size for value in values.values() if not isinstance(value, int)), default=1)
    lanes = Lanes(cases, values)
    steps = plan.host_steps if on_host else plan.device_steps
    try:
        source = SourceCounts.of(plan, scalars)
        found = tuple(_launch(place, source, launches_in(steps), entries) for place in _places(steps, lanes))
    except UncountableError as reason:
        return Uncounted(str(reason))
    return PlanWork(cases, found)


# -- launches under the host's loops ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A launch and the steps around it, outermost first; `lanes` are the cases."""

    launch: Launch
    around: tuple[HostLoop | HostCondition, ...]
    lanes: Lanes


def _places(
    steps: tuple[Step, ...], lanes: Lanes, around: tuple[HostLoop | HostCondition, ...] = ()
) -> Iterator[_Place]:
    for step in steps:
        if isinstance(step, Launch):
            yield _Place(step, around, lanes)
        else:
            yield from _places(step.steps, lanes, (*around, step))


@dataclass(frozen=True)
class _Entries:
    """Launches: `lanes` with values of the host's iterators, each of the case `case`, and for how many launches it stands."""

    lanes: Lanes
    case: Numbers
    repeats: Numbers


def _entries(place: _Place, most: int | None) -> tuple[_Entries, bool]:
    """The launches, those of loops with more than `most` iterations in samples, and whether there are none of these."""
    lanes, exact = place.lanes, True
    found = _Entries(lanes, np.arange(lanes.count), np.ones(lanes.count, dtype=np.int64))
    for depth, step in enumerate(place.around):
        if not isinstance(step, HostLoop):
            holds = np.broadcast_to(found.lanes.evaluation.holds(step.condition), (found.lanes.count,))
            found = _Entries(found.lanes, found.case, found.repeats * holds)
            continue
        trips = found.lanes.all(found.lanes.evaluation.trips(step.loop))
        if step.loop.iterator.name not in _wanted(place, depth + 1):
            inside = found.lanes.inside({step.loop.iterator.name: step.loop.lower})
            found = _Entries(inside, found.case, found.repeats * trips)
            continue
        exact = exact and (most is None or bool(np.all(trips <= most)))
        found = _sampled(step.loop, found, trips, most)
    return found, exact


def _sampled(loop: Loop, found: _Entries, trips: Numbers, most: int | None) -> _Entries:
    """The iterations of a loop of the host, at most so many for each entry, at least one."""
    taken = np.maximum(trips if most is None else np.minimum(trips, most), 1)
    index = np.repeat(np.arange(len(taken)), taken)
    place = np.arange(len(index)) - np.repeat(np.cumsum(taken) - taken, taken)
    first, beyond = place * trips[index] // taken[index], (place + 1) * trips[index] // taken[index]
    lower, step = (chosen(found.lanes.evaluation.value(bound), index) for bound in (loop.lower, loop.step))
    middle = np.maximum(first + beyond - 1, 0) // 2
    lanes = found.lanes.at(index, {loop.iterator.name: lower + step * middle})
    return _Entries(lanes, found.case[index], found.repeats[index] * (beyond - first))


def _wanted(place: _Place, depth: int) -> frozenset[str]:
    """Names that decide how much is launched inside the steps around at this depth."""
    counter = Counter()
    loops = tuple(step.loop for step in place.around[depth:] if isinstance(step, HostLoop))
    conditions = tuple(step.condition for step in place.around[depth:] if isinstance(step, HostCondition))
    tests = tuple(If(condition, Block(()), None) for condition in conditions)
    return counter.decisive(loops, Block((*tests, place.launch.body)))


# -- one launch -------------------------------------------------------------------------------------------------------


def _launch(place: _Place, source: SourceCounts, among: tuple[Launch, ...], most: int) -> LaunchWork:
    found, exact = _entries(place, most)
    starts = np.searchsorted(found.case, np.arange(place.lanes.count))
    counts = source.of_launch(place.launch, among, found.lanes)
    if counts is None:
        counts = _run(place)
    points = place.lanes.all(total(counts.values()))
    operations = place.lanes.all(total(values * source.operations(leaf) for leaf, values in counts.items()))
    middle = starts + (np.diff(np.append(starts, len(found.case))) - 1) // 2
    fronts, tile_points = middle_tile(place.launch, found.lanes.at(middle))
    return LaunchWork(
        place.launch.name,
        starts,
        found.repeats,
        _dealt(place.launch, found.lanes),
        exact,
        points,
        operations,
        fronts,
        tile_points,
    )


def _run(place: _Place) -> Counts:
    """What all launches run, by their own text."""
    found, _ = _entries(place, None)
    counts = Counter().count(place.launch.body, found.lanes)
    result: Counts = {}
    for leaf, values in counts.items():
        summed = np.zeros(place.lanes.count, dtype=np.int64)
        np.add.at(summed, found.case, found.repeats * values)
        result[leaf] = summed
    return result


def _dealt(launch: Launch, lanes: Lanes) -> tuple[DealtLoop, ...]:
    """The loops that gangs or threads take; none where one instance does everything."""
    found = dealt_nest(launch, lanes)
    if found is None:
        return ()
    nest, there = found
    return tuple(
        DealtLoop(*axis_of(tiled), there.all(there.evaluation.trips(tiled.loop)))
        for tiled in nest.loops
        if any(tile.axis is not None for tile in tiled.tiles)
    )
