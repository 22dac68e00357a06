"""Programs whose plans have choices of tile sizes given by a test instead of the planner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilepragma.driver.passes import parse, plan, rewrite, scan
from tilepragma.driver.state import State, TranslateRequest
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.verify.rules import verify

Choose = Callable[[KernelPlan], tuple[SizeChoice, ...]]


def with_choices(
    request: TranslateRequest, choose: Choose, on_processors: Choose = lambda plan: ()
) -> tuple[bytes, tuple[KernelPlan, ...]]:
    """The source as the driver translates it, and the plans with choices. `choose` gives each
    plan's choices on hosts, `on_processors` those for OpenCL processors.
    """
    state = plan(parse(scan(State(request))))
    assert not state.diagnostics.has_errors, list(state.diagnostics)
    plans = [
        replace(planned.plan, choices=choose(planned.plan), processor_choices=on_processors(planned.plan))
        for planned in state.planned
    ]
    proven = tuple(verify(plan, planned.proof) for plan, planned in zip(plans, state.planned, strict=True))
    output = rewrite(replace(state, proven=proven)).output
    assert output is not None
    return output, tuple(planned.plan for planned in proven)
