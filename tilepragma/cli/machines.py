"""The device of a target on this machine, and everything else that times depend on."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

from tilepragma import __version__
from tilepragma.base.user_compiler import compiler
from tilepragma.cli.devices import host_devices, machine_of, subject_of
from tilepragma.model.descriptor_files import calibrated_device
from tilepragma.tuning.database import Environment
from tilepragma.tuning.host_processor import usual_processor

if TYPE_CHECKING:
    from tilepragma.model.device import Device

#: Environment variables that make a program another one.
_SETTINGS = (
    "TILEK_DEVICE",
    "TILEK_GRAPHS",
    "TILEK_NUM_THREADS",
    "TILEK_OPENCL_FORM",
    "TILEK_SPECIALIZE",
    "TILEK_TILES",
)


def calibrated(target: str) -> Device | None:
    """The calibrated device of a target; None without a calibration."""
    return calibrated_device(subject_of(machine_of(target)).key)


def ordering(target: str, serves: str) -> Device | None:
    """The device that orders a target's versions if its launches are those of `serves`: the
    calibrated device, else for hosts a usual processor with as many cores.
    """
    known = calibrated(target)
    if known is not None or serves not in ("serial", "threads"):
        return known
    return usual_processor(host_devices()[-1].compute_units)


def environment_of(target: str, options: tuple[str, ...], program: str) -> Environment:
    """Everything that times depend on; `program` is the user's command, empty for made ones."""
    device, host = machine_of(target), host_devices()[-1]
    settings = [f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ]
    return Environment(
        target=target,
        device=device.name,
        driver=device.driver,
        machine=host.name,
        threads=1 if target == "serial" else host.compute_units,
        compiler=_compiler_version(),
        options=shlex.join([*settings, *options]),
        program=program,
        translator=__version__,
    )


def _compiler_version() -> str:
    """The first line of the C compiler's version message."""
    try:
        done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return shlex.join(compiler())
    return (done.stdout.splitlines() or [shlex.join(compiler())])[0]
