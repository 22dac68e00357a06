"""The machine that a table is of: what it is, and the limits it reaches."""

from __future__ import annotations

import datetime
import os
import platform
from typing import Any

from benchmarks.measure import ROOT, environment, output_of
from benchmarks.suite.builds import COMPILE, HERE, BuildError, Workplace, tool
from benchmarks.suite.results import Limits
from tilepragma.cli.devices import ListedDevice, accelerators, host_devices, line


def measured_limits(place: Workplace) -> Limits:
    """Copy bandwidth and peak arithmetic on as many threads as everything else gets. Raises BuildError."""
    options = ("-std=gnu99", "-O3", "-march=native", "-fopenmp", "-o", "limits")
    tool((*COMPILE, *options, HERE / "limits.c"), place.scratch)
    text = output_of(("./limits",), place.scratch, OMP_NUM_THREADS=str(place.threads), OMP_PROC_BIND="true")
    bandwidth, double, single = map(float, text.split())
    elsewhere = {device.target for device in present_devices() if device.kind != "cpu"}
    return Limits(bandwidth, {"double": double, "float": single}, tuple(sorted(elsewhere)))


def present_devices() -> list[ListedDevice]:
    """The devices that our targets would use: the first of each."""
    result: dict[str, ListedDevice] = {}
    for device in (*host_devices(), *accelerators()):
        if device.number is not None:
            result.setdefault(device.target, device)
    return list(result.values())


def description(place: Workplace) -> dict[str, Any]:
    """What RESULTS.md says of the machine."""
    return {
        "devices": [line(device) for device in present_devices()],
        "cores": len(os.sched_getaffinity(0)),
        "threads": place.threads,
        "system": platform.platform(),
        "compiler": _first_line((*COMPILE, "--version")),
        "flags": " ".join(place.flags),
        "quick": place.quick,
        "extents": "parameters" if place.parametric else "numbers",
        "openblas": None if place.library is None else place.library.path.name,
        "peers": [peer.name for peer in place.tools],
        "commit": _first_line(("git", "-C", str(ROOT), "describe", "--always", "--dirty")),
        "settings": {name: value for name, value in environment().items() if name.startswith("TILEK_")},
        "load": os.getloadavg()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def _first_line(command: tuple[str, ...]) -> str:
    try:
        return (tool(command, ROOT).splitlines() or [""])[0]
    except BuildError:
        return ""
