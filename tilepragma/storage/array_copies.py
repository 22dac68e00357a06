"""Copied arrays for reordered sweeps: de-interleaved by colours, or dimension-lifted."""

from __future__ import annotations

from tilepragma.schedule.sor_redblack import asks_for_colours
from tilepragma.schedule.strategy import Region
from tilepragma.storage.array_expansion import ExpandedKernel
from tilepragma.storage.deinterleaving import with_deinterleaved_arrays
from tilepragma.storage.dimension_lifting import with_lifted_arrays


def with_array_copies(region: Region) -> ExpandedKernel | None:
    """Colour sweeps on de-interleaved, subdomain sweeps on lifted arrays; None for others."""
    if asks_for_colours(region.kernel):
        return with_deinterleaved_arrays(region)
    return with_lifted_arrays(region) if region.ordered else None
