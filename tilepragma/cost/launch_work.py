"""What a plan has to do for given sizes: launches, tiles, points and intra-tile wavefronts, for
many tile sizes at once.

Everything is read off the plan's own bounds; nothing goes through points. A *tile* is what is dealt
out: an iteration of the loops that gangs or threads take (where workers take them too, as many
iterations as a gang has workers). A *point* is an execution of statements that stand together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.counter import Counter
from tilepragma.cost.launch_counts import ENTRIES, Entries, Place, entries_of, places_of
from tilepragma.cost.nonempty_tiles import working_tiles
from tilepragma.cost.parameter_batch import Counts, Numbers, ParameterBatch, chosen, summed, total
from tilepragma.cost.statement_counts import SourceCounts, apart, each_case
from tilepragma.cost.tile_work import TileWork, axis_of, dealt_nest, representative_tile
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.plan.kernel_plan import KernelPlan, Launch, launches_in

#: Iterations that are gone through to count what all launches of a plan run that runs more than the
#: user's text does.
RUN_BUDGET = 2**22


@dataclass(frozen=True)
class Uncounted:
    """Why nothing can be said of a plan's work; a sentence without its full stop."""

    reason: str


@dataclass(frozen=True, eq=False)
class MappedLoop:
    """A loop that is dealt out along one `dimension`: `trips`, its iterations in each entry of the
    launch. `workers`: to workers as well as to gangs, to each of whom `points` of them.
    """

    dimension: int
    workers: bool
    points: int
    trips: Numbers


@dataclass(frozen=True, eq=False)
class LaunchWork:
    """One launch in each case of the sizes. `starts` has where each case's entries begin; an entry
    stands for `repeats` launches that deal out `loops` alike (0 where a case has none at all):
    exactly where `exact`, else it is one of so many. Not `exact` is also what the points of a tile
    that stands for all were multiplied for.

    `working` are the tiles of each entry that have points, where the plan lets tiles without any go
    by; None where it does not say. `points`, `operations` of floating type and `accesses` to
    memory, in bytes, are those of all launches together, one number a case. `find_tile` finds
    `tile`.
    """

    place: Place
    starts: Numbers
    repeats: Numbers
    loops: tuple[MappedLoop, ...]
    exact: bool
    working: Numbers | None
    points: Numbers
    operations: Numbers
    accesses: Numbers
    find_tile: Callable[[], TileWork]

    @property
    def tile(self) -> TileWork:
        """What stands for all of them, looked for when it is asked for: that takes longer than all else, and cores hardly need it."""
        return self.find_tile()

    @property
    def name(self) -> str:
        """That of the launch."""
        return self.place.launch.name

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
    """The launches of a plan in textual order; `cases` is how many cases of the sizes there are."""

    cases: int
    launches: tuple[LaunchWork, ...]


def plan_work(
    plan: KernelPlan,
    scalars: Mapping[str, Values],
    sizes: Mapping[str, Values],
    target: Target,
    entries: int = ENTRIES,
    source: SourceCounts | None = None,
) -> PlanWork | Uncounted:
    """The work of a plan where its scalars and tile sizes have these values, by name: arrays of one
    length are as many cases.

    Sizes that are not said are those that a launch takes by itself. `entries`: see ENTRIES.
    `source`: `SourceCounts.of` these scalars, where it is known already.
    """
    if plan.as_written is not None:
        return Uncounted(f"it runs the original loops: {plan.as_written}")
    on_host = target.is_host
    try:
        values: dict[str, Values] = {**_own_sizes(plan, scalars, sizes, on_host), **scalars, **sizes}
    except UncountableError as reason:
        return Uncounted(str(reason))
    cases = max((value.size for value in values.values() if not isinstance(value, int)), default=1)
    lanes = ParameterBatch(cases, values)
    steps = plan.host_steps if on_host else plan.device_steps
    try:
        known = SourceCounts.of(plan, scalars) if source is None else source
        found = tuple(_launch(place, known, launches_in(steps), entries) for place in places_of(steps, lanes))
    except UncountableError as reason:
        return Uncounted(str(reason))
    return PlanWork(cases, found)


def _own_sizes(
    plan: KernelPlan, scalars: Mapping[str, Values], said: Mapping[str, Values], on_host: bool
) -> dict[str, Values]:
    """What a launch takes for sizes where nothing is said. Raises UncountableError where that depends on what has no value."""
    names = [size.object.name for size in plan.sizes]
    if not on_host or not plan.choices or said.keys() | scalars.keys() >= set(names):
        return {size.object.name: size.host if on_host else size.device for size in plan.sizes}
    cases, own, index = apart(scalars)
    every = [sizes_on_hosts(plan, one) for one in each_case(cases, own)]
    columns = np.array(every, dtype=np.int64)[index].T
    return {name: int(column[0]) if cases == 1 else column for name, column in zip(names, columns, strict=True)}


def _launch(place: Place, source: SourceCounts, among: tuple[Launch, ...], most: int) -> LaunchWork:
    found = entries_of(place, most)
    tile = cache(partial(representative_tile, place.launch, found))
    nest = dealt_nest(place.launch, found.lanes)
    loops: tuple[MappedLoop, ...] = ()
    tiles, working, exact = np.ones_like(found.repeats), None, found.exact
    if nest is not None:
        trips = nest.trips()
        loops = tuple(MappedLoop(*axis_of(one), own) for one, own in zip(nest.loops, trips, strict=True))
        tiles = np.prod(trips, axis=0, dtype=np.int64)
        held = None if any(loop.workers for loop in loops) else working_tiles(nest, trips)
        if held is not None:
            working, all_held = held
            tiles, exact = working, exact and all_held
    counts = source.of_launch(place.launch, among, found.lanes)
    if counts is None:
        counts, all_run = _run(place, found, tile, tiles)
        exact = exact and all_run
    else:
        exact = exact and source.exact
    return LaunchWork(
        place=place,
        starts=found.starts,
        repeats=found.repeats,
        loops=loops,
        exact=exact,
        working=working,
        points=place.lanes.all(total(counts.values())),
        operations=place.lanes.all(total(own * source.operations(leaf) for leaf, own in counts.items())),
        accesses=place.lanes.all(total(own * source.accesses(leaf) for leaf, own in counts.items())),
        find_tile=tile,
    )


def _run(place: Place, entries: Entries, tile: Callable[[], TileWork], tiles: Numbers) -> tuple[Counts, bool]:
    """What all launches run, by their own text; where that takes too long, as if all tiles were
    like the one that stands for them, and False. Raises UncountableError.
    """
    cases = place.lanes.count
    try:
        found = entries_of(place, None)
        counts = Counter(RUN_BUDGET).count(place.launch.body, found.lanes)
        return {leaf: summed(found.case, found.repeats * own, cases) for leaf, own in counts.items()}, True
    except UncountableError:
        of_launches, of_tiles = tile().order[0]
        nest = dealt_nest(place.launch, entries.at_part(*of_launches))
        if nest is None:
            raise
        counts = Counter().count(nest.body, nest.at_part(*of_tiles))
        every = summed(entries.case, entries.repeats * tiles, cases)
        return {leaf: every * own for leaf, own in counts.items()}, False
