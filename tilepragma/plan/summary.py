"""What a plan has: its steps, those that are wavefronts of tiles, the sizes that it uses."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Axis, Loop, PackedPanels, Stage, Staged, Tile, TiledLoop
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step, TileSize, launches_in


def are_wavefronts(steps: tuple[Step, ...], sizes: tuple[TileSize, ...]) -> bool:
    """Whether the host goes through wavefronts of tiles: a loop of its own has a bound that mentions a tile's size."""
    objects = {size.object for size in sizes}
    return any(mentions(step.loop, objects) for step in all_steps(steps) if isinstance(step, HostLoop))


def buffered(steps: tuple[Step, ...]) -> Iterator[PackedPanels]:
    """The statements of all launches around which elements of arrays are kept in local arrays: register tiles, and panels."""
    for launch in launches_in(steps):
        yield from (node for node in walk(launch.body) if isinstance(node, PackedPanels))


def has_shapes(plan: KernelPlan) -> bool:
    """Whether some loop around launches for cores goes through tiles that all begin together."""
    return any(isinstance(step, HostLoop) and bool(step.shape) for step in all_steps(plan.host_steps))


def used_sizes(steps: tuple[Step, ...], sizes: tuple[TileSize, ...]) -> tuple[TileSize, ...]:
    """Those of the sizes that stand in bounds or bodies of the steps."""
    used: set[DataObject] = set()
    for step in all_steps(steps):
        bodies = (step.body,) if isinstance(step, Launch) else (step.loop,) if isinstance(step, HostLoop) else ()
        conditions = (step.condition,) if isinstance(step, HostCondition) else ()
        for node in (*bodies, *conditions):
            used |= {inner.object for inner in walk(node) if isinstance(inner, Access)}
    return tuple(size for size in sizes if size.object in used)


def mentions(loop: Loop, sizes: Set[DataObject]) -> bool:
    """Whether a bound of the loop does so of a tile's size: it runs over tiles."""
    bounds = (loop.lower, loop.upper)
    return any(isinstance(node, Access) and node.object in sizes for bound in bounds for node in walk(bound))


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a tree, those around others first."""
    for step in steps:
        yield step
        if not isinstance(step, Launch):
            yield from all_steps(step.steps)


def copies_ahead(launch: Launch) -> bool:
    """Whether the launch may copy a tile while it computes the one before."""
    return launch.staged is not None and any(isinstance(node, Stage) and node.ahead for node in walk(launch.staged))


def staged_arrays(launch: Launch) -> tuple[Staged, ...]:
    """The boxes that a launch stages, in textual order."""
    stages = [node for node in walk(launch.staged) if isinstance(node, Stage)] if launch.staged is not None else []
    return tuple(array for stage in stages for array in stage.arrays)


def points_of(launch: Launch) -> dict[Axis, int]:
    """How many points its workers have, by axis, where more than one. Tiles of launches without a staged form are the user's."""
    found: dict[Axis, int] = {}
    for tiled in launch.loops if launch.staged is not None else ():
        own, last = coarsening_tile(tiled), tiled.tiles[-1]
        if own is not None and last.axis is not None:
            found[last.axis] = int(own.argument.literal or 1) if own.argument is not None else 1
    return found


def coarsening_tile(tiled: TiledLoop) -> Tile | None:
    """The tile that `_with_points` has put before the workers'."""
    kinds = [tile.kind for tile in tiled.tiles]
    return tiled.tiles[2] if kinds == [TileKind.DYNAMIC, TileKind.GANG, TileKind.STATIC, TileKind.WORKER] else None
