"""Bytes of the array tiles that launches of wavefronts keep in shared memory (`schedule/wavefront_array_tiles.py`)."""

from __future__ import annotations

from collections.abc import Callable

from tilepragma.ir.evaluation import Evaluation, Values
from tilepragma.ir.expressions import Expression
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import KernelPlan, Launch

_WORD = 8


def box_bytes(launch: Launch, value: Callable[[Expression], Values]) -> Values:
    """Bytes of all scratchpads, each in whole words, where `value` says what a length is; 0 of a launch without any. Raises what `value` does."""
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


def usual_box_bytes(plan: KernelPlan, launch: Launch) -> int:
    """The same with the tile sizes that devices take where nobody says others."""
    evaluation = Evaluation({size.object.name: size.device for size in plan.sizes})
    return int(box_bytes(launch, evaluation.value))


def boxes_fit(plan: KernelPlan, launch: Launch) -> bool:
    """Whether the launch has scratchpads that a gang has room for then: what its tiles touch is in them."""
    return bool(launch.staged_scratchpads) and usual_box_bytes(plan, launch) <= plan.kernel.directive.local_bytes
