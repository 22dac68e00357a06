"""Staged forms of a plan's launches, as much of them as is proven right."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.staging import with_staging
from tilepragma.plan.verifier_proofs import Original, Proof, prove_staged


def proven_staging(plan: KernelPlan, proof: Proof | None, original: Original | None) -> tuple[KernelPlan, Proof | None]:
    """The plan with arrays staged, and sums in registers of workers, where that is proven right; with its proof."""
    rejected: tuple[str, ...] = ()
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
