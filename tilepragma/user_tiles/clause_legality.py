"""Clause legality: checks the user's tile orders and distributed loops against the dependences.

A dependence that surely exists is an error, or a note where `independent` overrules it. Where the
analysis only suspects one (subscripts or bounds that are not affine), the user is responsible; a
note says so for distributed loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.loop_tree import Block, Function, Loop, Tile, TiledLoop, TileNest
from tilepragma.ir.traversal import children, walk
from tilepragma.poly.dependences import Dependence, memory_dependences
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.tile_legality import Violation, carried_outside, distribution_violation, order_violation
from tilepragma.user_tiles.chain_checks import legal_order, needed_loops
from tilepragma.user_tiles.tile_nests import axis_text


def check_legality(
    body: Block,
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
    owned: frozenset[DataObject],
    assumes_independence: bool,
    diagnostics: Diagnostics,
) -> None:
    """Report the tile orders and distributions in one launch's body that break a dependence.

    The region changes the `written` objects; the `owned` ones are private or reduced.
    `assumes_independence` where the user calls the iterations independent.
    """
    nests = [node for node in walk(body) if isinstance(node, TileNest)]
    if not any(_reordered(nest) or any(tile.axis is not None for tile in nest.order) for nest in nests):
        return
    try:
        scop = extract_scop(body.statements, functions, written, assuming=False)
        with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
            every = memory_dependences(scop)
            dependences = [dependence for dependence in every if dependence.source.object not in owned]
            for nest, ordered in _with_ordered(body, frozenset()):
                _check_nest(nest, ordered, dependences, assumes_independence, diagnostics)
    except OperationLimitError:
        if not assumes_independence:
            message = "the dependences of this nest are too many to prove its tiles legal"
            diagnostics.note(nests[0].range, message, "the tiles are taken as said")


def _order(nest: TileNest) -> tuple[Tile, ...]:
    """The tiles that become loops."""
    return tuple(tile for tile in nest.order if tile.axis is None)


def _reordered(nest: TileNest) -> bool:
    places = {tiled.loop.index: place for place, tiled in enumerate(nest.loops)}
    keys = [(places[tile.loop], tile.position) for tile in _order(nest)]
    return keys != sorted(keys)


def _with_ordered(node: object, around: frozenset[int]) -> Iterator[tuple[TileNest, frozenset[int]]]:
    """Each nest with the sequential loops around it, after whose iterations workers wait."""
    if isinstance(node, TileNest):
        yield node, around
        around |= {tiled.loop.index for tiled in node.loops if all(tile.axis is None for tile in tiled.tiles)}
    elif isinstance(node, Loop):
        around |= {node.index}
    for child in children(node):
        yield from _with_ordered(child, around)


def _check_nest(
    nest: TileNest,
    ordered: frozenset[int],
    dependences: list[Dependence],
    assumes_independence: bool,
    diagnostics: Diagnostics,
) -> None:
    certain = [dependence for dependence in dependences if dependence.exact]
    # Scalars in distributed loops follow other rules (arguments/scalars.py).
    of_arrays = [dependence for dependence in dependences if dependence.source.object.storage is not Storage.SCALAR]
    arrays = [dependence for dependence in of_arrays if dependence.exact]
    suspected = [dependence for dependence in of_arrays if not dependence.exact]
    for tiled in nest.loops:
        kinds = {tile.axis.kind: tile for tile in tiled.tiles if tile.axis is not None}
        for kind, tile in kinds.items():
            waits = ordered if kind is AxisKind.WORKER else frozenset()
            broken = distribution_violation(arrays, tiled.loop.index, waits)
            if broken is not None:
                diagnostics.add(_wrong_distribution(nest, tiled, tile, broken, arrays, assumes_independence))
                return
        if kinds and not assumes_independence:
            maybe = distribution_violation(suspected, tiled.loop.index, ordered)
            if maybe is not None:
                _note_suspected(tiled, maybe, diagnostics)
    if _reordered(nest):
        loops = [tiled.loop.index for tiled in nest.loops]
        order = _order(nest)
        broken = order_violation(certain, loops, [(tile.loop, tile.position) for tile in order])
        if broken is not None:
            diagnostics.add(_wrong_order(nest, order, broken, certain, assumes_independence))


def _wrong_distribution(
    nest: TileNest,
    tiled: TiledLoop,
    tile: Tile,
    broken: Violation,
    dependences: list[Dependence],
    assumes_independence: bool,
) -> Diagnostic:
    assert tile.axis is not None
    others = (loop for loop in broken.dependence.loops if loop.index != tiled.loop.index)
    free = [loop.iterator.host for loop in others if distribution_violation(dependences, loop.index) is None]
    outer = carried_outside(broken, nest.loops[0].loop.index)
    if free:
        remedy = f"the loop over '{free[0]}' carries no dependence and can be distributed instead"
    elif outer is not None:
        host = outer.iterator.host
        remedy = f"take the loop over '{host}' out of the kernel, so that each of its iterations is a launch"
    else:
        remedy = "leave the loop undistributed: no loop of this nest can be distributed in this order"
    name = tiled.loop.iterator.host
    # Only the user's tiles name an axis: what the planner chose differs between hosts and devices.
    over = f" over {axis_text(tile.axis)}" if tile.range != tiled.loop.header else ""
    what = f"the loop over '{name}' is distributed{over}, but its iterations depend on each other"
    return _broken(tile.range, what, broken, remedy, assumes_independence)


def _wrong_order(
    nest: TileNest,
    order: tuple[Tile, ...],
    broken: Violation,
    dependences: list[Dependence],
    assumes_independence: bool,
) -> Diagnostic:
    names = {tiled.loop.index: tiled.loop.iterator.host for tiled in nest.loops}
    legal = _nearest_legal(nest, order, dependences)
    text = ", ".join(f"{names[tile.loop]} ({tile.kind.value})" for tile in legal)
    tile = order[broken.place]
    what = f"in this tile order iterations run before others that they depend on (tile of '{names[tile.loop]}')"
    return _broken(tile.range, what, broken, f"the nearest legal order is {text}", assumes_independence)


def _broken(where: SourceRange, what: str, broken: Violation, remedy: str, assumes_independence: bool) -> Diagnostic:
    dependence, source, sink = broken.dependence, broken.dependence.source, broken.dependence.sink
    array, kind = source.object.host, dependence.kind.value
    loops = ", ".join(loop.iterator.host for loop in dependence.loops)
    message = f"{what}: {kind} dependence of '{array}' with distance {broken.nearest} over ({loops})"
    notes = [
        Diagnostic(Severity.NOTE, source.range, f"an iteration {_does(source.writes)} '{array}' here"),
        Diagnostic(Severity.NOTE, sink.range, f"a later one {_does(sink.writes)} the same element here"),
    ]
    word = "add 'independent' if you know that no two iterations touch one element"
    remedies = ("'independent' overrules this",) if assumes_independence else (remedy, word)
    notes += [Diagnostic(Severity.NOTE, where, text) for text in remedies]
    severity = Severity.WARNING if assumes_independence else Severity.ERROR
    return Diagnostic(severity, where, message, tuple(notes), contradicts=assumes_independence)


def _does(writes: bool) -> str:
    return "writes" if writes else "reads"


def _note_suspected(tiled: TiledLoop, maybe: Violation, diagnostics: Diagnostics) -> None:
    source, sink = maybe.dependence.source, maybe.dependence.sink
    diagnostics.note(
        tiled.loop.header,
        f"cannot prove that the iterations of the loop over '{tiled.loop.iterator.host}' are independent: "
        f"'{source.object.host}' is accessed in a way that is not known before the launch "
        f"(lines {source.range.start.line} and {sink.range.start.line})",
        "the distribution is taken as said; add 'independent' to silence this",
    )


def _nearest_legal(nest: TileNest, order: tuple[Tile, ...], dependences: list[Dependence]) -> tuple[Tile, ...]:
    """A legal order that moves one tile, if any; else the written loop order, always legal."""
    loops = [tiled.loop for tiled in nest.loops]
    indices = [loop.index for loop in loops]
    needs = needed_loops(loops)
    for candidate in _single_moves(order):
        keys = [(tile.loop, tile.position) for tile in candidate]
        if legal_order(candidate, needs) == candidate and order_violation(dependences, indices, keys) is None:
            return candidate
    return tuple(sorted(order, key=lambda tile: (indices.index(tile.loop), tile.position)))


def _single_moves(order: tuple[Tile, ...]) -> Iterable[tuple[Tile, ...]]:
    for taken, to in sorted(itertools.permutations(range(len(order)), 2), key=lambda pair: abs(pair[0] - pair[1])):
        rest = list(order)
        rest.insert(to, rest.pop(taken))
        yield tuple(rest)
