"""The machine that a table is of: what it is, and the limits it reaches."""

from __future__ import annotations

import datetime
import os
import platform
import re
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, environment, output_of
from benchmarks.suite.builds import COMPILE, HERE, BuildError, Workplace, tool
from benchmarks.suite.results import Limits


def measured_limits(place: Workplace) -> Limits:
    """Copy bandwidth and peak arithmetic on as many threads as everything else gets. Raises BuildError."""
    options = ("-std=gnu99", "-O3", "-march=native", "-fopenmp", "-o", "limits")
    tool((*COMPILE, *options, HERE / "limits.c"), place.scratch)
    text = output_of(("./limits",), place.scratch, OMP_NUM_THREADS=str(place.threads), OMP_PROC_BIND="true")
    bandwidth, double, single = map(float, text.split())
    return Limits(bandwidth, {"double": double, "float": single})


def description(place: Workplace) -> dict[str, Any]:
    """What RESULTS.md says of the machine."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": place.threads,
        "system": platform.platform(),
        "compiler": _first_line((*COMPILE, "--version")),
        "flags": " ".join(place.flags),
        "extents": "parameters" if place.parametric else "numbers",
        "openblas": None if place.library is None else place.library.path.name,
        "peers": [peer.name for peer in place.tools],
        "commit": _first_line(("git", "-C", str(ROOT), "describe", "--always", "--dirty")),
        "settings": {name: value for name, value in environment().items() if name.startswith("TILEK_")},
        "load": os.getloadavg()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _first_line(command: tuple[str, ...]) -> str:
    try:
        return (tool(command, ROOT).splitlines() or [""])[0]
    except BuildError:
        return ""
