"""Barriers are uniform: all workers of a gang reach each barrier equally often.

Conditions and loop bounds on the way to a barrier must be the same for all workers: they may read
nothing that a worker-distributed nest writes, and no worker may leave a loop around a barrier
early.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Barrier, ForLoop, Function, If, Loop, Switch, TileNest, While
from tilepragma.ir.traversal import children, walk
from tilepragma.plan.kernel_plan import Launch


def uneven_barriers(launch: Launch, functions: tuple[Function, ...]) -> Iterator[str]:
    """A sentence for every barrier of the launch that some workers may not reach."""
    varying = _varying(launch, functions)

    def visit(node: Any, reason: str | None) -> Iterator[str]:
        if isinstance(node, Barrier) and reason is not None:
            yield f"a barrier stands under {reason}"
        reason = reason or _uneven(node, varying, functions)
        for child in children(node):
            yield from visit(child, reason)

    yield from visit(launch.body, None)


def maps_to_workers(nest: TileNest) -> bool:
    """Whether a tile of the nest belongs to workers."""
    return any(tile.kind is TileKind.WORKER for tile in nest.order)


def _varying(launch: Launch, functions: tuple[Function, ...]) -> frozenset[DataObject]:
    """Objects whose values may differ between workers: all that worker-distributed nests write."""
    nests = (node for node in walk(launch.body) if isinstance(node, TileNest) and maps_to_workers(node))
    return frozenset(use.object for nest in nests for use in uses(nest, functions) if use.writes)


def _uneven(node: Any, varying: frozenset[DataObject], functions: tuple[Function, ...]) -> str | None:
    """Why workers may take different ways below `node`; None where they cannot."""
    if isinstance(node, TileNest) and maps_to_workers(node) and not node.uniform:
        return "a worker-distributed loop"
    if isinstance(node, (Loop, ForLoop, While)) and leaves_early(node.body):
        return "a loop that a worker may leave early"
    for part in _decisions(node):
        for use in uses(part, functions):
            if use.object in varying:
                return f"a decision on '{use.object.host}', which differs between workers"
    return None


def _decisions(node: Any) -> tuple[Any, ...]:
    """The expressions that decide how often the body of `node` runs."""
    if isinstance(node, (If, While, Switch)):
        return (node.condition,)
    if isinstance(node, ForLoop):
        return tuple(part for part in (node.initialization, node.condition, node.advance) if part is not None)
    if isinstance(node, Loop):
        return node.bounds
    if isinstance(node, TileNest):
        return tuple(part for tiled in node.loops for part in tiled.loop.bounds)
    return ()
