"""Which tiles each loop has: the user's own, or the default mapping of a nest whose loops are
vouched independent.

Default on the host: the outermost loop of the chain gets [thread, dynamic]. On devices: up to three
loops of the chain get [dynamic, gang d, worker d], so that a loop of any length fits any machine.
Dimension 0 is for the loop along which neighbouring workers touch neighbouring elements
(schedule/coalescing.py), where nothing is known of that for the innermost of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilepragma.ir.accesses import leaves_early
from tilepragma.ir.directives import KernelDirective, TileClause, TileKind
from tilepragma.ir.expressions import Expression
from tilepragma.ir.loop_tree import Block, Loop, Statement
from tilepragma.ir.traversal import loops_in
from tilepragma.user_tiles.tile_nests import chain_from

Clauses = Mapping[int, tuple[TileClause, ...]]

MOST_DIMENSIONS = 3
"""Gangs and workers have so many dimensions."""


def user_clauses(node: Any) -> dict[int, tuple[TileClause, ...]]:
    """The user's tiles of every loop under `node`, by the loop's index."""
    return {
        loop.index: loop.directive.tiles
        for loop in loops_in(node)
        if loop.directive is not None and loop.directive.tiles
    }


def top_loops(statement: Statement) -> Iterator[Loop]:
    """The loop that a top-level statement is, looking through braces."""
    if isinstance(statement, Loop):
        yield statement
    elif isinstance(statement, Block):
        for inner in statement.statements:
            yield from top_loops(inner)


def independent_loops(nest: Loop, directive: KernelDirective) -> tuple[Loop, ...]:
    """The leading loops of the nest's chain that carry no dependence, as the user vouches."""
    result: list[Loop] = []
    collapsed = 0
    for loop in chain_from(nest):
        if loop.directive is not None and loop.directive.independent:
            collapsed = max(collapsed, loop.directive.collapse)
        sequential = loop.directive is not None and loop.directive.sequential
        if sequential or not (is_called_independent(loop, directive) or collapsed > 0) or leaves_early(loop.body):
            break
        collapsed -= 1
        result.append(loop)
    return tuple(result)


def is_called_independent(loop: Loop, directive: KernelDirective) -> bool:
    """Whether the user says that the loop carries no dependence, by its own clause or the kernel's."""
    return directive.independent or (loop.directive is not None and loop.directive.independent)


def host_clauses(loops: tuple[Loop, ...]) -> dict[int, tuple[TileClause, ...]]:
    """The default mapping, for threads, of a nest whose independent loops are `loops`."""
    return {loop.index: (_clause(TileKind.THREAD, 0, loop), _clause(TileKind.DYNAMIC, 0, loop)) for loop in loops[:1]}


def launchable(loops: tuple[Loop, ...], on_host: Callable[[Expression], bool]) -> tuple[Loop, ...]:
    """Those of a nest's independent loops that devices can deal out: the host must know the bounds of all but the first."""
    known = (loop for loop in loops[1:] if all(on_host(bound) for bound in (loop.lower, loop.upper, loop.step)))
    return (*loops[:1], *known)


def device_clauses(loops: tuple[Loop, ...], neighbours: Loop | None = None) -> dict[int, tuple[TileClause, ...]]:
    """The default mapping, for devices, of a nest whose `launchable` loops are these; `neighbours`
    is the one of them that neighbouring workers take.
    """
    last = next((loop for loop in loops if neighbours is not None and loop.index == neighbours.index), None)
    chosen = [loop for loop in loops if loop is not last][: MOST_DIMENSIONS - (last is not None)]
    chosen += [last] if last is not None else []
    return {
        loop.index: (
            _clause(TileKind.DYNAMIC, 0, loop),
            _clause(TileKind.GANG, dimension, loop),
            _clause(TileKind.WORKER, dimension, loop),
        )
        for dimension, loop in enumerate(reversed(chosen))
    }


def _clause(kind: TileKind, dimension: int, loop: Loop) -> TileClause:
    return TileClause(kind, None, None, dimension, loop.header)
