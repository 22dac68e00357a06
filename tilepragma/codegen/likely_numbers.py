"""Constants for a device program before any launch: large arrays, the runtime's usual workers.

A compiler makes nearly the same code with these constants as with a real launch's: strides between
workers and lengths of rows are constants, and loops of one round disappear.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilepragma.codegen.entry_points import DeviceProgram
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.manifest import Parameter, ParameterKind, axis_index
from tilepragma.codegen.numbering import launch_numbers
from tilepragma.cost.gang_workers import likely_workers
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Tile, TiledLoop
from tilepragma.plan.kernel_plan import KernelPlan, Launch

#: Length of a row, trip count, gangs along an axis, and a tile's argument that is no literal.
_LENGTH, _TRIPS, _GANGS, _ARGUMENT = 4096, 4096, 64, 16


def likely_definitions(plan: KernelPlan, program: DeviceProgram, most: int) -> tuple[str, ...]:
    """`-D` options that specialise a plan's device launches, with at most `most` workers a gang."""
    values: dict[str, str] = {}
    for launch, parameters in zip(program.launches, program.parameters, strict=True):
        likely = _Likely(plan, launch, launch_numbers(plan, launch).loops, most)
        for parameter in parameters:
            if parameter.constant is not None:
                short = parameter.kind in (ParameterKind.LENGTH, ParameterKind.INDEX_BITS)
                values.setdefault(parameter.constant, f"{likely.value(parameter)}{'' if short else 'LL'}")
    return ("-DTILEK_SPECIALIZED=1", *(f"-D{name}={value}" for name, value in values.items()))


class _Likely:
    """The numbers of one launch. `loops` are the loops that its parameters count."""

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
        """The tile's count; 1 for a dynamic tile."""
        if tile.axis is not None:
            return self.axes.get(axis_index(tile.axis), 1)
        return (literal_value(tile.argument) or 1) if tile.argument is not None else 1

    def _stride(self, loop: TiledLoop, position: int) -> int:
        stride = 1
        for tile in loop.tiles[position + 1 :]:
            stride *= self._count(tile)
        return stride
