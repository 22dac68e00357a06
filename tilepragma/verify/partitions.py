"""Partitions of launches over devices are right: complete uses, and one writer a row."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import Storage
from tilepragma.ir.loop_tree import asks_for_layers
from tilepragma.ir.polynomial import polynomial
from tilepragma.plan.kernel_plan import Division, KernelPlan, Launch


def wrong_divisions(plan: KernelPlan) -> Iterator[str]:
    """A sentence for every fault of `plan.divisions`."""
    if plan.divisions and len(plan.divisions) != len(plan.device):
        yield f"there are {len(plan.divisions)} divisions of {len(plan.device)} launches"
        return
    for launch, division in zip(plan.device, plan.divisions, strict=bool(plan.divisions)):
        yield from _wrong_division(plan, launch, division)


def _wrong_division(plan: KernelPlan, launch: Launch, division: Division) -> Iterator[str]:
    if division.loop is not None and division.loop not in launch.loops:
        yield f"launch {launch.name} is divided along a loop that is not its own"
    if launch.reductions or (launch.scratchpads and not asks_for_layers(plan.kernel)):
        yield f"launch {launch.name} is divided, and its parts cannot be put together"
    arrays = {argument.object for argument in plan.arrays}
    for use in uses(launch.body, plan.kernel.functions, launch=True):
        row_uses = [row_use for row_use in division.uses if row_use.object == use.object]
        if use.object in arrays and not (
            any(row_use.reads for row_use in row_uses) >= use.reads
            and any(row_use.writes for row_use in row_uses) >= use.writes
        ):
            yield f"the division of launch {launch.name} leaves out what it does to '{use.object.host}'"
    for written in (use for use in division.uses if use.writes):
        name = written.object.host
        if written.object.storage is Storage.ROWS or written.least is None or written.greatest is None:
            yield f"launch {launch.name} may write any row of '{name}' on several devices"
        elif division.loop is not None:
            apart = abs(written.scale * (polynomial(division.loop.loop.step).constant or 0))
            if written.greatest - written.least >= apart:
                yield f"two iterations of launch {launch.name} may write one row of '{name}'"
