"""What versions are ordered by where a device is calibrated, and where it is not."""

from __future__ import annotations

import pytest

from tilepragma.cli import devices
from tilepragma.model.device import Processor
from tilepragma.tuning.host_processor import usual_processor


def test_cores_that_nobody_calibrated_are_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "calibrated", lambda target: None)
    result = devices.ordering("opencl", "threads")
    assert isinstance(result, Processor)
    assert result.name == "a processor"
    assert result.cores == devices.host_devices()[-1].compute_units
    assert devices.ordering("opencl", "opencl") is None, "of a GPU nothing is guessed"


def test_a_calibrated_device_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    own = usual_processor(3)
    monkeypatch.setattr(devices, "calibrated", lambda target: own)
    assert devices.ordering("threads", "threads") is own


def test_rates_of_a_usual_processor_are_those_of_its_cores() -> None:
    one, four = usual_processor(1), usual_processor(4)
    assert isinstance(one, Processor)
    assert isinstance(four, Processor)
    assert (one.cores, four.cores) == (1, 4)
    assert four.double_rate == 4 * one.double_rate
