"""The model's predictions for tile sizes: the best, the runners-up, and the plan's defaults."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.quantities import seconds
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import used_sizes
from tilepragma.plan.targets import planned_target
from tilepragma.report.landscape import Landscape, ratio_text
from tilepragma.report.size_values import Sizes

if TYPE_CHECKING:
    from tilepragma.model.device import Device
    from tilepragma.sizes.search import Ranking

_RUNNERS_UP = 3


@dataclass(frozen=True)
class ChoiceFacts:
    """What explain says of tile sizes. `device` is the planned device's name; the other texts are
    clauses, empty where nothing is to say, as all are without sizes. `landscape` is None where
    nothing was predicted.
    """

    device: str = ""
    predicted: str = ""
    runners_up: str = ""
    default: str = ""
    landscape: Landscape | None = None


def choice_facts(plan: KernelPlan, sizes: Sizes, device: Device | None) -> ChoiceFacts:
    """The model's choice at these sizes, for cores or the planned GPU; or just the device."""
    from tilepragma.sizes.search import rank_layouts

    numbers = sizes.by_name(plan.kernel)
    if not numbers or plan.as_written is not None:
        return ChoiceFacts()
    target = planned_target(device)
    steps = plan.host_steps if target.is_host else plan.device_steps
    used = [size.object.name for size in used_sizes(steps, plan.sizes)]
    if not used:
        return ChoiceFacts(_device_text(device))
    return ranking_facts(rank_layouts(plan, numbers, target, device), used, device)


def ranking_facts(ranking: Ranking, used: Collection[str], device: Device | None) -> ChoiceFacts:
    """The facts of a ranking. Sizes that the device does not use (`used`) are left out."""
    named = _device_text(device)
    landscape = _landscape(ranking, used, device)
    if landscape is None:
        reason = ranking.reason or "no layout is possible there"
        return ChoiceFacts(named, f"not known: {reason}; sizes are the documented defaults")
    best, *others = sorted(landscape.seconds, key=landscape.seconds.__getitem__)[: _RUNNERS_UP + 1]
    runners_up = " · ".join(_timed(landscape, layout) for layout in others)
    time = seconds(landscape.seconds[best])
    if best == landscape.default:
        return ChoiceFacts(named, f"{time} with the defaults: {landscape.text(best)}", runners_up, "", landscape)
    default = f"not predicted: {_values(landscape.default)}"
    if landscape.default in landscape.seconds:
        default = f"{_timed(landscape, landscape.default)} ({ratio_text(landscape.ratio(landscape.default))} times)"
    return ChoiceFacts(named, f"{time} with {landscape.text(best)}", runners_up, default, landscape)


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
