"""A roofline of each device with a point for each kernel measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.roofline_figure import KernelPoint, roofline_figure, share_of_roof

if TYPE_CHECKING:
    from tilepragma.model.device import Device
    from tilepragma.report.scene import Figure

#: The share of the roof beyond which other versions gain little, and beyond which it is no roof.
_NEAR, _ABOVE = 0.7, 1.05


@dataclass(frozen=True)
class MeasuredPoints:
    """The runs of a kernel `name` on a `device` (None if it is not calibrated) called
    `device_name`; `input` is that of the last run.
    """

    name: str
    input: str
    device: Device | None
    device_name: str
    points: tuple[KernelPoint, ...]


def rooflines(points: Sequence[MeasuredPoints]) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """A figure for each device, and sentences on kernels in none."""
    missing = {
        absent.device_name: f"No roofline of {absent.device_name}, not calibrated here: "
        "run 'tilepragma devices --calibrate', or name it with --device."
        for absent in points
        if absent.device is None
    }
    uncounted = [measured.name for measured in points if measured.device is not None and not measured.points]
    sentences = list(missing.values())
    if uncounted:
        sentences.append(
            f"Not on the roofline: {', '.join(uncounted)}, whose floating-point operations or bytes cannot be counted."
        )
    groups: dict[str, list[MeasuredPoints]] = {}
    for kernel in points:
        if kernel.device is not None and kernel.points:
            groups.setdefault(kernel.device.name, []).append(kernel)
    figures = [_figure(kernels) for kernels in groups.values()]
    return tuple(figure for figure in figures if figure is not None), tuple(sentences)


def _figure(kernels: Sequence[MeasuredPoints]) -> Figure | None:
    device = kernels[0].device
    if device is None:
        return None
    named = [(f"{measured.name}; the large sign is {measured.input}", measured.points) for measured in kernels]
    words = [
        "The fastest run of each kernel at each input, under what arithmetic and memories allow; both "
        "axes are logarithmic."
    ]
    advised: dict[tuple[str, str], list[str]] = {}
    for kernel in kernels:
        share = share_of_roof(kernel.points[-1], device)
        if share is not None:
            advised.setdefault(_advice(*share), []).append(f"{kernel.name} {100 * share[0]:.2g} %")
    words += [f"{what}: {', '.join(names)}. {advice}" for (what, advice), names in advised.items()]
    return roofline_figure(named, device, " ".join(words))


def _advice(share: float, roof: str) -> tuple[str, str]:
    """What a share of the lowest roof (arithmetic or a memory) means, and what to do about it."""
    if share > _ABOVE:
        return f"Above the line of {roof}", "Their arrays stay in caches from call to call: see the roofs of these."
    if share >= _NEAR:
        return f"Near what {roof} allows", "Only less work or less traffic makes these faster."
    if roof == "arithmetic":
        advice = "See that innermost loops are vectors' (-O3 -march=native) and that tiles fit the caches."
    else:
        advice = "Try other tile sizes, and tiles of time steps (--versions steps) where there are any."
    return f"Below what {roof} allows", advice
