"""Alpha, beta and gamma of a program: fitted to calibration runs (thesis 5.3.3.2) or estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilepragma.model.device import Device, Gpu, Overheads
from tilepragma.model.execution_time import Coefficients, Integers, Numbers, Work, predict
from tilepragma.model.roofline import units_of

#: Runs do not determine a coefficient that the others can replace to this precision.
DETERMINED = 1e-7
_NAMES = ("alpha (warps)", "beta (points)", "gamma (elements moved)")


class NotDeterminedError(ValueError):
    """Calibration runs do not determine alpha, beta and gamma; the message says why."""


@dataclass(frozen=True)
class Runs:
    """Calibration runs of a program, an entry each: the work, `threads` of a block, `blocks`
    resident on each of the `units`, and the measured `times` in seconds (medians of several)
    without copies to and from the device.
    """

    work: Work
    threads: Integers
    blocks: Integers
    units: int
    times: Numbers


@dataclass(frozen=True)
class Fit:
    """The coefficients, and each run's relative error of the prediction (positive: too long)."""

    coefficients: Coefficients
    errors: Numbers


def fit(runs: Runs, overheads: Overheads) -> Fit:
    """The alpha, beta and gamma with the least squares of relative errors of T_total (5.8) over the
    runs.

    The known parts are subtracted from each time: sigma_ker, sigma_blk of its wavefronts, sigma_thd
    of its barriers. The rest is linear, rounds (alpha sum G + beta L_tile + gamma N_mem). Each
    equation is divided by its measured time, since long runs would outweigh short ones. Raises
    NotDeterminedError for fewer than three runs, invalid times, or dependent columns (all warps
    full, say, where 32 sum G = L_tile).
    """
    _check_times(runs.times)
    known = predict(runs.work, runs.threads, runs.blocks, runs.units, Coefficients(0.0, 0.0, 0.0), overheads).total
    columns = np.stack([runs.work.warps, runs.work.points, runs.work.transfers], axis=1) * runs.work.rounds[:, None]
    equations = columns / runs.times[:, None]
    scale = np.linalg.norm(equations, axis=0)
    _check_columns(equations, scale)
    solution, *_ = np.linalg.lstsq(equations / scale, (runs.times - known) / runs.times, rcond=None)
    alpha, beta, gamma = (float(value) for value in solution / scale)
    predicted = known + columns @ np.array([alpha, beta, gamma])
    return Fit(Coefficients(alpha, beta, gamma), np.asarray(predicted / runs.times - 1, dtype=np.float64))


def _check_times(times: Numbers) -> None:
    if len(times) < 3:
        raise NotDeterminedError(
            f"{len(times)} calibration runs cannot say what three coefficients are; make 3 or more"
        )
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0)))
    if len(bad):
        raise NotDeterminedError(f"the time of calibration run {bad[0] + 1} is {times[bad[0]]} s; a time is above 0")


def _check_columns(equations: Numbers, scale: Numbers) -> None:
    """Refuse runs in which a combination of coefficients has no effect, naming these."""
    if not np.all(np.isfinite(equations)):
        raise NotDeterminedError("the work of a calibration run is no number")
    absent = [name for name, size in zip(_NAMES, scale, strict=True) if size == 0]
    if absent:
        raise NotDeterminedError(f"no calibration run says anything of {absent[0]}: there are none of these in any run")
    _, values, rows = np.linalg.svd(equations / scale)
    if values[-1] < DETERMINED * values[0]:
        mixed = [name for name, part in zip(_NAMES, rows[-1], strict=True) if abs(part) > 0.1]
        raise NotDeterminedError(
            f"the calibration runs cannot tell {' and '.join(mixed)} apart: they are proportional in all runs;"
            " add tiles of other shapes, with wavefronts that do not fill their last warp"
        )


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


@dataclass(frozen=True)
class Estimate:
    """Estimated coefficients and their assumptions (`assumed`, sentences without a full stop)."""

    coefficients: Coefficients
    assumed: tuple[str, ...]


def estimate(device: Device, mix: Mix, resident_warps: float | Numbers) -> Estimate:
    """Alpha, beta and gamma by what a device can issue, move and hide.

    alpha is the time in which a unit issues a warp's instructions: floating ones at the data
    sheet's rate (which counts a fused multiply-add as two operations), others at that of single
    precision, accesses at a bank's width a cycle. If the `resident_warps` of a unit (B times the
    warps of a block; B includes the registers that ptxas counts) are too few to hide latencies, it
    is the length of the chain of waiting instructions over their number instead. beta is 0: it
    corrects measurements. gamma is an element's share of the last memory's bandwidth, all units
    loading in parallel.
    """
    assumed = ["alpha is by instruction counts, beta is 0: no calibration runs"]
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
    if bandwidth is None:
        assumed.append("copies to and from tiles cost nothing: the bandwidth of the device's memory is not known")
    gamma = mix.element * units / bandwidth if bandwidth else 0.0
    alpha = np.asarray(cycles / device.clock, dtype=np.float64)
    return Estimate(Coefficients(float(alpha) if alpha.ndim == 0 else alpha, 0.0, gamma), tuple(assumed))


def _access(device: Device, mix: Mix, lanes: int) -> float | Numbers:
    """Cycles of a warp's accesses: a GPU's banks serve a word each, a core loads two vectors."""
    if isinstance(device, Gpu):
        words = max(1.0, mix.element / device.bank_width)
        return mix.accesses * mix.conflicts * lanes * words / device.banks
    return mix.accesses * mix.conflicts / 2
