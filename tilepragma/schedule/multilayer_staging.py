"""Join two plans of MLSOR sweeps: lanes on cores, tiles in shared memory on devices.

Each has its own proof against the region whose arrays it uses (schedule/in_order.py). Both regions
compute the same.
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.ir.expressions import Scope
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan
from tilepragma.schedule.multilayer_tiles import NAME


def with_subdomain_tiles(plan: KernelPlan, staged: KernelPlan | None, against: tuple[str, ...]) -> KernelPlan:
    """The plan with the device steps of `staged`; unchanged if that is None, `against` says why."""
    if plan.as_written is not None:
        return plan
    if staged is None or _users(plan) != staged.arrays or plan.final_values != staged.final_values:
        reasons = (reason.removeprefix(f"{NAME}: ") for reason in against)
        return replace(plan, rejected=(*plan.rejected, *(f"{NAME}, on devices: {reason}" for reason in reasons)))
    lanes = (note.replace("lanes: ", "lanes, on cores: ", 1) for note in plan.storage)
    return replace(
        plan,
        device_steps=staged.device_steps,
        device_kernel=staged.kernel,
        scalars=tuple(dict.fromkeys((*plan.scalars, *staged.scalars))),
        conditions=tuple(dict.fromkeys((*plan.conditions, *staged.conditions))),
        storage=(*lanes, *staged.storage),
    )


def _users(plan: KernelPlan) -> tuple[ArrayArgument, ...]:
    return tuple(array for array in plan.arrays if array.object.scope is not Scope.TEMPORARY)
