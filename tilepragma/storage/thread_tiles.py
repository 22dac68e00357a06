"""Registers of a device's workers in staged launches: what a sum comes back to, and several points
for each worker.

    uniform nest, a worker having RY x RX points, BY and BX apart {
        C_tile = C[i][j]
        for (k_tile …) { stage; barrier; for (k in the tile) C_tile += …; barrier }
        C[i][j] = C_tile
    }

What lies in shared memory is then read once for RX or RY points, and the sum goes to memory once.
Points that are as far apart as there are workers keep neighbours neighbours: copies, loads and
stores stay coalesced, and rows of a box are read without conflicts of banks.
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
"""Points of a worker along the axis of neighbours, and along the next one. Of those a warp's lanes
read elements of one row apart, of these all the same ones.
"""


def with_points(nest: TileNest, points: Mapping[Axis, int]) -> TileNest:
    """The nest whose workers have so many points, by their axes."""
    changed = {tiled: _with_points(tiled, points) for tiled in nest.loops}
    tiles: dict[Tile, tuple[Tile, ...]] = {}
    for old, new in changed.items():
        kept = [tile for tile in new.tiles if len(new.tiles) == len(old.tiles) or tile.kind is not TileKind.STATIC]
        tiles |= {before: (after,) for before, after in zip(old.tiles, kept, strict=True)}
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
    own = Tile(tiled.loop.index, place, TileKind.STATIC, ClauseExpression(str(count), NOWHERE), None)
    return replace(tiled, tiles=(*tiled.tiles[:-1], own, replace(last, position=place + 1)))


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
        own = coarsening_tile(tiled)
        tiles |= zip((tile for tile in tiled.tiles if tile is not own), _without_points(tiled).tiles, strict=True)
    order = tuple(tiles[tile] for tile in statement.order if tile in tiles)
    return replace(statement, loops=tuple(map(_without_points, statement.loops)), order=order)


def _without_points(tiled: TiledLoop) -> TiledLoop:
    own = coarsening_tile(tiled)
    if own is None:
        return tiled
    return replace(tiled, tiles=(*tiled.tiles[:2], replace(tiled.tiles[3], position=2)))


def retiled(launch: Launch, points: Mapping[Axis, int]) -> Launch:
    """The launch, one nest, whose workers have so many points."""
    body = _retiled(launch.body, points)
    assert isinstance(body, Block)
    return replace(launch, body=body, loops=tuple(_with_points(tiled, points) for tiled in launch.loops))


def _retiled(statement: Statement, points: Mapping[Axis, int]) -> Statement:
    if isinstance(statement, Block):
        return replace(statement, statements=tuple(_retiled(statement, points) for statement in statement.statements))
    assert isinstance(statement, TileNest), "a launch that is staged is one nest"
    return with_points(statement, points)


def worth_points(
    nest: TileNest, loop: Loop, boxes: tuple[Staged, ...], points: tuple[int, int] = POINTS
) -> dict[Axis, int]:
    """The `points` that are worth it, by axis: where what is staged does not move with the axis'
    loop, one read serves all of them. None where the sequential loop keeps nothing in registers, or
    where scalars of a worker would be those of all its points.
    """
    iterators = {node.iterator for node in walk(nest.body) if isinstance(node, Loop)}
    changed = _changed(nest.body)
    if any(one.scope is not Scope.LOCAL and one.rank == 0 for one in changed - iterators):
        return {}
    if not sums_of(loop) and not any(scalar.scope is Scope.LOCAL for scalar in _summed_scalars(loop)):
        return {}
    found: dict[Axis, int] = {}
    for tiled in nest.loops:
        axis = next((tile.axis for tile in tiled.tiles if tile.kind is TileKind.WORKER), None)
        if axis is None or axis.dimension >= len(points):
            continue
        iterator = tiled.loop.iterator
        if any(all(term.iterator != iterator for side in box.sides for term in side.terms) for box in boxes):
            found[axis] = points[axis.dimension]
    return found


def _changed(node: Any) -> set[DataObject]:
    return {node.target.object for node in walk(node) if isinstance(node, (Assignment, Increment, AddressOf))}


def _summed_scalars(loop: Loop) -> set[DataObject]:
    """The scalars declared before the loop that it updates."""
    own = {
        declarator.object
        for node in walk(loop.body)
        if isinstance(node, Declaration)
        for declarator in node.declarators
    }
    return {one for one in _changed(loop.body) - own if one.rank == 0}


@dataclass(frozen=True)
class Sum:
    """An element that each iteration of a loop comes back to: `access`, after `declarations`, where all of `conditions` hold."""

    access: Access
    declarations: tuple[Declaration, ...]
    conditions: tuple[Expression, ...]


def buffers(sums: tuple[Sum, ...], names: Names) -> tuple[Panel, ...]:
    """A register for each of them."""
    found = []
    for sum_ in sums:
        object_ = sum_.access.object
        name = names.scalar(f"{object_.name}_tile").name
        local = DataObject(name, name, object_.element, Storage.SCALAR, Scope.LOCAL)
        found.append(Panel(local, (), sum_.declarations, sum_.access, (), True, sum_.conditions))
    return tuple(found)


def sums_of(loop: Loop) -> tuple[Sum, ...]:
    """The elements of arrays that each iteration of a sequential loop updates."""
    written = {use.object for use in uses(loop.body) if use.writes and use.object.rank > 0}
    found = []
    for object_ in sorted(written, key=lambda one: one.name):
        every = _accesses(loop.body, _At((_not_empty(loop),), (), frozenset({loop.iterator})))
        mine = [one for one in every if one.access.object == object_]
        plain = isinstance(object_.element, ScalarType) and not object_.volatile and object_.scope is not Scope.LOCAL
        first = mine[0]
        same = all(
            (one.access.subscripts, one.declarations) == (first.access.subscripts, first.declarations) for one in mine
        )
        whole = not first.access.path and len(first.access.subscripts) == object_.rank
        if plain and whole and same and not first.varies:
            found.append(Sum(first.access, first.declarations, first.conditions))
    return tuple(found)


def _not_empty(loop: Loop) -> Expression:
    return Binary(loop.comparison, loop.lower, loop.upper, INT)


@dataclass(frozen=True)
class _At:
    """Where a walk is: the conditions that hold there, the declarations in scope, and what differs between iterations."""

    conditions: tuple[Expression, ...]
    declared: tuple[Declaration, ...]
    moving: frozenset[DataObject]


@dataclass(frozen=True)
class _Found:
    access: Access
    declarations: tuple[Declaration, ...]
    conditions: tuple[Expression, ...]
    varies: bool


def _accesses(node: Any, at: _At) -> Iterator[_Found]:
    """All accesses under a node."""
    if isinstance(node, Block):
        for statement in node.statements:
            yield from _accesses(statement, at)
            if isinstance(statement, Declaration):
                at = replace(at, declared=(*at.declared, statement))
    elif isinstance(node, Loop):
        inner = replace(at, conditions=(*at.conditions, _not_empty(node)), moving=at.moving | {node.iterator})
        for part in (node.lower, node.upper, node.step):
            yield from _accesses(part, at)
        yield from _accesses(node.body, inner)
    elif isinstance(node, If):
        yield from _accesses(node.condition, at)
        yield from _accesses(node.then, replace(at, conditions=(*at.conditions, node.condition)))
        yield from _accesses(node.otherwise, at) if node.otherwise is not None else ()
    else:
        if isinstance(node, Access):
            yield _found(node, at)
        for child in children(node):
            yield from _accesses(child, at)


def _found(access: Access, at: _At) -> _Found:
    """The access with what it needs of the declarations, and whether it means other elements in other iterations."""
    needed: list[Declaration] = []
    read = _read((*access.subscripts, *at.conditions))
    for declaration in reversed(at.declared):
        if any(declarator.object in read for declarator in declaration.declarators):
            needed.insert(0, declaration)
            read |= _read(tuple(declarator.initializer for declarator in declaration.declarators))
    return _Found(access, tuple(needed), at.conditions, bool(read & at.moving))


def _read(nodes: tuple[Any, ...]) -> set[DataObject]:
    return {one.object for node in nodes for one in walk(node) if isinstance(one, Access)}
