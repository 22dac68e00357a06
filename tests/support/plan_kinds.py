"""What kind of plan a region got, in a word: for tests and the tables of benchmarks."""

from __future__ import annotations

from enum import Enum

from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, all_steps
from tilepragma.plan.summary import are_wavefronts


class PlanKind(Enum):
    """From no parallelism to the most that had to be done for it."""

    AS_WRITTEN = "as written"
    DOALL = "DOALL"
    HOST_LOOPS = "host loops"
    WAVEFRONTS = "wavefronts"


def plan_kind(plan: KernelPlan) -> PlanKind:
    """DOALL: launches one after the other. HOST_LOOPS: around launches, over iterations or rows.
    WAVEFRONTS: host loops over tiles.

    Of a region whose host and device plans differ the device's is named.
    """
    if plan.untransformed is not None:
        return PlanKind.AS_WRITTEN
    if not any(isinstance(step, HostLoop) for step in all_steps(plan.device_steps)):
        return PlanKind.DOALL
    return PlanKind.WAVEFRONTS if are_wavefronts(plan.device_steps, plan.sizes) else PlanKind.HOST_LOOPS
