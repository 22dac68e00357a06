"""Staging: which arrays device launches copy to shared memory, and their bodies with copies.

A launch that is one nest of rectangular loops may stage arrays that it only reads. A gang's tile is
what its workers compute in one round:

    uniform nest { stage; barrier; body; barrier }
    uniform nest { …; for (l_tile …) { stage; barrier; for (l in the tile) …; barrier } … }

Staging pays where neighbouring workers do not read neighbouring elements, or where several rows of
workers read one row of the array. (Within a warp, neighbours share lines already.)
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import (
    Access,
    DataObject,
    Scope,
    Storage,
    access_to,
    integer,
)
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import (
    Axis,
    Barrier,
    Block,
    Break,
    Continue,
    Declaration,
    Loop,
    PackedPanels,
    Return,
    Stage,
    Staged,
    Statement,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import expression, minimum, number, of_atom, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step, forms
from tilepragma.plan.shared_constants import PREFERRED_WORKERS
from tilepragma.poly.reference_spans import loop_ends, only_read, readings
from tilepragma.storage.array_tile import Candidate, candidates
from tilepragma.storage.gpu_register_tiles import (
    POINTS,
    buffers,
    retiled,
    sums_of,
    with_points,
    without_points,
    worth_points,
)

#: Iterations of a sequential loop to stage together; the first that fits.
_TILES = (32, 16, 8, 4)


def with_staging(
    plan: KernelPlan, *, registers: bool = True, points: Mapping[str, tuple[int, int]] = MappingProxyType({})
) -> KernelPlan:
    """The plan with a staged form of every device launch that gains by it, or has one already.

    Only plans that launches check for overlap have any: no write may change the original of a copy.
    `registers`: workers keep sums in registers and have several points where that pays: POINTS, or
    the launch's entry of `points`.
    """
    if plan.as_written is not None or not plan.apart:
        return plan
    names = Names(set(names_in(plan.kernel, *(launch.body for launch in plan.device))))
    planner = _Planner(plan, 1 + max((loop.index for loop in _loops(plan)), default=-1), names, registers, points)
    steps = planner.steps(plan.device_steps, frozenset())
    plan = replace(plan, rejected=tuple(dict.fromkeys((*plan.rejected, *planner.notes))))
    return plan if steps == plan.device_steps else with_scalars_of_staged_forms(replace(plan, device_steps=steps))


def with_points_of_workers(plan: KernelPlan, points: Mapping[str, tuple[int, int]]) -> KernelPlan:
    """The plan with these `points` a worker in the named staged launches, where that pays."""
    return with_staging(replace(plan, device_steps=_plain(plan.device_steps, points)), points=points)


def _plain(steps: tuple[Step, ...], names: Container[str]) -> tuple[Step, ...]:
    """The steps with the launches of these names unstaged."""
    return tuple(
        (without_points(replace(step, staged=None)) if step.name in names and step.staged is not None else step)
        if isinstance(step, Launch)
        else replace(step, steps=_plain(step.steps, names))
        for step in steps
    )


def _loops(plan: KernelPlan) -> Iterator[Loop]:
    for staged_form in (form for launch in (*plan.host, *plan.device) for form in forms(launch)):
        for node in walk(staged_form.body):
            if isinstance(node, Loop):
                yield node
            elif isinstance(node, TileNest):
                yield from (tiled.loop for tiled in node.loops)


def with_scalars_of_staged_forms(plan: KernelPlan) -> KernelPlan:
    """Make scalars arguments whose bounds move from the launch into its staged text."""
    by_address = {argument.object for argument in plan.arrays}
    wanted = set(plan.scalars)
    for launch in plan.device:
        if launch.staged is None:
            continue
        touched = list(uses(launch.staged, plan.kernel.functions, launch=True))
        inner = by_address | set(launch.privates) | {use.object for use in touched if use.writes}
        nests = (node for node in walk(launch.staged) if isinstance(node, TileNest))
        inner |= {tiled.loop.iterator for nest in nests for tiled in nest.loops}
        read = {use.object for use in touched if use.object.storage is Storage.SCALAR}
        wanted |= {scalar for scalar in read - inner if scalar.scope is not Scope.LOCAL}
    return replace(plan, scalars=tuple(object_ for object_ in plan.kernel.objects if object_ in wanted))


@dataclass
class _Planner:
    """`notes` are clauses on arrays that are worth staging but too large."""

    plan: KernelPlan
    next_index: int
    names: Names
    registers: bool
    points: Mapping[str, tuple[int, int]]
    notes: list[str] = field(default_factory=list)

    @property
    def _user_counts(self) -> dict[Axis, int]:
        """The user's constant numbers of workers."""
        numbers = {Axis(count.axis, count.dimension): count.count.literal for count in self.plan.counts}
        return {axis: number for axis, number in numbers.items() if number is not None}

    def steps(self, steps: tuple[Step, ...], around: frozenset[DataObject]) -> tuple[Step, ...]:
        result: list[Step] = []
        for step in steps:
            if isinstance(step, Launch):
                result.append(step if step.staged is not None else self._launch(step, around))
            else:
                inner = around | {step.loop.iterator} if isinstance(step, HostLoop) else around
                result.append(replace(step, steps=self.steps(step.steps, inner)))
        return tuple(result)

    def _launch(self, launch: Launch, around: frozenset[DataObject]) -> Launch:
        nest = _nest_to_stage(launch)
        if nest is None:
            return launch
        tile, arrays = self._best(launch, nest, around)
        if not arrays:
            return launch
        if self.registers and tile.split is not None:
            tile, arrays = self._with_points(launch, tile, arrays, around)
            launch = retiled(launch, tile.points) if tile.points else launch
        form = self._body(tile, arrays)
        read = {use.object for use in uses(form, self.plan.kernel.functions, launch=True) if use.reads}
        values = tuple(sorted((around & read) - set(launch.values), key=lambda object_: object_.name))
        return replace(launch, staged=form, values=(*launch.values, *values))

    def _best(self, launch: Launch, nest: TileNest, around: frozenset[DataObject]) -> tuple[_Tile, tuple[Staged, ...]]:
        """The tile that stages most arrays, and these; rather one without a split loop."""
        tiles = [_Tile(nest, None, 1)]
        split = _loop_to_split(nest)
        tiles += [_Tile(split.nest, split, size) for size in _TILES] if split is not None else []
        best: tuple[_Tile, list[Candidate]] = (tiles[0], [])
        smallest: dict[tuple[DataObject, tuple[str, ...]], Candidate] = {}
        for tile in tiles:
            candidates_of_tile = self._worth(launch, tile, around)
            smallest |= {candidate.key: candidate for candidate in candidates_of_tile}
            worth = self._fitting(candidates_of_tile)
            if len(worth) > len(best[1]):
                best = (tile, worth)
        tile, worth = best
        staged = {candidate.key for candidate in worth}
        self.notes += [self._too_large(launch, candidate) for key, candidate in smallest.items() if key not in staged]
        return tile, tuple(candidate.staged for candidate in worth)

    def _with_points(
        self, launch: Launch, tile: _Tile, arrays: tuple[Staged, ...], around: frozenset[DataObject]
    ) -> tuple[_Tile, tuple[Staged, ...]]:
        """The tile with several points a worker if all staged arrays still fit; else unchanged."""
        assert tile.split is not None, "sums go along a sequential loop"
        wanted = self.points.get(launch.name, POINTS)
        points = worth_points(tile.nest, tile.split.loop, arrays, wanted)
        if not points:
            return tile, arrays
        for size in _TILES:
            coarsened = replace(tile, size=size, points=points)
            fitting = tuple(candidate.staged for candidate in self._fitting(self._worth(launch, coarsened, around)))
            if {array.reads for array in fitting} >= {array.reads for array in arrays}:
                nest = with_points(tile.nest, points)
                return replace(coarsened, nest=nest, split=replace(tile.split, nest=nest)), fitting
        return tile, arrays

    def _worth(self, launch: Launch, tile: _Tile, around: frozenset[DataObject]) -> list[Candidate]:
        """The profitable array tiles, those with most accesses an element first."""
        functions = self.plan.kernel.functions
        objects = only_read(launch.body, functions) - set(self.plan.constants)
        inside = tile.split.loop.body if tile.split is not None else tile.nest.body
        read = list(readings(inside, objects))
        if tile.split is not None:
            outside = {_place(node) for node in _accesses_outside(tile.split.nest.body, tile.split.loop)}
            read = [reading for reading in read if _place(reading.access) not in outside]
        written = {use.object for use in uses(launch.body, functions) if use.writes}
        shared = (
            {object_ for object_ in self.plan.kernel.objects if object_.storage is Storage.SCALAR}
            - written
            - set(launch.privates)
        )
        shared |= around | {loop.loop.iterator for loop in tile.nest.loops if not _is_mapped(loop)}
        shared |= {size.object for size in self.plan.sizes}
        counts = {axis: self._user_counts.get(axis, likely) for axis, likely in tile.counts.items()}
        array_tiles = candidates(read, tile.terms, frozenset(shared), counts, tile.points)
        profitable = [array_tile for array_tile in array_tiles if array_tile.is_worth_it]
        return sorted(profitable, key=lambda tile: (-tile.uses_of_element, tile.staged.object.name, tile.staged.reads))

    def _fitting(self, ranked: list[Candidate]) -> list[Candidate]:
        """The candidates that fit together, in their order."""
        fitting, left = [], self.plan.kernel.directive.local_bytes
        for candidate in ranked:
            if candidate.bytes <= left:
                fitting.append(candidate)
                left -= candidate.bytes
        return fitting

    def _too_large(self, launch: Launch, candidate: Candidate) -> str:
        return (
            f"what a gang of launch {launch.name} reads of '{candidate.staged.object.host}', {candidate.bytes} bytes, "
            f"does not fit in its {self.plan.kernel.directive.local_bytes} bytes of shared memory: it stays in place"
        )

    def _body(self, tile: _Tile, arrays: tuple[Staged, ...]) -> Block:
        statements = tile.nest.body.statements
        if tile.split is None:
            body = Block((Stage(arrays), Barrier(), *statements, Barrier()))
            return Block((replace(tile.nest, body=body, uniform=True),))
        iterator = self.names.scalar(f"{tile.split.loop.iterator.name}_tile")
        rounds: Statement = _split(tile.split.loop, iterator, tile.size, arrays, self.next_index)
        self.next_index += 1
        registers = buffers(sums_of(tile.split.loop), self.names) if self.registers else ()
        rounds = PackedPanels(registers, Block((rounds,))) if registers else rounds
        place = tile.split.place
        body = Block((*statements[:place], rounds, *statements[place + 1 :]))
        return Block((replace(tile.nest, body=body, uniform=True),))


def _split(loop: Loop, iterator: DataObject, size: int, arrays: tuple[Staged, ...], index: int) -> Loop:
    """`for (t = lower; t < upper; t += size) { stage; barrier; the loop from t; barrier }`"""
    ends = loop_ends(loop, {})
    assert ends is not None, "a loop that can be split"
    start, upper = of_atom(access_to(iterator)), ends.high + number(1)
    inner = replace(
        loop,
        lower=expression(start),
        comparison="<",
        upper=expression(minimum((start + number(size), upper))),
        range=NOWHERE,
    )
    return Loop(
        index=index,
        iterator=iterator,
        declares_iterator=True,
        lower=expression(ends.low),
        comparison="<",
        upper=expression(upper),
        step=integer(size, LONG),
        decreasing=False,
        body=Block((Stage(arrays, ahead=True), Barrier(), inner, Barrier())),
        directive=None,
    )


@dataclass(frozen=True)
class _Split:
    """The sequential loop to split, statement `place` of the body of `nest`."""

    nest: TileNest
    place: int
    loop: Loop


@dataclass(frozen=True)
class _Tile:
    """A gang's work between copies: a round of the nest, or `size` inner iterations."""

    nest: TileNest
    split: _Split | None
    size: int
    points: Mapping[Axis, int] = field(default_factory=dict)
    """the number of points of each worker by axis, where more than one"""

    @property
    def terms(self) -> dict[DataObject, Axis | int]:
        """The iterators of the tile, and how many values each takes."""
        terms: dict[DataObject, Axis | int] = {}
        for tiled in self.nest.loops:
            if _is_mapped(tiled):
                axes = [tile.axis for tile in tiled.tiles if tile.kind is TileKind.WORKER]
                terms[tiled.loop.iterator] = axes[0] if axes and axes[0] is not None else 1
        if self.split is not None:
            terms[self.split.loop.iterator] = self.size
        return terms

    @property
    def counts(self) -> dict[Axis, int]:
        """The likely workers by axis, times their points."""
        axes = sorted({term for term in self.terms.values() if isinstance(term, Axis)}, key=lambda axis: axis.dimension)
        likely = zip(axes, PREFERRED_WORKERS[len(axes)], strict=True)
        return {axis: count * self.points.get(axis, 1) for axis, count in likely}


def _nest_to_stage(launch: Launch) -> TileNest | None:
    """The launch's single rectangular nest, if its gangs have workers; else None."""
    if launch.reductions:
        return None
    body: Statement = launch.body
    while isinstance(body, Block) and len(body.statements) == 1:
        body = body.statements[0]
    if not isinstance(body, TileNest) or not all(map(_is_plain, body.loops)):
        return None
    nodes = list(walk(body.body))
    if any(isinstance(node, (TileNest, Barrier, Break, Continue, Return)) for node in nodes):
        return None
    if not any(tile.kind is TileKind.WORKER for tile in body.order):
        return None
    inner = body.body
    while len(inner.statements) == 1 and isinstance(inner.statements[0], Block):
        inner = inner.statements[0]
    return replace(body, body=inner) if all(map(_can_be_hoisted, inner.statements)) else None


def _can_be_hoisted(statement: Statement) -> bool:
    """Whether a declaration splits into one without value and an assignment."""
    if not isinstance(statement, Declaration):
        return True
    return all(
        declarator.object.rank == 0 and not isinstance(declarator.initializer, tuple)
        for declarator in statement.declarators
    )


def _is_plain(tiled: TiledLoop) -> bool:
    """Whether workers run consecutive iterations of a unit-step loop, in equal rounds."""
    kinds = [tile.kind for tile in tiled.tiles]
    if not tiled.launch_bounds or polynomial(tiled.loop.step).constant != 1 or tiled.loop.decreasing:
        return False
    if not _is_mapped(tiled):
        return kinds == [TileKind.DYNAMIC]
    return kinds in ([TileKind.DYNAMIC, TileKind.GANG], [TileKind.DYNAMIC, TileKind.GANG, TileKind.WORKER])


def _is_mapped(tiled: TiledLoop) -> bool:
    return any(tile.axis is not None for tile in tiled.tiles)


def _loop_to_split(nest: TileNest) -> _Split | None:
    """The nest's innermost unmapped loop, else its body's only loop, if it can be split."""
    ordered = [tiled for tiled in nest.loops if not _is_mapped(tiled)]
    if ordered:
        tiled = ordered[-1]
        loop = replace(tiled.loop, body=nest.body, declares_iterator=True)
        rest = replace(
            nest,
            loops=tuple(loop for loop in nest.loops if loop is not tiled),
            order=tuple(tile for tile in nest.order if tile.loop != tiled.loop.index),
            body=Block((loop,)),
        )
        return _Split(rest, 0, loop) if _can_be_split(loop, nest) else None
    inner_loops = [
        (place, statement) for place, statement in enumerate(nest.body.statements) if isinstance(statement, Loop)
    ]
    if len(inner_loops) != 1 or not _can_be_split(inner_loops[0][1], nest):
        return None
    return _Split(nest, *inner_loops[0])


def _can_be_split(loop: Loop, nest: TileNest) -> bool:
    """Whether it counts up by 1 between bounds that are the same for all workers."""
    ends = loop_ends(loop, {})
    if ends is None:
        return False
    varying = {tiled.loop.iterator for tiled in nest.loops if _is_mapped(tiled)}
    varying |= {use.object for use in uses(nest.body) if use.writes}
    read = {node.object for bound in (loop.lower, loop.upper) for node in walk(bound) if isinstance(node, Access)}
    return not read & varying and all(object_.scope is not Scope.LOCAL or object_.rank == 0 for object_ in read)


def _place(access: Access) -> tuple[DataObject, str]:
    return access.object, subscripts_text(access.subscripts)


def _accesses_outside(body: Block, loop: Loop) -> Iterator[Access]:
    """The accesses of a body outside one of its loops."""
    for statement in body.statements:
        if statement is not loop:
            yield from (node for node in walk(statement) if isinstance(node, Access))
