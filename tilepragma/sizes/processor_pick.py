"""What OpenCL devices that are processors take for tile sizes by default, where that is not what
threads take.

They run the launches of hosts, but each wavefront of tiles is a launch of its own, where threads go
from one wavefront to the next inside of one: tiles that are right for threads may be too small to
be worth a launch.
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
    """Of arrays of so many bytes, None: of more than any limit."""
    for most, own in size.processor:
        if most is None or (limit is not None and limit <= most):
            return own
    return size.host
