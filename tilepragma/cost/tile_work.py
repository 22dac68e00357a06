"""Tiles of a launch: the points of one tile, and the wavefronts in which its workers run them; and
how many tiles have work.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import field, replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.counter import Counter, branches, names_behind
from tilepragma.cost.launch_counts import Entries
from tilepragma.cost.parameter_batch import ParameterBatch, declared_along, in_parts, ragged, summed
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import Binary, Expression
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop, PackedPanels, Statement, TiledLoop, TileNest
from tilepragma.ir.traversal import loops_in, walk, with_blocks
from tilepragma.model.execution_time import Integers
from tilepragma.plan.kernel_plan import Launch

#: A position among the tiles: a fraction of the launches, and a fraction of each loop's iterations.
TileParts = tuple[tuple[int, int], tuple[int, int]]
_PARTS = ((1, 2), (1, 4), (3, 4))
EVERYWHERE: tuple[TileParts, ...] = tuple(itertools.product(_PARTS, _PARTS))
#: Sampled cases that decide where tiles have most points.
_SAMPLE = 5
#: The most tiles that are enumerated along all loops but the longest to see whether they have work;
#: beyond, sampled launches represent the rest.
_MOST_TILES = 2**18


@dataclass(frozen=True)
class MappedLoop:
    """A `loop` mapped along one `dimension`. `workers`: it is mapped to workers too, `points`
    iterations to each.
    """

    loop: Loop
    dimension: int
    workers: bool
    points: int


@dataclass(frozen=True)
class MappedNest:
    """The nest mapped to gangs or threads: `loops` are its mapped loops, `body` the work of an
    iteration of these, and `batch` has the cases around the nest.
    """

    loops: tuple[MappedLoop, ...]
    body: Block
    batch: ParameterBatch

    def trips(self) -> tuple[Integers, ...]:
        """The iterations of each of the loops. Raises UncountableError."""
        return tuple(self._trips(loop.loop) for loop in self.loops)

    def _trips(self, loop: Loop) -> Integers:
        return in_parts(self.batch, lambda part: part.evaluation.trips(loop))

    def at_part(self, numerator: int, denominator: int) -> ParameterBatch:
        """The cases at the fraction numerator / denominator of each loop's iterations, rounded."""
        batch = self.batch
        for tiled in self.loops:
            evaluation, loop = batch.evaluation, tiled.loop
            place = (2 * (evaluation.trips(loop) - 1) * numerator + denominator) // (2 * denominator)
            value = evaluation.value(loop.lower) + evaluation.value(loop.step) * place
            batch = batch.inside({loop.iterator.name: value})
        return batch


def mapped_nest(launch: Launch, batch: ParameterBatch) -> MappedNest | None:
    """The nest mapped to gangs or threads; None if one instance does everything. All instances run
    the loops around it, so these are part of the body. Raises UncountableError.
    """
    every = (node for node in walk(launch.body) if isinstance(node, TileNest))
    nests = [nest for nest in every if {tile.axis.kind for tile in nest.order if tile.axis} - {AxisKind.WORKER}]
    if not nests:
        return None
    if len(nests) > 1:
        raise UncountableError(f"several nests of {launch.name} are mapped")
    (nest,) = nests
    node, around = _outermost(launch.body, batch, nest)
    body = nest.body
    loops: list[MappedLoop] = []
    for tiled in reversed(nest.loops):
        if any(tile.axis is not None for tile in tiled.tiles):
            loops.insert(0, mapped_loop(tiled))
        else:
            body = Block((replace(tiled.loop, body=body),))
    if node is not nest:
        bounds = (part for mapped in loops for part in (mapped.loop.lower, mapped.loop.upper, mapped.loop.step))
        outer = (loop for loop in loops_in(node) if any(inner is nest for inner in walk(loop)))
        if names_behind(bounds, launch.body) & {loop.iterator.name for loop in outer}:
            raise UncountableError(f"the mapped loops of {launch.name} depend on a loop around them")
        body = Block((_with_body(node, nest, body),))
    return MappedNest(tuple(loops), body, around)


def tiled_nest(launch: Launch, batch: ParameterBatch) -> MappedNest:
    """Like `mapped_nest`. Raises UncountableError also if one instance does everything."""
    nest = mapped_nest(launch, batch)
    if nest is None:
        raise UncountableError(f"{launch.name} has no tiles")
    return nest


def _outermost(block: Block, batch: ParameterBatch, nest: TileNest) -> tuple[Statement, ParameterBatch]:
    """The non-block statement that is or contains the nest, and the cases around it."""
    for declared, statement in declared_along(block, batch):
        if any(node is nest for node in walk(statement)):
            return _outermost(statement, declared, nest) if isinstance(statement, Block) else (statement, declared)
    raise ValueError("the nest stands elsewhere")


def _with_body(node: Statement, nest: TileNest, body: Block) -> Statement:
    if node is nest:
        return body

    def inside(block: Block) -> Block:
        return replace(block, statements=tuple(_with_body(statement, nest, body) for statement in block.statements))

    return inside(node) if isinstance(node, Block) else with_blocks(node, inside)


def mapped_loop(tiled: TiledLoop) -> MappedLoop:
    """How a loop is mapped that has an axis."""
    axes = [tile.axis for tile in tiled.tiles if tile.axis is not None]
    workers = any(axis.kind is AxisKind.WORKER for axis in axes)
    points = 1
    for tile in tiled.tiles:
        if tile.kind is TileKind.STATIC and tile.argument is not None and tile.argument.literal is not None:
            points *= tile.argument.literal
    return MappedLoop(tiled.loop, axes[0].dimension, workers, points)


@dataclass(frozen=True, eq=False)
class Fronts:
    """Wavefronts through a `nest` in a tile of each of `cases`: ascending `case`, and `points`."""

    nest: TileNest
    cases: int
    case: Integers
    points: Integers

    @property
    def steps(self) -> Integers:
        """The number of wavefronts in each case."""
        return np.bincount(self.case, minlength=self.cases)


@dataclass(frozen=True, eq=False)
class TileWork:
    """A tile's `points` in each case, None if they are too many to count, and its `fronts`, one for
    each group of workers between two barriers (none if workers do not wait inside a tile). The tile
    is the first in this `order` of positions that has points.
    """

    points: Integers | None
    fronts: tuple[Fronts, ...]
    order: tuple[TileParts, ...]


def representative_tile(launch: Launch, entries: Entries) -> TileWork:
    """The representative tile of each case: a full tile, if the plan has one in the middle. If
    workers take the mapped loops, it is one iteration of these. Raises UncountableError.

    Candidates are tiles at quarters of the launches and of the loops; positions where sampled tiles
    have most points come first.
    """
    cases = len(entries.starts)
    sample = np.unique(np.linspace(0, cases - 1, _SAMPLE).astype(np.int64))
    try:
        sizes = [int(_at_parts(launch, entries, parts, sample, _TileFronts()).sum()) for parts in EVERYWHERE]
        order = tuple(EVERYWHERE[place] for place in np.argsort(-np.array(sizes), kind="stable"))
        points = np.zeros(cases, dtype=np.int64)
        collected = _TileFronts()
        for parts in order:
            left = np.flatnonzero(points == 0)
            if not len(left):
                break
            points[left] = _at_parts(launch, entries, parts, left, collected)
    except UncountableError:
        return TileWork(None, (), EVERYWHERE)
    nests = {id(node): node for node in walk(launch.body) if isinstance(node, TileNest)}
    fronts = []
    for key, found_parts in collected.fronts.items():
        if key is not None:
            case, of_front = (np.concatenate(column) for column in zip(*found_parts, strict=True))
            sorted_ = np.argsort(case, kind="stable")
            fronts.append(Fronts(nests[key], cases, case[sorted_], of_front[sorted_]))
    return TileWork(points, tuple(fronts), order)


def _at_parts(launch: Launch, entries: Entries, parts: TileParts, cases: Integers, fronts: _TileFronts) -> Integers:
    nest = tiled_nest(launch, entries.at_part(*parts[0]).at(cases))
    return fronts.add(nest, nest.at_part(*parts[1]), cases)


#: By the nest of workers (None for statements outside of nests): cases, and points of each.
_Parts = dict[int | None, list[tuple[Integers, Integers]]]


@dataclass
class _TileFronts:
    counter: Counter = field(default_factory=Counter)
    fronts: _Parts = field(default_factory=dict)

    def add(self, nest: MappedNest, batch: ParameterBatch, case: Integers) -> Integers:
        """Adds the wavefronts of tiles that have points, and returns their points."""
        if not any(isinstance(node, TileNest) for node in walk(nest.body)):
            return batch.all(sum(self.counter.count(nest.body, batch).values()))
        fronts: _Parts = {}
        self._collect(nest.body, batch, np.arange(batch.count), fronts)
        points = np.zeros(batch.count, dtype=np.int64)
        for parts in fronts.values():
            for index, values in parts:
                points += summed(index, values, batch.count)
        for key, parts in fronts.items():
            for index, values in parts:
                kept = points[index] > 0
                self.fronts.setdefault(key, []).append((case[index[kept]], values[kept]))
        return points

    def _collect(self, node: Statement, batch: ParameterBatch, case: Integers, fronts: _Parts) -> None:
        nests = isinstance(node, TileNest) or any(isinstance(node, TileNest) for node in walk(node))
        if not nests or isinstance(node, TileNest):
            values = batch.all(sum(self.counter.count(node, batch).values()))
            if nests or values.any():
                fronts.setdefault(id(node) if nests else None, []).append((case, values))
        elif isinstance(node, Block):
            for declared, statement in declared_along(node, batch):
                self._collect(statement, declared, case, fronts)
        elif isinstance(node, If):
            for part, index in branches(node, batch):
                self._collect(part, batch.at(index), case[index], fronts)
        elif isinstance(node, Loop):
            for index, child in self.counter.iterations(node, batch):
                self._collect(node.body, child, case[index], fronts)
        elif isinstance(node, PackedPanels):
            self._collect(node.body, batch, case, fronts)
        else:
            raise UncountableError("barriers of workers depend on data")


# -- Tiles that have work: those whose condition holds, if one condition guards the whole tile
#
# Mapped loops run over a box of tiles; a tile's condition is a conjunction of affine inequalities
# in their iterators. All loops but the longest are enumerated. The condition holds on an interval
# of the longest loop.


def nonempty_tiles(nest: MappedNest, trips: tuple[Integers, ...]) -> tuple[Integers, bool] | None:
    """For each case of the nest, whose loops have `trips` iterations: the tiles that satisfy the
    plan's non-empty condition (which may be slightly weak), and whether all were counted. None if
    tiles have no condition.
    """
    statements = declared_along(nest.body, ParameterBatch(1, {}))
    content = [node for _, node in statements if not isinstance(node, Declaration)]
    if len(content) != 1 or not isinstance(content[0], If) or content[0].otherwise is not None:
        return None
    launched = np.prod(trips, axis=0, dtype=np.int64)
    order = sorted(range(len(trips)), key=lambda place: int(trips[place].sum()))
    outer = np.prod([trips[place] for place in order[:-1]], axis=0, dtype=np.int64) + np.zeros_like(launched)
    stride = 1 + int(outer.sum()) // _MOST_TILES
    index = np.arange(0, len(launched), stride)
    loops = [nest.loops[place].loop for place in order]
    counts = np.zeros(len(index), dtype=np.int64)
    try:
        for case, batch in _iterations(loops[:-1], nest.batch.at(index)):
            counts += summed(case, _holding(nest.body, loops[-1], batch), len(index))
    except UncountableError:
        return None
    if stride == 1:
        return counts, True
    part = np.where(launched[index] > 0, counts / np.maximum(launched[index], 1), 0.0)
    every = np.repeat(part, stride)[: len(launched)] * launched
    return np.asarray(np.rint(every), dtype=np.int64), False


def _iterations(loops: list[Loop], batch: ParameterBatch) -> Iterator[tuple[Integers, ParameterBatch]]:
    """All iterations of loops with independent bounds, with the case of each."""
    if not loops:
        yield np.arange(batch.count), batch
        return
    loop, *others = loops
    for index, place in ragged(batch.all(batch.evaluation.trips(loop))):
        for case, inner in _iterations(others, batch.iterations(loop, index, place)):
            yield index[case], inner


def _holding(body: Block, loop: Loop, batch: ParameterBatch) -> Integers:
    """The iterations of the loop (of step 1) for which the tile's condition holds."""
    evaluation = batch.evaluation
    first = batch.all(evaluation.value(loop.lower))
    low, high = first, first + batch.all(evaluation.trips(loop)) - 1
    if np.any(batch.all(evaluation.value(loop.step)) != 1):
        raise UncountableError("a mapped loop has a step other than 1")
    samples = []
    for value in (0, 1, 2):
        statements = declared_along(body, batch.inside({loop.iterator.name: value}))
        ((declared, condition),) = ((before, node.condition) for before, node in statements if isinstance(node, If))
        samples.append(list(_sides(condition, declared)))
    for at_zero, at_one, at_two in zip(*samples, strict=True):
        slope = at_one - at_zero
        if np.any(at_two - at_one != slope):
            raise UncountableError("a tile's condition is not affine")
        size = np.maximum(np.abs(slope), 1)
        low = np.where(slope > 0, np.maximum(low, -(at_zero // size)), low)
        high = np.where(slope < 0, np.minimum(high, at_zero // size), high)
        high = np.where((slope == 0) & (at_zero < 0), low - 1, high)
    return np.asarray(np.maximum(high - low + 1, 0), dtype=np.int64)


def _sides(condition: Expression, batch: ParameterBatch) -> Iterator[Integers]:
    """Values that are >= 0 exactly where the condition holds."""
    match condition:
        case Binary(operator="&&"):
            yield from _sides(condition.left, batch)
            yield from _sides(condition.right, batch)
        case Binary(operator=("<" | "<=" | ">" | ">=") as operator):
            left, right = (batch.all(batch.evaluation.value(side)) for side in (condition.left, condition.right))
            yield (right - left if operator in ("<", "<=") else left - right) - (len(operator) == 1)
        case _:
            raise UncountableError("a tile's condition is no conjunction of inequalities")
