"""Alpha, beta and gamma of a program (thesis 5.3.3), estimated from its instructions."""

from __future__ import annotations

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.model.device import Device, Gpu
from tilepragma.model.execution_time import Coefficients, Numbers
from tilepragma.model.roofline import units_of


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


def estimate(device: Device, mix: Mix, resident_warps: float | Numbers) -> Coefficients:
    """Alpha, beta and gamma by what a device can issue, move and hide.

    alpha is the time that a unit needs to issue a warp's instructions: floating ones at the rate of
    the data sheet (which counts a fused multiply-add as two operations), others at that of single
    precision, accesses at a bank's width a cycle. Where the `resident_warps` of a unit (B by the
    warps of a block; the registers that ptxas counts are in B) are too few to hide latencies, it is
    the length of the chain of waiting instructions over their number instead. beta is 0: it
    corrects what was measured, and nothing was. gamma is an element's share of the last memory's
    bandwidth, all units loading at once; 0 where nobody has measured that.
    """
    units = units_of(device)
    lanes = device.warp if isinstance(device, Gpu) else max(1, device.vector // mix.element)
    single = lanes / (device.float_rate / (2 * device.clock * units))
    floating = lanes / (device.double_rate / (2 * device.clock * units)) if mix.double else single
    issue = floating * (mix.operations + SPECIAL * mix.special) + single * mix.others + _access(device, mix, lanes)
    cycles: float | Numbers = issue
    if isinstance(device, Gpu):
        chain = mix.instructions if mix.chain is None else mix.chain
        major = device.compute_capability[0] if device.compute_capability else None
        latency = LATENCY.get(major, LATEST) if major is not None else LATEST
        part = mix.accesses / np.maximum(mix.instructions, np.finfo(np.float64).tiny)
        waiting = chain * (latency * (1 - part) + SHARED_LATENCY * part)
        cycles = np.maximum(issue, waiting / np.maximum(resident_warps, 1.0))
    bandwidth = device.memories[-1].bandwidth if device.memories else None
    gamma = mix.element * units / bandwidth if bandwidth else 0.0
    alpha = np.asarray(cycles / device.clock, dtype=np.float64)
    return Coefficients(float(alpha) if alpha.ndim == 0 else alpha, 0.0, gamma)


def _access(device: Device, mix: Mix, lanes: int) -> float | Numbers:
    """Cycles of a warp's accesses: a GPU's banks serve a word each, a core loads two vectors."""
    if isinstance(device, Gpu):
        words = max(1.0, mix.element / device.bank_width)
        return mix.accesses * mix.conflicts * lanes * words / device.banks
    return mix.accesses * mix.conflicts / 2
