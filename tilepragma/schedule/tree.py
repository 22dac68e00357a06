"""Schedule trees, and how they become launches.

A schedule tree gives the order of statements, the host loops around them, and the loops to map.
This module adds nests, barriers, names, scalars and arguments. What it cannot settle is a refusal
of the strategy, never an error: the user did not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeAlias

from tilepragma.arguments.scalars import ScalarContext, classify
from tilepragma.base.diagnostics import Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import used_in, uses
from tilepragma.ir.directives import ReductionClause, TileClause
from tilepragma.ir.expressions import DataObject, Expression, Scope
from tilepragma.ir.flow import ScalarEffect, scalar_effect
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import Barrier, Block, Declaration, Function, If, Loop, Scratchpad, Statement, TileNest
from tilepragma.ir.substitution import with_accesses, with_objects
from tilepragma.ir.traversal import children, loops_in, with_blocks
from tilepragma.plan.kernel_plan import (
    HostCondition,
    HostLoop,
    Launch,
    LaunchTree,
    Step,
    TileSize,
    launches_in,
    with_launches,
)
from tilepragma.plan.loop_symbols import loop_symbols
from tilepragma.plan.space_time import Meanings, space_time_maps
from tilepragma.plan.summary import mentions
from tilepragma.schedule.candidate import Depths, Refusal, Region, ScheduleCandidate, counts_as_work
from tilepragma.schedule.doacross import columns_nest
from tilepragma.schedule.scratchpad_copies import in_scratchpad
from tilepragma.schedule.user_launches import finished_launch
from tilepragma.user_tiles.barrier_placement import insert_barriers
from tilepragma.user_tiles.coverage import check_repeated
from tilepragma.user_tiles.mapping import Clauses, literal_counts
from tilepragma.user_tiles.tile_nests import ChainContext, build_nests


@dataclass(frozen=True)
class ArrayTiles:
    """The array tiles of one launch's tile. `declarations` are numbers that a tile computes once.
    `fills` and `stores` are copy loops, mapped by `clauses`.
    """

    scratchpads: Mapping[DataObject, Scratchpad]
    declarations: tuple[Declaration, ...]
    fills: tuple[Statement, ...]
    stores: tuple[Statement, ...]
    clauses: Mapping[int, tuple[TileClause, ...]]

    def with_array_tiles(self, statement: Statement) -> Statement:
        """The statement on array tiles. Loops keep their identity, which numbers rely on."""
        inner = with_blocks(statement, lambda block: Block(tuple(map(self.with_array_tiles, block.statements))))
        if inner is not statement:
            return inner
        return with_accesses(statement, lambda access: in_scratchpad(access, self.scratchpads))

    @property
    def body(self) -> Block:
        """What staging adds to a launch."""
        return Block((*self.declarations, *self.fills, *self.stores))


@dataclass(frozen=True)
class LaunchNode:
    """A launch. `clauses` map loops under `body` by index; without mapped loops, one instance runs
    it. Iterators of host loops around and tile sizes may occur anywhere in `body`. `reductions` add
    to the user's, `scratchpads` belong to its gangs. `waits`: insert barriers where workers must
    wait; otherwise `body` has them.
    """

    body: Block
    clauses: Clauses = field(default_factory=dict)
    reductions: tuple[ReductionClause, ...] = ()
    scratchpads: tuple[Scratchpad, ...] = ()
    waits: bool = True
    pipelined: bool = False
    """the launch may become doacross (see Launch)"""
    array_tiles: ArrayTiles | None = None
    """array tiles that its gangs may keep in shared memory"""
    loops: tuple[Loop, ...] = ()
    """the parallel loops of `body`, outermost first, until `clauses` map them"""
    waiting: tuple[int, ...] = ()
    """the numbers of innermost loops that carry dependences, for hosts"""


#: The body of a host loop is ignored. Its iterator becomes local if it is from outside. Loops of
#: all launches for one kind of target have distinct indices.
ScheduleNode: TypeAlias = LaunchTree[LaunchNode]


def candidate_of(
    strategy: str,
    region: Region,
    host: tuple[ScheduleNode, ...],
    device: tuple[ScheduleNode, ...],
    sizes: tuple[TileSize, ...] = (),
    notes: tuple[str, ...] = (),
    depths: Depths | None = None,
    meanings: Meanings | None = None,
) -> ScheduleCandidate | Refusal:
    """The candidate of these nodes; default `depths` count all host loops not over tiles.
    `meanings` are those of the strategy's own loops.
    """
    symbols = frozenset(size.object for size in sizes)
    results = []
    for nodes in (host, device):
        builder = _Builder(region, symbols, meanings if meanings is not None else Meanings())
        made = builder.steps(nodes)
        if isinstance(made, Refusal):
            return made
        results.append((made, builder.shared))
    (host_steps, shared), (device_steps, device_shared) = results
    return ScheduleCandidate(
        strategy,
        host_steps,
        device_steps,
        tuple(dict.fromkeys((*shared, *device_shared))),
        sizes,
        depths if depths is not None else _depths(host_steps, 0, symbols),
        notes,
        staged=builder.staged,
    )


def _depths(steps: tuple[Step, ...], around: int, sizes: frozenset[DataObject]) -> Depths:
    depths = Depths()
    for step in steps:
        if isinstance(step, Launch):
            depth = _depth(step.body)
            step_depths = Depths(around + depth, 0, depth) if step.axes else Depths(0, around + depth, 0)
        else:
            work = 0 if isinstance(step, HostCondition) or mentions(step.loop, sizes) else counts_as_work(step.loop)
            step_depths = _depths(step.steps, around + work, sizes)
        depths = Depths(
            max(depths.parallel, step_depths.parallel),
            max(depths.sequential, step_depths.sequential),
            max(depths.launched, step_depths.launched),
        )
    return depths


def _depth(node: Any) -> int:
    """The most loops around any statement under `node`."""
    loops = [tiled.loop for tiled in node.loops] if isinstance(node, TileNest) else [node]
    count = sum(counts_as_work(loop) for loop in loops)
    return count + max((_depth(child) for child in children(node)), default=0)


@dataclass
class _Builder:
    """Builds the steps for one kind of target; `shared` collects the scalars reached by address."""

    region: Region
    sizes: frozenset[DataObject]
    meanings: Meanings
    shared: list[DataObject] = field(default_factory=list)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    staged: dict[str, Launch] = field(default_factory=dict)
    symbols: dict[int, str] = field(default_factory=dict)
    around: dict[int, tuple[DataObject, ...]] = field(default_factory=dict)
    """the iterators of host loops around each launch, by its identity"""

    @cached_property
    def user_iterators(self) -> frozenset[str]:
        """The names of the iterators of the region's loops."""
        return frozenset(loop.iterator.name for loop in loops_in(self.region.kernel.body))

    def steps(self, steps: tuple[ScheduleNode, ...]) -> tuple[Step, ...] | Refusal:
        for problem in _iterators_left(steps, self.region):
            return Refusal(problem)
        steps = _with_local_iterators(steps, {})
        launches = launches_in(steps)
        boxes = [node.array_tiles.body for node in launches if node.array_tiles is not None]
        self.symbols = loop_symbols(self.region.kernel, [*(node.body for node in launches), *boxes])
        steps = self._with_nests(steps, ())
        launches = launches_in(steps)
        functions = self.region.kernel.functions
        effects = {id(node): scalar_effect(node.body, self.region.scalars, functions) for node in launches}
        needed, inside = (_live_after(steps, live, effects) for live in (self.region.live_out, frozenset[str]()))
        names = [self.region.kernel.name]
        if len(launches) > 1:
            names = [f"{names[0]}_nest{number + 1}" for number in range(len(launches))]
        name = iter(names)
        made = with_launches(steps, lambda node: self._launch(node, next(name), needed[id(node)], inside[id(node)]))
        for item in self.diagnostics:
            if item.severity is Severity.ERROR:
                return Refusal(item.message)
        return made

    def _with_nests(self, steps: tuple[ScheduleNode, ...], around: tuple[DataObject, ...]) -> tuple[ScheduleNode, ...]:
        """The tree with nests built in its launches; `around` are the iterators of host loops."""
        on_host = host_evaluable(self.region.written, (*around, *self.sizes))
        counts = literal_counts(self.region.kernel.directive.counts)
        result: list[ScheduleNode] = []
        for step in steps:
            if isinstance(step, LaunchNode):
                context = ChainContext(step.clauses, self.symbols, on_host, counts, self.diagnostics)
                built = replace(step, body=build_nests(step.body, context))
                self.around[id(built)] = around
                result.append(built)
            elif isinstance(step, HostLoop):
                self._check_on_host(step.loop.bounds, on_host)
                inner = self._with_nests(step.steps, (*around, step.loop.iterator))
                result.append(HostLoop(step.loop, inner, step.shape))
            else:
                self._check_on_host((step.condition,), on_host)
                result.append(HostCondition(step.condition, self._with_nests(step.steps, around)))
        return tuple(result)

    def _check_on_host(self, values: tuple[Expression, ...], on_host: Callable[[Expression], bool]) -> None:
        for value in values:
            if not on_host(value):
                self.diagnostics.error(
                    getattr(value, "range", self.region.kernel.range),
                    "a loop around launches has a bound that the kernel itself computes",
                )

    def _launch(self, node: LaunchNode, name: str, needed: frozenset[str], inside: frozenset[str]) -> Launch:
        """The finished launch. The scalars `needed` live after it, those `inside` because other
        launches read them.
        """
        kernel = self.region.kernel
        reductions = (*kernel.directive.reductions, *node.reductions)
        context = ScalarContext(
            replace(kernel.directive, reductions=reductions),
            kernel.functions,
            needed,
            self.region.final - inside,
            False,
            self.region.floating,
            self.diagnostics,
        )
        check_repeated(node.body, self.diagnostics)
        scalars = classify(node.body, context)
        self.shared += [object_ for object_ in scalars.shared if object_ not in self.shared]
        used = used_in(node.body, kernel.functions, launch=True)
        values = tuple(iterator for iterator in self.around[id(node)] if iterator in used)
        launch = finished_launch(name, node.body, scalars, context, values, waits=node.waits)
        pipelined = node.pipelined and columns_nest(launch) is not None
        if node.array_tiles is not None:
            staged = _with_staged_form(launch, node.body, node.array_tiles, self.symbols, kernel.functions)
            self.staged |= {} if staged is None else {name: staged}
        schedule = space_time_maps(node.body, self.around[id(node)], self.user_iterators, self.meanings)
        return replace(launch, scratchpads=node.scratchpads, pipelined=pipelined, schedule=schedule)


def _with_staged_form(
    launch: Launch, body: Block, array_tiles: ArrayTiles, symbols: Mapping[int, str], functions: tuple[Function, ...]
) -> Launch | None:
    """The launch with a staged form; None if it is not one nest. `body` is the launch's, with
    nests, but no barriers.

        nest of gangs { declarations; if (the tile has points) { points of the tile } }
    ->  nest of gangs {
            declarations; those of the array tiles
            if (the tile has points) { fill; points, in the array tiles; store }
            barrier
        }
    """
    nest = body.statements[0] if len(body.statements) == 1 else None
    if not isinstance(nest, TileNest):
        return None
    diagnostics = Diagnostics()
    # Each gang computes the numbers of these loops from those of the tile.
    context = ChainContext(array_tiles.clauses, symbols, lambda _: False, {}, diagnostics)
    fills, stores = (build_nests(Block(part), context).statements for part in (array_tiles.fills, array_tiles.stores))
    statements = nest.body.statements
    head = tuple(takewhile(lambda statement: isinstance(statement, Declaration), statements))
    points = statements[len(head) :]
    inner: tuple[Statement, ...]
    if len(points) == 1 and isinstance(points[0], If) and points[0].otherwise is None:
        asked = points[0]
        work = (*fills, *map(array_tiles.with_array_tiles, asked.then.statements), *stores)
        inner = (replace(asked, then=Block(work)),)
    else:
        inner = (*fills, *map(array_tiles.with_array_tiles, points), *stores)
    made = replace(nest, body=Block((*head, *array_tiles.declarations, *inner)))
    (waiting,) = insert_barriers(Block((made,)), functions, frozenset(launch.privates), diagnostics).statements
    assert isinstance(waiting, TileNest)
    ended = replace(waiting, body=Block((*waiting.body.statements, Barrier())))
    if diagnostics.has_errors:
        return None
    return replace(launch, staged=Block((ended,)), staged_scratchpads=tuple(array_tiles.scratchpads.values()))


# -- iterators of the host's loops


def _with_local_iterators(
    steps: tuple[ScheduleNode, ...], instead: Mapping[DataObject, DataObject]
) -> tuple[ScheduleNode, ...]:
    """Make host iterators local: the user's variable gets its last value after the region."""
    result: list[ScheduleNode] = []
    for step in steps:
        if isinstance(step, LaunchNode):
            result.append(replace(step, body=with_objects(step.body, instead)) if instead else step)
            continue
        if isinstance(step, HostCondition):
            inner = _with_local_iterators(step.steps, instead)
            result.append(HostCondition(with_objects(step.condition, instead), inner))
            continue
        loop = with_objects(replace(step.loop, body=Block((), step.loop.body.range)), instead)
        outer, inside = step.loop.iterator, instead
        if outer.scope is not Scope.LOCAL:
            local = replace(outer, scope=Scope.LOCAL)
            loop = replace(loop, iterator=local, declares_iterator=True)
            inside = {**instead, outer: local}
        result.append(HostLoop(loop, _with_local_iterators(step.steps, inside), step.shape))
    return tuple(result)


def _iterators_left(steps: tuple[ScheduleNode, ...], region: Region) -> Iterator[str]:
    """Say which host iterators have a last value that is unknown but live, or read inside."""
    for step in steps:
        if isinstance(step, LaunchNode):
            continue
        if isinstance(step, HostLoop):
            iterator = step.loop.iterator
            if iterator.name in region.live_out and iterator.name not in region.final:
                where = f"'{iterator.host}' may be read after the kernel"
                yield f"{where}, but its last value there cannot be computed at launch"
            if iterator.scope is not Scope.LOCAL and _read_outside(iterator, region):
                yield f"the value that the loop over '{iterator.host}' leaves behind is used in the kernel"
        yield from _iterators_left(step.steps, region)


def _read_outside(iterator: DataObject, region: Region) -> bool:
    """Whether a statement outside of all loops over `iterator` reads it."""
    return any(
        use.object == iterator and use.reads and all(loop.iterator != iterator for loop in use.loops)
        for use in uses(Block(region.statements), region.kernel.functions)
    )


# -- scalars between launches

Live = Mapping[int, frozenset[str]]
"""The live scalars after each launch, by its identity."""


def _live_after(steps: tuple[ScheduleNode, ...], live: frozenset[str], effects: Mapping[int, ScalarEffect]) -> Live:
    """The live scalars after each launch, from what each reads first and surely assigns; `live` are
    those after all.
    """
    after: dict[int, frozenset[str]] = {}

    def before(steps: tuple[ScheduleNode, ...], live: frozenset[str]) -> frozenset[str]:
        for step in reversed(steps):
            if isinstance(step, LaunchNode):
                after[id(step)] = live
                live = effects[id(step)].before(live)
                continue
            once = before(step.steps, live)
            if isinstance(step, HostLoop):
                once = before(step.steps, live | once)
            live |= once
        return live

    before(steps, live)
    return after
