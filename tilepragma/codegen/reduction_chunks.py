"""Chunk lengths of floating-point reductions: how many iterations of the distributed loop form one
partial value.

Each chunk is reduced in the order of the text. A binary tree over the chunks' indices combines them
(`runtime/launch/reduction.c`). The trip count and the chunk length alone fix the number of chunks
(`runtime/launch/launch_geometry.c`), so that the number of threads changes no bit of a result.
"""

from __future__ import annotations

from typing import Any

from tilepragma.ir.expressions import Call, Callee
from tilepragma.ir.loop_tree import ForLoop, Loop, TiledLoop, TileNest, While
from tilepragma.ir.traversal import children
from tilepragma.plan.kernel_plan import Launch
from tilepragma.user_tiles.chain_checks import literal_trip

#: The least number of expression nodes that a chunk evaluates: entering and combining a chunk then
#: takes under 1 % of its time.
_CHUNK = 4096
#: The assumed trip count of a loop whose trip count is unknown; the assumed nodes of a user's
#: function and of a library's.
_UNKNOWN, _USER_CALL, _LIBRARY_CALL = 64, 256, 16
#: A longer chunk is one iteration anyway.
_ENOUGH = _CHUNK**2


def chunk(launch: Launch) -> int:
    """The least number of iterations in a chunk; 0 without floating-point reductions."""
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
                    times *= 1 if _is_distributed(loop) else _trip(loop.loop)
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


def _is_distributed(loop: TiledLoop) -> bool:
    return any(tile.axis is not None for tile in loop.tiles)


def _trip(loop: Loop) -> int:
    trip = literal_trip(loop)
    return _UNKNOWN if trip is None else max(1, trip)
