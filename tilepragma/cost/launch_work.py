"""The work of a plan for many tile sizes: launches, tiles, points and intra-tile wavefronts.

All counts come from the plan's bounds, not from enumerated points. A *tile* is an iteration of the
loops mapped to gangs or threads (if workers take them too, as many iterations as a gang has
workers). A *point* is an execution of adjacent statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.counter import Counter
from tilepragma.cost.launch_counts import ENTRIES, Entries, Place, entries_of, places_of
from tilepragma.cost.parameter_batch import Counts, ParameterBatch, chosen, summed
from tilepragma.cost.statement_counts import SourceCounts, distinct_cases, each_case
from tilepragma.cost.tile_work import MappedLoop, TileWork, mapped_nest, nonempty_tiles, representative_tile
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.model.execution_time import Integers
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.plan.kernel_plan import KernelPlan, Launch, launches_in

#: The most iterations enumerated to count a plan that runs more than the user's text.
RUN_BUDGET = 2**22


@dataclass(frozen=True, eq=False)
class LaunchWork:
    """One launch in each case of the sizes. `starts` has the first entry of each case. An entry
    represents `repeats` launches with the same `trips` of the mapped `loops` (0 where a case has no
    launch). Not `exact`: entries are samples, or points are those of a representative tile times
    the number of tiles.

    `nonempty`: the tiles of each entry that have points, if the plan tests this; else None.
    `points`, floating-point `operations` and `accesses` (bytes) are totals over all launches, one
    number a case. `find_tile` computes `tile`.
    """

    place: Place
    starts: Integers
    repeats: Integers
    loops: tuple[MappedLoop, ...]
    trips: tuple[Integers, ...]
    exact: bool
    nonempty: Integers | None
    points: Integers
    operations: Integers
    accesses: Integers
    find_tile: Callable[[], TileWork]

    @property
    def tile(self) -> TileWork:
        """The representative tile, computed on demand: it is slow, and hosts rarely need it."""
        return self.find_tile()

    @property
    def name(self) -> str:
        """The launch's name."""
        return self.place.launch.name

    @property
    def cases(self) -> int:
        """The number of cases."""
        return len(self.starts)

    def tiles(self, workers: tuple[Values, ...] = (1, 1, 1)) -> Integers:
        """Tiles of each entry, empty ones too, for the `workers` of a gang by dimension."""
        case = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.repeats))))
        result = np.ones(len(self.repeats), dtype=np.int64)
        for loop, trips in zip(self.loops, self.trips, strict=True):
            extent: Values = chosen(workers[loop.dimension], case) * loop.points if loop.workers else 1
            result = result * -(-trips // extent)
        return np.asarray(result, dtype=np.int64)

    @cached_property
    def launches(self) -> Integers:
        """How often it is launched, for each case."""
        return np.add.reduceat(self.repeats, self.starts)


def plan_work(
    plan: KernelPlan,
    scalars: Mapping[str, Values],
    sizes: Mapping[str, Values],
    target: Target,
    entries: int = ENTRIES,
    source: SourceCounts | None = None,
) -> tuple[LaunchWork, ...]:
    """The work of a plan's launches, in textual order, for these scalars and tile sizes, by name.
    Arrays have one value a case. Raises UncountableError.

    Missing sizes take the launch's defaults. `entries`: see ENTRIES. `source`: `SourceCounts.of`
    these scalars, if it is available.
    """
    if plan.untransformed is not None:
        raise UncountableError(f"it runs the original loops: {plan.untransformed}")
    on_host = target.is_host
    values: dict[str, Values] = {**_default_sizes(plan, scalars, sizes, on_host), **scalars, **sizes}
    cases = max((value.size for value in values.values() if not isinstance(value, int)), default=1)
    batch = ParameterBatch(cases, values)
    steps = plan.host_steps if on_host else plan.device_steps
    known = SourceCounts.of(plan, scalars) if source is None else source
    return tuple(_launch(place, known, launches_in(steps), entries) for place in places_of(steps, batch))


def _default_sizes(
    plan: KernelPlan, scalars: Mapping[str, Values], given: Mapping[str, Values], on_host: bool
) -> dict[str, Values]:
    """The launch's default sizes. Raises UncountableError if they depend on unknown names."""
    names = [size.object.name for size in plan.sizes]
    if not on_host or not plan.choices or given.keys() | scalars.keys() >= set(names):
        return {size.object.name: size.host if on_host else size.device for size in plan.sizes}
    cases, distinct, index = distinct_cases(scalars)
    every = [sizes_on_hosts(plan, case) for case in each_case(cases, distinct)]
    columns = np.array(every, dtype=np.int64)[index].T
    return {name: int(column[0]) if cases == 1 else column for name, column in zip(names, columns, strict=True)}


def _launch(place: Place, source: SourceCounts, among: tuple[Launch, ...], most: int) -> LaunchWork:
    entries = entries_of(place, most)
    tile = cache(partial(representative_tile, place.launch, entries))
    nest = mapped_nest(place.launch, entries.batch)
    trips: tuple[Integers, ...] = ()
    tiles, nonempty, exact = np.ones_like(entries.repeats), None, entries.exact
    if nest is not None:
        trips = nest.trips()
        tiles = np.prod(trips, axis=0, dtype=np.int64)
        held = None if any(loop.workers for loop in nest.loops) else nonempty_tiles(nest, trips)
        if held is not None:
            nonempty, all_held = held
            tiles, exact = nonempty, exact and all_held
    counts, all_run = source.of_launch(place.launch, among, entries.batch), source.exact
    if counts is None:
        counts, all_run = _run(place, entries, tile, tiles)
    return LaunchWork(
        place=place,
        starts=entries.starts,
        repeats=entries.repeats,
        loops=() if nest is None else nest.loops,
        trips=trips,
        exact=exact and all_run,
        nonempty=nonempty,
        points=place.batch.all(sum(counts.values())),
        operations=place.batch.all(sum(count * source.operations(leaf) for leaf, count in counts.items())),
        accesses=place.batch.all(sum(count * source.accesses(leaf) for leaf, count in counts.items())),
        find_tile=tile,
    )


def _run(place: Place, entries: Entries, tile: Callable[[], TileWork], tiles: Integers) -> tuple[Counts, bool]:
    """The executions of all launches, by their own text. If that takes too long: those of a
    representative tile times the tiles, and False. Raises UncountableError.
    """
    cases = place.batch.count
    try:
        all_entries = entries_of(place, None)
        counts = Counter(RUN_BUDGET).count(place.launch.body, all_entries.batch)
        case, repeats = all_entries.case, all_entries.repeats
        return {leaf: summed(case, repeats * count, cases) for leaf, count in counts.items()}, True
    except UncountableError:
        of_launches, of_tiles = tile().order[0]
        nest = mapped_nest(place.launch, entries.at_part(*of_launches))
        if nest is None:
            raise
        counts = Counter().count(nest.body, nest.at_part(*of_tiles))
        every = summed(entries.case, entries.repeats * tiles, cases)
        return {leaf: every * count for leaf, count in counts.items()}, False
