"""Whether copies in shared memory pay off, by what warps issue and what memory moves for them.

Since Volta the first cache lies in the same memory as shared arrays and serves a line of 128 bytes
a cycle. An access of a warp to neighbouring elements costs the same in both, and what workers have
read stays near. So copies save only

- the lines of accesses that neighbouring workers make to elements that are no neighbours, each of
  which takes a cycle although the line is in the cache;
- the accesses that several points of a worker share (register tiles), which need array tiles.

They cost instructions and transactions for each element, and barriers.

Sources: an H100 (docs/RESULTS.md, CUDA). A x of 8192 x 8192 without copies on 32 multiprocessors
takes 65 M cycles for 67 M lines on each of 32 lanes: one a cycle. Its 5 x 5 convolution makes 0.85
accesses a cycle, all but one in four across two lines: these cost no more than one. Stencils of 5,
9 and 27 points take 1.7 times as long with copies as without. GPGPU-Sim's Volta: A x of 512 x 512
takes 131 072 cycles for as many lines on each of two multiprocessors.
"""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass

WARP = 32
#: Bytes that the first cache, or shared memory, serves in a cycle.
LINE = 128
#: Instructions that a multiprocessor's four schedulers issue in a cycle.
ISSUED = 4
#: Instructions of a warp that copies an element for each worker: its place, its guard, the address,
#: a load and a store.
COPY = 14
#: Instructions of a warp for each round of copies beside them: ends of the tile, two barriers.
ROUND = 30


@dataclass(frozen=True)
class TileAccesses:
    """What the workers of a gang do with an array tile in one round: `accesses` of a worker to
    elements of `bytes` bytes, for all of its points, of which copies leave `shared_accesses`.
    Elements of neighbours are `step` bytes apart (None: in rows of unknown length).
    The tile has `elements` in rows of `run`.
    """

    workers: int
    accesses: float
    shared_accesses: float
    bytes: int
    step: int | None
    elements: int
    run: int

    @property
    def pays(self) -> bool:
        """Whether the copy takes less than the accesses that it saves."""
        return self.cost_of_copies + self._cost(self.shared_accesses, self._words) < self._cost(
            self.accesses, self.lines
        )

    @property
    def lines(self) -> int:
        """The lines that an access of a warp touches."""
        if self.step is None:
            return WARP
        return max(self._words if self.step else 1, min(WARP, -(-WARP * self.step // LINE)))

    @property
    def cost_of_copies(self) -> float:
        """The cost of a round's copies, in instructions of warps."""
        moved = max(self._words, -(-WARP // self.run)) + self._words
        warps = -(-self.workers // WARP)
        return -(-self.elements // WARP) * (COPY + ISSUED * moved) + warps * ROUND

    @property
    def _words(self) -> int:
        """The lines of a warp's neighbouring elements."""
        return max(1, WARP * self.bytes // LINE)

    def _cost(self, accesses: float, lines: int) -> float:
        return ISSUED * accesses * lines * (self.workers / WARP)
