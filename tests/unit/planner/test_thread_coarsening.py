"""Points of a worker by registers: what a compiler says decides, without it an estimate, and only what could win is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tests.support.source_plans import CHAINED_SUMS, plan
from tests.unit.storage.test_staging import FIVE_POINT, SUMS
from tilepragma.cost.gang_memory import REGISTERS, register_use
from tilepragma.ir.directives import Target
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import KernelPlan, RegisterCounts, RegisterUse
from tilepragma.plan.summary import points_of
from tilepragma.planner.assembly import Planned
from tilepragma.planner.thread_coarsening import with_measured_points
from tilepragma.storage.gpu_register_tiles import POINTS
from tilepragma.storage.staging import with_points_of_workers
from tilepragma.verify.rules import verify


def gpu(name: str) -> Gpu:
    result = named_device(name)
    assert isinstance(result, Gpu)
    return result


def planned(source: str, device: str) -> KernelPlan:
    return plan(source, PlanOptions(device=gpu(device)))


def points(of: KernelPlan) -> int:
    launch, *_ = of.device
    return math.prod(points_of(launch).values())


def compiler(registers: Callable[[int], tuple[int, int]], asked: list[int]) -> Callable[[KernelPlan], RegisterCounts]:
    """One that gives so many registers, and spills so many bytes, of workers with so many points; `asked` keeps these."""

    def compiled(of: KernelPlan) -> RegisterCounts:
        asked.append(points(of))
        return RegisterCounts("a compiler", (RegisterUse("f", *registers(points(of))),))

    return compiled


def test_what_is_spilled_costs_points() -> None:
    asked: list[int] = []
    made = planned(CHAINED_SUMS, "h100")
    spilling = compiler(lambda count: (255, 528) if count > 16 else (128, 0), asked)
    result = with_measured_points(Planned(made), gpu("h100"), spilling)
    assert points(made) == 32 and points(result.plan) < 32
    assert result.proof is not None and not result.proof.faults and result.proof.is_of(result.plan)
    verify(result.plan, result.proof)
    assert result.plan.registers == RegisterCounts("a compiler", (RegisterUse("f", 128, 0),))
    (said,) = [each for each in result.plan.rejected if "points of a worker" in each]
    assert said.startswith("8 x 4 points of a worker of launch f, which takes 255 registers and spills 528 bytes: ")


def test_what_cannot_be_much_faster_is_not_compiled() -> None:
    asked: list[int] = []
    result = with_measured_points(Planned(planned(SUMS, "h100")), gpu("h100"), compiler(lambda _: (127, 0), asked))
    assert asked == [32]
    assert points(result.plan) == 32
    assert not any("points of a worker" in each for each in result.plan.rejected)


@pytest.mark.parametrize(("device", "most"), [("c1060", 16), ("h100", 32)])
def test_without_a_compiler_points_are_estimated(device: str, most: int) -> None:
    """A C1060 has 16384 registers on a multiprocessor: 256 workers of 72 have no room, of 56 they have."""
    made = planned(SUMS, device)
    assert register_use(made, made.device[0], gpu(device)).registers == REGISTERS + 32
    result = with_measured_points(Planned(made), gpu(device), lambda _: RegisterCounts("estimated: nobody was asked"))
    assert points(result.plan) == most
    said = [each for each in result.plan.rejected if "points of a worker" in each]
    assert [each.split(": ")[1] for each in said] == (["no gang has room, with 4 x 4 it has"] if most == 16 else [])


def test_what_a_gpu_has_no_registers_for_is_estimated_to_spill() -> None:
    made = planned(CHAINED_SUMS, "h100")
    use = register_use(made, made.device[0], gpu("h100"))
    assert (use.registers, use.spilled) == (255, 4 * (REGISTERS + 256 - 255))


def test_a_plan_that_is_not_proven_keeps_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(of: KernelPlan, points: Mapping[str, tuple[int, int]]) -> KernelPlan:
        changed = with_points_of_workers(of, points)
        return replace(changed, device_steps=(*changed.device, replace(changed.device[0], name="again")))

    monkeypatch.setattr("tilepragma.planner.thread_coarsening.with_points_of_workers", twice)
    made = Planned(planned(CHAINED_SUMS, "h100"))
    result = with_measured_points(made, gpu("h100"), compiler(lambda count: (255, 528) if count > 16 else (128, 0), []))
    assert result.plan.device_steps == made.plan.device_steps


@pytest.mark.parametrize("source", [SUMS, CHAINED_SUMS])
def test_points_are_taken_back_and_given_again(source: str) -> None:
    made = planned(source, "h100")
    assert with_points_of_workers(made, {"f": POINTS}) == made
    assert points(with_points_of_workers(made, {"f": (1, 1)})) == 1


#: Tiles as those that workers with several points have, by the user.
SAID = """
void f(int n, float a[n]) {
#pragma tilek kernel
#pragma tilek loop independent tile(dynamic) tile(gang, 0) tile(static, 4) tile(worker, 0)
  for (int i = 0; i < n; i++) a[i] += 1;
}"""


@pytest.mark.parametrize(("source", "along_rows"), [(FIVE_POINT, 4), (SAID, 1)])
def test_launches_without_such_tiles_keep_what_they_are(source: str, along_rows: int) -> None:
    asked: list[int] = []
    made = planned(source, "h100")
    assert with_points_of_workers(made, {"f": (1, 1)}).device_steps == made.device_steps
    result = with_measured_points(Planned(made), gpu("h100"), compiler(lambda _: (30, 0), asked))
    assert asked == [along_rows]
    assert result.plan.device_steps == made.device_steps


def test_programs_for_cores_alone_ask_nobody() -> None:
    asked: list[int] = []
    made = Planned(plan(SUMS, PlanOptions(targets=(Target.SERIAL, Target.THREADS), device=gpu("h100"))))
    assert with_measured_points(made, gpu("h100"), compiler(lambda _: (127, 0), asked)) is made
    assert asked == []
