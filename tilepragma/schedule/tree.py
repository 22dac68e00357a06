"""Schedule trees, and how they become launches.

A schedule tree gives the order of statements, the host loops around them, and the loops to map.
This module adds nests, barriers, names, scalars and arguments. What it cannot settle is a refusal
of the strategy, never an error: the user did not ask for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from tilepragma.arguments.scalars import ScalarContext, classify
from tilepragma.base.diagnostics import Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.expressions import DataObject, Expression, Scope
from tilepragma.ir.flow import scalar_effect
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import Block, ForLoop, Loop, Scratchpad, TileNest, While
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import children
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, Launch, Step, TiledBand, TileSize
from tilepragma.plan.loop_symbols import loop_symbols
from tilepragma.plan.summary import mentions
from tilepragma.schedule.doacross import columns_nest
from tilepragma.schedule.staged_form import ArrayTiles, StagedForm, staged_form
from tilepragma.schedule.strategy import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.user_launches import finished_launch
from tilepragma.user_tiles.chain_checks import literal_trip
from tilepragma.user_tiles.coverage import check_repeated
from tilepragma.user_tiles.mapping import Clauses, literal_counts
from tilepragma.user_tiles.tile_nests import ChainContext, build_nests


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


@dataclass(frozen=True)
class HostLoopNode:
    """A host loop around launches; its own body is ignored. Outside iterators become local."""

    loop: Loop
    nodes: tuple[ScheduleNode, ...]
    shape: str = ""
    band: TiledBand | None = None


@dataclass(frozen=True)
class ConditionNode:
    """`nodes` run if the host evaluates `condition` to other than 0."""

    condition: Expression
    nodes: tuple[ScheduleNode, ...]


#: Loops with fewer iterations do not count as work.
WORTH_COUNTING = 8

#: Loops of all nodes for one kind of target have distinct indices.
ScheduleNode = LaunchNode | HostLoopNode | ConditionNode


def candidate_of(
    strategy: str,
    region: Region,
    host: tuple[ScheduleNode, ...],
    device: tuple[ScheduleNode, ...],
    sizes: tuple[TileSize, ...] = (),
    notes: tuple[str, ...] = (),
    depths: Depths | None = None,
) -> ScheduleCandidate | Refusal:
    """The candidate of these nodes; default `depths` count all host loops not over tiles."""
    results = []
    for nodes in (host, device):
        builder = _Builder(region, frozenset(size.object for size in sizes))
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
        depths if depths is not None else _depths(host_steps, 0, frozenset(size.object for size in sizes)),
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


def counts_as_work(node: Any) -> int:
    """1 for a loop that may run long, else 0."""
    if isinstance(node, Loop):
        trip = literal_trip(node)
        return int(trip is None or trip >= WORTH_COUNTING)
    return int(isinstance(node, (ForLoop, While)))


@dataclass(frozen=True)
class _Place:
    """A launch node with its nests built, and the iterators of host loops around it."""

    node: LaunchNode
    body: Block
    around: tuple[DataObject, ...]


@dataclass
class _Builder:
    """Builds the steps for one kind of target; `shared` collects the scalars reached by address."""

    region: Region
    sizes: frozenset[DataObject]
    shared: list[DataObject] = field(default_factory=list)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    places: list[_Place] = field(default_factory=list)
    staged: dict[str, StagedForm] = field(default_factory=dict)
    symbols: dict[int, str] = field(default_factory=dict)

    def steps(self, nodes: tuple[ScheduleNode, ...]) -> tuple[Step, ...] | Refusal:
        for problem in _iterators_left(nodes, self.region):
            return Refusal(problem)
        nodes = tuple(_own_iterators(node) for node in nodes)
        launches = tuple(launch_nodes(nodes))
        boxes = [node.array_tiles.body for node in launches if node.array_tiles is not None]
        self.symbols = loop_symbols(self.region.kernel, [*(node.body for node in launches), *boxes])
        self._build_nests(nodes, ())
        live = _Liveness(self.region, [place.body for place in self.places])
        needed = live.after(nodes, self.region.live_out)
        inside = live.after(nodes, frozenset())
        made = [self._launch(place, number, needed[number], inside[number]) for number, place in enumerate(self.places)]
        for item in self.diagnostics:
            if item.severity is Severity.ERROR:
                return Refusal(item.message)
        return _with_launches(nodes, iter(made))

    def _build_nests(self, nodes: tuple[ScheduleNode, ...], around: tuple[DataObject, ...]) -> None:
        on_host = host_evaluable(self.region.written, (*around, *self.sizes))
        counts = literal_counts(self.region.kernel.directive.counts)
        for node in nodes:
            if isinstance(node, LaunchNode):
                context = ChainContext(node.clauses, self.symbols, on_host, counts, self.diagnostics)
                self.places.append(_Place(node, build_nests(node.body, context), around))
            elif isinstance(node, HostLoopNode):
                self._check_on_host((node.loop.lower, node.loop.upper, node.loop.step), around)
                self._build_nests(node.nodes, (*around, node.loop.iterator))
            else:
                self._check_on_host((node.condition,), around)
                self._build_nests(node.nodes, around)

    def _check_on_host(self, values: tuple[Expression, ...], around: tuple[DataObject, ...]) -> None:
        on_host = host_evaluable(self.region.written, (*around, *self.sizes))
        for value in values:
            if not on_host(value):
                self.diagnostics.error(
                    getattr(value, "range", self.region.kernel.range),
                    "a loop around launches has a bound that the kernel itself computes",
                )

    def _launch(self, place: _Place, number: int, needed: frozenset[str], inside: frozenset[str]) -> Launch:
        kernel = self.region.kernel
        reductions = (*kernel.directive.reductions, *place.node.reductions)
        context = ScalarContext(
            dataclasses.replace(kernel.directive, reductions=reductions),
            kernel.functions,
            needed,
            self.region.final - inside,
            False,
            self.region.floating,
            self.diagnostics,
        )
        check_repeated(place.body, self.diagnostics)
        scalars = classify(place.body, context)
        self.shared += [object_ for object_ in scalars.shared if object_ not in self.shared]
        used = {use.object for use in uses(place.body, kernel.functions, launch=True)}
        values = tuple(iterator for iterator in place.around if iterator in used)
        name = kernel.name if len(self.places) == 1 else f"{kernel.name}_nest{number + 1}"
        launch = finished_launch(name, place.body, scalars, context, values, waits=place.node.waits)
        pipelined = place.node.pipelined and columns_nest(launch) is not None
        tiles = place.node.array_tiles
        if tiles is not None:
            form = staged_form(place.body, tiles, self.symbols, kernel.functions, frozenset(scalars.privates))
            self.staged |= {} if form is None else {name: form}
        return dataclasses.replace(launch, scratchpads=place.node.scratchpads, pipelined=pipelined)


def launch_nodes(nodes: tuple[ScheduleNode, ...]) -> Iterator[LaunchNode]:
    """All launches under the nodes, in order."""
    for node in nodes:
        if isinstance(node, LaunchNode):
            yield node
        else:
            yield from launch_nodes(node.nodes)


def _with_launches(nodes: tuple[ScheduleNode, ...], launches: Iterator[Launch]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for node in nodes:
        if isinstance(node, LaunchNode):
            steps.append(next(launches))
        elif isinstance(node, HostLoopNode):
            empty = dataclasses.replace(node.loop, body=Block((), node.loop.body.range))
            steps.append(HostLoop(empty, _with_launches(node.nodes, launches), node.shape, node.band))
        else:
            steps.append(HostCondition(node.condition, _with_launches(node.nodes, launches)))
    return tuple(steps)


# -- iterators of the host's loops


def _own_iterators(node: ScheduleNode) -> ScheduleNode:
    """Make host iterators local: the user's variable gets its last value after the region."""
    if isinstance(node, LaunchNode):
        return node
    inner = tuple(_own_iterators(node) for node in node.nodes)
    if isinstance(node, ConditionNode):
        return dataclasses.replace(node, nodes=inner)
    outer = node.loop.iterator
    if outer.scope is Scope.LOCAL:
        return dataclasses.replace(node, nodes=inner)
    local = dataclasses.replace(outer, scope=Scope.LOCAL)
    loop = dataclasses.replace(node.loop, iterator=local, declares_iterator=True)
    return dataclasses.replace(node, loop=loop, nodes=tuple(_renamed(child, {outer: local}) for child in inner))


def _renamed(node: ScheduleNode, replaced: dict[DataObject, DataObject]) -> ScheduleNode:
    if isinstance(node, LaunchNode):
        return dataclasses.replace(node, body=with_objects(node.body, replaced))
    inner = tuple(_renamed(node, replaced) for node in node.nodes)
    if isinstance(node, ConditionNode):
        return ConditionNode(with_objects(node.condition, replaced), inner)
    return dataclasses.replace(node, loop=with_objects(node.loop, replaced), nodes=inner)


def _iterators_left(nodes: tuple[ScheduleNode, ...], region: Region) -> Iterator[str]:
    """Say which host iterators have a last value that is unknown but live, or read inside."""
    for node in nodes:
        if isinstance(node, LaunchNode):
            continue
        if isinstance(node, HostLoopNode):
            iterator = node.loop.iterator
            if iterator.name in region.live_out and iterator.name not in region.final:
                where = f"'{iterator.host}' may be read after the kernel"
                yield f"{where}, but its last value there cannot be computed at launch"
            if iterator.scope is not Scope.LOCAL and _read_outside(iterator, region):
                yield f"the value that the loop over '{iterator.host}' leaves behind is used in the kernel"
        yield from _iterators_left(node.nodes, region)


def _read_outside(iterator: DataObject, region: Region) -> bool:
    """Whether a statement outside of all loops over `iterator` reads it."""
    return any(
        use.object == iterator and use.reads and all(loop.iterator != iterator for loop in use.loops)
        for use in uses(Block(region.statements), region.kernel.functions)
    )


# -- scalars between launches


class _Liveness:
    """Liveness of scalars between launches, from what each reads first and surely assigns."""

    def __init__(self, region: Region, bodies: list[Block]) -> None:
        self._effects = [scalar_effect(body, region.scalars, region.kernel.functions) for body in bodies]

    def after(self, nodes: tuple[ScheduleNode, ...], live: frozenset[str]) -> dict[int, frozenset[str]]:
        """The live scalars after each launch, by number; `live` are those after all."""
        wanted: dict[int, frozenset[str]] = {}
        self._before(nodes, live, 0, wanted)
        return wanted

    def _before(
        self, nodes: tuple[ScheduleNode, ...], live: frozenset[str], first: int, wanted: dict[int, frozenset[str]]
    ) -> frozenset[str]:
        """The live scalars before `nodes`, whose launches are numbered from `first`."""
        firsts = []
        for node in nodes:
            firsts.append(first)
            first += sum(1 for _ in launch_nodes((node,)))
        for node, number in zip(reversed(nodes), reversed(firsts), strict=True):
            if isinstance(node, LaunchNode):
                wanted[number] = live
                live = self._effects[number].before(live)
                continue
            once = self._before(node.nodes, live, number, wanted)
            if isinstance(node, HostLoopNode):
                once = self._before(node.nodes, live | once, number, wanted)
            live |= once
        return live
