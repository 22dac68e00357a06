"""Arrays in the place of the user's while sweeps in another order run: split by colours, or in lanes."""

from __future__ import annotations

from tilepragma.schedule.sor_redblack import asks_for_colours
from tilepragma.schedule.strategy import Region
from tilepragma.storage.array_expansion import OwnKernel
from tilepragma.storage.deinterleaving import with_split_arrays
from tilepragma.storage.dimension_lifting import with_lane_arrays


def with_other_arrays(region: Region) -> OwnKernel | None:
    """The region of sweeps by colours on arrays of which each holds one class of points, or by subdomains on arrays in lanes; None of all else."""
    if asks_for_colours(region.kernel):
        return with_split_arrays(region)
    return with_lane_arrays(region) if region.ordered else None
