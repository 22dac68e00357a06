"""Columns of tiles: what the launches of a loop over wavefronts have in common, so that tiles of several wavefronts may run at once.

    for (w ...)                          the host's loop
        launch: for (c_1 ...) ... for (c_n ...)    dealt out to threads or gangs, one loop an axis: the tile (w, c)

A column is all tiles of one c, one of each wavefront at most. Where every dependence goes from (w, c) to a (w', c') with

    c_k <= c'_k for all k,    (c'_1 - c_1) + ... + (c'_n - c_n) <= w' - w

(`Launch.pipelined`, proven by `polyhedral/plan_proof_pipelines`), a tile need only wait for those before it in its own column and in the n
columns of which one coordinate is one less.
"""

from __future__ import annotations

from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.looptree import Block, Buffered, TiledLoop, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import Launch

_INSTANCES = (TileKind.THREAD, TileKind.GANG)


def columns_nest(launch: Launch) -> TileNest | None:
    """The nest that is all of the launch and deals its tiles out, one loop an axis of threads or gangs, and each such axis here; None where
    instances are dealt out in another way, or keep what others of the wavefront need until their end.
    """
    body = launch.body
    while len(body.statements) == 1 and isinstance(body.statements[0], Block):
        body = body.statements[0]
    nest = body.statements[0] if len(body.statements) == 1 else None
    if not isinstance(nest, TileNest) or launch.reductions or launch.privates:
        return None
    if launch.windows or any(isinstance(node, Buffered) for node in walk(launch.body)):
        return None
    dealt = [tile.axis for loop in nest.loops for tile in loop.tiles if tile.kind in _INSTANCES]
    instances = [axis for axis in launch.axes if axis.kind is not AxisKind.WORKER]
    alone = all(_is_column(loop) for loop in nest.loops) and len(dealt) == len(set(instances))
    return nest if alone and set(dealt) == set(instances) else None


def _is_column(loop: TiledLoop) -> bool:
    """Whether iterations of the loop, which counts up by 1 between numbers of the launch, are instances."""
    kinds = [tile.kind for tile in loop.tiles if tile.kind is not TileKind.DYNAMIC]
    return loop.launch_bounds and len(kinds) == 1 and kinds[0] in _INSTANCES
