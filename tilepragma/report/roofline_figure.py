"""The classical roofline of a device, with measured kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.chart import LOOKS, WIDTH, Look, Scale, draw_field, draw_legend, log_scale, marker, new_sheet
from tilepragma.report.palette import INK, LINE
from tilepragma.report.scene import Figure
from tilepragma.report.sheet import Sheet
from tilepragma.report.size_values import byte_text
from tilepragma.report.svg import Style, path

if TYPE_CHECKING:
    from tilepragma.model.device import Device

_HIGH = 210.0
_GIGA = 1e9
#: Of the roofs of memories, from the furthest to the nearest.
_DASHES = ("9 3", "5 3", "3 3", "1.5 2.5")


@dataclass(frozen=True)
class KernelPoint:
    """A run of a kernel. It has floating-point `operations`, `bytes` with each array moved once,
    and `seconds`; all above 0. `double`: whether some array has elements of double precision.
    """

    operations: float
    bytes: float
    seconds: float
    double: bool

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds


def share_of_roof(point: KernelPoint, device: Device) -> tuple[float, str] | None:
    """A run's share of the lower of two roofs, and its name; None where one is not measured."""
    memory = device.memories[-1]
    if memory.bandwidth is None:
        return None
    by_memory, by_arithmetic = memory.bandwidth * point.intensity, peak(device, point.double)
    return point.rate / min(by_memory, by_arithmetic), memory.name if by_memory < by_arithmetic else "arithmetic"


def peak(device: Device, double: bool) -> float:
    """Operations a second of arithmetic alone."""
    return device.double_rate if double else device.float_rate


def roofline_figure(groups: Sequence[tuple[str, Sequence[KernelPoint]]], device: Device, caption: str) -> Figure:
    """A device's roofs, and points of kernels by name; each kernel's last point is the largest."""
    sheet = new_sheet()
    points = [point for _, group in groups for point in group]
    tops = {double: peak(device, double) for double in sorted({point.double for point in points})}
    top = max(tops.values())
    furthest = [memory.bandwidth for memory in device.memories[-1:] if memory.bandwidth]
    across = log_scale([*(point.intensity for point in points), *(top / bandwidth for bandwidth in furthest)], WIDTH)
    up = log_scale([*(top.rate / _GIGA for top in points), *(top / _GIGA for top in tops.values())], _HIGH)
    draw_field(sheet, across, up, ("operations for each byte, each array moved once", "GFLOP/s"))
    entries = [*_draw_arithmetic(sheet, tops, across, up), *_draw_memories(sheet, device, top, across, up)]
    looks = [LOOKS[place % len(LOOKS)] for place in range(len(groups))]
    for (_, runs), look in zip(groups, looks, strict=True):
        for run in runs[:-1]:
            sheet.draw(marker(look, (across.at(run.intensity), -up.at(run.rate / _GIGA)), 2.2, "input"))
        last = runs[-1]
        sheet.draw(marker(look, (across.at(last.intensity), -up.at(last.rate / _GIGA)), 5.5, "point"))
    named = [(look, name) for (name, _), look in zip(groups, looks, strict=True)]
    draw_legend(sheet, [*named, *entries], 48.0)
    title = f"Roofline of {device.name}"
    return Figure("roofline", title, caption, sheet.finished((), title, caption))


def _draw_arithmetic(sheet: Sheet, tops: Mapping[bool, float], across: Scale, up: Scale) -> list[tuple[Look, str]]:
    """Draw the roof of each precision that kernels have; the legend's entries."""
    entries = []
    for double, top in tops.items():
        y = -up.at(top / _GIGA)
        sheet.draw(path([(0, y), (across.length, y)], stroke=INK, stroke_width=LINE, class_="roof"), (0.0, y))
        precision = "double" if double else "single"
        entries.append((Look(INK, "", ""), f"arithmetic, {top / _GIGA:.3g} GFLOP/s in {precision} precision"))
    return entries


def _draw_memories(sheet: Sheet, device: Device, top: float, across: Scale, up: Scale) -> list[tuple[Look, str]]:
    """Draw the roof of each measured memory, up to arithmetic's; the legend's entries."""
    entries = []
    for memory, dashes in zip(reversed(device.memories), _DASHES, strict=False):
        if memory.bandwidth is None:
            continue
        # The line bandwidth * intensity, from the left or lower end of the field to the roof of
        # arithmetic.
        first = max(across.low, up.low * _GIGA / memory.bandwidth)
        last = min(across.high, top / memory.bandwidth)
        if first < last:
            ends = [(across.at(x), -up.at(x * memory.bandwidth / _GIGA)) for x in (first, last)]
            dashed: Style = {"stroke_dasharray": dashes} if dashes else {}
            sheet.draw(path(ends, stroke=INK, stroke_width=LINE, class_="roof", **dashed))
            room = f" ({byte_text(memory.size)})" if memory is not device.memories[-1] else ""
            entries.append((Look(INK, dashes, ""), f"{memory.name}{room}, {memory.bandwidth / _GIGA:.3g} GB/s"))
    return entries
