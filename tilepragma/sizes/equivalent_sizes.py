"""Tile sizes with the same launches: all that hold the whole extent that they divide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilepragma.ir.evaluation import Evaluation, UncountableError
from tilepragma.ir.expressions import Binary, Call, Expression
from tilepragma.ir.traversal import loops_and_tiled, mentions, walk
from tilepragma.plan.balanced_chunking import divided
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, Launch, Step, TileSize, all_steps

_QUOTIENTS = ("tilek_floor_quotient", "tilek_ceiling_quotient")


def whole_sizes(
    steps: tuple[Step, ...], sizes: Sequence[TileSize], scalars: Mapping[str, int]
) -> tuple[int | None, ...]:
    """For each size the least one that holds everything the steps divide by it, for these values of
    the plan's scalars by name.

    Larger sizes make the same launches. None if the launch does not determine what is divided: it
    depends on iterators, on another size, or on the size itself.
    """
    known = Evaluation(scalars)
    roots = [root for step in all_steps(steps) for root in _roots(step)]
    return tuple(_whole(roots, size, known) for size in sizes)


def _roots(step: Step) -> tuple[Any, ...]:
    """What a step evaluates, without its inner steps."""
    match step:
        case Launch():
            return (step.body,)
        case HostLoop(loop=loop):
            return (loop,)
        case HostCondition():
            return (step.condition,)


def _whole(roots: Sequence[Any], size: TileSize, known: Evaluation) -> int | None:
    dividends: set[Expression] = set()
    for root in roots:
        if any(mentions(loop.step, size.object) for loop in loops_and_tiled(root)):
            return None
        for node in walk(root):
            if not _is_division(node) or not mentions(node, size.object):
                continue
            divided_by_size = divided(node, size)
            if not divided_by_size:
                return None
            dividends.update(divided_by_size)
    try:
        values = [int(known.value(dividend)) for dividend in dividends]
    except UncountableError:
        return None
    # Quotients of negative dividends are -1 then.
    return max(map(abs, values)) + 1 if values else None


def _is_division(node: Any) -> bool:
    return (isinstance(node, Call) and node.function in _QUOTIENTS) or (
        isinstance(node, Binary) and node.operator in ("/", "%")
    )
