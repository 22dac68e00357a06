"""What the source of a kernel adds to its measurements: rules, operations, and predictions."""

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
    from tilepragma.tuning.database import MeasuredKernel
    from tilepragma.tuning.input_space import InputSpace

_HOSTS = ("serial", "threads")


def known_source(
    request: TranslateRequest,
    result: TranslateResult,
    plan: KernelPlan,
    measured: MeasuredKernel,
    space: InputSpace,
    device: Device | None,
) -> KnownSource:
    """The facts of a kernel with this plan, without stored records; `device`: see `device_of`."""
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
    counted = {text: least_work(plan, sizes, target) for text, sizes in numbers.items()}
    work = {text: work_.operations for text, work_ in counted.items() if work_ is not None and work_.operations}
    points = tuple(
        KernelPoint(work_.operations, work_.bytes, space.best[text][1], work_.double)
        for text, work_ in counted.items()
        if work_ is not None and work_.operations and work_.bytes
    )
    predicted, why = _predicted(plan, numbers[space.inputs[-1]], device)
    return KnownSource(
        lesson, no_lesson, tuple(refused), work if len(work) == len(space.inputs) else {}, points, predicted, why
    )


def device_of(measured: MeasuredKernel, named: Device | None) -> Device | None:
    """The device of the measurements, as the user names it or as calibrated here; else None."""
    if named is not None:
        return named
    device = calibrated(measured.environment.target)
    return device if device is not None and device.name == measured.environment.device else None


def _runs_launches_of_hosts(measured: MeasuredKernel) -> bool:
    """Processors under OpenCL do too. An absent device is taken for a GPU."""
    if measured.environment.target in _HOSTS:
        return True
    machine = machine_of(measured.environment.target)
    return machine.kind == "cpu" and machine.name == measured.environment.device


def _predicted(plan: KernelPlan, sizes: Sizes, device: Device | None) -> tuple[Landscape | None, str]:
    """The model's prediction, or why there is none."""
    if device is None:
        return (
            None,
            "what it was measured on is not calibrated here (tilepragma devices --calibrate), and no --device is named",
        )
    facts = choice_facts(plan, sizes, device)
    return facts.landscape, facts.predicted.removeprefix("not known: ") or "the kernel has no tile sizes there"
