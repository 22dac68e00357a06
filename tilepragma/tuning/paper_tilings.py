"""The tile configurations that the TileK paper evaluates on two parallel loops i and j (its Tables
2 and 3).

Threads (Table 2): one dynamic tile a loop; one thread tile on i or j, before or after that loop's
dynamic tile; the two dynamic tiles in either order. 2 x 2 x 2 = 8.

Accelerator, 1-D: one dynamic tile a loop; the gang tile on one loop and the worker tile on the
other (2), each before or after its loop's dynamic tile (4), the dynamic tiles in either order (2).
16 versions, 16 gangs and 256 workers.

Accelerator, 2-D: each loop has a gang, a worker and a dynamic tile. i takes dimension 0 and j
dimension 1, or the reverse (2); the three tiles of both loops are in one of six orders (6); the
dynamic tiles in either order (2). 24 versions, 4 x 4 gangs and 16 x 16 workers.
"""

from __future__ import annotations

import itertools

from tilepragma.base.frozen_values import dataclass

_THREADS, _GANGS_1D = "num_threads(16)", "num_gangs(16) num_workers(256)"
_GANGS_2D = "num_gangs[0](4) num_workers[0](16) num_gangs[1](4) num_workers[1](16)"
#: The dynamic tiles of i and j in the declared order, and interchanged.
_DYNAMIC = (("tile[0](dynamic)", "tile[1](dynamic)"), ("tile[1](dynamic)", "tile[0](dynamic)"))


@dataclass(frozen=True)
class Tiling:
    """Tile clauses of the loops i and j in declaration order, and the kernel directive's counts."""

    name: str
    counts: str
    i: str
    j: str


def _beside(tile: str, dynamic: str, before: bool) -> str:
    return f"{tile} {dynamic}" if before else f"{dynamic} {tile}"


def thread_tilings() -> tuple[Tiling, ...]:
    """Table 2's eight versions, in its numbering (thread1 … thread8)."""
    tilings = []
    choices = itertools.product("ij", (True, False), _DYNAMIC)
    for number, (loop, before, (dynamic_i, dynamic_j)) in enumerate(choices, 1):
        i = _beside("tile(thread)", dynamic_i, before) if loop == "i" else dynamic_i
        j = _beside("tile(thread)", dynamic_j, before) if loop == "j" else dynamic_j
        tilings.append(Tiling(f"thread{number}", _THREADS, i, j))
    return tuple(tilings)


def accelerator_tilings_1d() -> tuple[Tiling, ...]:
    """The sixteen versions of the 1-D machine."""
    tilings = []
    tiles = (("tile(gang)", "tile(worker)"), ("tile(worker)", "tile(gang)"))
    choices = itertools.product(tiles, (True, False), (True, False), _DYNAMIC)
    for number, ((tile_i, tile_j), i_before, j_before, (dynamic_i, dynamic_j)) in enumerate(choices, 1):
        i, j = _beside(tile_i, dynamic_i, i_before), _beside(tile_j, dynamic_j, j_before)
        tilings.append(Tiling(f"accelerator1d_{number}", _GANGS_1D, i, j))
    return tuple(tilings)


def accelerator_tilings_2d() -> tuple[Tiling, ...]:
    """The twenty-four versions of the 2-D machine."""
    tilings = []
    choices = itertools.product((0, 1), itertools.permutations(("dynamic", "gang", "worker")), _DYNAMIC)
    for number, (dimension, kinds, (dynamic_i, dynamic_j)) in enumerate(choices, 1):
        i = " ".join(dynamic_i if kind == "dynamic" else f"tile({kind}, {dimension})" for kind in kinds)
        j = " ".join(dynamic_j if kind == "dynamic" else f"tile({kind}, {1 - dimension})" for kind in kinds)
        tilings.append(Tiling(f"accelerator2d_{number}", _GANGS_2D, i, j))
    return tuple(tilings)
