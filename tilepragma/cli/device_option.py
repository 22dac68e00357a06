"""`--device NAME`: the device to plan for, or what is wrong with the name or its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import LocatedError
from tilepragma.cli.report import print_diagnostics

if TYPE_CHECKING:
    from tilepragma.model.device import Device


class DeviceOptionError(Exception):
    """No such device. `status` is the exit status; an empty message was printed already."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def chosen_device(option: str, name: str) -> Device | None:
    """The device of the option's value, None without a value. Raises DeviceOptionError."""
    if not name:
        return None
    from tilepragma.model.descriptor_files import named_device

    try:
        return named_device(name)
    except LookupError as error:
        raise DeviceOptionError(f"{option}: {error}", 2) from None
    except OSError as error:
        raise DeviceOptionError(f"{option}: {error.filename or name}: {error.strerror}", 2) from None
    except LocatedError as faults:
        print_diagnostics(faults.diagnostics, name, None)
        raise DeviceOptionError("", 1) from None
