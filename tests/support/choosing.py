"""Programs whose plans have choices of tile sizes that a test gives them, where the planner gives none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilepragma.driver import State, TranslateRequest, parse, plan, rewrite, scan
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.plan.verifier import verify

Choose = Callable[[KernelPlan], tuple[SizeChoice, ...]]


def with_choices(request: TranslateRequest, choose: Choose) -> tuple[bytes, tuple[KernelPlan, ...]]:
    """The request's source as the driver translates it, and the plans, each with what `choose` gives for it."""
    state = plan(parse(scan(State(request))))
    assert not state.diagnostics.has_errors, list(state.diagnostics)
    proven = tuple(verify(replace(one.plan, choices=choose(one.plan)), one.proof) for one in state.planned)
    output = rewrite(replace(state, proven=proven)).output
    assert output is not None
    return output, tuple(one.plan for one in proven)
