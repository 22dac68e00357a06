"""Plans proven against the mathematics of their region, whoever made them: the bridge to `polyhedral/plan_proof`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.verifier_barriers import uneven_barriers

if TYPE_CHECKING:
    from tilepragma.polyhedral.dependences import Dependence
    from tilepragma.polyhedral.scop import Scop


@dataclass(frozen=True)
class Original:
    """What is known of a region as the user wrote it: the Scop of its statements (without the plan's prologue) and their memory-based
    dependences. A planner that has them hands them on; else they are found anew.
    """

    scop: Scop
    dependences: tuple[Dependence, ...]


@dataclass(frozen=True)
class Fault:
    """`message` says what is wrong, or could not be proven, in a sentence; `certain` where it is surely wrong for some run."""

    rule: str
    message: str
    certain: bool


def prove(plan: KernelPlan, original: Original | None = None) -> tuple[Fault, ...]:
    """Everything that keeps the plan from being proven right; a planner refuses what it made itself if there is any fault.

    A region that runs as written has nothing to prove. What the user vouches for is taken as proven.
    """
    return tuple(_faults(plan, original))


def _faults(plan: KernelPlan, original: Original | None) -> Iterator[Fault]:
    for launch in (*plan.host, *plan.device):
        for message in uneven_barriers(launch, plan.kernel.functions):
            yield Fault("barriers are uniform", message, True)
