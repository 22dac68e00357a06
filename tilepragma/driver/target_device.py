"""The devices that a translation may plan for: described by name or file, or measured on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilepragma.model.descriptor_files import KnownDevice
    from tilepragma.model.device import Device


def device_named(name: str) -> Device:
    """The device of a name, or of the path of its descriptor (docs/DEVICES.md).

    Raises LookupError for an unknown name, with those that are known; OSError where a file cannot
    be read; LocatedError where it is no descriptor.
    """
    from tilepragma.model.descriptor_files import named_device

    return named_device(name)


def known_devices() -> Iterable[KnownDevice]:
    """Every descriptor that can be named. Raises OSError where one cannot be read."""
    from tilepragma.model.descriptor_files import known_devices as known

    return known()


def calibrated_device(key: str = "threads") -> Device | None:
    """What is here as `tilepragma devices --calibrate` has measured it, by the name of its
    descriptor; None where it has not, or its file was broken since.
    """
    from tilepragma.base.diagnostics import LocatedError
    from tilepragma.model.descriptor_files import read_descriptor

    try:
        return read_descriptor(calibration_file(key))
    except (OSError, LocatedError):
        return None


def calibration_file(key: str) -> Path:
    """Where `tilepragma devices --calibrate` keeps what it has measured."""
    from tilepragma.model.descriptor_files import users_descriptors

    return users_descriptors() / f"{key}.json"
