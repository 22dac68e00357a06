"""The devices to plan for: described by name or file, or measured on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilepragma.model.descriptor_files import KnownDevice
    from tilepragma.model.device import Device


def device_named(name: str) -> Device:
    """The device of a name, or of its descriptor's path (docs/DEVICES.md). Raises LookupError for
    an unknown name, with the known ones; OSError where a file cannot be read; LocatedError where it
    is no descriptor.
    """
    from tilepragma.model.descriptor_files import named_device

    return named_device(name)


def known_devices() -> Iterable[KnownDevice]:
    """Every descriptor that has a name. Raises OSError where one cannot be read."""
    from tilepragma.model.descriptor_files import known_devices as known

    return known()


def calibrated_device(key: str = "threads") -> Device | None:
    """This machine's device, as `tilepragma devices --calibrate` measured it, by descriptor name.
    None where it was not measured, or its file is broken.
    """
    from tilepragma.base.diagnostics import LocatedError
    from tilepragma.model.descriptor_files import read_descriptor

    try:
        return read_descriptor(calibration_file(key))
    except (OSError, LocatedError):
        return None


def calibration_file(key: str) -> Path:
    """The file in which `tilepragma devices --calibrate` keeps its measurements."""
    from tilepragma.model.descriptor_files import users_descriptors

    return users_descriptors() / f"{key}.json"
