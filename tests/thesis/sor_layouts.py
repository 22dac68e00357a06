"""The thesis's SOR solvers (chapter 5) as input of the model: what a tile and its wavefronts are,
in closed form.

A sweep of the d-dimensional solver makes a[x] the mean of itself and its 2 d neighbours, in place:
d = 1, 2, 3 for 3, 5 and 7 points. Hyperplanes are t, t + x_1, ..., t + x_d; a tile is s_1 x s_2 x
... x s_m points of these (m = d + 1), s_1 along t.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tests.thesis import box_wavefronts, skewed_tiles
from tests.thesis.skewed_tiles import SkewedNest
from tests.thesis.tile_search import TileWork
from tilepragma.model.execution_time import Integers, Numbers


def elements_met(sizes: Integers) -> Integers:
    """N_mem: the elements that a tile of each row reads, its border included, each once: (s_2 + 2)
    + (s_1 - 1) in one dimension.

    A step reads a box and its 2 d faces, and lies one place further along (1, ..., 1) than the step
    after it; those of its elements count again that no other step has read. They are stored from
    the same buffer. With loads and stores counted apart, no layout of the 1-D solver would reach
    the thesis's reuse of 300 in 16 KB; counted once, 2.7 million do (the thesis: 3.0 million), and
    the bounds of D printed there are its limits.
    """
    edges = list(sizes[:, 1:].T)
    faces = [edges[:k] + edges[k + 1 :] for k in range(len(edges))]
    step = _volume(edges, sizes) + 2 * sum(_volume(face, sizes) for face in faces)
    again = _one_end_at_most(edges, sizes) + sum(_one_end_at_most(face, sizes) for face in faces)
    return np.asarray(step + (sizes[:, 0] - 1) * (step - again), dtype=np.int64)


def _volume(edges: list[Integers], sizes: Integers) -> Integers:
    return np.prod([np.ones(len(sizes), dtype=np.int64), *edges], axis=0, dtype=np.int64)


def _one_end_at_most(edges: list[Integers], sizes: Integers) -> Integers:
    """Points of a box that are last in one dimension or in none: those whose successor along (1, ..., 1) is in the box or on a face."""
    shorter = [edge - 1 for edge in edges]
    inner = combinations(shorter, len(edges) - 1) if edges else ()
    return np.asarray(_volume(shorter, sizes) + sum(_volume(list(some), sizes) for some in inner), dtype=np.int64)


def elements_staged(sizes: Integers) -> Integers:
    """Elements of the buffer in shared memory: the box around what is read."""
    return np.prod(sizes[:, 1:] + sizes[:, :1] + 1, axis=1, dtype=np.int64)


@dataclass(frozen=True)
class Sor:
    """A solver of `steps` sweeps over an array of `extents` inner elements of four bytes, on a device of `units` with that warp."""

    steps: int
    extents: tuple[int, ...]
    units: int
    warp: int

    @property
    def nest(self) -> SkewedNest:
        return SkewedNest((self.steps, *self.extents), (1,) * len(self.extents))

    def work(self, sizes: Integers) -> TileWork:
        """Everything counted."""
        warps = box_wavefronts.warps_of_boxes(sizes, self.warp)
        return self._work(sizes, warps, skewed_tiles.tile_rounds(self.nest, sizes, self.units))

    def outline(self, sizes: Integers) -> TileWork:
        """Warps and rounds from below, but for tiles of two dimensions, where counting them costs no more."""
        if sizes.shape[1] == 2:
            return self.work(sizes)
        warps = box_wavefronts.fewest_warps(sizes, self.warp)
        return self._work(sizes, warps, skewed_tiles.fewest_rounds(self.nest, sizes, self.units))

    def _work(self, sizes: Integers, warps: Numbers, rounds: Numbers) -> TileWork:
        return TileWork(
            steps=box_wavefronts.intra_tile_wavefronts(sizes),
            warps=warps,
            points=np.prod(sizes, axis=1, dtype=np.int64),
            widest=box_wavefronts.widest_wavefront(sizes),
            transfers=elements_met(sizes),
            shared=4 * elements_staged(sizes),
            wavefronts=skewed_tiles.inter_tile_wavefronts(self.nest, sizes),
            rounds=rounds,
        )


def tile_sizes(dimensions: int, room: int, least_reuse: float, widest: int) -> Integers:
    """Every size of tiles of that many dimensions with at most `room` elements staged, that reuse or more, and no wider wavefront."""
    kept = []
    for height in range(1, room):
        edges = _edges(dimensions - 1, height, room)
        if not len(edges):
            break
        sizes = np.column_stack((np.full(len(edges), height), edges))
        sizes = sizes[np.prod(sizes, axis=1) >= least_reuse * elements_met(sizes)]
        kept.append(sizes[box_wavefronts.widest_wavefront(sizes) <= widest])
    return np.concatenate(kept)


def _edges(number: int, height: int, room: int) -> Integers:
    """Rows of edges with prod (edge + height + 1) <= room."""
    most = room // (height + 2) ** (number - 1) - height - 1
    if number == 1:
        return np.arange(1, most + 1)[:, None]
    rows = [np.zeros((0, number), dtype=np.int64)]
    for edge in range(1, most + 1):
        rest = _edges(number - 1, height, room // (edge + height + 1))
        rows.append(np.column_stack((np.full(len(rest), edge), rest)))
    return np.concatenate(rows)
