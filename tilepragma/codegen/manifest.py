"""The constants of a translated region (tilek.h's tilek_kernel), as data.

The C initialisers and launches from Python are both made from this. Everything is plain numbers and
strings; `dataclasses.asdict` gives JSON.
"""

from __future__ import annotations

from enum import Enum

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Axis


class ParameterKind(str, Enum):
    """tilek_parameter_kind, in the header's order; the value is the C name's ending."""

    ARRAY = "ARRAY"
    ORIGIN = "ORIGIN"
    LENGTH = "LENGTH"
    LOWER = "LOWER"
    SCALAR = "SCALAR"
    LOOP_LOWER = "LOOP_LOWER"
    LOOP_STEP = "LOOP_STEP"
    LOOP_TRIP = "LOOP_TRIP"
    TILE_COUNT = "TILE_COUNT"
    TILE_STRIDE = "TILE_STRIDE"
    AXIS_COUNT = "AXIS_COUNT"
    TILE_ARGUMENT = "TILE_ARGUMENT"
    PARTIALS = "PARTIALS"
    AXIS_ROUNDS = "AXIS_ROUNDS"
    VALUE = "VALUE"
    SIZE = "SIZE"
    INDEX_BITS = "INDEX_BITS"
    FLAGS = "FLAGS"
    BOXES = "BOXES"
    FLAGS_BASE = "FLAGS_BASE"
    WAVE_FIRST = "WAVE_FIRST"
    WAVE_LAST = "WAVE_LAST"
    COLUMN_LOWER = "COLUMN_LOWER"
    COLUMN_COUNT = "COLUMN_COUNT"


@dataclass(frozen=True)
class Parameter:
    """tilek_parameter: one parameter of a device entry point."""

    kind: ParameterKind
    index: int
    dimension: int
    constant: str | None


@dataclass(frozen=True)
class FieldShape:
    """tilek_field: `count` values of `type` (tilek_type's ending) at byte `offset`."""

    name: str
    offset: int
    type: str
    count: int


@dataclass(frozen=True)
class ArrayShape:
    """tilek_array_shape. `storage` and `flags` are endings of C names; `element_size` in bytes."""

    name: str
    storage: str
    rank: int
    element_size: int
    fields: tuple[FieldShape, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class LoopShape:
    """tilek_loop_shape. `kinds` are endings of tilek_tile_kind; `axes` has an axis index or -1 per
    tile. `number` is the loop's entry in tilek_call.loops; None where each step computes the
    bounds.
    """

    symbol: str
    kinds: tuple[str, ...]
    axes: tuple[int, ...]
    first_argument: int
    iterator_minimum: int
    iterator_maximum: int
    number: int | None


@dataclass(frozen=True)
class ReductionShape:
    """tilek_reduction: ending of tilek_operator, ending of tilek_type, index of the array."""

    operation: str
    type: str
    array: int


@dataclass(frozen=True)
class LaunchShape:
    """tilek_launch_shape. `axes` is the mask of axes in use and TILEK_LAUNCH_ALWAYS. `host` is the
    host function's name, None in device launches. `parameters` are the entry point's; for host
    launches, of the program for processors. `value_sizes` in bytes. `chunk`: see
    `codegen/reduction_chunks.py`.
    """

    entry: str
    loops: tuple[LoopShape, ...]
    axes: int
    host: str | None
    reductions: tuple[ReductionShape, ...]
    parameters: tuple[Parameter, ...]
    value_sizes: tuple[int, ...]
    chunk: int


@dataclass(frozen=True)
class RowUseShape:
    """tilek_row_use: index of the array, endings of `access`'s flags. `base` counts from 1. All
    rows are used if both numbers are None.
    """

    array: int
    access: tuple[str, ...]
    rank: int
    scale: int
    least: int | None
    greatest: int | None
    base: int


@dataclass(frozen=True)
class DivisionShape:
    """tilek_division: the divided loop's place among the launch's, -1 if none is divided."""

    loop: int
    uses: tuple[RowUseShape, ...]


@dataclass(frozen=True)
class SizeShape:
    """tilek_size: an extent of a tile, chosen at launch; its defaults on hosts and on devices."""

    name: str
    host: int
    device: int


@dataclass(frozen=True)
class ChoiceShape:
    """tilek_choice; None: no limit. `sizes` are in the order of KernelManifest.sizes. They are the
    sizes of `version` (from 1), if it has one.
    """

    bytes: int | None
    trips: int | None
    sizes: tuple[int, ...]
    version: int = 0


@dataclass(frozen=True)
class KernelManifest:
    """tilek_kernel. `flags`, `targets` and `preferred` are endings of C names; `scalar_sizes` in
    bytes.

    `opencl`, `cuda` and `processors` are whole programs, None where the target is not wanted or the
    region has no launches. `host_steps` and `device_steps` are names of C functions, None where
    every launch runs once, in order. `persistent` has the numbers of the launches that also have
    persistent variants: the last `device_launches`, in the CUDA program alone. `device_choices` are
    for launches on devices; OpenCL processors look at `processor_choices` before `choices`.
    `versions` are the symbols of other kernels that compute the same. In these, `version` is the
    number from 1, `version_text` describes it, and `kernel` is the name of the first kernel.
    Specialised programs never have `constant_numbers` as arguments.
    """

    name: str
    file: str
    line: int
    flags: tuple[str, ...]
    targets: tuple[str, ...]
    preferred: str
    opencl: str | None
    cuda: str | None
    processors: str | None
    arrays: tuple[ArrayShape, ...]
    scalar_sizes: tuple[int, ...]
    host_launches: tuple[LaunchShape, ...]
    device_launches: tuple[LaunchShape, ...]
    persistent: tuple[int, ...]
    tile_argument_count: int
    loop_count: int
    host_steps: str | None
    device_steps: str | None
    sizes: tuple[SizeShape, ...]
    choices: tuple[ChoiceShape, ...]
    divisions: tuple[DivisionShape, ...]
    row_base_count: int
    device_choices: tuple[ChoiceShape, ...] = ()
    processor_choices: tuple[ChoiceShape, ...] = ()
    versions: tuple[str, ...] = ()
    version: int = 0
    version_text: str = ""
    kernel: str = ""
    constant_numbers: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The name for people."""
        return self.kernel or self.name


#: The bit of LaunchShape.axes that is TILEK_LAUNCH_ALWAYS.
LAUNCH_ALWAYS = 1 << 8


def axis_index(axis: Axis) -> int:
    """The axis's place in tilek.h's order: thread, gang 0..2, worker 0..2."""
    return {AxisKind.THREAD: 0, AxisKind.GANG: 1, AxisKind.WORKER: 4}[axis.kind] + axis.dimension


def axis_name(axis: Axis) -> str:
    """`thread`, `gang1`, `worker0`: the name of the axis's index in kernels."""
    return "thread" if axis.kind is AxisKind.THREAD else f"{axis.kind.value}{axis.dimension}"
