"""Alpha, beta and gamma from runs (thesis 5.3.3.2) and from instruction counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.sor_layouts import Sor
from tests.unit.model.small_devices import GPU, PROCESSOR
from tilepragma.model.device import Overheads
from tilepragma.model.execution_time import Coefficients, Integers, Work, predict
from tilepragma.model.fitting import Mix, NotDeterminedError, Runs, estimate, fit

OVERHEADS = Overheads(kernel=5e-6, barrier=((32, 2e-8), (512, 1e-7)), wavefront=((30, 1e-6), (240, 4e-6)), copy=0.0)
TILES = np.array([[40, 300], [64, 700], [100, 450], [33, 1200], [150, 333], [90, 90]])


def one_wavefront(sizes: Integers) -> Work:
    """The simplified nest of 5.3.3.2: one inter-tile wavefront of full tiles, one, two or three on each unit."""
    work = Sor(4096, (65536,), 30, 32).work(sizes)
    return replace(work, wavefronts=np.ones(len(sizes), dtype=np.int64), rounds=1.0 + np.arange(len(sizes)) % 3)


def runs_with(coefficients: Coefficients, sizes: Integers = TILES, noise: float = 0.0) -> Runs:
    work = one_wavefront(sizes)
    threads, blocks = np.full(len(sizes), 160), np.full(len(sizes), 2)
    times = predict(work, threads, blocks, 30, coefficients, OVERHEADS).total
    wobble = 1 + noise * np.cos(np.arange(len(sizes)) * 2.5)
    return Runs(work, threads, blocks, 30, times * wobble)


@settings(deadline=None)
@given(st.floats(1e-8, 1e-6), st.floats(-0.8, 0.8), st.floats(1e-10, 1e-8))
def test_exact_runs_give_the_coefficients_back(alpha: float, lane: float, gamma: float) -> None:
    beta = lane * alpha / 32
    found = fit(runs_with(Coefficients(alpha, beta, gamma)), OVERHEADS)
    assert found.coefficients.alpha == pytest.approx(alpha, rel=1e-6)
    assert found.coefficients.beta == pytest.approx(beta, rel=1e-6, abs=1e-6 * alpha)
    assert found.coefficients.gamma == pytest.approx(gamma, rel=1e-5, abs=1e-5 * alpha)
    assert np.abs(found.errors).max() < 1e-9


def test_noise_stays_in_the_errors() -> None:
    """Runs that are off by 2 % are predicted to within that, and so are others of the same program."""
    true = Coefficients(6e-8, -2e-10, 1e-9)
    found = fit(runs_with(true, noise=0.02), OVERHEADS)
    assert 0.001 < np.abs(found.errors).max() < 0.03
    others = runs_with(true, np.array([[50, 500], [120, 800], [70, 350]]))
    predicted = predict(others.work, others.threads, others.blocks, 30, found.coefficients, OVERHEADS).total
    assert predicted == pytest.approx(others.times, rel=0.03)


def test_what_is_left_is_a_least_square() -> None:
    """No small step from the solution has a smaller sum of squared relative errors."""
    runs = runs_with(Coefficients(6e-8, -2e-10, 1e-9), noise=0.05)
    found = fit(runs, OVERHEADS)
    known = found.coefficients

    def squares(alpha: float, beta: float, gamma: float) -> float:
        near = predict(runs.work, runs.threads, runs.blocks, 30, Coefficients(alpha, beta, gamma), OVERHEADS).total
        return float(((near / runs.times - 1) ** 2).sum())

    least = squares(float(known.alpha), float(known.beta), float(known.gamma))
    assert least == pytest.approx(float((found.errors**2).sum()))
    for step in np.vstack([np.eye(3), -np.eye(3)]) * 1e-3:
        moved = [float(value) * (1 + d) for value, d in zip((known.alpha, known.beta, known.gamma), step, strict=True)]
        assert squares(*moved) > least


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(NotDeterminedError, match="2 calibration runs cannot say what three coefficients are"):
        fit(runs_with(Coefficients(6e-8, 0.0, 1e-9), TILES[:2]), OVERHEADS)


def test_three_times_the_same_run_is_refused() -> None:
    with pytest.raises(NotDeterminedError, match="cannot tell"):
        fit(runs_with(Coefficients(6e-8, 0.0, 1e-9), TILES[[0, 0, 0, 0]]), OVERHEADS)


def test_full_warps_do_not_tell_warps_from_points() -> None:
    runs = runs_with(Coefficients(6e-8, 0.0, 1e-9))
    full = replace(runs, work=replace(runs.work, warps=runs.work.points / 32))
    with pytest.raises(NotDeterminedError, match=r"cannot tell alpha \(warps\) and beta \(points\) apart.*last warp"):
        fit(full, OVERHEADS)


def test_programs_that_move_nothing_say_nothing_of_gamma() -> None:
    runs = runs_with(Coefficients(6e-8, 0.0, 1e-9))
    none = replace(runs, work=replace(runs.work, transfers=np.zeros_like(runs.work.transfers)))
    with pytest.raises(NotDeterminedError, match=r"anything of gamma \(elements moved\)"):
        fit(none, OVERHEADS)


@pytest.mark.parametrize("time", [0.0, -1.0, np.nan, np.inf])
def test_times_that_are_none_are_refused(time: float) -> None:
    runs = runs_with(Coefficients(6e-8, 0.0, 1e-9))
    with pytest.raises(NotDeterminedError, match="calibration run 2 is"):
        fit(replace(runs, times=np.where(np.arange(len(TILES)) == 1, time, runs.times)), OVERHEADS)


def test_work_that_is_no_number_is_refused() -> None:
    runs = runs_with(Coefficients(6e-8, 0.0, 1e-9))
    broken = replace(runs, work=replace(runs.work, warps=runs.work.warps * np.nan))
    with pytest.raises(NotDeterminedError, match="no number"):
        fit(broken, OVERHEADS)


#: 4.5 of floating type, 2 others, 2 accesses in conflict with another. A warp of 4 lanes takes 2
#: cycles an instruction, a division 8 times that.
MIX = Mix(operations=4, special=0.5, others=2, accesses=2, conflicts=2)


def test_many_warps_hide_latencies() -> None:
    """Issue: 2 (4 + 8 * 0.5) + 2 * 2 + 2 * 2 * (4 lanes / 2 banks) = 28 cycles of a second; DRAM has 8 bytes a second for 4 units."""
    found = estimate(GPU, MIX, resident_warps=100.0)
    assert found.coefficients == Coefficients(28.0, 0.0, 4 * 4 / 8.0)
    assert len(found.assumed) == 1


def test_few_warps_wait() -> None:
    """8.5 instructions one after the other, 24 cycles each: 204 cycles; of 3 resident warps each has a third of them to itself."""
    assert estimate(GPU, MIX, resident_warps=3.0).coefficients.alpha == pytest.approx(204 / 3)
    assert estimate(GPU, replace(MIX, chain=3.0), resident_warps=1.0).coefficients.alpha == pytest.approx(72.0)
    many = estimate(GPU, MIX, np.array([1.0, 3.0, 100.0])).coefficients.alpha
    assert many == pytest.approx(np.array([204.0, 68.0, 28.0]))


def test_newer_devices_wait_for_less() -> None:
    """Compute capability 7 and above, and devices of which nothing is known: 4 cycles, 24 of an access to shared memory."""
    waiting = 6.5 * 4 + 2 * 24
    for capability in ((7, 0), (9, 0), None):
        found = estimate(replace(GPU, compute_capability=capability), MIX, 1.0)
        assert found.coefficients.alpha == pytest.approx(waiting)


def test_doubles_take_the_rate_of_doubles() -> None:
    """4 cycles an instruction instead of 2; an element is two banks wide."""
    found = estimate(GPU, replace(MIX, double=True, element=8), 100.0)
    assert found.coefficients == Coefficients(4 * 8 + 2 * 2 + 2 * 2 * 4, 0.0, 8 * 4 / 8.0)


def test_cores_do_not_wait() -> None:
    """A core computes 4 floats, a vector, a cycle: 4 + 8 * 0.5 + 2 of them; and 2 loads a cycle, each of the 2 taking 2."""
    found = estimate(PROCESSOR, MIX, 1.0)
    assert found.coefficients == Coefficients((4 + 4 + 2) * 4 / 4 + 2 * 2 / 2, 0.0, 4 * 2 / 4.0)


def test_unknown_bandwidths_are_said() -> None:
    unknown = replace(GPU, memories=(*GPU.memories[:2], replace(GPU.memories[2], bandwidth=None)))
    found = estimate(unknown, MIX, 1.0)
    assert found.coefficients.gamma == 0.0
    assert "bandwidth of the device's memory is not known" in found.assumed[1]
