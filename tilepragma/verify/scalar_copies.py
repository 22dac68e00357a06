"""Private scalars are assigned before any read, and reduced only by their operator."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.directives import KernelDirective, LoopDirective, ReductionClause
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.reductions import check_reduction, is_ordered
from tilepragma.ir.traversal import loop_directives
from tilepragma.normalise.ordered_zeros import signs_in
from tilepragma.plan.kernel_plan import KernelPlan, Launch, Reduction


def wrong_copies(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    """A sentence for every private scalar of the launch that is read unassigned, and every wrong
    reduction. The user answers for the clauses that the user writes.
    """
    directives: list[KernelDirective | LoopDirective] = [plan.kernel.directive, *loop_directives(plan.kernel.body)]
    user_privates = {name for directive in directives for clause in directive.privates for name in clause.names}
    for object_ in launch.privates:
        if object_ in launch.first_privates or object_.host in user_privates:
            continue
        place = exposed_read(launch.body, object_, plan.kernel.functions)
        if place is not None:
            yield (
                f"launch {launch.name} gives every instance its own '{object_.host}', which line {place.start.line} "
                "reads before it is assigned"
            )
    reduced = {name for directive in directives for clause in directive.reductions for name in clause.names}
    for reduction in launch.reductions:
        if reduction.object.host not in reduced:
            yield from _wrong_reduction(plan, launch, reduction)


def needed_before(plan: KernelPlan, launch: Launch) -> frozenset[DataObject]:
    """The scalars with copies in some launch whose earlier values this launch reads."""
    copied = {object_ for other_launch in (*plan.host, *plan.device) for object_ in other_launch.privates}
    return frozenset(o for o in copied if exposed_read(launch.body, o, plan.kernel.functions) is not None)


def _wrong_reduction(plan: KernelPlan, launch: Launch, reduction: Reduction) -> Iterator[str]:
    object_ = reduction.object
    messages = Diagnostics()
    clause = ReductionClause(reduction.operator, (object_.host,), object_.range)
    operator = check_reduction(object_, clause, launch.body, plan.floating, messages)
    if messages.has_errors or operator != reduction.operator:
        yield f"'{object_.host}' is not only reduced by {reduction.operator} in launch {launch.name}"
        return
    # The launch has only parts of the region; the values of variables show in all of it.
    if is_ordered(object_, operator, plan.kernel.body, plan.floating, signs_in(plan)):
        changes = "its rounding" if operator in ("+", "*") else "which of equal zeros, or NaNs, stays,"
        yield f"the order of '{object_.host}' is changed in launch {launch.name}, and {changes} with it"
