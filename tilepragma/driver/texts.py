"""A translated source and its kernels as text, for programs that measure versions.

Also the diagnostic for a source that no pass can follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.deep_recursion import on_deep_stack
from tilepragma.base.diagnostics import Diagnostic, source_error
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.base.source_scan import directive_in_text
from tilepragma.driver.state import State, TranslateRequest, TranslateResult

if TYPE_CHECKING:
    from tilepragma.codegen.calling_program import CallingProgram
    from tilepragma.host.retiling import Retiling
    from tilepragma.ir.loop_tree import Kernel
    from tilepragma.plan.kernel_plan import KernelPlan, PlanVersion


def calling_program(result: TranslateResult, plan: KernelPlan) -> CallingProgram:
    """A program that calls the kernel's function on random numbers. Raises RefusalError."""
    from tilepragma.codegen.calling_program import calling_program as made

    enclosing = as_written(result, plan).enclosing
    around = {kernel.name for kernel in _kernels(result) if kernel.enclosing.insertion == enclosing.insertion}
    return made(enclosing, [plan for plan in result.plans if plan.kernel.name in around])


def kernel_digest(result: TranslateResult, plan: KernelPlan) -> str:
    """A digest that identifies a kernel, whatever its formatting."""
    from tilepragma.sizes.digest import kernel_digest as digest

    return digest(as_written(result, plan), result.unit.files if result.unit is not None else ())


def source_text(result: TranslateResult) -> bytes:
    """The source of a translation with directives."""
    return result.unit.files[0].text if result.unit is not None else b""


def retiling(result: TranslateResult, plan: KernelPlan) -> Retiling:
    """A kernel in its source, whose clauses may change."""
    from tilepragma.host.retiling import Retiling

    return Retiling(source_text(result), as_written(result, plan))


def _kernels(result: TranslateResult) -> tuple[Kernel, ...]:
    return result.unit.kernels if result.unit is not None else ()


def as_written(result: TranslateResult, plan: KernelPlan) -> Kernel:
    """The kernel of a plan as the user wrote it."""
    return next(kernel for kernel in _kernels(result) if kernel.name == plan.kernel.name)


def trying_environment(
    file: Path, source: str, kernel: str, versions: Sequence[str], on_devices: bool
) -> dict[str, str]:
    """The environment of a build that tries versions of a kernel, by their texts, in this order.
    They run on devices or else on hosts. The build reads them from `file`, which is written. Raises
    OSError.
    """
    from tilepragma.planner.versions import CANDIDATES_VARIABLE, Candidates, candidates_text

    file.write_text(candidates_text(source, Candidates({kernel: versions}, on_devices)))
    return {CANDIDATES_VARIABLE: str(file)}


@on_deep_stack
def planned_version(request: TranslateRequest, result: TranslateResult, plan: KernelPlan, text: str) -> PlanVersion:
    """The kernel's version that a text names, as in a tuning record. Raises RefusalError."""
    from tilepragma.base.source_ranges import NOWHERE
    from tilepragma.driver.passes import plan_options, plan_version

    assert result.unit is not None, "what has plans has a unit"
    defaults = plan_options(State(request, unit=result.unit), result.unit)
    return plan_version(result.unit, as_written(result, plan), plan, defaults, text, NOWHERE, 1)


def too_deep(source: str, text: bytes) -> Diagnostic:
    """An error at the first directive, for expressions or statements too deep for this Python."""
    place = directive_in_text(source, text) or Position(source, 1, 1, 0)
    remedy = (
        "take the longest expression apart, with a variable for each part, or run tilecc with another version of Python"
    )
    message = "an expression or statement of a kernel is nested deeper than this Python can follow"
    return source_error(SourceRange(place, place), message, remedy).diagnostic
