"""When and where statements run, as `--dump-after plan` prints it of each kind of launch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.directives import TemporalTiles
from tilepragma.ir.expressions import Binary, integer
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import KernelPlan, Launch, with_launches
from tilepragma.planner.plan_text import plan_text
from tilepragma.verify.proofs import prove

JACOBI = """
void jacobi(int n, int steps, double a[n], double b[n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i + 1]) / 2;
    for (int i = 1; i < n - 1; i++) a[i] = b[i];
  }
}"""
SEIDEL = """
void seidel(int n, int steps, double a[n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++) a[i] = (a[i - 1] + a[i + 1]) / 2;
}"""
STRIPS = """
void f(int n, const double a[n][n], const double x[n], double y[n], double z[n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      y[i] += a[i][j] * x[j];
      z[j] += a[i][j] * x[i];
    }
}"""


def schedules(made: KernelPlan) -> list[str]:
    return [line.strip() for line in plan_text(made).splitlines() if line.strip().startswith("line ")]


OVERLAPPED = PlanOptions(temporal=TemporalTiles.OVERLAPPED)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (
            SEIDEL,
            "line 5 at time wavefront = floor(t / t_size) + floor((i + t) / t_i_size), place t_block = floor(t / t_size)",
        ),
        (JACOBI, "line 5 at time t, place i"),
        (STRIPS, "line 6 at time i_strip = floor(i / (8 * i_size)), place i_block = floor(i / i_size)"),
    ],
    ids=["wavefronts", "loops", "strips"],
)
def test_schedules_are_printed(source: str, line: str) -> None:
    assert line in schedules(plan(source))


def test_tiles_with_halos_are_printed_and_proven() -> None:
    made = plan(JACOBI, defaults=OVERLAPPED)
    assert any(" with halos" in line for line in schedules(made)), schedules(made)
    assert prove(made) == ()

    def without_halos(launch: Launch) -> Launch:
        alone = (
            replace(
                each,
                place=tuple(
                    replace(loop, hyperplanes=tuple(replace(plane, halo=None) for plane in loop.hyperplanes))
                    for loop in each.place
                ),
            )
            for each in launch.schedule
        )
        return replace(launch, schedule=tuple(alone))

    def later(launch: Launch) -> Launch:
        """Time steps one further on."""
        moved = (
            replace(
                each,
                time=tuple(
                    replace(
                        loop,
                        hyperplanes=tuple(
                            replace(plane, offset=Binary("+", plane.offset, integer(1), plane.offset.type))
                            for plane in loop.hyperplanes
                        ),
                    )
                    for loop in each.time
                ),
            )
            for each in launch.schedule
        )
        return replace(launch, schedule=tuple(moved))

    for change in (without_halos, later):
        wrong = replace(made, device_steps=with_launches(made.device_steps, change))
        assert any("runs otherwise than its schedule says" in fault.message for fault in prove(wrong)), change
