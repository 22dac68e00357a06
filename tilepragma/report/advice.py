"""The notes of `check`: kernels that gain nothing, unused faster methods, classes of loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tilepragma.arguments.array_arguments import doubts
from tilepragma.base.diagnostics import Diagnostic, Severity
from tilepragma.ir.traversal import loops_in
from tilepragma.normalise.array_reductions import clause_remedies
from tilepragma.normalise.induction_variables import remaining_periodic_integers
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.relaxation_facts import faster_orders

if TYPE_CHECKING:
    from tilepragma.report.facts import KernelFacts


def as_written_notes(plans: Sequence[KernelPlan], given: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """A note for every kernel that runs as written, unless a diagnostic has already said why."""
    for plan in plans:
        place, method = plan.kernel.directive.range, plan.kernel.directive.sor
        places = (place,) if method is None else (place, method.range)
        messages = [diagnostic.message for diagnostic in given if diagnostic.range in places]
        if plan.untransformed is not None and not any(plan.untransformed in message for message in messages):
            text = f"kernel '{plan.kernel.name}' runs the original loops, on one core: {plan.untransformed}"
            yield Diagnostic(Severity.NOTE, place, text, tuple(_remedies(plan)))


def _remedies(plan: KernelPlan) -> Iterator[Diagnostic]:
    for place, obstacle in enumerate(plan.obstacles):
        if place > 0 or not obstacle.notes:
            yield Diagnostic(Severity.NOTE, obstacle.range, obstacle.message)
        yield from obstacle.notes
    yield from remaining_periodic_integers(plan.kernel)
    clauses = tuple(clause_remedies(plan.kernel, plan.floating))
    yield from clauses
    if not clauses and not plan.obstacles and any(loops_in(plan.kernel.body)):
        remedy = "'tilepragma explain' shows all dependences; say 'independent' only where you know that there are none"
        yield Diagnostic(Severity.NOTE, plan.kernel.directive.range, remedy)


def device_notes(plans: Sequence[KernelPlan], given: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """A note for every kernel that devices run only within data regions, unless already given."""
    ranges = {diagnostic.range for diagnostic in given}
    for plan in plans:
        plan_doubts = list(doubts(plan))
        if plan_doubts and all(doubt.range not in ranges for doubt in plan_doubts):
            where = "runs on cores, and on devices only where a data region holds its arrays"
            text = f"kernel '{plan.kernel.name}' {where}: {plan_doubts[0].message}"
            notes = tuple(note for doubt in plan_doubts for note in doubt.notes)
            yield Diagnostic(Severity.NOTE, plan.kernel.directive.range, text, notes)


def order_notes(plans: Sequence[KernelPlan]) -> Iterator[Diagnostic]:
    """A note at each relaxation in place with a faster method that the user did not ask for."""
    for plan in plans:
        yield from faster_orders(plan)


def loop_notes(reports: Sequence[KernelFacts]) -> Iterator[Diagnostic]:
    """A note for every loop: DOALL, DOACROSS or sequential, and what it carries."""
    from tilepragma.report.nest_analysis import carried_text, loop_facts

    for report in reports:
        for nest in report.nests:
            for facts in loop_facts(nest.analysis) if nest.analysis is not None else ():
                carried = carried_text(facts).replace(" of ", " dependences of ", 1)
                text = f"the loop over '{facts.loop.iterator.host}' is {facts.kind.value}"
                yield Diagnostic(Severity.NOTE, facts.loop.header, f"{text}: it {carried}" if carried else text)
