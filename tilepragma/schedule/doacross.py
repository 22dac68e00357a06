"""Doacross of tile columns: launches of a wavefront loop whose tiles may overlap.

    for (w ...)                                       the host's loop
        launch: for (c_1 ...) ... for (c_n ...)       the tile (w, c), one loop an axis

A column holds all tiles with one c, at most one of each wavefront. Let every dependence go from (w,
c) to (w', c') with

    c_k <= c'_k for all k,    (c'_1 - c_1) + ... + (c'_n - c_n) <= w' - w

(`Launch.pipelined`, proven by `verify/execution_order`). Then a tile waits only for the earlier
tiles of its own column and of the n columns with one coordinate less by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import DataObject, IntegerLiteral
from tilepragma.ir.loop_tree import Loop, PackedPanels, TiledLoop, TileNest
from tilepragma.ir.traversal import mentions, unwrapped, walk
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step

_INSTANCES = (TileKind.THREAD, TileKind.GANG)


@dataclass(frozen=True)
class Persistent:
    """All wavefronts of the device launch `of`, number `number`, as one launch. Its gangs wait for
    each other. `launch` is as its entry point sees it, `nest` that of its tiles. `wavefront` is the
    host loop's iterator, which is no argument of the launch.
    """

    number: int
    of: str
    launch: Launch
    nest: TileNest
    wavefront: DataObject


def persistent_launches(plan: KernelPlan) -> tuple[Persistent, ...]:
    """The plan's device launches that can run persistently, in order."""
    if plan.divisions:
        return ()
    launches = (_persistent(plan, launch, loop) for launch, loop in _in_loops(plan.device_steps))
    return tuple(launch for launch in launches if launch is not None)


def columns_nest(launch: Launch) -> TileNest | None:
    """The nest that is the whole launch and maps one loop to each axis of threads or gangs. None if
    the launch maps instances otherwise, or keeps data until the wavefront ends.
    """
    nest = unwrapped(launch.body)
    if (
        not isinstance(nest, TileNest)
        or launch.scratchpads
        or any(isinstance(node, PackedPanels) for node in walk(launch.body))
    ):
        return None
    mapped = [tile.axis for loop in nest.loops for tile in loop.tiles if tile.kind in _INSTANCES]
    instances = [axis for axis in launch.axes if axis.kind is not AxisKind.WORKER]
    if (launch.reductions or launch.privates) and any(axis.kind is AxisKind.THREAD for axis in launch.axes):
        return None  # the pool has no room for the data of several wavefronts
    alone = all(_is_column(loop) for loop in nest.loops) and len(mapped) == len(set(instances))
    return nest if alone and set(mapped) == set(instances) else None


def _is_column(loop: TiledLoop) -> bool:
    """Whether the loop counts up by 1 between launch arguments, its iterations being instances."""
    kinds = [tile.kind for tile in loop.tiles if tile.kind is not TileKind.DYNAMIC]
    return loop.launch_bounds and len(kinds) == 1 and kinds[0] in _INSTANCES


def _in_loops(steps: tuple[Step, ...]) -> Iterator[tuple[Launch, HostLoop[Launch]]]:
    """The launches that are the whole body of a host loop, with these loops."""
    for step in steps:
        if isinstance(step, HostLoop) and len(step.steps) == 1 and isinstance(step.steps[0], Launch):
            yield step.steps[0], step
        elif not isinstance(step, Launch):
            yield from _in_loops(step.steps)


def _persistent(plan: KernelPlan, launch: Launch, around: HostLoop[Launch]) -> Persistent | None:
    """None if other launch arguments than the gangs' numbers vary with the wavefront."""
    nest, wavefront = columns_nest(launch), around.loop.iterator
    staged = launch.staged is not None and not launch.staged_scratchpads
    if not launch.pipelined or nest is None or staged or launch.values[-1:] != (wavefront,):
        return None
    if launch.loops[: len(nest.loops)] != nest.loops:
        return None
    others = [tiled.loop for tiled in launch.loops if tiled not in nest.loops]
    bounds = [bound for loop in others for bound in loop.bounds]
    if not all(_counts_up(tiled.loop) for tiled in nest.loops) or any(mentions(bound, wavefront) for bound in bounds):
        return None
    persistent = replace(launch, name=f"{launch.name}_persistent", values=launch.values[:-1])
    number = plan.device.index(launch)
    taken = any(device.name == persistent.name for device in plan.device)
    return None if taken else Persistent(number, launch.name, persistent, nest, wavefront)


def _counts_up(loop: Loop) -> bool:
    """Whether the iterator increases by 1."""
    return not loop.decreasing and isinstance(loop.step, IntegerLiteral) and loop.step.value == 1
