"""Thread coarsening of staged launches: several points for each worker, and sums in registers.

    uniform nest, a worker having RY x RX points, BY and BX apart {
        C_tile = C[i][j]
        for (k_tile …) { stage; barrier; for (k in the tile) C_tile += …; barrier }
        C[i][j] = C_tile
    }

A worker then reads shared memory once for RX or RY points, and stores its sum once. The points of a
worker are as far apart as there are workers, so that neighbours stay neighbours: copies, loads and
stores coalesce, and rows of array tiles have no bank conflicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import ClauseExpression, TileKind
from tilepragma.ir.expressions import Access, Binary, DataObject, Expression, Scope
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Axis, Block, Declaration, If, Loop, Panel, Staged, Tile, TiledLoop, TileNest
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import changed_in, children, declared_in, walk
from tilepragma.ir.types import INT, ScalarType
from tilepragma.model.staging_counts import LINE
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.summary import coarsening_tile

POINTS = (4, 8)
"""Points of a worker along the axis of neighbours, and along the next one. Along the former, lanes
of a warp read different elements of one row; along the latter the same element.
"""


def retiled(launch: Launch, points: Mapping[Axis, int]) -> Launch:
    """The staged launch whose workers have this many points, by axis; one by default."""
    body = with_each(launch.body, TileNest, lambda nest: with_points(nest, points))
    return replace(launch, body=body, loops=tuple(_with_points(tiled, points) for tiled in launch.loops))


def with_points(nest: TileNest, points: Mapping[Axis, int]) -> TileNest:
    """The nest whose workers have this many points, by axis; one by default."""
    loops = tuple(_with_points(tiled, points) for tiled in nest.loops)
    by_kind = {(tile.loop, tile.kind): tile for tiled in loops for tile in tiled.tiles}
    order: list[Tile] = []
    for tile in nest.order:
        if tile.kind is not TileKind.STATIC:
            order.append(by_kind[tile.loop, tile.kind])
            coarsening = by_kind.get((tile.loop, TileKind.STATIC))
            order += [coarsening] if coarsening is not None and tile.kind is TileKind.DYNAMIC else []
    return replace(nest, loops=loops, order=tuple(order))


def _with_points(tiled: TiledLoop, points: Mapping[Axis, int]) -> TiledLoop:
    coarsening = coarsening_tile(tiled)
    *outer, last = (tile for tile in tiled.tiles if tile is not coarsening)
    place = len(outer)
    count = 1 if last.axis is None or last.kind is not TileKind.WORKER else points.get(last.axis, 1)
    if count > 1:
        outer.append(Tile(tiled.loop.index, place, TileKind.STATIC, ClauseExpression(str(count), NOWHERE), None))
    return replace(tiled, tiles=(*outer, replace(last, position=len(outer))))


def worth_points(
    nest: TileNest, loop: Loop, array_tiles: tuple[Staged, ...], points: tuple[int, int] = POINTS
) -> dict[Axis, int]:
    """The `points` that pay off, by axis: one read serves all points of an axis where an array tile
    does not depend on its loop. Empty where the sequential loop keeps nothing in registers, or
    where a worker's points would share scalars.
    """
    if _shares_scalars(nest):
        return {}
    if not sums_of(loop) and not any(scalar.scope is Scope.LOCAL for scalar in _summed_scalars(loop)):
        return {}
    profitable: dict[Axis, int] = {}
    for tiled in nest.loops:
        axis = next((tile.axis for tile in tiled.tiles if tile.kind is TileKind.WORKER), None)
        if axis is None or axis.dimension >= len(points):
            continue
        iterator = tiled.loop.iterator
        if any(all(term.iterator != iterator for side in tile.sides for term in side.terms) for tile in array_tiles):
            profitable[axis] = points[axis.dimension]
    return profitable


def points_along_rows(nest: TileNest, array_tiles: tuple[Staged, ...], counts: Mapping[Axis, int]) -> dict[Axis, int]:
    """The points, by axis, with which rows of array tiles fill a line of memory, where neighbours
    read down the columns. `counts` are the workers.
    """
    if _shares_scalars(nest):
        return {}
    first, *others = sorted(counts, key=lambda axis: axis.dimension)
    sides = [tile.sides for tile in array_tiles]
    columns = [last for *outer, last in sides if any(term.extent == first for side in outer for term in side.terms)]
    along = {term.extent for side in columns for term in side.terms if abs(term.coefficient) == 1}
    points = {axis: min(POINTS[1], LINE // 4 // counts[axis]) for axis in others if axis in along}
    return {axis: count for axis, count in points.items() if count > 1}


def _shares_scalars(nest: TileNest) -> bool:
    """Whether the points of a worker would share a scalar that the nest changes."""
    iterators = {node.iterator for node in walk(nest.body) if isinstance(node, Loop)}
    changed = changed_in(nest.body) - iterators
    return any(object_.scope is not Scope.LOCAL and object_.rank == 0 for object_ in changed)


def _summed_scalars(loop: Loop) -> set[DataObject]:
    """The scalars declared before the loop that it updates."""
    return {object_ for object_ in changed_in(loop.body) - declared_in(loop.body) if object_.rank == 0}


@dataclass(frozen=True)
class Sum:
    """An element that each iteration updates, after `declarations`, under `conditions`; `varies`
    where iterations update several.
    """

    access: Access
    declarations: tuple[Declaration, ...]
    conditions: tuple[Expression, ...]
    varies: bool


def buffers(sums: tuple[Sum, ...], names: Names) -> tuple[Panel, ...]:
    """A register for each sum."""
    registers = []
    for sum_ in sums:
        object_ = sum_.access.object
        local = replace(names.scalar(f"{object_.name}_tile"), element=object_.element)
        registers.append(Panel(local, (), sum_.declarations, sum_.access, (), True, sum_.conditions))
    return tuple(registers)


def sums_of(loop: Loop) -> tuple[Sum, ...]:
    """The elements of arrays that each iteration of a sequential loop updates."""
    written = {use.object for use in uses(loop.body) if use.writes and use.object.rank > 0}
    moving = frozenset({loop.iterator}) | changed_in(loop.body)
    updated = list(_updated(loop.body, (_not_empty(loop),), (), moving))
    sums = []
    for object_ in sorted(written, key=lambda array: array.name):
        first, *others = (sum_ for sum_ in updated if sum_.access.object == object_)
        plain = isinstance(object_.element, ScalarType) and not object_.volatile and object_.scope is not Scope.LOCAL
        place = first.access.subscripts, first.declarations
        same = all((other.access.subscripts, other.declarations) == place for other in others)
        whole = not first.access.path and len(first.access.subscripts) == object_.rank
        if plain and whole and same and not first.varies:
            sums.append(first)
    return tuple(sums)


def _not_empty(loop: Loop) -> Expression:
    return Binary(loop.comparison, loop.lower, loop.upper, INT)


def _updated(
    node: Any, conditions: tuple[Expression, ...], declared: tuple[Declaration, ...], moving: frozenset[DataObject]
) -> Iterator[Sum]:
    """All accesses under a node as if they were sums: `conditions` hold there, `declared` are in
    scope, the `moving` objects vary.
    """
    if isinstance(node, Block):
        for statement in node.statements:
            yield from _updated(statement, conditions, declared, moving)
            declared += (statement,) if isinstance(statement, Declaration) else ()
    elif isinstance(node, Loop):
        for part in node.bounds:
            yield from _updated(part, conditions, declared, moving)
        yield from _updated(node.body, (*conditions, _not_empty(node)), declared, moving | {node.iterator})
    elif isinstance(node, If):
        yield from _updated(node.condition, conditions, declared, moving)
        yield from _updated(node.then, (*conditions, node.condition), declared, moving)
        yield from _updated(node.otherwise, conditions, declared, moving) if node.otherwise is not None else ()
    else:
        if isinstance(node, Access):
            needed: list[Declaration] = []
            read = _read((*node.subscripts, *conditions))
            for declaration in reversed(declared):
                if any(declarator.object in read for declarator in declaration.declarators):
                    needed.insert(0, declaration)
                    initializers = (declarator.initializer for declarator in declaration.declarators)
                    read |= _read(tuple(part for part in initializers if part is not None))
            yield Sum(node, tuple(needed), conditions, bool(read & moving))
        for child in children(node):
            yield from _updated(child, conditions, declared, moving)


def _read(nodes: tuple[Any, ...]) -> set[DataObject]:
    return {access.object for node in nodes for access in walk(node) if isinstance(access, Access)}
