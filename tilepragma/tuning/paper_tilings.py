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


@dataclass(frozen=True)
class Tiling:
    """Tile clauses of the loops i and j in declaration order, and the kernel directive's counts."""

    name: str
    counts: str
    i: tuple[str, ...]
    j: tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """The counts of the abstract machine, by default those of the paper."""

    threads: int = 16
    gangs: int = 16
    workers: int = 256
    gangs_2d: tuple[int, int] = (4, 4)
    workers_2d: tuple[int, int] = (16, 16)


PAPER = Machine()


def _dynamic(interchanged: bool) -> tuple[str, str]:
    orders = (1, 0) if interchanged else (0, 1)
    return f"tile[{orders[0]}](dynamic)", f"tile[{orders[1]}](dynamic)"


def _place(tile: str, dynamic: str, before: bool) -> tuple[str, ...]:
    return (tile, dynamic) if before else (dynamic, tile)


def thread_tilings(machine: Machine = PAPER) -> tuple[Tiling, ...]:
    """Table 2's eight versions, in its numbering (thread1 … thread8)."""
    tilings = []
    choices = itertools.product("ij", (True, False), (False, True))
    for number, (loop, before, interchanged) in enumerate(choices, 1):
        dynamic_i, dynamic_j = _dynamic(interchanged)
        i = _place("tile(thread)", dynamic_i, before) if loop == "i" else (dynamic_i,)
        j = _place("tile(thread)", dynamic_j, before) if loop == "j" else (dynamic_j,)
        tilings.append(Tiling(f"thread{number}", f"num_threads({machine.threads})", i, j))
    return tuple(tilings)


def accelerator_tilings_1d(machine: Machine = PAPER) -> tuple[Tiling, ...]:
    """The sixteen versions of the 1-D machine."""
    counts = f"num_gangs({machine.gangs}) num_workers({machine.workers})"
    tilings = []
    choices = itertools.product("ij", (True, False), (True, False), (False, True))
    for number, (gang_loop, i_before, j_before, interchanged) in enumerate(choices, 1):
        dynamic_i, dynamic_j = _dynamic(interchanged)
        tile_i, tile_j = ("tile(gang)", "tile(worker)") if gang_loop == "i" else ("tile(worker)", "tile(gang)")
        i, j = _place(tile_i, dynamic_i, i_before), _place(tile_j, dynamic_j, j_before)
        tilings.append(Tiling(f"accelerator1d_{number}", counts, i, j))
    return tuple(tilings)


def accelerator_tilings_2d(machine: Machine = PAPER) -> tuple[Tiling, ...]:
    """The twenty-four versions of the 2-D machine."""
    counts = " ".join(
        f"num_gangs[{d}]({machine.gangs_2d[d]}) num_workers[{d}]({machine.workers_2d[d]})" for d in range(2)
    )
    tilings = []
    choices = itertools.product((0, 1), itertools.permutations(("dynamic", "gang", "worker")), (False, True))
    for number, (dimension_i, kinds, interchanged) in enumerate(choices, 1):
        dynamic_i, dynamic_j = _dynamic(interchanged)
        i = tuple(dynamic_i if kind == "dynamic" else f"tile({kind}, {dimension_i})" for kind in kinds)
        j = tuple(dynamic_j if kind == "dynamic" else f"tile({kind}, {1 - dimension_i})" for kind in kinds)
        tilings.append(Tiling(f"accelerator2d_{number}", counts, i, j))
    return tuple(tilings)
