"""Measurements as the user's descriptors, by target and number (`threads`, `cuda-0`)."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from tilepragma.base.diagnostics import LocatedError
from tilepragma.base.files import file_bytes
from tilepragma.model.descriptor_checks import device_of
from tilepragma.model.descriptor_files import descriptor_text, users_descriptors, write_descriptor
from tilepragma.model.device import Device
from tilepragma.tuning.calibration_target import CalibrationError, CalibrationTarget

_CALIBRATED = "calibrated "
_DAY = len("2026-01-01")


def checked(device: Device, subject: CalibrationTarget) -> Device:
    """The device. Raises CalibrationError if its descriptor would be refused."""
    try:
        device_of(descriptor_text(device, "measured"), subject.key)
    except LocatedError as faults:
        raise CalibrationError(f"what was measured makes no sense: {faults.diagnostics[0].message}") from None
    return device


def keep(device: Device, subject: CalibrationTarget, now: datetime) -> Path:
    """Write the subject's descriptor atomically; returns its path. Raises OSError."""
    source = f"{_CALIBRATED}{now:%Y-%m-%d %H:%M} by tilepragma devices --calibrate"
    return write_descriptor(device, subject.key, source)


def calibrated_on(subject: CalibrationTarget) -> str | None:
    """The day of this device's calibration, `2026-11-22`; None without one."""
    try:
        text = file_bytes(users_descriptors() / f"{subject.key}.json")
        values = json.loads(text)
    except (OSError, ValueError):
        return None
    if not isinstance(values, dict) or values.get("name") != subject.name:
        return None
    source = values.get("source")
    if not isinstance(source, str) or not source.startswith(_CALIBRATED):
        return None
    return source[len(_CALIBRATED) :][:_DAY]
