"""Where descriptors lie, and how names find them: the user's first, then the package's."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostic, LocatedError
from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.user_folders import data_folder
from tilepragma.model.descriptor_checks import device_of
from tilepragma.model.device import Device, Gpu, Processor

_SUFFIX = ".json"


@dataclass(frozen=True)
class KnownDevice:
    """A named descriptor. `device` is None for a faulty file, and `faults` say why."""

    name: str
    path: Path
    is_users: bool
    device: Device | None
    faults: tuple[Diagnostic, ...] = ()

    @property
    def figures(self) -> str:
        """The kind of device, its main figures, and whether it was calibrated, in one line."""
        if self.device is None:
            return f"faulty: {self.path}"
        measured = "not calibrated" if self.device.overheads is None else "calibrated"
        return f"{_KINDS[type(self.device)]}  {self.device.name}  ({', '.join(_figures(self.device))})  {measured}"


_KINDS: dict[type[Device], str] = {Gpu: "GPU", Processor: "CPU"}


def _figures(device: Device) -> Iterator[str]:
    if isinstance(device, Gpu):
        yield f"{device.multiprocessors} multiprocessors"
        yield f"{device.shared_per_multiprocessor / 2**10:g} KiB shared"
    else:
        yield f"{device.cores} core{'s' * (device.cores != 1)}"
        yield f"{8 * device.vector}-bit vectors"
    yield f"{device.float_rate / 1e12:.3g} TFLOP/s"
    memory = device.memories[-1]
    if memory.bandwidth is not None:
        yield f"{memory.bandwidth / 1e9:.4g} GB/s"


def users_descriptors() -> Path:
    """The folder of the user's descriptors, `devices` in the data folder; it may not exist yet."""
    return data_folder() / "devices"


def our_descriptors() -> Path:
    """The folder of the descriptors that ship with the package."""
    return Path(__file__).parent / "descriptors"


def named_device(name: str) -> Device:
    """The device of a name, or of a path (which ends in .json or has a slash).

    Raises LookupError for an unknown name (the message lists the known ones), OSError if the file
    cannot be read, LocatedError if it is no descriptor.
    """
    if name.endswith(_SUFFIX) or "/" in name or os.sep in name:
        return device_of(Path(name).read_bytes().decode("utf-8", "replace"), name)  # a pipe will do
    paths = _paths()
    wanted = name.strip().lower()
    if wanted not in paths:
        close = difflib.get_close_matches(wanted, paths, 1, 0.5)
        near = f" (did you mean '{close[0]}'?)" if close else ""
        known = ", ".join(sorted(paths))
        raise LookupError(
            f"no device is called '{name}'{near}; known are {known}, or the path of a descriptor, FILE.json"
        )
    return read_descriptor(paths[wanted])


def read_descriptor(path: Path) -> Device:
    """The device that a file describes. Raises OSError, and LocatedError if it is no descriptor."""
    return device_of(file_bytes(path).decode("utf-8", "replace"), str(path))


def calibration_file(key: str) -> Path:
    """The file in which `tilepragma devices --calibrate` keeps its measurements."""
    return users_descriptors() / f"{key}{_SUFFIX}"


def calibrated_device(key: str = "threads") -> Device | None:
    """This machine's device, as `tilepragma devices --calibrate` measured it, by descriptor name.
    None where it was not measured, or its file is broken.
    """
    try:
        return read_descriptor(calibration_file(key))
    except (OSError, LocatedError):
        return None


def write_descriptor(device: Device, name: str, source: str) -> Path:
    """Store a descriptor in the user's folder under a name; `source` is the origin of the figures.
    Returns its path. Raises OSError.
    """
    path = calibration_file(name.lower())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, descriptor_text(device, source).encode())
    return path


def descriptor_text(device: Device, source: str) -> str:
    """The descriptor of a device, as `device_of` reads it."""
    kind = "gpu" if isinstance(device, Gpu) else "processor"
    return json.dumps({"kind": kind, "source": source, **asdict(device)}, indent=2) + "\n"


def known_devices() -> Iterator[KnownDevice]:
    """All named descriptors, sorted; the user's hide the package's. Raises OSError."""
    folder = users_descriptors()
    for name, path in sorted(_paths().items()):
        try:
            yield KnownDevice(name, path, path.parent == folder, read_descriptor(path))
        except LocatedError as faults:
            yield KnownDevice(name, path, path.parent == folder, None, faults.diagnostics)


def _paths() -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for folder in (our_descriptors(), users_descriptors()):
        if folder.is_dir():
            paths |= {path.stem.lower(): path for path in folder.iterdir() if path.suffix == _SUFFIX}
    return paths
