"""Thread tiles of staged launches: several points for each worker, and sums in registers.

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
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    DataObject,
    Expression,
    Increment,
    Scope,
    Storage,
)
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import (
    Axis,
    Block,
    Declaration,
    If,
    Loop,
    Panel,
    Staged,
    Statement,
    Tile,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.traversal import children, walk
from tilepragma.ir.types import INT, ScalarType
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.summary import coarsening_tile

POINTS = (4, 8)
"""Points of a worker along the axis of neighbours, and along the next one. Along the former, lanes
of a warp read different elements of one row; along the latter the same element.
"""


def with_points(nest: TileNest, points: Mapping[Axis, int]) -> TileNest:
    """The nest whose workers have this many points, by axis."""
    changed = {tiled: _with_points(tiled, points) for tiled in nest.loops}
    tiles: dict[Tile, tuple[Tile, ...]] = {}
    for old, new in changed.items():
        plain = [tile for tile in new.tiles if len(new.tiles) == len(old.tiles) or tile.kind is not TileKind.STATIC]
        tiles |= {before: (after,) for before, after in zip(old.tiles, plain, strict=True)}
        if new is not old:
            tiles[old.tiles[0]] = (new.tiles[0], new.tiles[2])
    order = tuple(new for tile in nest.order for new in tiles[tile])
    return replace(nest, loops=tuple(changed[tiled] for tiled in nest.loops), order=order)


def _with_points(tiled: TiledLoop, points: Mapping[Axis, int]) -> TiledLoop:
    last = tiled.tiles[-1]
    count = 1 if last.axis is None or last.kind is not TileKind.WORKER else points.get(last.axis, 1)
    if count == 1:
        return tiled
    place = len(tiled.tiles) - 1
    coarsening = Tile(tiled.loop.index, place, TileKind.STATIC, ClauseExpression(str(count), NOWHERE), None)
    return replace(tiled, tiles=(*tiled.tiles[:-1], coarsening, replace(last, position=place + 1)))


def without_points(launch: Launch) -> Launch:
    """The launch whose workers have one point each: undoes `retiled`."""
    body = _with_one_point(launch.body)
    assert isinstance(body, Block)
    return replace(launch, body=body, loops=tuple(map(_without_points, launch.loops)))


def _with_one_point(statement: Statement) -> Statement:
    if isinstance(statement, Block):
        return replace(statement, statements=tuple(map(_with_one_point, statement.statements)))
    assert isinstance(statement, TileNest), "a launch that is staged is one nest"
    tiles: dict[Tile, Tile] = {}
    for tiled in statement.loops:
        added = coarsening_tile(tiled)
        tiles |= zip((tile for tile in tiled.tiles if tile is not added), _without_points(tiled).tiles, strict=True)
    order = tuple(tiles[tile] for tile in statement.order if tile in tiles)
    return replace(statement, loops=tuple(map(_without_points, statement.loops)), order=order)


def _without_points(tiled: TiledLoop) -> TiledLoop:
    coarsening = coarsening_tile(tiled)
    if coarsening is None:
        return tiled
    return replace(tiled, tiles=(*tiled.tiles[:2], replace(tiled.tiles[3], position=2)))


def retiled(launch: Launch, points: Mapping[Axis, int]) -> Launch:
    """The launch (one nest) whose workers have these points."""
    body = _retiled(launch.body, points)
    assert isinstance(body, Block)
    return replace(launch, body=body, loops=tuple(_with_points(tiled, points) for tiled in launch.loops))


def _retiled(statement: Statement, points: Mapping[Axis, int]) -> Statement:
    if isinstance(statement, Block):
        return replace(statement, statements=tuple(_retiled(statement, points) for statement in statement.statements))
    assert isinstance(statement, TileNest), "a launch that is staged is one nest"
    return with_points(statement, points)


def worth_points(
    nest: TileNest, loop: Loop, array_tiles: tuple[Staged, ...], points: tuple[int, int] = POINTS
) -> dict[Axis, int]:
    """The `points` that pay off, by axis: one read serves all points of an axis where an array tile
    does not depend on its loop. Empty where the sequential loop keeps nothing in registers, or
    where a worker's points would share scalars.
    """
    iterators = {node.iterator for node in walk(nest.body) if isinstance(node, Loop)}
    changed = _changed(nest.body)
    if any(object_.scope is not Scope.LOCAL and object_.rank == 0 for object_ in changed - iterators):
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


def _changed(node: Any) -> set[DataObject]:
    return {node.target.object for node in walk(node) if isinstance(node, (Assignment, Increment, AddressOf))}


def _summed_scalars(loop: Loop) -> set[DataObject]:
    """The scalars declared before the loop that it updates."""
    declared = {
        declarator.object
        for node in walk(loop.body)
        if isinstance(node, Declaration)
        for declarator in node.declarators
    }
    return {object_ for object_ in _changed(loop.body) - declared if object_.rank == 0}


@dataclass(frozen=True)
class Sum:
    """An element that each iteration updates, after `declarations`, under `conditions`."""

    access: Access
    declarations: tuple[Declaration, ...]
    conditions: tuple[Expression, ...]


def buffers(sums: tuple[Sum, ...], names: Names) -> tuple[Panel, ...]:
    """A register for each sum."""
    registers = []
    for sum_ in sums:
        object_ = sum_.access.object
        name = names.scalar(f"{object_.name}_tile").name
        local = DataObject(name, name, object_.element, Storage.SCALAR, Scope.LOCAL)
        registers.append(Panel(local, (), sum_.declarations, sum_.access, (), True, sum_.conditions))
    return tuple(registers)


def sums_of(loop: Loop) -> tuple[Sum, ...]:
    """The elements of arrays that each iteration of a sequential loop updates."""
    written = {use.object for use in uses(loop.body) if use.writes and use.object.rank > 0}
    sums = []
    for object_ in sorted(written, key=lambda array: array.name):
        accesses = _accesses(loop.body, _WalkState((_not_empty(loop),), (), frozenset({loop.iterator})))
        object_accesses = [placed for placed in accesses if placed.access.object == object_]
        plain = isinstance(object_.element, ScalarType) and not object_.volatile and object_.scope is not Scope.LOCAL
        first = object_accesses[0]
        same = all(
            (placed.access.subscripts, placed.declarations) == (first.access.subscripts, first.declarations)
            for placed in object_accesses
        )
        whole = not first.access.path and len(first.access.subscripts) == object_.rank
        if plain and whole and same and not first.varies:
            sums.append(Sum(first.access, first.declarations, first.conditions))
    return tuple(sums)


def _not_empty(loop: Loop) -> Expression:
    return Binary(loop.comparison, loop.lower, loop.upper, INT)


@dataclass(frozen=True)
class _WalkState:
    """A walk's state: conditions that hold, declarations in scope, varying objects."""

    conditions: tuple[Expression, ...]
    declared: tuple[Declaration, ...]
    moving: frozenset[DataObject]


@dataclass(frozen=True)
class _PlacedAccess:
    access: Access
    declarations: tuple[Declaration, ...]
    conditions: tuple[Expression, ...]
    varies: bool


def _accesses(node: Any, state: _WalkState) -> Iterator[_PlacedAccess]:
    """All accesses under a node."""
    if isinstance(node, Block):
        for statement in node.statements:
            yield from _accesses(statement, state)
            if isinstance(statement, Declaration):
                state = replace(state, declared=(*state.declared, statement))
    elif isinstance(node, Loop):
        inner = replace(state, conditions=(*state.conditions, _not_empty(node)), moving=state.moving | {node.iterator})
        for part in (node.lower, node.upper, node.step):
            yield from _accesses(part, state)
        yield from _accesses(node.body, inner)
    elif isinstance(node, If):
        yield from _accesses(node.condition, state)
        yield from _accesses(node.then, replace(state, conditions=(*state.conditions, node.condition)))
        yield from _accesses(node.otherwise, state) if node.otherwise is not None else ()
    else:
        if isinstance(node, Access):
            yield _placed(node, state)
        for child in children(node):
            yield from _accesses(child, state)


def _placed(access: Access, state: _WalkState) -> _PlacedAccess:
    """The access, the declarations that it needs, and whether its element varies."""
    needed: list[Declaration] = []
    read = _read((*access.subscripts, *state.conditions))
    for declaration in reversed(state.declared):
        if any(declarator.object in read for declarator in declaration.declarators):
            needed.insert(0, declaration)
            read |= _read(tuple(declarator.initializer for declarator in declaration.declarators))
    return _PlacedAccess(access, tuple(needed), state.conditions, bool(read & state.moving))


def _read(nodes: tuple[Any, ...]) -> set[DataObject]:
    return {access.object for node in nodes for access in walk(node) if isinstance(access, Access)}
