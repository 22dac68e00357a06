"""Wavefronts of tiles, right and wrong: Gauss-Seidel in one dimension, skewed and tiled by a symbol."""

from __future__ import annotations

import pytest

from tests.support.plan_text import plan_of
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.verify.proofs import prove

SOURCE = """
void seidel(int n, int m, double a[n])
{{
#pragma tilek kernel
    for (int t = 0; t < m; t++)
        for (int i = 1; i < n - 1; i++)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}}

void plan(int n, int m, double a[n], long s, int barrier)
{{
#pragma tilek kernel
    {{
{steps}
    }}
}}
"""

#: Tiles of (t, t + i), all of one wavefront in one launch; points of a tile in order.
TILES = """
for (long hw = 0; hw <= (m + s) / s + (n + m + s) / s; hw++)
    for (long g = 0; g < (m + s - 1) / s; g++)
        for (long t = g * s; t < (m < g * s + s ? m : g * s + s); t++)
            for (long c = (t + 1 > (hw - g) * s ? t + 1 : (hw - g) * s);
                 c < (n - 1 + t < (hw - g) * s + s ? n - 1 + t : (hw - g) * s + s); c++) {
                const long i = c - t;
                a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
            }
"""

#: The same, the points of a tile in wavefronts v = t + (t + i) over its workers.
WORKERS = """
for (long hw = 0; hw <= (m + s) / s + (n + m + s) / s; hw++)
    for (long g = 0; g < (m + s - 1) / s; g++)
        for (long v = hw * s; v < hw * s + 2 * s; v++) {
            for (long w = g * s; w < (m < g * s + s ? m : g * s + s); w++) {
                const long t = w;
                const long c = v - w;
                if (c >= t + 1 && c >= (hw - g) * s && c < n - 1 + t && c < (hw - g) * s + s) {
                    const long i = c - t;
                    a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
                }
            }
            barrier = 0;
        }
"""


def plan(steps: str) -> KernelPlan:
    return plan_of(SOURCE.format(steps=steps))


def changed(steps: str, old: str, new: str) -> KernelPlan:
    assert old in steps
    return plan(steps.replace(old, new))


@pytest.mark.parametrize("steps", [TILES, WORKERS])
def test_right_wavefronts_are_proven(steps: str) -> None:
    assert prove(plan(steps)) == ()


BROKEN = [
    pytest.param(TILES, "(t + 1 > (hw - g) * s ? t + 1 :", "(t + 2 > (hw - g) * s ? t + 2 :", "line 7 never runs for (t = ", id="late"),
    pytest.param(TILES, "(t + 1 > (hw - g) * s ? t + 1 :", "(t > (hw - g) * s ? t :", "which the region does not have", id="lower-bound-low"),
    pytest.param(TILES, "n - 1 + t : (hw", "n + t : (hw", "which the region does not have", id="border"),
    pytest.param(WORKERS, "c < n - 1 + t && ", "", "which the region does not have", id="guard-missing"),
    pytest.param(WORKERS, "c < n - 1 + t &&", "c < n - 2 + t &&", "never runs for (t = ", id="guard-tight"),
    pytest.param(TILES, "c < (n - 1 + t < (hw - g) * s + s ? n - 1 + t : (hw - g) * s + s)", "c < n - 1 + t", "runs twice", id="no-end"),
    pytest.param(TILES, "long t = g * s;", "long t = g * s + 1;", "never runs for (t = ", id="origin"),
    pytest.param(TILES, "long t = g * s;", "long t = g * s - (g > 0 ? 1 : 0);", "runs twice for (t = ", id="origin-low"),
    pytest.param(TILES, "(m < g * s + s ? m : g * s + s)", "(m < g * s + 32 ? m : g * s + 32)", "runs twice for (t = ", id="size-inconsistent"),
    pytest.param(TILES, "hw <= (m + s) / s + (n + m + s) / s", "hw <= (m + s) / s", "never runs for (t = ", id="wavefronts-missing"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "old", "new", "message"), BROKEN)
def test_wrong_instances_are_refused(steps: str, old: str, new: str, message: str) -> None:
    faults = prove(changed(steps, old, new))
    assert any(message in fault.message and fault.certain for fault in faults), faults


WRONG_ORDER = [
    pytest.param(
        TILES.replace("const long i = c - t", "const long i = c").replace("t + 1", "1").replace("n - 1 + t", "n - 1"),
        "", "", "distance (1, -1) over (t, i) is broken: its instances run in the opposite order", id="no-skew",
    ),
    pytest.param(
        WORKERS, "barrier = 0;", "", "may be run by two workers with no barrier between", id="barrier-dropped"
    ),
    pytest.param(
        TILES.replace("hw - g", "hw"), "", "", "may be run by two gangs of one launch, which do not wait for each other", id="tiles-of-one-time-step"
    ),
    pytest.param(
        TILES, "for (long hw = 0; hw <= (m + s) / s + (n + m + s) / s; hw++)",
        "for (long hw = (m + s) / s + (n + m + s) / s; hw >= 0; hw--)", "run in the opposite order", id="host-loop-reversed",
    ),
    pytest.param(
        WORKERS.replace("long v = hw * s; v < hw * s + 2 * s; v++", "long v = hw * s + 2 * s - 1; v >= hw * s; v--"),
        "", "", "run in the opposite order", id="inner-wavefronts-reversed",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "old", "new", "message"), WRONG_ORDER)
def test_wrong_order_is_refused(steps: str, old: str, new: str, message: str) -> None:
    faults = prove(changed(steps, old, new))
    assert any(message in fault.message and "of 'a'" in fault.message and fault.certain for fault in faults), faults


def test_sizes_are_proven_beyond_those_in_use() -> None:
    # Right for tiles of 4 and 32, which are in use, and for all even ones.
    faults = prove(changed(TILES, "(hw - g) * s + s)", "(hw - g) * s + s - s % 2)"))
    assert any("never runs" in fault.message for fault in faults), faults
