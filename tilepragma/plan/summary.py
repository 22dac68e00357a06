"""What kind of plan a region got, in a word: for tables, `explain` and tests."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step


class PlanKind(Enum):
    """From no parallelism to the most that had to be done for it."""

    AS_WRITTEN = "as written"
    DOALL = "DOALL"
    HOST_LOOPS = "host loops"
    WAVEFRONTS = "wavefronts"


def plan_kind(plan: KernelPlan) -> PlanKind:
    """DOALL: launches one after the other. HOST_LOOPS: around launches, the user's own loops. WAVEFRONTS: host loops over tiles.

    Of a region whose host and device plans differ the device's is named.
    """
    if plan.as_written is not None:
        return PlanKind.AS_WRITTEN
    if not any(isinstance(step, HostLoop) for step in all_steps(plan.device_steps)):
        return PlanKind.DOALL
    return PlanKind.WAVEFRONTS if plan.sizes else PlanKind.HOST_LOOPS


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a tree, those around others first."""
    for step in steps:
        yield step
        if not isinstance(step, Launch):
            yield from all_steps(step.steps)
