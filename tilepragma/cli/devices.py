"""`tilepragma devices`: this machine's devices, numbered as for TILEK_DEVICE, and descriptors."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.cli import runtime_library
from tilepragma.cli.report import print_diagnostics, print_error
from tilepragma.tuning.calibration import calibrated_on
from tilepragma.tuning.calibration_samples import CalibrationTarget


@dataclass(frozen=True)
class Device:
    """A device of a target, `number` None and `name` the reason if absent. `memory` in bytes."""

    target: str
    number: int | None
    name: str
    driver: str = ""
    kind: str = ""
    compute_units: int = 0
    memory: int = 0


def print_devices() -> int:
    """Print the devices, then the descriptors, whatever fails; returns the exit status."""
    status = 0
    try:
        for device in [*host_devices(), *accelerators()]:
            print(line(device, calibrated_on(subject_of(device)) if device.number is not None else None))
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        runtime_library.report(error)
        status = 1
    return max(status, print_descriptors())


def print_descriptors() -> int:
    """Print the descriptors, then their faults; returns the exit status, 1 with faults."""
    from tilepragma.model.descriptor_files import known_devices

    print("\nDescriptors, for --device NAME:")
    try:
        known = list(known_devices())
    except OSError as error:
        print_error("tilepragma", f"{error.filename}: {error.strerror}")
        return 1
    for descriptor in known:
        print(f"  {descriptor.name:10}  {descriptor.figures}{'; your own' if descriptor.is_users else ''}")
    faults = [fault for entry in known for fault in entry.faults]
    print_diagnostics(faults, "", None)
    return 1 if faults else 0


def subject_of(device: Device) -> CalibrationTarget:
    """A device of this machine as a target of calibration."""
    return CalibrationTarget(
        device.target, device.number or 0, device.name, device.kind == "gpu", device.compute_units, device.memory
    )


def line(device: Device, calibrated: str | None = None) -> str:
    """A device in one line, with the date of its calibration."""
    if device.number is None:
        return f"{device.target:8} -  not here: {device.name}"
    details = [
        device.driver,
        device.kind.upper(),
        f"{device.compute_units} compute unit{'s' * (device.compute_units != 1)}" if device.compute_units else "",
    ]
    details.append(f"{device.memory / 2**30:.1f} GiB" if device.memory else "")
    details.append(f"calibrated {calibrated}" if calibrated else "")
    return f"{device.target:8} {device.number}  {device.name}  ({', '.join(detail for detail in details if detail)})"


def host_devices() -> list[Device]:
    """The devices of serial and threads."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    name = _processor_name()
    return [
        Device("serial", 0, name, kind="cpu", compute_units=1),
        Device("threads", 0, name, kind="cpu", compute_units=cores),
    ]


def machine_of(target: str) -> Device:
    """The device of a target, chosen by TILEK_DEVICE as in the runtime."""
    host = host_devices()[-1]
    if target in ("serial", "threads"):
        return host
    choice = os.environ.get("TILEK_DEVICE", "")
    try:
        present = [
            accelerator
            for accelerator in accelerators()
            if accelerator.target == target and accelerator.number is not None
        ]
    except (runtime_library.RuntimeLibraryError, OSError):
        present = []
    chosen = [
        device
        for device in present
        if choice in ("", str(device.number)) or (not choice.isdigit() and choice in device.name)
    ]
    return chosen[0] if chosen else host


def _processor_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return "the host's processor"
    names = [entry.partition(":")[2].strip() for entry in text.splitlines() if entry.startswith("model name")]
    return names[0] if names else "the host's processor"


def accelerators() -> list[Device]:
    """OpenCL and CUDA devices, listed by the runtime. Raises RuntimeLibraryError."""
    done = subprocess.run([str(_lister())], capture_output=True, text=True, errors="replace", check=False, timeout=120)
    devices = [_parsed(entry.split("\t")) for entry in done.stdout.splitlines()]
    if done.returncode:
        raise runtime_library.RuntimeLibraryError(
            f"asking for devices failed with status {done.returncode}: {done.stderr.strip()}"
        )
    return devices


def _parsed(columns: list[str]) -> Device:
    if columns[1] == "-":
        return Device(columns[0], None, columns[2])
    target, number, name, driver, kind, units, memory = columns
    return Device(target, int(number), name, driver, kind, int(units), int(memory))


def _lister() -> Path:
    """The listing program, built beside the runtime library on first use."""
    library = runtime_library.library()
    program = library.with_name("list_devices")
    if not program.is_file():
        beside = program.with_name(f"list_devices.{os.getpid()}.new")
        runtime_library.build_tool([runtime_library.tools_folder() / "list_devices.c"], (), beside)
        beside.rename(program)
    return program
