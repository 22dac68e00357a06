"""OpenMP's lines as input: which are kernels, which with their promise, and which stay OpenMP's.

A source is read, and then planned, until every line is settled: a kernel by the analysis alone, a
kernel whose loop is `independent` by the user's word, or `left` as it is written, where the
compiler alone builds what it would without us. What reading refuses is settled before anything is
planned. The source is parsed once. A kernel whose directives are the same as in the round before is
not lowered again, and one that is the same keeps its plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostic, Severity
from tilepragma.base.source_ranges import SourceRange

if TYPE_CHECKING:
    from tilepragma.driver.state import State, TranslateRequest
    from tilepragma.plan.kernel_plan import KernelPlan

#: Passes after which lines are settled, before all others run.
_STAGES = ("parse", "plan")
#: The compiler's option for OpenMP, also with a value.
_OPTION = "-fopenmp"


def settled(request: TranslateRequest, run: Callable[[State, str, str], State]) -> State:
    """The state after the request's last pass; `run` executes the passes behind one (none: from the
    first), up to another, by their names.
    """
    from tilepragma.driver.state import State
    from tilepragma.frontend.pragma.openmp import OpenMPInput, place_of

    openmp = OpenMPInput()
    reasons: dict[SourceRange, Diagnostic] = {}
    state, done, stages = State(request, openmp), "", [*_STAGES, request.last]
    while True:
        state = run(state, done, stages[0])
        unsettled = dict(_unsettled(state))
        if not unsettled and (stages[0] == request.last or state.diagnostics.has_errors):
            state.diagnostics.add_all(_left(line, reasons[line], state) for line in sorted(reasons, key=place_of))
            return state
        if not unsettled:
            done = stages.pop(0)
            continue
        refused = {
            line: why for line, why in unsettled.items() if place_of(line) in openmp.independent or _is_final(why)
        }
        reasons |= refused
        openmp = replace(
            openmp,
            independent=openmp.independent | {place_of(line) for line in unsettled},
            left=openmp.left | {place_of(line) for line in refused},
        )
        # The request that was read stays, since a pipe can be read only once.
        state, done = State(state.request, openmp, state.parsed, state.region_plans, state.searches), ""


def _unsettled(state: State) -> Iterator[tuple[SourceRange, Diagnostic]]:
    """Lines of OpenMP whose kernels are refused, or do not run in parallel, with the reason."""
    for diagnostic in reversed(state.diagnostics.items):
        is_fault = diagnostic.severity is Severity.ERROR or diagnostic.contradicts
        if is_fault and diagnostic.openmp_line is not None:
            yield diagnostic.openmp_line, diagnostic
    if state.diagnostics.has_errors:
        return
    for plan in state.plans:
        line = plan.kernel.directive.openmp_line
        whole = state.region_plans.values() if line is not None else ()
        reason = _serial_part(plan, any(each.kernel.range == plan.kernel.range for each in whole))
        if line is not None and reason is not None:
            yield line, Diagnostic(Severity.NOTE, line, reason)


def _serial_part(plan: KernelPlan, is_whole: bool) -> str | None:
    """Why the loop of a line does not run in parallel on cores; None if it does. `is_whole`: the
    kernel is all of it.
    """
    from tilepragma.ir.directives import AxisKind
    from tilepragma.plan.kernel_plan import Launch

    if not is_whole:
        return "no kernel can hold all of its loop, which would run in order with kernels inside"
    if plan.untransformed is not None:
        return f"it would run on one core: {plan.untransformed}"
    for step in plan.host_steps:
        if not isinstance(step, Launch):
            return "its loop would run in order, with parallel loops inside"
        if not any(axis.kind is AxisKind.THREAD for axis in step.axes):
            return "it would run on one core"
    return None


def _is_final(why: Diagnostic) -> bool:
    """Whether no promise of independence changes the reason: the line itself is not understood."""
    line = why.openmp_line
    return line is not None and line.holds(why.range.file, why.range.start.offset)


def _left(line: SourceRange, why: Diagnostic, state: State) -> Diagnostic:
    """What is said of a line that stays OpenMP's."""
    is_parallel = any(option.startswith(_OPTION) for option in state.request.options)
    severity = Severity.NOTE if is_parallel and not why.contradicts else Severity.WARNING
    remedy = () if is_parallel else (Diagnostic(Severity.NOTE, line, f"without {_OPTION} it runs on one core"),)
    cause = (Diagnostic(Severity.NOTE, why.range, why.message),) if why.range != line else ()
    message = "this line stays OpenMP's" + ("" if cause else f": {why.message}")
    notes = why.notes
    if why.contradicts:
        message = "iterations of this loop depend on each other, though the line says that they may run in any order"
        notes = tuple(note for note in why.notes if note.range != why.range)
    return Diagnostic(severity, line, message, (*cause, *notes, *remedy))
