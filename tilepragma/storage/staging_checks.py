"""Staged forms of a plan's launches, as much of them as is proven right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch
from tilepragma.schedule.staged_form import StagedForm
from tilepragma.storage.staging import with_scalars_of_staged_forms, with_staging
from tilepragma.verify.proofs import Original, Proof, prove_staged


def proven_staging(
    plan: KernelPlan, proof: Proof | None, original: Original | None, boxed: Mapping[str, StagedForm]
) -> tuple[KernelPlan, Proof | None]:
    """The plan with arrays staged, and sums in registers of workers, where that is proven right;
    with its proof. `boxed` are forms that launches may have, by their names.
    """
    rejected: tuple[str, ...] = ()
    form = _with_boxes(plan, boxed)
    if form is not None and proof is not None and original is not None:
        faults = prove_staged(form, original, plan)
        if not faults:
            return form, Proof(form, proof.faults)
        rejected = (f"tiles staged in memory of the gangs are not proven right: {faults[0].message}",)
    for registers in (True, False):
        form = with_staging(plan, registers=registers)
        rejected = tuple(dict.fromkeys((*form.rejected, *rejected)))
        if proof is None or original is None or form.device_steps == plan.device_steps:
            break
        faults = prove_staged(form, original, plan)
        if not faults:
            form = replace(form, rejected=rejected)
            return form, Proof(form, proof.faults)
        what = "sums in registers of workers" if registers else "arrays staged in memory of the gangs"
        rejected = (*rejected, f"{what} are not proven right: {faults[0].message}")
    return replace(plan, rejected=rejected), proof


def _with_boxes(plan: KernelPlan, boxed: Mapping[str, StagedForm]) -> KernelPlan | None:
    """The plan of one loop over wavefronts with its launch's boxes; None of others, of which nobody knows how to prove them."""
    steps = plan.device_steps
    loop = steps[0] if len(steps) == 1 else None
    launch = loop.steps[0] if isinstance(loop, HostLoop) and len(loop.steps) == 1 else None
    if not isinstance(loop, HostLoop) or not isinstance(launch, Launch) or launch.name not in boxed or not plan.apart:
        return None
    if not any(target.is_device for target in plan.targets):
        return None
    form = boxed[launch.name]
    staged = replace(launch, staged=form.body, staged_scratchpads=form.scratchpads)
    return with_scalars_of_staged_forms(replace(plan, device_steps=(replace(loop, steps=(staged,)),)))
