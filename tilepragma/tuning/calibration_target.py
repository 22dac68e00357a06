"""The devices that are measured, and the error of a failed measurement."""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass


class CalibrationError(Exception):
    """A device could not be measured; the message says why."""


@dataclass(frozen=True)
class CalibrationTarget:
    """A target's device by its number, as `tilepragma devices` lists it. `memory` in bytes or 0."""

    target: str
    number: int
    name: str
    is_gpu: bool
    units: int
    memory: int

    @property
    def key(self) -> str:
        """The name of its descriptor: `threads`, `opencl-0`."""
        return self.target if self.target == "threads" else f"{self.target}-{self.number}"
