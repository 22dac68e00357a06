"""What a target runs on here, and all else that times depend on."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

from tilepragma import __version__
from tilepragma.base.user_compiler import compiler
from tilepragma.cli.devices import host_devices, machine_of, subject_of
from tilepragma.driver.target_device import calibrated_device
from tilepragma.tuning.database import Environment
from tilepragma.tuning.host_processor import usual_processor

if TYPE_CHECKING:
    from tilepragma.model.device import Device

#: The user's settings under which a program is another one.
_SETTINGS = (
    "TILEK_DEVICE",
    "TILEK_GRAPHS",
    "TILEK_NUM_THREADS",
    "TILEK_OPENCL_FORM",
    "TILEK_SPECIALIZE",
    "TILEK_TILES",
)


def calibrated(target: str) -> Device | None:
    """What a target runs on, as it was calibrated; None where it was not."""
    return calibrated_device(subject_of(machine_of(target)).key)


def ordering(target: str, serves: str) -> Device | None:
    """What the versions of a target are ordered by where its launches are those of `serves`: the
    device as it was calibrated; where it was not, and runs the launches of hosts, a usual processor
    of as many cores.
    """
    known = calibrated(target)
    if known is not None or serves not in ("serial", "threads"):
        return known
    return usual_processor(host_devices()[-1].compute_units)


def environment_of(target: str, options: tuple[str, ...], program: str) -> Environment:
    """All that times on a target depend on, for sources built with these options of the compiler,
    or for a program of the user's: the command, empty where there is none.
    """
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
    """The first line of what the C compiler says of itself."""
    try:
        done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return shlex.join(compiler())
    return (done.stdout.splitlines() or [shlex.join(compiler())])[0]
