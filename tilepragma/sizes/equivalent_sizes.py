"""Which tile sizes make the same launches: those that hold the whole of what they divide, however much larger they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilepragma.ir.evaluation import Evaluation, UncountableError
from tilepragma.ir.expressions import Binary, Call, Expression
from tilepragma.ir.traversal import loops_and_tiled, mentions, walk
from tilepragma.plan.balanced_chunking import divided
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, Launch, Step, TileSize
from tilepragma.plan.summary import all_steps

_QUOTIENTS = ("tilek_floor_quotient", "tilek_ceiling_quotient")


def whole_sizes(
    steps: tuple[Step, ...], sizes: Sequence[TileSize], scalars: Mapping[str, int]
) -> tuple[int | None, ...]:
    """For each of the sizes the least one that holds all of what the steps divide by it, where the
    plan's scalars have these values, by name.

    All from that one on make the same launches. None where the launch alone does not say what is
    divided: that depends on iterators, on another size, or on this one.
    """
    known = Evaluation(scalars)
    roots = [root for step in all_steps(steps) for root in _roots(step)]
    return tuple(_whole(roots, size, known) for size in sizes)


def _roots(step: Step) -> tuple[Any, ...]:
    """What a step evaluates by itself, without the steps that are in it."""
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
            own = divided(node, size)
            if not own:
                return None
            dividends.update(own)
    try:
        values = [int(known.value(dividend)) for dividend in dividends]
    except UncountableError:
        return None
    # Quotients of what is negative are -1 then.
    return max(map(abs, values)) + 1 if values else None


def _is_division(node: Any) -> bool:
    return (isinstance(node, Call) and node.function in _QUOTIENTS) or (
        isinstance(node, Binary) and node.operator in ("/", "%")
    )
