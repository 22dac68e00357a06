"""The execution-time model of tiled loop nests: thesis equations (5.2)-(5.11), over many layouts.

A layout is a tile size and a thread organisation. Every array has one entry a layout, or a shape
that numpy broadcasts to that; times are in seconds. Multiprocessors are called units, so that a
processor's cores can take their role: a unit runs a tile at a time, its lanes (a warp, a vector)
run points in step. On cores a tile has no barriers between threads, hence barriers cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Overheads

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

HALF_A_TILE = 0.5
"""A border tile's share of a full one where tiles are not counted (thesis 5.3.4)."""


@dataclass(frozen=True)
class Coefficients:
    """A program's costs on a device, in seconds: `alpha` a warp of points, `beta` a point (often
    negative, thesis 5.5.3), `gamma` an element moved between device memory and shared memory.
    Numbers for all layouts or one for each.
    """

    alpha: float | Numbers
    beta: float | Numbers
    gamma: float | Numbers


@dataclass(frozen=True)
class Work:
    """The work of each layout.

    Of a full tile: `steps` is its number of intra-tile wavefronts (U_e - L_e + 1), `warps` the sum
    of their G (warps that have points), `points` the sum of their H (L_tile), `transfers` N_mem
    (elements moved in and out), `shared` bytes of shared memory. Of all tiles: `wavefronts` is the
    number of inter-tile wavefronts, `rounds` how many full tiles' time the slowest unit takes for
    all of them (`slowest_rounds`).
    """

    steps: Integers
    warps: Numbers
    points: Integers
    transfers: Integers
    shared: Integers
    wavefronts: Integers
    rounds: Numbers


@dataclass(frozen=True)
class Parts:
    """The parts of a layout's time in seconds, which sum to `total`; `tile` is a full tile's."""

    tile: Numbers
    compute: Numbers
    barriers: Numbers
    memory: Numbers
    wavefronts: Numbers
    launch: Numbers

    @property
    def total(self) -> Numbers:
        """T_total (5.8)."""
        return self.compute + self.barriers + self.memory + self.wavefronts + self.launch


def slowest_rounds(
    starts: Integers, repeats: Integers, tiles: Integers, full: Integers, share: Numbers, units: int
) -> Numbers:
    """The time of the slowest unit for each layout's tiles, in full tiles.

    The inter-tile wavefronts of layout k begin at `starts[k]` and end where the next layout's begin
    (each has at least one). An entry stands for `repeats` equal wavefronts of `tiles` tiles, of
    which `full` are full. `share`: the mean size of a layout's other tiles relative to a full one.
    """
    every = sums(repeats * slowest_unit(tiles, units), starts)
    whole = sums(repeats * slowest_unit(full, units), starts)
    return np.asarray(whole + share * (every - whole), dtype=np.float64)


def sums(values: Integers, starts: Integers) -> Integers:
    """The sum of each group of values; a non-empty group begins at each of `starts`."""
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0, dtype=np.int64)


def slowest_unit(tiles: Integers, units: int) -> Integers:
    """Tiles that the slowest unit runs in a wavefront of `tiles`: (5.9)-(5.11) in closed form,
    ceil(tiles / P).

    (5.9) makes I = ceil(tiles / (B P)) rounds, (5.11) takes B tiles' time for each but the last,
    and ceil((tiles mod B P) / P) for that. With tiles = q B P + r and 0 < r <= B P that is q B +
    ceil(r / P) = ceil(tiles / P), for any B. (For r = B P, where (5.11) as printed says 0, the last
    round is a whole one: B.) Of n tiles with f full ones, the ceil(f / P) rounds of full tiles take
    a full tile's time; the others have border tiles alone.
    """
    return -(-tiles // units)


def tile_time(work: Work, coefficients: Coefficients, barrier: float | Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """(5.7): T_tile = alpha sum G + (U - L + 3) sigma_thd + beta L_tile + gamma N_mem, as
    computation, barriers and memory.

    The sums over wavefronts of (5.2)-(5.4) are in `work`: (5.3) is linear in G and H. `barrier` is
    sigma_thd: one follows each intra-tile wavefront, one the loads and one the stores. T_mem is
    (5.5); the sum of H is L_tile (5.6).
    """
    compute = np.asarray(coefficients.alpha * work.warps + coefficients.beta * work.points, dtype=np.float64)
    barriers = np.asarray((work.steps + 2) * barrier, dtype=np.float64)
    memory = np.asarray(coefficients.gamma * work.transfers, dtype=np.float64)
    return compute, barriers, memory


def predict(
    work: Work,
    threads: int | Integers,
    blocks: int | Integers,
    units: int,
    coefficients: Coefficients,
    overheads: Overheads,
) -> Parts:
    """(5.8), (5.10): the time of the whole nest with `threads` a block and `blocks` resident on
    each unit.

    T_total = rounds T_tile + wavefronts sigma_blk + sigma_ker, where `rounds` are summed over
    inter-tile wavefronts. Inputs broadcast.
    """
    barrier = cost_at(overheads.barrier, threads)
    crossing = cost_at(overheads.wavefront, np.asarray(blocks) * units)
    compute, barriers, memory = tile_time(work, coefficients, barrier)
    tile = compute + barriers + memory
    of_tiles = (work.rounds * compute, work.rounds * barriers, work.rounds * memory)
    launch = np.broadcast_to(np.float64(overheads.kernel), tile.shape)
    return Parts(tile, *of_tiles, work.wavefronts * crossing, launch)


def cost_at(table: Sequence[tuple[int, float]], number: int | Integers) -> Numbers:
    """A table's cost of a number: interpolated, the nearest outside, 0 for an empty table."""
    if not table:
        return np.zeros(np.shape(number))
    numbers, costs = zip(*table, strict=True)
    return np.asarray(np.interp(number, numbers, costs), dtype=np.float64)
