"""What is measured, and that it may fail."""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass


class CalibrationError(Exception):
    """A device could not be measured; the message says why."""


@dataclass(frozen=True)
class CalibrationTarget:
    """What is measured: a target's device by its number, with what `tilepragma devices` knows of it. `memory` in bytes, 0 where unknown."""

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
