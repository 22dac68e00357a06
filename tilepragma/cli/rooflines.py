"""A roofline of each device with a point for each kernel that was measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilepragma.report.roofline_figure import KernelPoint, roofline_figure, share_of_roof

if TYPE_CHECKING:
    from tilepragma.driver import Device
    from tilepragma.report.scene import Figure

#: A share of the roof beyond which there is little to gain by other versions.
_NEAR = 0.7


@dataclass(frozen=True)
class MeasuredPoints:
    """The runs of a kernel called `name` on a `device`, which is None where it is not calibrated and is then called `device_name`; `input` is that
    of the last run.
    """

    name: str
    input: str
    device: Device | None
    device_name: str
    points: tuple[KernelPoint, ...]


def rooflines(found: Sequence[MeasuredPoints]) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """A picture for each device, and sentences on what is in none."""
    missing = {
        one.device_name: f"No roofline of {one.device_name}, not calibrated here: run 'tilepragma devices --calibrate', or name it with --device."
        for one in found
        if one.device is None
    }
    uncounted = [one.name for one in found if one.device is not None and not one.points]
    sentences = list(missing.values())
    if uncounted:
        sentences.append(
            f"Not on the roofline: {', '.join(uncounted)}, whose floating-point operations or bytes cannot be counted."
        )
    groups: dict[str, list[MeasuredPoints]] = {}
    for one in found:
        if one.device is not None and one.points:
            groups.setdefault(one.device.name, []).append(one)
    figures = [_figure(own) for own in groups.values()]
    return tuple(one for one in figures if one is not None), tuple(sentences)


def _figure(own: Sequence[MeasuredPoints]) -> Figure | None:
    device = own[0].device
    if device is None:
        return None
    named = [(f"{one.name}; the large sign is {one.input}", one.points) for one in own]
    words = "The fastest run of each kernel at each input, under what arithmetic and memories allow; both axes are logarithmic."
    return roofline_figure(named, device, " ".join([words, *(_advice(one, device) for one in own)]))


def _advice(one: MeasuredPoints, device: Device) -> str:
    """What the last run reaches, and what to do about it."""
    found = share_of_roof(one.points[-1], device)
    if found is None:
        return ""
    share, roof = found
    if share > 1.05:
        return f"{one.name} is above the line of {roof}: its arrays stay in caches from call to call, so look at the roofs of these."
    reached = f"{one.name} reaches {share:.0%} of what {roof} allows"
    if share >= _NEAR:
        return f"{reached}: only less work or less traffic makes it faster."
    if roof == "arithmetic":
        return f"{reached}: see that its innermost loop is a vector's (-O3 -march=native) and that its tiles fit the caches."
    return f"{reached}: try other tile sizes, and tiles of time steps (--versions steps) where it has any."
