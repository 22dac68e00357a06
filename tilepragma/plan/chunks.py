"""How many iterations of a dealt-out loop a partial value gathers, where its bits depend on that.

Sums, products, least and greatest values of floating-point numbers are formed in chunks of the loop that is dealt out, each in the order of the text,
and the chunks are combined in a binary tree over their numbers (`runtime/reduce.c`). How many chunks there are follows from the loops'
iterations and this number alone (`runtime/numbers.c`), so that no number of threads changes a bit.
"""

from __future__ import annotations

from typing import Any

from tilepragma.ir.expressions import Call, Callee
from tilepragma.ir.looptree import ForLoop, Loop, TiledLoop, TileNest, While
from tilepragma.ir.traversal import children
from tilepragma.plan.chain_checks import literal_trip
from tilepragma.plan.kernel_plan import Launch

#: Nodes of expressions that a chunk evaluates at least: entering one and combining its value takes less than a hundredth of their time.
_CHUNK = 4096
#: Iterations that a loop counts as where nothing says how many it has; nodes that a call of the user's functions and one of a library's counts as.
_UNKNOWN, _USER_CALL, _LIBRARY_CALL = 64, 256, 16
#: Beyond this a chunk is one iteration anyway.
_ENOUGH = _CHUNK**2


def chunk(launch: Launch) -> int:
    """Iterations of its loop that an instance takes at least: 0 where the order of what the launch reduces does not matter."""
    if not any(reduction.is_floating for reduction in launch.reductions):
        return 0
    return max(1, _CHUNK // _weight(launch))


def _weight(launch: Launch) -> int:
    """The nodes of expressions that an iteration evaluates."""
    total = 1
    waiting: list[tuple[Any, int]] = [(launch.body, 1)]
    while waiting and total < _ENOUGH:
        node, times = waiting.pop()
        weight = 1
        match node:
            case TileNest():
                for loop in node.loops:
                    times *= 1 if _is_dealt(loop) else _trip(loop.loop)
                waiting.append((node.body, times))
                continue
            case Loop():
                waiting.append((node.body, times * _trip(node)))
                continue
            case ForLoop() | While():
                times *= _UNKNOWN
            case Call():
                weight = _USER_CALL if node.callee is Callee.USER else _LIBRARY_CALL
        total += weight * times
        waiting.extend((below, times) for below in children(node))
    return min(total, _ENOUGH)


def _is_dealt(loop: TiledLoop) -> bool:
    return any(tile.axis is not None for tile in loop.tiles)


def _trip(loop: Loop) -> int:
    known = literal_trip(loop)
    return _UNKNOWN if known is None else max(1, known)
