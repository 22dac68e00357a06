"""How long Algorithm 5.1 takes over some three million layouts (thesis 5.5.2: 238, 369 and 503 s),
and what it finds.

The solvers, the C1060 and the constraints are the thesis's. It does not print its sizes,
coefficients and overheads; those here are of the same order. The 2-D and 3-D solvers have fewer
layouts in its 16 KB than the thesis says, so they are searched with more memory as well. --all
searches without pruning, which must find the same.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import show
from tests.thesis.sor_layouts import Sor, tile_sizes
from tests.thesis.tile_search import Found, WavefrontLayouts, search
from tilepragma.model.device import Overheads
from tilepragma.model.execution_time import Coefficients, Integers, Numbers

UNITS, WARP, KB = 30, 32, 1024
ORGANISATIONS = tuple((threads,) for threads in range(32, 513, 32))
REGISTERS_OF_A_THREAD = 16
OVERHEADS = Overheads(
    kernel=7e-6,
    barrier=((32, 2e-8), (512, 1.4e-7)),
    wavefront=((30, 1.5e-6), (240, 5e-6)),
    copy=0.0,
)
COEFFICIENTS = Coefficients(alpha=6e-8, beta=-2e-10, gamma=1e-9)


@dataclass(frozen=True)
class Unpruned:
    """The same layouts, of which nothing is known before they are timed."""

    layouts: WavefrontLayouts

    @property
    def organisations(self) -> tuple[tuple[int, ...], ...]:
        return self.layouts.organisations

    def bounds(self, sizes: Integers) -> Numbers:
        return np.where(np.isfinite(self.layouts.bounds(sizes)), 0.0, np.inf)

    def times(self, sizes: Integers) -> Numbers:
        return self.layouts.times(sizes)

    def blocks(self, sizes: Integers) -> Integers:
        return self.layouts.blocks(sizes)


def resident(threads: int, shared: Integers, room: int) -> Integers:
    """B of Table 5.1, with that much shared memory."""
    warps = -(-threads // WARP)
    by_warps = min(8, 32 // warps)
    by_registers = 16384 // (REGISTERS_OF_A_THREAD * threads)
    return np.minimum(min(by_warps, by_registers), room // shared)


def layouts_of(sor: Sor, least_reuse: float, room: int) -> WavefrontLayouts:
    return WavefrontLayouts(
        organisations=ORGANISATIONS,
        work=sor.work,
        outline=sor.outline,
        resident=lambda threads, shared: resident(threads, shared, room),
        coefficients=lambda threads, blocks: COEFFICIENTS,
        overheads=OVERHEADS,
        units=UNITS,
        least_reuse=least_reuse,
    )


def row(title: str, sor: Sor, reuse: float, room: int, unpruned: bool) -> tuple[str, ...]:
    start = time.perf_counter()
    sizes = tile_sizes(len(sor.extents) + 1, room // 4, reuse, 512)
    listed = time.perf_counter()
    layouts = layouts_of(sor, reuse, room)
    outcome: Found = search(Unpruned(layouts) if unpruned else layouts, sizes)
    done = time.perf_counter()
    best = outcome.best
    assert best is not None
    winner = f"{'x'.join(map(str, best.sizes))}, {best.organisation[0]} threads, B={best.blocks}: {best.time:.4g} s"
    counts = (f"{number:,}" for number in (outcome.seen, outcome.seen - outcome.refused, outcome.timed))
    return title, *counts, f"{listed - start:.2f}", f"{done - listed:.2f}", winner


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--all", action="store_true", help="without pruning")
    unpruned = options.parse_args().all
    flat, plane, space = (
        Sor(65536, (65536,), UNITS, WARP),
        Sor(1000, (4096,) * 2, UNITS, WARP),
        Sor(256, (256,) * 3, UNITS, WARP),
    )
    cases = (
        ("1-D SOR 16384 x 1048576", Sor(16384, (1048576,), UNITS, WARP), 300.0, 16 * KB),
        ("1-D SOR 65536 x 65536", flat, 300.0, 16 * KB),
        ("2-D SOR 1000 x 4096^2", plane, 6.0, 16 * KB),
        ("2-D SOR 1000 x 4096^2, 32 KB", plane, 6.0, 32 * KB),
        ("3-D SOR 256^4", space, 1.0, 16 * KB),
        ("3-D SOR 256^4, 48 KB", space, 1.0, 48 * KB),
    )
    rows = [row(*case, unpruned) for case in cases]
    titles = ("solver", "layouts", "admitted", "timed", "listing, s", "search, s", "winner")
    show("Algorithm 5.1" + (" without pruning" if unpruned else ""), titles, rows)


if __name__ == "__main__":
    main()
