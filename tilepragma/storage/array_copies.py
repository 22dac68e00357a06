"""Arrays in the place of the user's while sweeps in another order run: split by colours, or in lanes."""

from __future__ import annotations

from tilepragma.schedule.sor_redblack import asks_for_colours
from tilepragma.schedule.strategy import Region
from tilepragma.storage.array_expansion import ExpandedKernel
from tilepragma.storage.deinterleaving import with_deinterleaved_arrays
from tilepragma.storage.dimension_lifting import with_lifted_arrays


def with_array_copies(region: Region) -> ExpandedKernel | None:
    """The region of sweeps by colours on arrays of which each holds one class of points, or by subdomains on arrays in lanes; None of all else."""
    if asks_for_colours(region.kernel):
        return with_deinterleaved_arrays(region)
    return with_lifted_arrays(region) if region.ordered else None
