"""The staged forms of a plan's launches that are proven right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch
from tilepragma.storage.staging import with_scalars_of_staged_forms, with_staging
from tilepragma.verify.proofs import Original, Proof, prove_staged


def proven_staging(
    plan: KernelPlan, proof: Proof | None, original: Original | None, forms: Mapping[str, Launch]
) -> tuple[KernelPlan, Proof | None]:
    """The plan, and its proof, with arrays staged and sums in workers' registers where that is
    proven right. `forms` are launches with staged forms that they may have, by their names.
    """
    rejected: tuple[str, ...] = ()
    form = _with_staged_form(plan, forms)
    if form is not None and proof is not None and original is not None:
        faults = prove_staged(form, original, plan)
        if not faults:
            return form, Proof(form, proof.faults)
        rejected = (f"tiles staged in shared memory are not proven right: {faults[0].message}",)
    for registers in (True, False):
        form = with_staging(plan, registers=registers)
        rejected = tuple(dict.fromkeys((*form.rejected, *rejected)))
        if proof is None or original is None or form.device_steps == plan.device_steps:
            break
        faults = prove_staged(form, original, plan)
        if not faults:
            form = replace(form, rejected=rejected)
            return form, Proof(form, proof.faults)
        what = "sums in registers of workers" if registers else "arrays staged in shared memory"
        rejected = (*rejected, f"{what} are not proven right: {faults[0].message}")
    return replace(plan, rejected=rejected), proof


def _with_staged_form(plan: KernelPlan, forms: Mapping[str, Launch]) -> KernelPlan | None:
    """The plan of a wavefront loop with its staged form; None for plans without a proof."""
    steps = plan.device_steps
    loop = steps[0] if len(steps) == 1 else None
    launch = loop.steps[0] if isinstance(loop, HostLoop) and len(loop.steps) == 1 else None
    if not isinstance(loop, HostLoop) or not isinstance(launch, Launch) or launch.name not in forms or not plan.apart:
        return None
    if not any(target.is_device for target in plan.targets):
        return None
    form = forms[launch.name]
    staged = replace(launch, staged=form.staged, staged_scratchpads=form.staged_scratchpads)
    return with_scalars_of_staged_forms(replace(plan, device_steps=(replace(loop, steps=(staged,)),)))
