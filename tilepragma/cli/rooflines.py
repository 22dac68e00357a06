"""A roofline of each device with a point for each kernel that was measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.roofline_figure import KernelPoint, roofline_figure, share_of_roof

if TYPE_CHECKING:
    from tilepragma.model.device import Device
    from tilepragma.report.scene import Figure

#: Shares of the roof beyond which there is little to gain by other versions, and of which it is
#: none.
_NEAR, _ABOVE = 0.7, 1.05


@dataclass(frozen=True)
class MeasuredPoints:
    """The runs of a kernel called `name` on a `device`, which is None where it is not calibrated
    and is then called `device_name`; `input` is that of the last run.
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
    return tuple(figure for figure in figures if figure is not None), tuple(sentences)


def _figure(own: Sequence[MeasuredPoints]) -> Figure | None:
    device = own[0].device
    if device is None:
        return None
    named = [(f"{one.name}; the large sign is {one.input}", one.points) for one in own]
    words = [
        "The fastest run of each kernel at each input, under what arithmetic and memories allow; both axes are logarithmic."
    ]
    found: dict[tuple[str, str], list[str]] = {}
    for one in own:
        share = share_of_roof(one.points[-1], device)
        if share is not None:
            found.setdefault(_advice(*share), []).append(f"{one.name} {100 * share[0]:.2g} %")
    words += [f"{what}: {', '.join(names)}. {advice}" for (what, advice), names in found.items()]
    return roofline_figure(named, device, " ".join(words))


def _advice(share: float, roof: str) -> tuple[str, str]:
    """What a share of the lower roof, which is that of arithmetic or a memory, means, and what to do about it."""
    if share > _ABOVE:
        return f"Above the line of {roof}", "Their arrays stay in caches from call to call: see the roofs of these."
    if share >= _NEAR:
        return f"Near what {roof} allows", "Only less work or less traffic makes these faster."
    if roof == "arithmetic":
        advice = "See that innermost loops are vectors' (-O3 -march=native) and that tiles fit the caches."
    else:
        advice = "Try other tile sizes, and tiles of time steps (--versions steps) where there are any."
    return f"Below what {roof} allows", advice
