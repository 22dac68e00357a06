"""The timeline of a run, from its profile's trace."""

from __future__ import annotations

import math
from pathlib import Path

from tilepragma.base.quantities import seconds
from tilepragma.report.scene import Figure
from tilepragma.report.timeline_figure import lanes_of, timeline_figure, united, whole_of
from tilepragma.tuning.traces import Activity, read_trace


def timeline(path: Path) -> Figure:
    """The figure of the run. Raises TraceError, OSError."""
    activities = read_trace(path)
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for activity in activities:
        name = f"{activity.name} on {activity.target}" if activity.kind == "kernel" else activity.kind
        spans.setdefault((activity.kind, name), []).append((activity.begin, activity.begin + activity.length))
    lanes = lanes_of(spans)
    return timeline_figure(lanes, _caption(activities, whole_of(lanes)))


def _caption(activities: tuple[Activity, ...], whole: float) -> str:
    kernels, copies, compiling = (
        _busy(activities, kinds) for kinds in (("kernel",), ("copy in", "copy out"), ("compile",))
    )
    idle = max(0.0, whole - _busy(activities, tuple({activity.kind for activity in activities})))
    parts = [("kernels", kernels), ("copies", copies), ("compilation", compiling), ("none of these", idle)]
    spent = ", ".join(f"{name} {_share(part, whole)}" for name, part in parts if part > 0)
    words = (
        f"When each kernel, copy and compilation ran: {seconds(whole)} from the first to the last, of which {spent}."
    )
    return f"{words} {_advice(kernels, copies, compiling, idle)}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"


def _advice(kernels: float, copies: float, compiling: float, idle: float) -> str:
    most = max(kernels, copies, compiling, idle)
    if most == kernels:
        return "Most of the time goes to kernels: faster versions of the longest one are worth looking for."
    if most == copies:
        return (
            "Most of the time goes to copies: keep arrays on the device between kernels, in a region of "
            "'#pragma tilek data'."
        )
    if most == compiling:
        return "Most of the time goes to compilation, once for each program: the next run takes it from the cache."
    return "Most of the time goes to the rest of the program: kernels are not what makes it slow."


def _busy(activities: tuple[Activity, ...], kinds: tuple[str, ...]) -> float:
    """Seconds in which some activity of these kinds ran."""
    spans = [(activity.begin, activity.begin + activity.length) for activity in activities if activity.kind in kinds]
    return math.fsum(end - begin for begin, end in united(spans))
