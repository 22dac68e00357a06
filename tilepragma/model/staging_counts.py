"""Whether copies in shared memory pay off, by what warps issue and what memory moves for them.

Since Volta the first cache lies in the same memory as shared arrays and serves a line of 128 bytes
a cycle. An access of a warp to neighbouring elements costs the same in both, and what workers have
read stays near. So copies save only the lines of accesses that neighbouring workers make to
elements far apart, each a cycle although the line is in the cache, and accesses that several points
of a worker share (register tiles). They cost instructions and lines for each element, and barriers.

Sources: an H100 (docs/RESULTS.md, CUDA). A x of 8192 x 8192 in place takes 65 M cycles on 32
multiprocessors for 67 M lines on each: one a cycle. A 5 x 5 convolution makes 0.85 accesses a
cycle, most of them across two lines: these cost no more than one. GPGPU-Sim's Volta: A x of 512 x
512 takes 135 796 cycles for 131 072 lines on each of two multiprocessors.
"""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass

WARP = 32
#: Bytes that the first cache, or shared memory, serves in a cycle.
LINE = 128
#: Instructions that a multiprocessor's four schedulers issue in a cycle.
ISSUED = 4
#: Instructions of a warp that copies an element for each worker, by elements (vectors take 2).
COPY = 7
#: Instructions of a warp for each round beside them: ends of the tile, the copy's guards, barriers.
ROUND = 45


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
    def lines(self) -> int:
        """The lines that an access of a warp touches."""
        if self.step is None:
            return WARP
        return max(self._least_lines if self.step else 1, min(WARP, -(-WARP * self.step // LINE)))

    @property
    def pays(self) -> bool:
        """Whether the copy takes less than the accesses that it saves, in instructions of warps."""
        copied = max(self._least_lines, -(-WARP // self.run)) + self._least_lines
        saved = self.accesses * self.lines - self.shared_accesses * self._least_lines
        copies = -(-self.elements // WARP) * (COPY + ISSUED * copied)
        return ISSUED * saved * self.workers / WARP > copies + ROUND * -(-self.workers // WARP)

    @property
    def _least_lines(self) -> int:
        """The lines of a warp's neighbouring elements."""
        return max(1, WARP * self.bytes // LINE)
