"""What entry points of a specialised device program get: constants and arguments, as the runtime
passes them (`tilek_number_of` in runtime/launch/device_programs.c).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.device_program import DeviceProgram
from tilepragma.codegen.launch_parameters import Parameter, ParameterKind, axis_index, plan_numbers
from tilepragma.cost.device_geometry import LaunchGeometry
from tilepragma.cost.ptx_walk import ARRAY
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import Storage
from tilepragma.ir.loop_tree import Axis, Tile
from tilepragma.plan.array_bytes import host_value
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan
from tilepragma.plan.shared_constants import SHORT_ELEMENTS

#: Numbers that are below 2^31 as a rule, and then have the type int.
_SHORT: tuple[ParameterKind, ...] = ("LENGTH", "ORIGIN")
_AXES = tuple(
    Axis(kind, dimension)
    for kind, dimensions in ((AxisKind.THREAD, 1), (AxisKind.GANG, 3), (AxisKind.WORKER, 3))
    for dimension in range(dimensions)
)


@dataclass(frozen=True, eq=False)
class LaunchNumbers:
    """The numbers of a launch's entry point, which has these `parameters`."""

    plan: KernelPlan
    geometry: LaunchGeometry
    scalars: Mapping[str, int]
    parameters: tuple[Parameter, ...]

    def constants(self) -> dict[str, int]:
        """By name. Raises UncountableError."""
        return {each.constant: self._number(each) or 0 for each in self.parameters if each.constant is not None}

    def arguments(self) -> tuple[int | None, ...]:
        """Of the entry point; None for data. Raises UncountableError."""
        return tuple(self._number(each) for each in self.parameters if each.constant is None)

    def _number(self, parameter: Parameter) -> int | None:
        geometry, index, place = self.geometry, parameter.index, parameter.dimension
        match parameter.kind:
            case "LOOP_LOWER":
                return geometry.bounds[index].lower
            case "LOOP_STEP":
                return geometry.bounds[index].step
            case "LOOP_TRIP":
                return geometry.bounds[index].trip
            case "TILE_COUNT":
                return geometry.tiles[index][place][0]
            case "TILE_STRIDE":
                return geometry.tiles[index][place][1]
            case "AXIS_COUNT":
                return geometry.axes.get(self._axis(index), 1)
            case "AXIS_ROUNDS":
                return geometry.rounds(self._axis(index))
            case "TILE_ARGUMENT":
                return geometry.argument(self._tile(index))
            case "SIZE":
                return self.plan.sizes[index].device
            case "VALUE":
                return geometry.known(geometry.launch.values[index])
            case "SCALAR" | "SCALAR_NUMBER":
                return geometry.known(self.plan.scalars[index])
            case "INDEX_BITS":
                return 32 if all(self._elements(array) <= SHORT_ELEMENTS for array in self.plan.arrays) else 64
            case "ARRAY":
                return (index + 1) * ARRAY
            case "PARTIALS":
                return (len(self.plan.arrays) + index + 1) * ARRAY
            case "LENGTH":
                return self._extents(self.plan.arrays[index])[place]
            case "LOWER":
                return host_value(self.plan.arrays[index].section[place].lower, self.scalars)
            case "ORIGIN":
                return self._origin(self.plan.arrays[index])
        return None

    def _axis(self, index: int) -> Axis:
        return next(axis for axis in _AXES if axis_index(axis) == index)

    def _tile(self, index: int) -> Tile:
        firsts = plan_numbers(self.plan).first_arguments.items()
        return next(tiled.tiles[index - first] for tiled, first in firsts if 0 <= index - first < len(tiled.tiles))

    def _extents(self, array: ArrayArgument) -> list[int]:
        """The lengths of an array's dimensions; the first one is that of its section."""
        section = [host_value(bound.length, self.scalars) for bound in array.section]
        if array.object.storage is Storage.ROWS:
            return section
        lengths = array.object.lengths[1:]
        return [*(section[:1] or [1]), *(1 if each is None else self.geometry.value(each) for each in lengths)]

    def _origin(self, array: ArrayArgument) -> int:
        """Where an array's section begins, in elements."""
        origin = 0
        for bound, extent in zip(array.section, self._extents(array), strict=True):
            origin = origin * extent + host_value(bound.lower, self.scalars)
        return origin

    def _elements(self, array: ArrayArgument) -> int:
        ends = (
            host_value(bound.lower, self.scalars) + host_value(bound.length, self.scalars) for bound in array.section
        )
        return math.prod(ends)


def definitions(program: DeviceProgram, launches: Sequence[LaunchNumbers]) -> tuple[str, ...]:
    """`-D` options that specialise a program for these launches. Raises UncountableError where a
    number would have several values.
    """
    short = {each.constant for of_launch in program.parameters for each in of_launch if each.kind in _SHORT}
    values: dict[str, str] = {}
    for numbers in launches:
        for name, value in numbers.constants().items():
            text = f"{value}" if name in short and 0 <= value < 2**31 else f"({value}LL)"
            if values.setdefault(name, text) != text:
                raise UncountableError(f"{name} differs from launch to launch")
    reached = {numbers.geometry.launch.name for numbers in launches}
    without = (f"-DTILEK_WITHOUT_{launch.name}=1" for launch in program.launches if launch.name not in reached)
    return ("-DTILEK_SPECIALIZED=1", *(f"-D{name}={value}" for name, value in values.items()), *without)
