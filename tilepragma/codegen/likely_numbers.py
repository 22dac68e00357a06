"""Constants for a device program before any launch: large arrays, the runtime's usual workers.

A compiler makes nearly the same code with these constants as with a real launch's: strides between
workers and lengths of rows are constants, and loops of one round disappear.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilepragma.codegen.device_program import DeviceProgram
from tilepragma.codegen.launch_parameters import Parameter, axis_index
from tilepragma.codegen.literal_values import literal_value
from tilepragma.cost.gang_workers import likely_workers
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Tile
from tilepragma.plan.kernel_plan import KernelPlan, Launch

#: Length of a row, trip count, gangs along an axis, and a tile's argument that is no literal.
_LENGTH, _TRIPS, _GANGS, _ARGUMENT = 4096, 4096, 64, 16


def likely_definitions(plan: KernelPlan, program: DeviceProgram, most: int) -> tuple[str, ...]:
    """`-D` options that specialise a plan's device launches, with at most `most` workers a gang."""
    values: dict[str, str] = {}
    for launch, parameters in zip(program.launches, program.parameters, strict=True):
        counts = {axis: _GANGS for axis in launch.axes if axis.kind is not AxisKind.WORKER}
        counts |= dict(likely_workers(plan, launch, most))
        axes = {axis_index(axis): count for axis, count in counts.items()}
        for parameter in parameters:
            if parameter.constant is not None:
                short = parameter.kind in ("LENGTH", "INDEX_BITS")
                value = _value(parameter, plan, launch, axes)
                values.setdefault(parameter.constant, f"{value}{'' if short else 'LL'}")
    return ("-DTILEK_SPECIALIZED=1", *(f"-D{name}={value}" for name, value in values.items()))


def _value(parameter: Parameter, plan: KernelPlan, launch: Launch, axes: Mapping[int, int]) -> int:
    match parameter.kind:
        case "INDEX_BITS":
            return 32
        case "LENGTH":
            return _LENGTH
        case "LOOP_TRIP":
            return _TRIPS
        case "AXIS_COUNT":
            return axes.get(parameter.index, 1)
        case "SIZE":
            return plan.sizes[parameter.index].device
        case "TILE_COUNT":
            return _count(launch.loops[parameter.index].tiles[parameter.dimension], axes)
        case "TILE_STRIDE":
            inner = launch.loops[parameter.index].tiles[parameter.dimension + 1 :]
            return prod(_count(tile, axes) for tile in inner)
        case "TILE_ARGUMENT":
            return _ARGUMENT
    return 1


def _count(tile: Tile, axes: Mapping[int, int]) -> int:
    if tile.axis is not None:
        return axes.get(axis_index(tile.axis), 1)
    return (literal_value(tile.argument) or 1) if tile.argument is not None else 1
