"""A KernelPlan in words, for `tilepragma explain`."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.ir.directives import AxisKind, ClauseExpression, Target
from tilepragma.ir.looptree import Axis, Tile, TiledLoop
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, Launch


def describe(plan: KernelPlan) -> str:
    """Where the region stands, its launches (loops, tiles, mapping), its data and its targets; a few indented lines."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: KernelPlan) -> Iterator[str]:
    start = plan.kernel.range.start
    yield f"{start.file}:{start.line}: kernel {plan.kernel.name}, in {plan.kernel.enclosing.function}()"
    if plan.as_written is not None:
        yield f"  runs as it was written: {plan.as_written}"
        return
    yield f"  targets  {', '.join(target.value for target in plan.targets)}; {_preference(plan)}"
    same = plan.host == plan.device
    for launch in plan.host:
        yield from _launch(launch, "" if same else " (serial and threads)")
    if not same:
        for launch in plan.device:
            yield from _launch(launch, " (OpenCL and CUDA)")
    for array in plan.arrays:
        yield f"  data     {_array(array)}"
    if plan.scalars:
        yield f"  values   {', '.join(scalar.name for scalar in plan.scalars)}"


def _preference(plan: KernelPlan) -> str:
    preferred = plan.preferred
    if preferred is Target.AUTO:
        return "TILEK_TARGET decides, else what is present"
    if plan.kernel.directive.targets:
        return f"the source asks for {preferred.value}"
    implied = {
        Target.CUDA: "gangs and workers ask for an accelerator",
        Target.THREADS: "tiles and counts ask for threads",
    }
    return f"its {implied.get(preferred, 'tiles ask for one core')} where TILEK_TARGET does not"


def _launch(launch: Launch, where: str) -> Iterator[str]:
    axes = " x ".join(_axis(axis) for axis in launch.axes) or "one instance"
    yield f"  launch   {launch.name}{where}: {axes}"
    for tiled in launch.loops:
        yield f"    loop {tiled.loop.iterator.name}  line {tiled.loop.range.start.line}  {_tiles(tiled)}"
    for reduction in launch.reductions:
        yield f"    reduction {reduction.operator} over {reduction.object.name}, combined in index order"
    names = [item.name for item in (*launch.privates, *launch.first_privates)]
    if names:
        yield f"    private {', '.join(names)}"


def _axis(axis: Axis) -> str:
    name = {AxisKind.THREAD: "threads", AxisKind.GANG: "gangs", AxisKind.WORKER: "workers"}[axis.kind]
    return name if axis.kind is AxisKind.THREAD else f"{name}[{axis.dimension}]"


def _tiles(tiled: TiledLoop) -> str:
    return ", ".join(_tile(tile) for tile in tiled.tiles) or "as written"


def _tile(tile: Tile) -> str:
    if tile.axis is not None:
        return _axis(tile.axis)
    return f"{tile.kind.value} {_text(tile.argument)}".rstrip()


def _text(argument: ClauseExpression | None) -> str:
    return argument.text if argument is not None else ""


def _array(array: ArrayArgument) -> str:
    uses = " and ".join(word for word, used in (("read", array.reads), ("written", array.writes)) if used)
    if array.present:
        return f"{array.object.name}: {uses}; must be on the device already"
    moves = " and ".join(word for word, moved in (("in", array.copy_in), ("out", array.copy_out)) if moved)
    rank = len(array.section)
    shape = f"{rank}-dimensional section" if rank else "scalar"
    return f"{array.object.name}: {shape}, {uses or 'unused'}; " + (
        f"copied {moves} unless present" if moves else "never copied"
    )
