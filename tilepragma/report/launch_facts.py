"""What the host does for a kernel, step by step: loops in order, launches, and how their loops are dealt out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilepragma.ir.looptree import Loop, Tile, TiledLoop, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step
from tilepragma.report.source_text import plain_text


@dataclass(frozen=True)
class LaunchLine:
    """A loop that the host runs, a condition, or a launch; `loops` are (iterator, how it is dealt out) of a launch."""

    depth: int
    what: str
    loops: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class LaunchGroup:
    """What happens on one kind of target."""

    title: str
    lines: tuple[LaunchLine, ...]


def launch_groups(plan: KernelPlan) -> tuple[LaunchGroup, ...]:
    """For cores and for devices, or for all where both are the same."""
    if not plan.host_steps and not plan.device_steps:
        return ()
    if plan.host_steps == plan.device_steps:
        return (LaunchGroup("on every target", tuple(_lines(plan.host_steps, 0))),)
    return (
        LaunchGroup("on cores", tuple(_lines(plan.host_steps, 0))),
        LaunchGroup("on devices", tuple(_lines(plan.device_steps, 0))),
    )


def _lines(steps: tuple[Step, ...], depth: int) -> Iterator[LaunchLine]:
    for step in steps:
        if isinstance(step, Launch):
            yield LaunchLine(depth, f"launch {step.name}", _loops(step), tuple(_remarks(step)))
        elif isinstance(step, HostLoop):
            yield LaunchLine(depth, f"{loop_text(step.loop)}, in order")
            yield from _lines(step.steps, depth + 1)
        elif isinstance(step, HostCondition):
            yield LaunchLine(depth, f"if {plain_text(step.condition)}")
            yield from _lines(step.steps, depth + 1)


def loop_text(loop: Loop) -> str:
    """`for t = 0 … < steps`, steps other than 1 named."""
    step = plain_text(loop.step)
    by = "" if step in ("1", "-1") else f" by {step}"
    name = loop.iterator.host
    return f"for ({name} = {plain_text(loop.lower)}; {name} {loop.comparison} {plain_text(loop.upper)}{by})"


def _loops(launch: Launch) -> tuple[tuple[str, str], ...]:
    tiled = [loop for nest in walk(launch.body) if isinstance(nest, TileNest) for loop in nest.loops]
    return tuple((loop.loop.iterator.host, _tiles(loop)) for loop in tiled)


def _tiles(tiled: TiledLoop) -> str:
    """`gang 0 × worker 0`, the user's own tiles from the outermost on; what is in order needs no word beside what is dealt."""
    words = [_tile(tile) for tile in tiled.tiles]
    dealt = [word for tile, word in zip(tiled.tiles, words, strict=True) if tile.axis is not None]
    plain = all(tile.axis is not None or tile.kind.value == "dynamic" for tile in tiled.tiles)
    if not dealt:
        return "in order" if plain else " × ".join(words)
    return " × ".join(dealt if plain else words)


def _tile(tile: Tile) -> str:
    if tile.axis is not None:
        return "threads" if tile.kind.value == "thread" else f"{tile.kind.value}s {tile.axis.dimension}"
    return tile.kind.value + ("" if tile.argument is None else f" {tile.argument.text}")


def _remarks(launch: Launch) -> Iterator[str]:
    for reduction in launch.reductions:
        yield f"reduces {reduction.object.host} with {reduction.operator}"
    first = set(launch.first_privates)
    own = [object_.host for object_ in launch.privates if object_ not in first]
    if own:
        yield f"private {', '.join(own)}"
    if first:
        yield f"firstprivate {', '.join(object_.host for object_ in launch.first_privates)}"
    if not launch.axes:
        yield "one instance"
