"""What the source of a kernel adds to its measurements: rules, operations, and what the model predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.cli.devices import machine_of
from tilepragma.cli.kernel_sections import KnownSource
from tilepragma.cli.machines import calibrated
from tilepragma.cli.rule_printing import RuleFitter
from tilepragma.report.choice_facts import choice_facts
from tilepragma.report.roofline_figure import KernelPoint
from tilepragma.report.size_values import Sizes
from tilepragma.report.work_facts import least_work
from tilepragma.tuning.fitted_rules import NoRulesError
from tilepragma.tuning.size_ranges import sizes_of

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.report.landscape import Landscape
    from tilepragma.tuning.input_space import InputSpace
    from tilepragma.tuning.measured_kernels import MeasuredKernel

_HOSTS = ("serial", "threads")


def known_source(
    request: TranslateRequest,
    result: TranslateResult,
    plan: KernelPlan,
    measured: MeasuredKernel,
    space: InputSpace,
    device: Device | None,
) -> KnownSource:
    """Of a kernel whose plan this is, without anything that is kept beside the source; `device` is what it was measured on (`device_of`)."""
    on_host = _runs_launches_of_hosts(measured)
    refused: list[str] = []

    def note(text: str, reason: str) -> None:
        refused.append(f"{text} cannot be a version of the kernel's own program: it {reason}")

    learner = RuleFitter(request, result, plan, measured.environment.target, on_host)
    lesson, no_lesson = None, ""
    try:
        lesson = learner.lesson(measured.trials, note)
    except NoRulesError as reason:
        no_lesson = str(reason)
    target = "threads" if on_host else "cuda"
    numbers = {text: Sizes(sizes_of(text)) for text in space.inputs}
    counted = {text: least_work(plan, one, target) for text, one in numbers.items()}
    work = {text: one.operations for text, one in counted.items() if one is not None and one.operations}
    points = tuple(
        KernelPoint(one.operations, one.bytes, space.best[text][1], one.double)
        for text, one in counted.items()
        if one is not None and one.operations and one.bytes
    )
    predicted, why = _predicted(plan, numbers[space.inputs[-1]], device)
    return KnownSource(
        lesson, no_lesson, tuple(refused), work if len(work) == len(space.inputs) else {}, points, predicted, why
    )


def device_of(measured: MeasuredKernel, named: Device | None) -> Device | None:
    """What a kernel was measured on, as the user names it or as it was calibrated here; None where neither is so."""
    if named is not None:
        return named
    found = calibrated(measured.environment.target)
    return found if found is not None and found.name == measured.environment.device else None


def _runs_launches_of_hosts(measured: MeasuredKernel) -> bool:
    """As processors under OpenCL do too; of a device that is not here nobody knows, and most are GPUs."""
    if measured.environment.target in _HOSTS:
        return True
    here = machine_of(measured.environment.target)
    return here.kind == "cpu" and here.name == measured.environment.device


def _predicted(plan: KernelPlan, sizes: Sizes, device: Device | None) -> tuple[Landscape | None, str]:
    """What the model says, or why it says nothing."""
    if device is None:
        return (
            None,
            "what it was measured on is not calibrated here (tilepragma devices --calibrate), and no --device is named",
        )
    found = choice_facts(plan, sizes, device)
    return found.landscape, found.predicted.removeprefix("not known: ") or "the kernel has no tile sizes there"
