"""Constants for a device program before any launch is known: those of a launch on large arrays with
the workers that the runtime prefers.

What a compiler makes of a program specialised by them is near what it makes of those of real
launches: strides between workers and lengths of rows are constants in both, and loops that take one
round have gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilepragma.codegen.entry_points import DeviceProgram
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.manifest import Parameter, ParameterKind, axis_index
from tilepragma.codegen.numbering import Numbering, launch_numbers
from tilepragma.cost.register_counts import likely_workers
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Tile, TiledLoop
from tilepragma.plan.kernel_plan import KernelPlan, Launch

#: Elements in a row of an array, iterations of a loop, gangs along an axis, and what a tile's
#: argument is that is no number.
_LENGTH, _TRIPS, _GANGS, _ARGUMENT = 4096, 4096, 64, 16


def likely_definitions(plan: KernelPlan, numbering: Numbering, program: DeviceProgram, most: int) -> tuple[str, ...]:
    """`-D` options that specialise the program of a plan's device launches, where a gang has so many workers at `most`."""
    found: dict[str, str] = {}
    for launch, parameters in zip(program.launches, program.parameters, strict=True):
        own = _Likely(plan, launch, launch_numbers(plan, launch, numbering).loops, most)
        for parameter in parameters:
            if parameter.constant is not None:
                short = parameter.kind in (ParameterKind.LENGTH, ParameterKind.INDEX_BITS)
                found.setdefault(parameter.constant, f"{own.value(parameter)}{'' if short else 'LL'}")
    return ("-DTILEK_SPECIALIZED=1", *(f"-D{name}={value}" for name, value in found.items()))


class _Likely:
    """The numbers of one launch; `loops` are those that its parameters count."""

    def __init__(self, plan: KernelPlan, launch: Launch, loops: tuple[TiledLoop, ...], most: int) -> None:
        self.plan, self.loops = plan, loops
        axes = {axis: _GANGS for axis in launch.axes if axis.kind is not AxisKind.WORKER}
        counts = axes | dict(likely_workers(plan, launch, most))
        self.axes: Mapping[int, int] = {axis_index(axis): count for axis, count in counts.items()}

    def value(self, parameter: Parameter) -> int:
        match parameter.kind:
            case ParameterKind.INDEX_BITS:
                return 32
            case ParameterKind.LENGTH:
                return _LENGTH
            case ParameterKind.LOOP_TRIP:
                return _TRIPS
            case ParameterKind.AXIS_COUNT:
                return self.axes.get(parameter.index, 1)
            case ParameterKind.SIZE:
                return self.plan.sizes[parameter.index].device
            case ParameterKind.TILE_COUNT:
                loop = self.loops[parameter.index]
                return self._count(loop.tiles[parameter.dimension])
            case ParameterKind.TILE_STRIDE:
                return self._stride(self.loops[parameter.index], parameter.dimension)
            case ParameterKind.TILE_ARGUMENT:
                return _ARGUMENT
        return 1

    def _count(self, tile: Tile) -> int:
        """Of a tile that takes what others leave: one round."""
        if tile.axis is not None:
            return self.axes.get(axis_index(tile.axis), 1)
        return (literal_value(tile.argument) or 1) if tile.argument is not None else 1

    def _stride(self, loop: TiledLoop, position: int) -> int:
        stride = 1
        for tile in loop.tiles[position + 1 :]:
            stride *= self._count(tile)
        return stride
