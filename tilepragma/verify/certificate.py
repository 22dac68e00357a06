"""What is known of a plan's obligations: proven, or refused with a sentence."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.plan.kernel_plan import KernelPlan

#: Fields of a plan that no proof reads. Rules (`verify/rules.py`) hold some of them.
_NOT_PROVEN = (
    *("rejected", "obstacles", "storage", "source", "registers", "measured", "recorded_sizes", "resident", "reordered"),
    *("choices", "device_choices", "processor_choices", "versions", "divisions", "undivided"),
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
    """A plan's certificate: all of its obligations are proven but for the faults.

    Only those who prove make one, and `for_plan` here: a test lists them.
    """

    plan: KernelPlan
    faults: tuple[Fault, ...]

    def is_of(self, plan: KernelPlan) -> bool:
        """Whether it is the proof of this plan, up to notes on rejected candidates, origin and
        registers, and up to the tile sizes that a launch chooses: only the defaults are proven.
        """
        return self.for_plan(plan) is not None

    def for_plan(self, plan: KernelPlan, *proven: str) -> Proof | None:
        """This proof as that of a changed plan; None where a field differs that proofs read, other
        than those that the caller has `proven` by themselves.
        """
        same = {name: getattr(self.plan, name) for name in (*_NOT_PROVEN, *proven)}
        return Proof(plan, self.faults) if replace(plan, **same) == self.plan else None
