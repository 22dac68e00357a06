"""The tiles of each loop: the user's, or the default mapping of a nest of independent loops.

On the host, the outermost loop of the chain gets [thread, dynamic]. On devices, up to three loops
of the chain get [dynamic, gang d, worker d], so that loops of any length fit any machine. Dimension
0 is for the loop along which neighbouring workers touch neighbouring elements
(schedule/coalescing.py), or for the innermost loop where none is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tilepragma.ir.accesses import leaves_early
from tilepragma.ir.directives import CountClause, KernelDirective, TileClause, TileKind
from tilepragma.ir.expressions import Expression
from tilepragma.ir.loop_tree import Axis, Loop, Statement
from tilepragma.ir.traversal import flat, loops_in
from tilepragma.user_tiles.tile_nests import chain_from

Clauses = Mapping[int, tuple[TileClause, ...]]

MOST_DIMENSIONS = 3
"""The greatest number of dimensions of gangs and workers."""


def literal_counts(counts: Iterable[CountClause]) -> dict[Axis, int]:
    """The counts of axes that the user gives as integer literals."""
    literals = {Axis(count.axis, count.dimension): count.count.literal for count in counts}
    return {axis: literal for axis, literal in literals.items() if literal is not None}


def user_clauses(node: Any) -> dict[int, tuple[TileClause, ...]]:
    """The user's tiles of each loop under `node`, by the loop's index."""
    directives = ((loop.index, loop.directive) for loop in loops_in(node))
    return {index: directive.tiles for index, directive in directives if directive is not None and directive.tiles}


def top_loops(statement: Statement) -> Iterator[Loop]:
    """The outermost loops of a top-level statement, also inside braces."""
    return (inner for inner in flat((statement,)) if isinstance(inner, Loop))


def independent_loops(nest: Loop, directive: KernelDirective) -> tuple[Loop, ...]:
    """The leading loops of the nest's chain that the user calls independent."""
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
    """Whether the loop's or the kernel's clause says that the loop carries no dependence."""
    return directive.independent or (loop.directive is not None and loop.directive.independent)


def host_clauses(loops: tuple[Loop, ...]) -> dict[int, tuple[TileClause, ...]]:
    """The default mapping, for threads, of a nest whose independent loops are `loops`."""
    return {loop.index: (_clause(TileKind.THREAD, 0, loop), _clause(TileKind.DYNAMIC, 0, loop)) for loop in loops[:1]}


def launchable(loops: tuple[Loop, ...], on_host: Callable[[Expression], bool]) -> tuple[Loop, ...]:
    """The independent loops that devices can distribute: the host knows inner loops' bounds."""
    known = (loop for loop in loops[1:] if all(on_host(bound) for bound in loop.bounds))
    return (*loops[:1], *known)


def device_clauses(loops: tuple[Loop, ...], neighbours: Loop | None = None) -> dict[int, tuple[TileClause, ...]]:
    """The default mapping, for devices, of a nest's `launchable` loops; neighbouring workers take
    the loop `neighbours`.
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
