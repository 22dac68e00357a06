"""What the model knows of a kernel at the user's sizes: work, least time, times of tile sizes."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import amount, seconds
from tilepragma.cost.launch_work import LaunchWork, plan_work
from tilepragma.cost.ptx_walk import PlanCounts
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.types import ScalarType
from tilepragma.model.device import Device, Processor
from tilepragma.plan.array_bytes import array_bytes
from tilepragma.plan.dispatch_table import choices_on_hosts
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import used_sizes
from tilepragma.plan.targets import planned_target
from tilepragma.report.landscape import Landscape, ratio_text
from tilepragma.report.size_values import Sizes, byte_text
from tilepragma.sizes.ranked_layouts import Ranking, rank_layouts


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
    numbers = sizes.by_name(plan.kernel)
    try:
        return _least(plan, plan_work(plan, numbers, {}, Target(target)), numbers)
    except UncountableError:
        return None


def _least(plan: KernelPlan, work: tuple[LaunchWork, ...], numbers: dict[str, int]) -> LeastWork:
    try:
        moved = sum(array.bytes * (array.reads + array.writes) for array in array_bytes(plan, numbers))
    except UncountableError:
        moved = None
    elements = (array.object.element for array in plan.arrays)
    scalars = (element for element in elements if isinstance(element, ScalarType))
    double = any(not element.is_integer and element.bits > 32 for element in scalars)
    return LeastWork(sum(float(launch.operations[0]) for launch in work), moved, double)


def work_facts(plan: KernelPlan, sizes: Sizes, device: Device | None) -> dict[str, tuple[str, ...]]:
    """The work at these sizes on cores, or on the planned GPU: a clause on each launch, and on the
    least time. Nothing without sizes.
    """
    numbers = sizes.by_name(plan.kernel)
    if not numbers or plan.untransformed is not None:
        return {}
    if isinstance(device, Processor) and device.is_opencl:
        plan = replace(plan, choices=choices_on_hosts(plan, by_opencl=True))
    try:
        work = plan_work(plan, numbers, {}, planned_target(device))
    except UncountableError as reason:
        return {"limits": (f"not known: {reason}",)}
    limits = "not known: this machine is not calibrated (tilepragma devices --calibrate), and no --device is named"
    if device is not None:
        limits = _limits(plan, work, numbers, device)
    counts = []
    for launch in work:
        launches = int(launch.launches[0])
        times = "1 launch" if launches == 1 else f"{amount(launches)} launches"
        operations = float(launch.operations[0])
        done = f", {amount(operations)} floating-point operations" if operations else ""
        counts.append(f"{launch.name}: {times}, {amount(float(launch.points[0]))} points{done}")
    return {"work": tuple(counts), "limits": (limits,)}


def _limits(plan: KernelPlan, work: tuple[LaunchWork, ...], numbers: dict[str, int], device: Device) -> str:
    """The roofline: operations by arithmetic's rate, bytes by the furthest memory's bandwidth."""
    least = _least(plan, work, numbers)
    if least.bytes is None:
        return "not known: the length of a section is not"
    memory = device.memories[-1]
    times: dict[str, float] = {}
    if least.operations:
        rate = device.double_rate if least.double else device.float_rate
        times[f"arithmetic {{}} ({amount(least.operations)} operations)"] = least.operations / rate
    if memory.bandwidth is not None:
        times[f"{memory.name} {{}} ({byte_text(least.bytes)}, each array once)"] = least.bytes / memory.bandwidth
    if not times:
        return f"not known: the {memory.name} of {device.name} was never measured"
    parts = ", ".join(text.format(seconds(time)) for text, time in times.items())
    return f"at least {seconds(max(times.values()))} on {device.name}: {parts}"


# -- times of tile sizes


_RUNNERS_UP = 3
#: What explain says of tile sizes: clauses by their titles, and what was predicted, if anything.
Choice = tuple[dict[str, str], Landscape | None]


def choice_facts(plan: KernelPlan, sizes: Sizes, device: Device | None, counts: PlanCounts | None = None) -> Choice:
    """The model's choice at these sizes, for cores or the planned GPU; or just the device.
    `counts`: what launches execute there.
    """
    numbers = sizes.by_name(plan.kernel)
    if not numbers or plan.untransformed is not None:
        return {}, None
    target = planned_target(device)
    steps = plan.host_steps if target.is_host else plan.device_steps
    used = [size.object.name for size in used_sizes(steps, plan.sizes)]
    if not used:
        return {"device": _device_text(device)}, None
    executed = None if counts is None else counts.warp_instructions
    return ranking_facts(rank_layouts(plan, numbers, target, device, (), executed), used, device)


def ranking_facts(ranking: Ranking, used: Collection[str], device: Device | None) -> Choice:
    """The facts of a ranking. Sizes that the device does not use (`used`) are left out."""
    said = {"device": _device_text(device)}
    landscape = _landscape(ranking, used, device)
    if landscape is None:
        reason = ranking.reason or "no layout is possible there"
        return {**said, "predicted": f"not known: {reason}; sizes are the defaults"}, None
    best, *others = sorted(landscape.seconds, key=landscape.seconds.__getitem__)[: _RUNNERS_UP + 1]
    is_default = best == landscape.default
    with_ = "with the defaults:" if is_default else "with"
    said["predicted"] = f"{seconds(landscape.seconds[best])} {with_} {landscape.text(best)}"
    said["runners-up"] = " · ".join(_timed(landscape, layout) for layout in others)
    if landscape.default not in landscape.seconds:
        said["default"] = f"not predicted: {_values(landscape.default)}"
    elif not is_default:
        ratio = ratio_text(landscape.ratio(landscape.default))
        said["default"] = f"{_timed(landscape, landscape.default)} ({ratio} times)"
    return said, landscape


def _landscape(ranking: Ranking, used: Collection[str], device: Device | None) -> Landscape | None:
    """The layouts by the used sizes, each with its best time; None where nothing is predicted."""
    places = [place for place, name in enumerate(ranking.names) if name in used]
    times: dict[tuple[int, ...], float] = {}
    for layout in () if ranking.reason else (*ranking.layouts, ranking.default):
        if layout.seconds is not None and math.isfinite(layout.seconds):
            short = tuple(layout.sizes[place] for place in places)
            times[short] = min(layout.seconds, times.get(short, math.inf))
    if not times:
        return None
    default = tuple(ranking.default.sizes[place] for place in places)
    return Landscape(tuple(ranking.names[place] for place in places), times, default, device_name(device))


def _timed(landscape: Landscape, layout: tuple[int, ...]) -> str:
    """`12.5 ms 16, 32`"""
    return f"{seconds(landscape.seconds[layout])} {_values(layout)}"


def _values(layout: tuple[int, ...]) -> str:
    return ", ".join(map(str, layout))


def device_name(device: Device | None) -> str:
    """The planned device's name for people."""
    return "this machine's cores" if device is None else device.name


def _device_text(device: Device | None) -> str:
    calibrated = device is not None and device.overheads is not None
    return f"{device_name(device)}, {'calibrated' if calibrated else 'not calibrated'}"
