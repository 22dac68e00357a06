"""Bytes of the array tiles of wavefront launches (`schedule/wavefront.py`)."""

from __future__ import annotations

from collections.abc import Callable

from tilepragma.ir.evaluation import Evaluation, Values
from tilepragma.ir.expressions import Expression
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import KernelPlan, Launch

_WORD = 8


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
