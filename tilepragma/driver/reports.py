"""Reports on a translation: its kernels, advice, and the page of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.deep_recursion import on_deep_stack
from tilepragma.base.diagnostics import Diagnostic, Severity
from tilepragma.driver.state import TranslateResult

if TYPE_CHECKING:
    from tilepragma.cost.ptx_walk import PlanCounts
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.report.facts import KernelFacts
    from tilepragma.report.page import ExplainPage
    from tilepragma.report.size_values import Sizes


@on_deep_stack
def explain(reports: Sequence[KernelFacts]) -> str:
    """The outcome of each kernel in words, and the engine's facts of its loops."""
    from tilepragma.report.text import report_text

    return report_text(reports) or "No kernel regions: the program runs as it was written.\n"


@on_deep_stack
def kernel_reports(
    result: TranslateResult, sizes: Sizes | None = None, device: Device | None = None
) -> tuple[KernelFacts, ...]:
    """The facts of each kernel; `sizes` are numbers for the kernels' parameters. Predicted times
    are for the device. Raises CommandError for names that are no kernel's parameter.
    """
    from tilepragma.report.facts import kernel_facts
    from tilepragma.report.size_values import Sizes, check_sizes
    from tilepragma.report.source_text import SourceText

    numbers = Sizes() if sizes is None else sizes
    check_sizes(numbers, [plan.kernel for plan in result.plans])
    source = SourceText({file.path: file.text for file in result.unit.files} if result.unit is not None else {})
    return tuple(
        kernel_facts(plan, source, numbers, device, _counts(plan, numbers.by_name(plan.kernel), device))
        for plan in result.plans
    )


def _counts(plan: KernelPlan, scalars: Mapping[str, int], device: Device | None) -> PlanCounts | str | None:
    """What the plan's launches execute on a GPU, or why it is not known; None where nobody asks."""
    from tilepragma.driver.compiled_counts import compiled_counts
    from tilepragma.ir.evaluation import UncountableError
    from tilepragma.model.device import Gpu

    if not scalars or not isinstance(device, Gpu) or plan.registers is None or not plan.device:
        return None
    try:
        return compiled_counts(plan, scalars, device)
    except UncountableError as reason:
        return str(reason)


@on_deep_stack
def advice(result: TranslateResult, loops: bool) -> tuple[Diagnostic, ...]:
    """The notes of `check`: kernels that run as written, faster methods, kinds of `loops`."""
    from tilepragma.report.advice import as_written_notes, device_notes, loop_notes, order_notes

    notes = [
        *as_written_notes(result.plans, result.diagnostics),
        *device_notes(result.plans, result.diagnostics),
        *order_notes(result.plans),
    ]
    return (*notes, *(loop_notes(kernel_reports(result)) if loops else ()))


@on_deep_stack
def serial_remarks(result: TranslateResult, severity: Severity) -> tuple[Diagnostic, ...]:
    """A warning or error for each kernel that runs as written, on one core, with what would change
    that. The first warning says how to silence them.
    """
    from tilepragma.report.advice import as_written_notes

    remarks = [replace(note, severity=severity) for note in as_written_notes(result.plans, result.diagnostics)]
    if remarks and severity is Severity.WARNING:
        hint = Diagnostic(Severity.NOTE, remarks[0].range, "--tilek-no-remarks turns these warnings off")
        remarks[0] = replace(remarks[0], notes=(*remarks[0].notes, hint))
    return tuple(remarks)


@on_deep_stack
def explain_page(result: TranslateResult, reports: Sequence[KernelFacts], sizes: Sizes, source: str) -> ExplainPage:
    """Draw every nest of every kernel; `reports` are those of `result`, in order."""
    from tilepragma import __version__
    from tilepragma.report.page import explain_page as page

    return page(result.plans, reports, sizes, source, __version__)
