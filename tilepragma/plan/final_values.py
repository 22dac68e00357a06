"""Iterators declared outside the region keep their C value after it: lower + step * trip of their last loop.

Which loops must have launch numbers for that is decided on the tree as written; the values are listed once nests are built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.looptree import Block, Kernel, Loop, TiledLoop, TileNest
from tilepragma.ir.traversal import children
from tilepragma.plan.accesses import leaves_early, uses
from tilepragma.plan.kernel_plan import FinalValue


@dataclass(frozen=True)
class FinalIterators:
    """`names` of the iterators whose last value the host can compute, and the indices of all `loops` that this needs."""

    names: frozenset[str]
    loops: frozenset[int]


def final_iterators(kernel: Kernel, needed: frozenset[str], on_host: Callable[[Expression], bool]) -> FinalIterators:
    """Those of `needed` that only loop headers write, under loops with launch bounds alone."""
    paths: dict[DataObject, list[tuple[Loop, ...] | None]] = {}
    for path, certain in _loops(kernel.body, (), True):
        loop = path[-1]
        if loop.iterator.name in needed and not loop.declares_iterator:
            computable = certain and all(_numbered(one, on_host) for one in path)
            paths.setdefault(loop.iterator, []).append(path if computable else None)
    names: set[str] = set()
    loops: set[int] = set()
    for iterator, found in paths.items():
        headers = sum(1 for use in uses(kernel.body, kernel.functions) if use.object == iterator and use.writes)
        if None not in found and headers == len(found):
            names.add(iterator.name)
            loops |= {loop.index for path in found if path is not None for loop in path}
    return FinalIterators(frozenset(names), frozenset(loops))


def final_values(bodies: tuple[Block, ...], names: frozenset[str]) -> tuple[FinalValue, ...]:
    """The final values of the iterators `names`, in textual order of their loops: a later one counts where its loop runs."""
    return tuple(value for body in bodies for value in _values(body, (), names))


def _values(node: Any, enclosing: tuple[TiledLoop, ...], names: frozenset[str]) -> Iterator[FinalValue]:
    if isinstance(node, TileNest):
        for tiled in node.loops:
            if tiled.loop.iterator.name in names and not tiled.loop.declares_iterator:
                yield FinalValue(tiled.loop.iterator, tiled, enclosing)
            enclosing = (*enclosing, tiled)
        yield from _values(node.body, enclosing, names)
        return
    for child in children(node):
        yield from _values(child, enclosing, names)


def _numbered(loop: Loop, on_host: Callable[[Expression], bool]) -> bool:
    return not leaves_early(loop.body) and all(on_host(bound) for bound in (loop.lower, loop.upper, loop.step))


def _loops(node: Any, path: tuple[Loop, ...], certain: bool) -> Iterator[tuple[tuple[Loop, ...], bool]]:
    """Every loop with the loops around it, itself last; `certain`: nothing but loops decides whether it is reached."""
    if isinstance(node, Loop):
        path = (*path, node)
        yield path, certain
    elif not isinstance(node, Block):
        certain = False
    for child in children(node):
        yield from _loops(child, path, certain)
