"""One tile of a launch: its points, and the wavefronts in which its workers take them."""

from __future__ import annotations

import numpy as np

from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.looptree import Block, Buffered, If, Loop, Statement, TiledLoop, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.counting import Counter, branches
from tilepragma.plan.evaluation import UncountableError, Values
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.lanes import Lanes, Numbers, declared_along, total


def dealt_nest(launch: Launch, lanes: Lanes) -> tuple[TileNest, Lanes] | None:
    """The nest that gangs or threads take, and the cases in which it stands; None where one instance does everything.

    Raises UncountableError.
    """
    waiting: list[tuple[Statement, Lanes]] = [(launch.body, lanes)]
    while waiting:
        node, there = waiting.pop(0)
        if isinstance(node, TileNest) and any(tile.axis is not None for tile in node.order):
            return node, there
        if isinstance(node, Block):
            waiting += [(inner, scope) for scope, inner in declared_along(node, there)]
        elif isinstance(node, Buffered):
            waiting.append((node.body, there))
        elif any(isinstance(one, TileNest) for one in walk(node)):
            raise UncountableError(f"tiles of {launch.name} are dealt out inside a loop")
    return None


def axis_of(tiled: TiledLoop) -> tuple[int, bool, int]:
    """Of a loop that is dealt out: the dimension, whether workers take it, and the points of each of them."""
    axes = [tile.axis for tile in tiled.tiles if tile.axis is not None]
    workers = any(axis.kind is AxisKind.WORKER for axis in axes)
    points = 1
    for tile in tiled.tiles:
        if tile.kind is TileKind.STATIC and tile.argument is not None and tile.argument.literal is not None:
            points *= tile.argument.literal
    return axes[0].dimension, workers, points


def middle_tile(launch: Launch, lanes: Lanes) -> tuple[tuple[Numbers, ...], Numbers | None]:
    """The intra-tile wavefronts and the points of the tile in the middle of one launch."""
    found = dealt_nest(launch, lanes)
    if found is None:
        return (), None
    nest, there = found
    if any(axis_of(tiled)[1] for tiled in nest.loops if any(tile.axis for tile in tiled.tiles)):
        return (), None
    for tiled in nest.loops:
        trips, lower, step = (
            there.evaluation.trips(tiled.loop),
            there.evaluation.value(tiled.loop.lower),
            there.evaluation.value(tiled.loop.step),
        )
        middle: Values = lower + step * ((trips - 1) // 2)
        there = there.inside({tiled.loop.iterator.name: middle})
    counter = Counter()
    try:
        if any(isinstance(one, TileNest) for one in walk(nest.body)):
            fronts = _fronts(counter, nest.body, there)
            return fronts, np.asarray(sum(one.sum(axis=1) for one in fronts), dtype=np.int64)
        return (), there.all(total(counter.count(nest.body, there).values()))
    except UncountableError:
        return (), None


def _fronts(counter: Counter, body: Block, lanes: Lanes) -> tuple[Numbers, ...]:
    """The points of every run through each nest of workers under `body`, in order, for each case."""
    found: dict[int, list[tuple[Numbers, Numbers]]] = {}
    _collect(counter, body, lanes, np.arange(lanes.count), found)
    return tuple(_padded(lanes.count, parts) for parts in found.values())


def _collect(
    counter: Counter, node: Statement, lanes: Lanes, case: Numbers, found: dict[int, list[tuple[Numbers, Numbers]]]
) -> None:
    if isinstance(node, Block):
        for there, statement in declared_along(node, lanes):
            _collect(counter, statement, there, case, found)
    elif isinstance(node, If):
        for part, index in branches(node, lanes):
            _collect(counter, part, lanes.at(index), case[index], found)
    elif isinstance(node, Loop) and any(isinstance(one, TileNest) for one in walk(node)):
        for index, child in counter.iterations(node, lanes):
            _collect(counter, node.body, child, case[index], found)
    elif isinstance(node, Buffered):
        _collect(counter, node.body, lanes, case, found)
    else:
        values = lanes.all(total(counter.count(node, lanes).values()))
        found.setdefault(id(node), []).append((case, values))


def _padded(count: int, parts: list[tuple[Numbers, Numbers]]) -> Numbers:
    case = np.concatenate([one for one, _ in parts])
    values = np.concatenate([one for _, one in parts])
    order = np.argsort(case, kind="stable")
    case, values = case[order], values[order]
    lengths = np.bincount(case, minlength=count)
    result = np.zeros((count, int(lengths.max(initial=0))), dtype=np.int64)
    result[case, np.arange(len(case)) - (np.cumsum(lengths) - lengths)[case]] = values
    return result
