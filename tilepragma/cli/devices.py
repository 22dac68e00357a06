"""`tilepragma devices`: this machine's devices and descriptors, and the calibration of each."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma import __version__
from tilepragma.base.user_compiler import compiler
from tilepragma.cli import runtime_library
from tilepragma.cli.output import measuring_progress, new_table, print_diagnostics, print_error, print_table, warn
from tilepragma.model.descriptor_files import calibrated_device, known_devices
from tilepragma.tuning import calibration
from tilepragma.tuning.calibration import Measured, calibrated_on
from tilepragma.tuning.calibration_samples import CalibrationError, ListedDevice, rows, run, run_again
from tilepragma.tuning.database import Environment
from tilepragma.tuning.host_processor import cpu_facts, our_cpus, this_host, usual_processor
from tilepragma.tuning.programs import captured

if TYPE_CHECKING:
    from tilepragma.model.device import Device


#: The longest time to wait for the list of devices.
_SECONDS = 120


def print_devices() -> int:
    """Print the devices, then the descriptors, whatever fails; returns the exit status."""
    status, devices = 0, host_devices()
    try:
        devices += accelerators()
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        status = runtime_library.report(error)
    for device in devices:
        print(line(device, calibrated_on(device) if device.number is not None else None))
    return max(status, print_descriptors())


def print_descriptors() -> int:
    """Print the descriptors, then their faults; returns the exit status, 1 with faults."""
    print("\nDescriptors, for --device NAME:")
    try:
        known = list(known_devices())
    except OSError as error:
        print_error(f"{error.filename}: {error.strerror}")
        return 1
    for descriptor in known:
        print(f"  {descriptor.name:10}  {descriptor.figures}{'; your own' if descriptor.is_users else ''}")
    faults = [fault for entry in known for fault in entry.faults]
    print_diagnostics(faults, "", None)
    return 1 if faults else 0


def line(device: ListedDevice, calibrated: str | None = None) -> str:
    """A device in one line, with the date of its calibration."""
    if device.number is None:
        return f"{device.target:8} -  not here: {device.name}"
    details = (
        device.driver,
        device.kind.upper(),
        f"{device.compute_units} compute unit{'s' * (device.compute_units != 1)}" if device.compute_units else "",
        f"{device.memory / 2**30:.1f} GiB" if device.memory else "",
        f"calibrated {calibrated}" if calibrated else "",
    )
    return f"{device.target:8} {device.number}  {device.name}  ({', '.join(filter(None, details))})"


def host_devices() -> list[ListedDevice]:
    """The devices of serial and threads."""
    name = cpu_facts().get("model name", "the host's processor")
    counts = {"serial": 1, "threads": len(our_cpus())}
    return [ListedDevice(target, 0, name, kind="cpu", compute_units=count) for target, count in counts.items()]


def machine_of(target: str) -> ListedDevice:
    """The device of a target, chosen by TILEK_DEVICE as in the runtime."""
    host = host_devices()[-1]
    if target in ("serial", "threads"):
        return host
    choice = os.environ.get("TILEK_DEVICE", "")
    try:
        present = [device for device in accelerators() if device.target == target and device.number is not None]
    except (runtime_library.RuntimeLibraryError, OSError):
        return host
    for device in present:
        if choice in ("", str(device.number)) or (not choice.isdigit() and choice in device.name):
            return device
    return host


def accelerators() -> list[ListedDevice]:
    """OpenCL and CUDA devices, listed by the runtime. Raises RuntimeLibraryError."""
    try:
        done = captured([str(_lister())], timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise runtime_library.RuntimeLibraryError(f"asking for devices took longer than {_SECONDS} s") from None
    devices = [_parsed(entry.split("\t")) for entry in done.stdout.splitlines()]
    if done.returncode:
        words = f"asking for devices failed with status {done.returncode}: {done.stderr.strip()}"
        raise runtime_library.RuntimeLibraryError(words)
    return devices


def _parsed(columns: list[str]) -> ListedDevice:
    if columns[1] == "-":
        return ListedDevice(columns[0], None, columns[2])
    target, number, name, driver, kind, units, memory = columns
    return ListedDevice(target, int(number), name, driver, kind, int(units), int(memory))


def _lister() -> Path:
    """The listing program, built beside the runtime library on first use."""
    library = runtime_library.library()
    program = library.with_name("list_devices")
    if not program.is_file():
        beside = program.with_name(f"list_devices.{os.getpid()}.new")
        runtime_library.build_tool([runtime_library.tools_folder() / "list_devices.c"], (), beside)
        beside.rename(program)
    return program


# -- machines


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
    return calibrated_device(machine_of(target).key)


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
        done = captured([*compiler(), "--version"])
    except OSError:
        return shlex.join(compiler())
    return (done.stdout.splitlines() or [shlex.join(compiler())])[0]


# -- calibrate


#: Options for this processor, as compilers spell them; they allow fused multiply-adds.
_NATIVE = (("-march=native",), ("-mcpu=native",), ())
_FAST = ("-O3", "-ffp-contract=fast")


def calibrate(quick: bool) -> int:
    """Measure all devices, print and store the results; returns the exit status, 1 on failure."""
    try:
        with tempfile.TemporaryDirectory(prefix="tilepragma-") as folder:
            program = _calibration_program(Path(folder))
            measured = _measure_all(program, quick)
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        return runtime_library.report(error)
    return 0 if measured and _keep_all(measured) else 1


def _keep_all(measured: list[Measured]) -> bool:
    now = datetime.now()
    try:
        for device in measured:
            _show_measured(device, calibration.keep(device.device, device.subject, now))
    except OSError as error:
        print_error(f"what was measured cannot be kept: {error}; set TILEK_DATA_DIR to a folder of yours")
        return False
    return True


def _calibration_program(folder: Path) -> Path:
    """Build the calibration program for this processor. Raises RuntimeLibraryError."""
    program = folder / "calibrate"
    sources = sorted(runtime_library.tools_folder().glob("calibrate*.c"))
    complaints = []
    for native in _NATIVE:
        try:
            runtime_library.build_tool(sources, [*_FAST, *native], program)
        except runtime_library.RuntimeLibraryError as error:
            complaints.append(error)
        else:
            return program
    raise complaints[-1]


def _measure_all(program: Path, quick: bool) -> list[Measured]:
    how = calibration.QUICK if quick else calibration.FULL
    host = this_host()
    listed = [*host_devices(), *accelerators()]
    subjects = [device for device in listed if device.number is not None and device.target != "serial"]
    words = {subject: calibration.words_for(subject, host, how) for subject in subjects}
    count = sum(map(len, words.values()))
    milliseconds = calibration.milliseconds_a_number(how, count)
    measured: list[Measured] = []
    with measuring_progress() as progress:
        task = progress.add_task("calibrating", total=count)
        for subject in subjects:
            progress.update(task, description=subject.key)
            try:
                results = run(program, subject, words[subject], milliseconds, lambda _: progress.advance(task))
                if not quick:
                    results = run_again(program, subject, results, milliseconds)
                measured.append(calibration.described(subject, host, how, results, measured))
            except CalibrationError as failure:
                warn(progress, f"{subject.key} ({subject.name}) is left out: {failure}")
            through = subjects[: subjects.index(subject) + 1]
            progress.update(task, completed=sum(len(words[ended]) for ended in through))
    return measured


# -- Output


def _show_measured(measured: Measured, path: Path) -> None:
    table = new_table(f"{measured.subject.key}  {measured.subject.name}", ["what"], ["measured", "spread"])
    for row in rows(measured.findings, measured.labels):
        table.add_row(*row)
    print_table(table)
    wide = measured.findings.wide()
    if wide:
        many = f"{len(wide)} measurement{'s' * (len(wide) != 1)} spread by more than 20 %"
        print(f"  {many}, {wide[0].word} most: something else ran; calibrate again on a quiet machine")
    print(f"  kept in {path}")
