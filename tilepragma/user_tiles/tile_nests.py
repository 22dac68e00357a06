"""Builds tile nests: maximal perfectly nested chains become TileNests with checked, sorted tiles.

docs/LANGUAGE.md, "Tiles": a stable sort by order number; a tile without a number has the order of
the tile before it in the chain. Untiled loops inside a chain get one dynamic tile. Untiled loops at
either end of a chain whose tile would stay at that end remain plain loops, which is equivalent and
reads better.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import AxisKind, TileClause, TileKind
from tilepragma.ir.expressions import Expression
from tilepragma.ir.loop_tree import Axis, Block, Loop, Statement, Tile, TiledLoop, TileNest
from tilepragma.ir.traversal import perfect_nest, with_blocks
from tilepragma.user_tiles.chain_checks import axis_of, check_collapse, check_tiles, covers, legal_order, needed_loops


@dataclass(frozen=True)
class ChainContext:
    """Facts of the region that builds nests.

    `clauses` holds the tiles of each loop by index (none for untiled loops); `on_host`: whether the
    host can evaluate an expression at launch; `literal_counts` has the integer literal counts.
    """

    clauses: Mapping[int, tuple[TileClause, ...]]
    symbols: Mapping[int, str]
    on_host: Callable[[Expression], bool]
    literal_counts: Mapping[Axis, int]
    diagnostics: Diagnostics


@dataclass(frozen=True)
class _Placed:
    """A tile with its effective order; `explicit` where the user wrote the number."""

    tile: Tile
    order: int
    explicit: bool


def chain_from(loop: Loop) -> tuple[Loop, ...]:
    """The maximal perfectly nested chain that starts at `loop`."""
    return tuple(perfect_nest(loop))


def build_nests(body: Block, context: ChainContext) -> Block:
    """`body` with each chain that holds tiles as a TileNest. Reports errors."""
    return _block(body, context, None)


# `outer`: the undistributed tile of the greatest explicit order in the nests around


def _block(block: Block, context: ChainContext, outer: _Placed | None) -> Block:
    return dataclasses.replace(block, statements=tuple(_statement(s, context, outer) for s in block.statements))


def _statement(statement: Statement, context: ChainContext, outer: _Placed | None) -> Statement:
    if isinstance(statement, Loop):
        return _chain(statement, context, outer)
    if isinstance(statement, Block):
        return _block(statement, context, outer)
    return with_blocks(statement, lambda block: _block(block, context, outer))


def _chain(head: Loop, context: ChainContext, outer: _Placed | None) -> Statement:
    chain = chain_from(head)
    for place, loop in enumerate(chain):
        check_tiles(loop, context.clauses.get(loop.index, ()), context.literal_counts, context.diagnostics)
        check_collapse(loop, len(chain) - place, context.diagnostics)
    placed = _placed(chain, context)
    first, last = _extent(chain, placed, context)
    if first == last:
        return _plain(chain, _block(chain[-1].body, context, outer))
    inside = {loop.index for loop in chain[first:last]}
    placed = [tile for tile in placed if tile.tile.loop in inside]
    nest = _nest(chain[first:last], placed, context, outer)
    numbered = [tile for tile in placed if tile.explicit and tile.tile.axis is None]
    deepest = max(numbered, key=lambda tile: tile.order, default=None)
    if deepest is not None and (outer is None or deepest.order > outer.order):
        outer = deepest
    inner = _block(chain[-1].body, context, outer)
    if last < len(chain):
        inner = Block((_plain(chain[last:], inner),), chain[last].range)
    nest = dataclasses.replace(nest, body=inner)
    return nest if first == 0 else _plain(chain[:first], Block((nest,), chain[first].range))


def _plain(chain: tuple[Loop, ...], body: Block) -> Loop:
    """The loops as written around a new innermost body."""
    for loop in reversed(chain):
        result = dataclasses.replace(loop, body=body)
        body = Block((result,), loop.range)
    return result


def _extent(chain: tuple[Loop, ...], placed: list[_Placed], context: ChainContext) -> tuple[int, int]:
    """The part of the chain that becomes a nest; untiled loops at its ends stay plain."""
    fixed = [place for place, loop in enumerate(chain) if context.clauses.get(loop.index)]
    if not fixed:
        return 0, 0
    order = [tile.tile.loop for tile in sorted(placed, key=lambda tile: tile.order)]
    first, last = 0, len(chain)
    while last - 1 > fixed[-1] and order[-1] == chain[last - 1].index:
        last -= 1
        order.pop()
    while first < fixed[0] and order[0] == chain[first].index:
        first += 1
        order.pop(0)
    return first, last


def _placed(chain: tuple[Loop, ...], context: ChainContext) -> list[_Placed]:
    placed: list[_Placed] = []
    order = 0
    for loop in chain:
        clauses = context.clauses.get(loop.index, ())
        for position, clause in enumerate(clauses):
            order = order if clause.order is None else clause.order
            tile = Tile(loop.index, position, clause.kind, clause.argument, axis_of(clause), clause.range)
            placed.append(_Placed(tile, order, clause.order is not None))
        kinds = {clause.kind for clause in clauses}
        if TileKind.DYNAMIC not in kinds and not (clauses and covers(loop, clauses, context.literal_counts)):
            tile = Tile(loop.index, len(clauses), TileKind.DYNAMIC, None, None, loop.header)
            placed.append(_Placed(tile, order, False))
    return placed


def _nest(chain: tuple[Loop, ...], placed: list[_Placed], context: ChainContext, outer: _Placed | None) -> TileNest:
    order = tuple(tile.tile for tile in sorted(placed, key=lambda tile: tile.order))
    _check_axes(order, context.diagnostics)
    _check_crossing(placed, outer, context.diagnostics)
    _check_triangular(chain, order, context.diagnostics)
    loops = []
    for loop in chain:
        tiles = tuple(tile.tile for tile in placed if tile.tile.loop == loop.index)
        on_host = all(map(context.on_host, loop.bounds))
        loops.append(TiledLoop(loop, context.symbols[loop.index], tiles, on_host))
    return TileNest(tuple(loops), order, chain[-1].body, chain[0].range)


def _check_axes(order: tuple[Tile, ...], diagnostics: Diagnostics) -> None:
    seen: dict[Axis, Tile] = {}
    for tile in order:
        if tile.axis is None:
            continue
        if tile.axis in seen and seen[tile.axis].loop != tile.loop:
            message = f"two tiles of this nest are distributed over {axis_text(tile.axis)}"
            remedy = f"the other stands on line {seen[tile.axis].range.start.line}; give each its own dimension"
            diagnostics.error(tile.range, message, remedy)
        seen.setdefault(tile.axis, tile)


def _check_crossing(placed: list[_Placed], outer: _Placed | None, diagnostics: Diagnostics) -> None:
    for tile in placed:
        if tile.explicit and tile.tile.axis is None and outer is not None and tile.order < outer.order:
            diagnostics.error(
                tile.tile.range,
                f"tile order {tile.order} would move this tile out of a statement: tile order {outer.order} of the "
                f"loop around it (line {outer.tile.range.start.line}) comes later, "
                "and the loops are not perfectly nested",
                f"number this loop's tiles from {outer.order} up",
            )
            return


def _check_triangular(chain: tuple[Loop, ...], order: tuple[Tile, ...], diagnostics: Diagnostics) -> None:
    by_index = {loop.index: loop for loop in chain}
    needs = needed_loops(chain)
    legal = legal_order(order, needs)
    if legal == order:
        return
    moved = next(tile for tile, target in zip(order, legal, strict=True) if tile != target)
    loop = by_index[moved.loop]
    outer = next(by_index[index].iterator.host for index in sorted(needs[moved.loop], reverse=True))
    names = ", ".join(f"{by_index[tile.loop].iterator.host} ({tile.kind.value})" for tile in legal)
    diagnostics.error(
        moved.range,
        f"the bounds of the loop over '{loop.iterator.host}' depend on '{outer}', "
        f"so its tiles must stand inside all tiles of '{outer}'",
        f"the nearest legal order is {names}",
    )


def axis_text(axis: Axis) -> str:
    """`gang 0`, `thread`: the axis as the language names it."""
    return "thread" if axis.kind is AxisKind.THREAD else f"{axis.kind.value} {axis.dimension}"
