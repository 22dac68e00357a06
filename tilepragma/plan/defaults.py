"""What the command line says to the planner."""

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
class PlanDefaults:
    """What the command line says: `targets` are those to build for (never AUTO); `temporal`: tiles
    of time steps, `host_temporal` those on cores where they are others; `device`: the one to plan
    for, None where nothing is known of it; `vectors`: those that the compiler's flags name.
    """

    targets: tuple[Target, ...] = ALL_TARGETS
    temporal: TemporalTiles = TemporalTiles.AUTOMATIC
    device: Device | None = None
    vectors: VectorRegisters = WIDEST_VECTORS
    host_temporal: TemporalTiles | None = None

    @property
    def local_bytes(self) -> int:
        """What a launch may take of a gang's memory: what the device gives without being asked for more."""
        return self.device.shared_per_block if isinstance(self.device, Gpu) else LOCAL_BYTES

    def applied(self, directive: KernelDirective) -> KernelDirective:
        """A kernel's directive with what is said of all kernels."""
        return replace(
            directive,
            temporal=self.temporal,
            host_temporal=self.host_temporal,
            local_bytes=self.local_bytes,
            vectors=self.vectors,
        )
