"""A plan with the tile sizes that were kept for it, proven anew: what was proven before was so at others."""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.plan.kept_sizes import KeptSizes, fitting, with_kept
from tilepragma.plan.planner import Planned
from tilepragma.plan.verifier import PlanFault, verify
from tilepragma.plan.verifier_proofs import proof_of


def with_kept_sizes(planned: Planned, kept: Iterable[KeptSizes], diagnostics: Diagnostics) -> Planned:
    """What was planned, with what is kept for it; that is warned of, and left out, where the plan is not proven right with it."""
    mine = fitting(planned.plan, kept, diagnostics)
    if not mine:
        return planned
    plan = with_kept(planned.plan, mine)
    proof = proof_of(plan)
    try:
        verify(plan, proof)
    except PlanFault as fault:
        remedy = "take it out, or run 'tilepragma tune' again"
        diagnostics.warning(
            mine[0].place, f"kept tile sizes are ignored, since they are not proven right: {fault}", remedy
        )
        return planned
    return Planned(plan, proof)
