"""What is known of a plan's obligations: proven, or refused with a sentence."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.plan.kernel_plan import KernelPlan

#: What no proof asks of a plan.
_NOT_PROVEN = (
    *("rejected", "obstacles", "storage", "source", "registers", "measured", "kept"),
    *("choices", "device_choices", "processor_choices", "versions"),
)


@dataclass(frozen=True)
class Fault:
    """An obligation that is refused, in a sentence; `certain`: the plan is wrong in some run."""

    rule: str
    message: str
    certain: bool


class NotProvenError(Exception):
    """Why an obligation is not proven: a sentence, or what follows its subject."""

    def __init__(self, message: str, *, certain: bool = False) -> None:
        super().__init__(message)
        self.certain = certain


@dataclass(frozen=True)
class Proof:
    """A plan's certificate: all of its obligations are proven but for the faults."""

    plan: KernelPlan
    faults: tuple[Fault, ...]

    def is_of(self, plan: KernelPlan) -> bool:
        """Whether it is the proof of this plan, up to notes on rejected candidates, origin and
        registers, and up to the tile sizes that a launch chooses: only the defaults are proven.
        """
        return replace(plan, **{name: getattr(self.plan, name) for name in _NOT_PROVEN}) == self.plan
