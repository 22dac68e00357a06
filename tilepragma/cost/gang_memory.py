"""What a gang takes of a multiprocessor besides its workers: registers, as compiled or estimated,
and shared memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tilepragma.cost.tile_traffic import is_double
from tilepragma.ir.evaluation import Evaluation, Values
from tilepragma.ir.expressions import DataObject, Expression, IntegerLiteral
from tilepragma.ir.loop_tree import Axis, PackedPanels, Staged, StagedSide
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.model.device import Gpu
from tilepragma.plan.array_bytes import element_bytes, stored_elements
from tilepragma.plan.kernel_plan import KernelPlan, Launch, RegisterUse
from tilepragma.plan.summary import copies_ahead, points_of, staged_arrays

#: Registers of a worker besides array elements, without a compilation: ptxas 12.9 reports 29 for a
#: sweep over a row and 38 to 51 for one over a plane, both in wavefronts.
REGISTERS = 40
_WORD = 8


def register_use(plan: KernelPlan, launch: Launch, gpu: Gpu) -> RegisterUse:
    """The compiler's report for the launch, else an estimate with spills."""
    known = () if plan.registers is None else plan.registers.launches
    measured = next((use for use in known if use.launch == launch.name), None)
    if measured is not None:
        return measured
    wanted = REGISTERS + kept_elements(launch) * (2 if is_double(launch) else 1)
    most = gpu.registers_per_thread
    return RegisterUse(launch.name, min(wanted, most), 4 * max(wanted - most, 0))


def kept_elements(launch: Launch) -> int:
    """Elements that a worker keeps in registers over a staged loop: the sums of each point."""
    if launch.staged is None:
        return 0
    points = math.prod(points_of(launch).values())
    sums = sum(len(node.buffers) for node in walk(launch.staged) if isinstance(node, PackedPanels))
    return points * max(sums, 1) if sums or points > 1 else 0


# -- Shared memory


def gang_bytes(launch: Launch, workers: tuple[int, int, int], gpu: Gpu) -> int:
    """Bytes of shared memory of a gang with these workers; double buffers only where they fit."""
    every = shared_bytes(launch, workers)
    return every // 2 if copies_ahead(launch) and every > gpu.shared_per_block else every


def shared_bytes(launch: Launch, workers: tuple[int, int, int]) -> int:
    """Shared memory bytes of scratchpads and staged array tiles, for these workers of a gang."""
    objects = [scratchpad.object for scratchpad in launch.scratchpads]
    scratchpads = sum(_bytes(object_, [_length(length) for length in object_.lengths]) for object_ in objects)
    boxes = sum(staged_bytes(array, workers) for array in staged_arrays(launch))
    return scratchpads + boxes * (2 if copies_ahead(launch) else 1)


def staged_bytes(staged: Staged, workers: tuple[int, int, int]) -> int:
    """Bytes of an array tile, for these workers of a gang."""
    lengths = [_side(side, workers) for side in staged.sides]
    return stored_elements(staged, lengths) * element_bytes(staged.object)


def _side(side: StagedSide, workers: tuple[int, int, int]) -> int:
    length = side.width + 1
    for term in side.terms:
        extent = term.points * workers[term.extent.dimension] if isinstance(term.extent, Axis) else term.extent
        length += abs(term.coefficient) * (extent - 1)
    return length


def _length(length: Expression | None) -> int:
    return length.value if isinstance(length, IntegerLiteral) else 1


def _bytes(object_: DataObject, lengths: Sequence[int]) -> int:
    return math.prod(lengths) * element_bytes(object_)


# -- Array tiles of wavefront launches (`schedule/wavefront.py`)


def array_tile_bytes(launch: Launch, value: Callable[[Expression], Values]) -> Values:
    """Bytes of all scratchpads, each in whole words; `value` evaluates a length and may raise."""
    total: Values = 0
    for scratchpad in launch.staged_scratchpads:
        element = scratchpad.object.element
        assert isinstance(element, ScalarType), "scratchpads are of numbers"
        size: Values = element.bits // 8
        for length in scratchpad.object.lengths:
            assert length is not None, "scratchpads have lengths"
            size = size * value(length)
        total = total + -(-size // _WORD) * _WORD
    return total


def default_array_tile_bytes(plan: KernelPlan, launch: Launch) -> int:
    """The bytes with the default tile sizes of devices."""
    evaluation = Evaluation({size.object.name: size.device for size in plan.sizes})
    return int(array_tile_bytes(launch, evaluation.value))


def array_tiles_fit(plan: KernelPlan, launch: Launch) -> bool:
    """Whether the launch has scratchpads that fit the shared memory of a gang."""
    return (
        bool(launch.staged_scratchpads) and default_array_tile_bytes(plan, launch) <= plan.kernel.directive.local_bytes
    )
