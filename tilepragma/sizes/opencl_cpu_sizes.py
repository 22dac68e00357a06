"""Default tile sizes of OpenCL processors, where they differ from those of threads.

They run host launches, but each wavefront of tiles is a launch of its own, while threads run all
wavefronts in one launch: the best tiles for threads may be too small for a launch.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.plan.kernel_plan import SizeChoice, TileSize


def processor_choices(sizes: Sequence[TileSize]) -> tuple[SizeChoice, ...]:
    """The choices for launches of arrays of any length; none where all sizes are those of hosts."""
    if not any(size.processor for size in sizes):
        return ()
    limits = sorted({limit for size in sizes for limit, _ in size.processor if limit is not None})
    return tuple(SizeChoice(limit, None, tuple(_taken(size, limit) for size in sizes)) for limit in (*limits, None))


def _taken(size: TileSize, limit: int | None) -> int:
    """The size for arrays of at most `limit` bytes (None: larger than any limit)."""
    for most, value in size.processor:
        if most is None or (limit is not None and limit <= most):
            return value
    return size.host
