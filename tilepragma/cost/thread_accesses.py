"""How a plan's workers access global memory: for reports, and for staging in shared memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.verify.proofs import region_without_dependences

if TYPE_CHECKING:
    from tilepragma.verify.thread_access_checks import WorkerAccess


def accesses_of(plan: KernelPlan) -> tuple[WorkerAccess, ...]:
    """Each device launch's global memory accesses along loops of workers; empty if isl gives up."""
    from tilepragma.poly.operation_limit import OperationLimitError
    from tilepragma.verify.certificate import NotProvenError
    from tilepragma.verify.thread_access_checks import worker_accesses

    if not any(axis.kind is AxisKind.WORKER for launch in plan.device for axis in launch.axes):
        return ()
    sizes = {size.object: size.device for size in plan.sizes}
    region = replace(plan, kernel=plan.device_kernel or plan.kernel)
    try:
        accesses = worker_accesses(region_without_dependences(region), plan.device_steps, sizes)
    except (OperationLimitError, NotProvenError):
        return ()
    private = {launch.name: frozenset(launch.privates) for launch in plan.device}
    return tuple(use for use in accesses if use.reference.is_global and use.reference.object not in private[use.launch])


def uncoalesced(accesses: Iterable[WorkerAccess], launch: str) -> tuple[DataObject, ...]:
    """The arrays of a launch whose accesses by neighbouring workers only staging coalesces.

    In nested loops, accesses outside the deepest loops do not count.
    """
    launch_uses = [access for access in accesses if access.launch == launch and access.first]
    deepest = max((use.depth for use in launch_uses), default=0)
    scattered = (use.reference.object for use in launch_uses if use.depth == deepest and not is_side_by_side(use))
    return tuple(dict.fromkeys(scattered))


def is_side_by_side(access: WorkerAccess) -> bool:
    """Whether one transaction serves neighbouring workers."""
    from tilepragma.poly.adjacency import Reach

    reach = access.pattern.reach
    return reach is Reach.BROADCAST or (reach is Reach.COALESCED and not access.blocked)
