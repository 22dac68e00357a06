"""A kernel's work at the user's sizes, and the least time on a device, by two roofs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.types import ScalarType
from tilepragma.plan.dispatch_table import choices_on_hosts
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.targets import planned_target
from tilepragma.report.size_values import Sizes, byte_text

if TYPE_CHECKING:
    from tilepragma.cost.launch_work import LaunchWork
    from tilepragma.model.device import Device

_SIZES = (("", 1.0), (" thousand", 1e3), (" million", 1e6), (" billion", 1e9), (" trillion", 1e12))


@dataclass(frozen=True)
class WorkFacts:
    """`work` has a clause on each launch, `limits` one on the least time; empty without sizes."""

    work: tuple[str, ...] = ()
    limits: str = ""


@dataclass(frozen=True)
class LeastWork:
    """A kernel's work at some input, whatever its tiles. It has floating-point `operations`, and
    `bytes` with each array moved once, None where a section's length is not known. `double`:
    whether some array has elements of double precision.
    """

    operations: float
    bytes: int | None
    double: bool


def least_work(plan: KernelPlan, sizes: Sizes, target: str) -> LeastWork | None:
    """The work at these sizes on the target; None where it cannot be counted."""
    from tilepragma.cost.launch_work import plan_work

    numbers = sizes.by_name(plan.kernel)
    try:
        return _least(plan, plan_work(plan, numbers, {}, Target(target)), numbers)
    except UncountableError:
        return None


def _least(plan: KernelPlan, work: tuple[LaunchWork, ...], numbers: dict[str, int]) -> LeastWork:
    from tilepragma.plan.array_bytes import array_bytes

    arrays = array_bytes(plan, numbers)
    moved = None if arrays is None else sum(array.bytes * (array.reads + array.writes) for array in arrays)
    elements = [array.object.element for array in plan.arrays]
    double = any(
        isinstance(element, ScalarType) and not element.is_integer and element.bits > 32 for element in elements
    )
    return LeastWork(sum(float(launch.operations[0]) for launch in work), moved, double)


def work_facts(plan: KernelPlan, sizes: Sizes, device: Device | None) -> WorkFacts:
    """The work at these sizes on cores, or on the planned GPU."""
    numbers = sizes.by_name(plan.kernel)
    if not numbers or plan.as_written is not None:
        return WorkFacts()
    from tilepragma.cost.launch_work import plan_work
    from tilepragma.model.device import Processor

    if isinstance(device, Processor) and device.is_opencl:
        plan = replace(plan, choices=choices_on_hosts(plan, by_opencl=True))
    try:
        work = plan_work(plan, numbers, {}, planned_target(device))
    except UncountableError as reason:
        return WorkFacts(limits=f"not known: {reason}")
    if device is None:
        unknown = "not known: this machine is not calibrated (tilepragma devices --calibrate), and no --device is named"
        return WorkFacts(_counts(work), unknown)
    return WorkFacts(_counts(work), _limits(plan, work, numbers, device))


def _counts(work: tuple[LaunchWork, ...]) -> tuple[str, ...]:
    clauses = []
    for launch in work:
        launches = int(launch.launches[0])
        times = "1 launch" if launches == 1 else f"{_number(launches)} launches"
        operations = float(launch.operations[0])
        done = f", {_number(operations)} floating-point operations" if operations else ""
        clauses.append(f"{launch.name}: {times}, {_number(float(launch.points[0]))} points{done}")
    return tuple(clauses)


def _limits(plan: KernelPlan, work: tuple[LaunchWork, ...], numbers: dict[str, int], device: Device) -> str:
    """The roofline: operations by arithmetic's rate, bytes by the furthest memory's bandwidth."""
    least = _least(plan, work, numbers)
    if least.bytes is None:
        return "not known: the length of a section is not"
    memory = device.memories[-1]
    times: dict[str, float] = {}
    if least.operations:
        rate = device.double_rate if least.double else device.float_rate
        times[f"arithmetic {{}} ({_number(least.operations)} operations)"] = least.operations / rate
    if memory.bandwidth is not None:
        times[f"{memory.name} {{}} ({byte_text(least.bytes)}, each array once)"] = least.bytes / memory.bandwidth
    if not times:
        return f"not known: the {memory.name} of {device.name} was never measured"
    parts = ", ".join(text.format(seconds(time)) for text, time in times.items())
    return f"at least {seconds(max(times.values()))} on {device.name}: {parts}"


def _number(value: float) -> str:
    """`12`, `1.3 million`"""
    if value < 1e4:
        return f"{value:.0f}"
    word, size = next((word, size) for word, size in reversed(_SIZES) if value >= size)
    return f"{value / size:.3g}{word}"
