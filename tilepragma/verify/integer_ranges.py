"""Whether a plan's integer literals fit the types that print them; exact integers need not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilepragma.ir.expressions import IntegerLiteral
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import ArrayArgument, HostLoop, KernelPlan, Launch
from tilepragma.plan.summary import all_steps


def numbers_fit(plan: KernelPlan) -> bool:
    """Whether they fit in sections, conditions, loop bounds and bodies."""
    return all(map(_section_fits, plan.arrays)) and _fit(plan.conditions) and _fit(_steps(plan))


def with_fitting_sections(arrays: Iterable[ArrayArgument]) -> tuple[ArrayArgument, ...]:
    """The arguments, without the sections whose numbers do not fit."""
    return tuple(array if _section_fits(array) else replace(array, section=()) for array in arrays)


def _section_fits(argument: ArrayArgument) -> bool:
    return _fit(bound for side in argument.section for bound in (side.lower, side.length))


def _steps(plan: KernelPlan) -> Iterator[object]:
    for step in all_steps((*plan.host_steps, *plan.device_steps)):
        yield step.body if isinstance(step, Launch) else step.loop if isinstance(step, HostLoop) else step.condition


def _fit(computed: Iterable[object]) -> bool:
    numbers = (node for value in computed for node in walk(value) if isinstance(node, IntegerLiteral))
    return all(
        isinstance(number.type, ScalarType) and abs(number.value) < 2 ** (63 if number.type.signed else 64)
        for number in numbers
    )
