"""Alpha, beta and gamma of a program (thesis 5.3.3), estimated from its instructions."""

from __future__ import annotations

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Gpu
from tilepragma.model.execution_time import Coefficients, Numbers


@dataclass(frozen=True)
class Mix:
    """Instructions of one point of a program: `operations` of floating type (a fused multiply-add
    is one), `special` ones (division, square root), `others` (integer, control), `accesses` to
    shared memory or cache, slower by a factor `conflicts`. `chain` of them wait for the one before;
    None: all. `element` bytes; `double` precision. Numbers for all layouts or one for each.
    """

    operations: float | Numbers
    special: float | Numbers
    others: float | Numbers
    accesses: float | Numbers
    conflicts: float | Numbers = 1.0
    chain: float | Numbers | None = None
    element: int = 4
    double: bool = False

    @property
    def instructions(self) -> float | Numbers:
        """All instructions."""
        return self.operations + self.special + self.others + self.accesses


#: The time of a division or square root relative to an addition: special function units are a
#: quarter to an eighth as wide as others, and a division is several instructions (CUDA programming
#: guide, arithmetic instructions).
SPECIAL = 8.0
#: Cycles from an instruction to one that needs its result, by major compute capability: Volkov,
#: "Understanding Latency Hiding on GPUs" (2016), to Maxwell; Jia et al., "Dissecting the NVIDIA
#: Volta GPU Architecture" (2018), from Volta on. Unknown devices count as the latter.
LATENCY = {1: 24.0, 2: 18.0, 3: 9.0, 5: 6.0, 6: 6.0}
LATEST = 4.0
#: The cycles of an access to shared memory.
SHARED_LATENCY = 24.0


def estimate(gpu: Gpu, mix: Mix, resident_warps: float | Numbers) -> Coefficients:
    """Alpha, beta and gamma by what a GPU can issue, move and hide.

    alpha is the time that a unit needs to issue a warp's instructions: floating ones at the rate of
    the data sheet (which counts a fused multiply-add as two operations), others at that of single
    precision, accesses at a bank's width a cycle. Where the `resident_warps` of a unit (B by the
    warps of a block; the registers that ptxas counts are in B) are too few to hide latencies, it is
    the length of the chain of waiting instructions over their number instead. beta is 0: it
    corrects what was measured, and nothing was. gamma is an element's share of the last memory's
    bandwidth, all units loading at once; 0 where that is unknown.
    """
    units = gpu.multiprocessors
    single = gpu.warp / (gpu.float_rate / (2 * gpu.clock * units))
    floating = gpu.warp / (gpu.double_rate / (2 * gpu.clock * units)) if mix.double else single
    # Each of the banks serves a word a cycle.
    words = max(1.0, mix.element / gpu.bank_width)
    accesses = mix.accesses * mix.conflicts * gpu.warp * words / gpu.banks
    issue = floating * (mix.operations + SPECIAL * mix.special) + single * mix.others + accesses
    chain = mix.instructions if mix.chain is None else mix.chain
    latency = LATENCY.get(gpu.compute_capability[0], LATEST) if gpu.compute_capability else LATEST
    part = mix.accesses / np.maximum(mix.instructions, np.finfo(np.float64).tiny)
    waiting = chain * (latency * (1 - part) + SHARED_LATENCY * part)
    cycles = np.maximum(issue, waiting / np.maximum(resident_warps, 1.0))
    bandwidth = gpu.memories[-1].bandwidth
    gamma = mix.element * units / bandwidth if bandwidth else 0.0
    alpha = np.asarray(cycles / gpu.clock, dtype=np.float64)
    return Coefficients(float(alpha) if alpha.ndim == 0 else alpha, 0.0, gamma)
