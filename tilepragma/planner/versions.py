"""The plan of another version of a kernel, proven in spite of any vouching."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics, Severity
from tilepragma.base.refusals import RefusalError
from tilepragma.ir.directives import TemporalTiles
from tilepragma.ir.kernel_versions import KernelVersion
from tilepragma.ir.loop_tree import FloatingRules, Kernel
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import KernelPlan, PlanVersion
from tilepragma.planner.planner import make_plan
from tilepragma.verify.proofs import proof_of
from tilepragma.verify.rules import PlanFault, verify


def plan_version(
    usual: KernelPlan,
    kernel: Kernel,
    version: KernelVersion,
    name: str,
    floating: FloatingRules,
    defaults: PlanOptions,
) -> PlanVersion:
    """The kernel's version of this `name`. Raises RefusalError with a clause on the version."""
    if usual.as_written is not None or usual.reordered is not None:
        raise RefusalError("is of a kernel that runs the original loops, or in another order than that")
    if version.temporal is not None and defaults.temporal is TemporalTiles.AUTOMATIC:
        defaults = replace(defaults, temporal=version.temporal, host_temporal=None)
    messages = Diagnostics()
    try:
        planned = make_plan(version.of(kernel, name), floating, messages, defaults)
    except PlanFault as fault:
        raise RefusalError(f"cannot be planned: {fault}") from None
    errors = [message.message for message in messages if message.severity is Severity.ERROR]
    if planned is None or errors:
        raise RefusalError(f"cannot be planned: {errors[0] if errors else 'it has errors'}")
    plan = planned.plan
    if plan.as_written is not None:
        raise RefusalError(f"would run as written: {plan.as_written}")
    if plan.prologue != usual.prologue:
        raise RefusalError("would declare other variables before the launch")
    if not floating.fast and any(map(_sums_reals, (plan, usual))) and _launches(plan) != _launches(usual):
        raise RefusalError("would add real numbers up in another order")
    conditions = tuple(dict.fromkeys((*usual.conditions, *plan.conditions)))
    # The choices of the usual plan decide what launches of a version take.
    plan = replace(plan, apart=plan.apart or usual.apart, conditions=conditions, processor_choices=())
    proof = planned.proof if planned.proof is not None and planned.proof.is_of(plan) else proof_of(plan)
    if proof.faults:
        raise RefusalError(f"is not proven right: {proof.faults[0].message}")
    try:
        verify(plan, proof)
    except PlanFault as fault:
        raise RefusalError(f"is not proven right: {fault}") from None
    return PlanVersion(version.text, plan)


def _sums_reals(plan: KernelPlan) -> bool:
    """Whether a launch combines real numbers, in an order that follows its tiles."""
    return any(reduction.rounds for launch in (*plan.host, *plan.device) for reduction in launch.reductions)


def _launches(plan: KernelPlan) -> tuple[object, ...]:
    return (*(launch.body for launch in plan.host), *(launch.body for launch in plan.device), plan.counts)
