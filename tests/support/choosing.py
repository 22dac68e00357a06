"""Programs whose plans have choices of tile sizes that a test gives them, where the planner gives none."""

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
    """The request's source as the driver translates it, and the plans, each with what `choose`
    gives for it on hosts, and `on_processors` for OpenCL devices that are processors.
    """
    state = plan(parse(scan(State(request))))
    assert not state.diagnostics.has_errors, list(state.diagnostics)
    plans = [
        replace(one.plan, choices=choose(one.plan), processor_choices=on_processors(one.plan)) for one in state.planned
    ]
    proven = tuple(verify(own, one.proof) for own, one in zip(plans, state.planned, strict=True))
    output = rewrite(replace(state, proven=proven)).output
    assert output is not None
    return output, tuple(one.plan for one in proven)
