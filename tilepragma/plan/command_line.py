"""What the command line tells the planner."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import (
    ALL_TARGETS,
    LOCAL_BYTES,
    WIDEST_VECTORS,
    KernelDirective,
    Target,
    TemporalTiles,
    VectorRegisters,
)
from tilepragma.model.device import Device, Gpu


@dataclass(frozen=True)
class PlanOptions:
    """The command line: `targets` to build for (never AUTO); `temporal`: tiles of time steps, and
    `host_temporal` those on cores where they differ; `device` to plan for, None where unknown;
    `vectors`: those that the compiler's flags name.
    """

    targets: tuple[Target, ...] = ALL_TARGETS
    temporal: TemporalTiles = TemporalTiles.AUTOMATIC
    device: Device | None = None
    vectors: VectorRegisters = WIDEST_VECTORS
    host_temporal: TemporalTiles | None = None

    @property
    def local_bytes(self) -> int:
        """The shared memory of a launch: what the device gives without being asked for more."""
        return self.device.shared_per_block if isinstance(self.device, Gpu) else LOCAL_BYTES

    def applied(self, directive: KernelDirective) -> KernelDirective:
        """A kernel's directive with the command line's answers, which hold for all kernels."""
        return replace(
            directive,
            temporal=self.temporal,
            host_temporal=self.host_temporal,
            local_bytes=self.local_bytes,
            vectors=self.vectors,
        )
