"""What the workers of a plan's launches make of global memory: for reports, and for whoever stages arrays in shared memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.verify.proofs import proven_steps, region_without_dependences

if TYPE_CHECKING:
    from tilepragma.verify.thread_access_checks import WorkerAccess


def accesses_of(plan: KernelPlan) -> tuple[WorkerAccess, ...]:
    """What the workers of each launch for devices touch in global memory, along each loop that is
    dealt out to workers; none where isl gives up, or the plan cannot be followed.
    """
    from tilepragma.poly.operation_limit import OperationLimitError
    from tilepragma.verify.statement_matching import Unmatched
    from tilepragma.verify.thread_access_checks import worker_accesses

    if not any(axis.kind is AxisKind.WORKER for launch in plan.device for axis in launch.axes):
        return ()
    sizes = {size.object: size.device for size in plan.sizes}
    region = replace(plan, kernel=plan.device_kernel or plan.kernel)
    try:
        found = worker_accesses(region_without_dependences(region), proven_steps(plan, plan.device_steps), sizes)
    except (OperationLimitError, Unmatched):
        return ()
    private = {launch.name: frozenset(launch.privates) for launch in plan.device}
    return tuple(one for one in found if one.reference.is_global and one.reference.object not in private[one.launch])


def uncoalesced(accesses: Iterable[WorkerAccess], launch: str) -> tuple[DataObject, ...]:
    """The arrays of a launch that neighbouring workers do not reach side by side: those that only
    staging helps.

    Where loops are nested in the launch, accesses outside its deepest loops do not count.
    """
    mine = [access for access in accesses if access.launch == launch and access.first]
    deepest = max((one.depth for one in mine), default=0)
    found = (one.reference.object for one in mine if one.depth == deepest and not is_side_by_side(one))
    return tuple(dict.fromkeys(found))


def is_side_by_side(access: WorkerAccess) -> bool:
    """Whether one transaction serves neighbouring workers."""
    from tilepragma.poly.adjacency import Reach

    reach = access.pattern.reach
    return reach is Reach.BROADCAST or (reach is Reach.COALESCED and not access.blocked)
