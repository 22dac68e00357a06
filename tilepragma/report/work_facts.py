"""What a kernel has to do at the user's sizes, and how long a device is expected to take: counts of the plan's own bounds, under roofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilepragma.ir.directives import Target
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.sizes import Sizes

if TYPE_CHECKING:
    from tilepragma.model.devices import Device
    from tilepragma.plan.model_work import LaunchModel
    from tilepragma.plan.work import PlanWork

#: Launches that a report names one by one; of more, those that take longest.
_MOST_NAMED = 4
_PREFIXES = (("", 1.0), ("thousand ", 1e3), ("million ", 1e6), ("billion ", 1e9), ("trillion ", 1e12))


@dataclass(frozen=True)
class WorkFacts:
    """`work` has a clause on each launch's counts; `predicted` one on the time, or on why there is none. Both are empty without sizes."""

    work: tuple[str, ...] = ()
    predicted: str = ""


def work_facts(plan: KernelPlan, sizes: Sizes, device: Device | None) -> WorkFacts:
    """The work at these sizes on cores, or on the GPU that is planned for."""
    numbers = sizes.by_name(plan.kernel)
    if not numbers or plan.as_written is not None:
        return WorkFacts()
    from tilepragma.model.devices import Gpu
    from tilepragma.plan.work import PlanWork, plan_work

    target = Target.CUDA if isinstance(device, Gpu) else Target.THREADS
    tiles = {size.object.name: numbers[size.object.name] for size in plan.sizes if size.object.name in numbers}
    found = plan_work(plan, numbers, tiles, target)
    if not isinstance(found, PlanWork):
        return WorkFacts(predicted=f"nothing: {found.reason}")
    if device is None:
        said = "nothing: this machine is not calibrated (tilepragma devices --calibrate), and no --device is named"
        return WorkFacts(_counts(found), said)
    return WorkFacts(_counts(found), _predicted(plan, found, numbers, device))


def _counts(work: PlanWork) -> tuple[str, ...]:
    clauses = []
    for launch in work.launches:
        launches = int(launch.launches[0])
        times = "1 launch" if launches == 1 else f"{_number(launches)} launches"
        operations = float(launch.operations[0])
        done = f", {_number(operations)} floating-point operations" if operations else ""
        clauses.append(f"{launch.name}: {times}, {_number(float(launch.points[0]))} points{done}")
    return tuple(clauses)


def _predicted(plan: KernelPlan, work: PlanWork, numbers: dict[str, int], device: Device) -> str:
    """`12 ms on NAME: nest1 8 ms (DRAM), nest2 4 ms (arithmetic)`, by the roofline of each launch."""
    from tilepragma.model.devices import Gpu
    from tilepragma.model.roofline import lanes_of, roofline, units_of
    from tilepragma.plan.array_bytes import array_bytes
    from tilepragma.plan.model_work import Organisation, model_works, roofline_demand

    arrays = array_bytes(plan, numbers)
    if arrays is None:
        return "nothing: the length of a section is not known"
    element = max((_width(one.object.element) for one in plan.arrays), default=4)
    workers = (32, 8, 1) if isinstance(device, Gpu) else (1, 1, 1)
    models: tuple[LaunchModel, ...] = model_works(
        work, Organisation(units_of(device), lanes_of(device, element), workers)
    )
    times: list[tuple[float, str, str]] = []
    unknown: set[str] = set()
    left_out: list[str] = []
    for model in models:
        demand = roofline_demand(model, device, arrays)
        if demand is None:
            left_out.append(model.counted.name)
            continue
        roofs = roofline(demand, device, element > 4)
        launching = float(roofs.launches[0]) > float(roofs.parts[:, 0].max())
        times.append((float(roofs.total[0]), model.counted.name, "launches" if launching else roofs.limits()[0]))
        unknown |= set(roofs.unknown)
    if not times:
        return "nothing: what a tile moves cannot be counted"
    longest = sorted(times, reverse=True)[:_MOST_NAMED]
    parts = ", ".join(f"{name} {_time(seconds)} ({limit})" for seconds, name, limit in longest)
    blind = f"; without {' and '.join(left_out)}, of which nobody can say what a tile moves" if left_out else ""
    blind += f"; nobody has measured its {' and '.join(sorted(unknown))}" if unknown else ""
    blind += "; launches are not counted, which nobody has measured" if device.overheads is None else ""
    return f"{_time(sum(seconds for seconds, _, _ in times))} on {device.name}, at least: {parts}{blind}"


def _width(element: object) -> int:
    return element.bits // 8 if isinstance(element, ScalarType) and not element.is_integer else 4


def _number(value: float) -> str:
    """`12`, `1.3 million`"""
    if value < 1e4:
        return f"{value:.0f}"
    word, size = next((word, size) for word, size in reversed(_PREFIXES) if value >= size)
    return f"{value / size:.3g} {word.strip()}"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
