"""Registers of device launches, as compiled or estimated, and the gangs that follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilepragma.cost.host_prediction import is_double
from tilepragma.cost.model_work import shared_bytes
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Axis, PackedPanels
from tilepragma.ir.traversal import walk
from tilepragma.model.device import Gpu
from tilepragma.plan.kernel_plan import KernelPlan, Launch, RegisterUse
from tilepragma.plan.shared_constants import PREFERRED_WORKERS
from tilepragma.plan.summary import copies_ahead, points_of

#: Registers of a worker besides array elements, without a compilation: ptxas 12.9 reports 29 for a
#: sweep over a row and 38 to 51 for one over a plane, both in wavefronts.
REGISTERS = 40


def register_use(plan: KernelPlan, launch: Launch, gpu: Gpu) -> RegisterUse:
    """The compiler's report for the launch, else an estimate with spills."""
    known = () if plan.registers is None else plan.registers.launches
    measured = next((use for use in known if use.launch == launch.name), None)
    if measured is not None:
        return measured
    wanted = REGISTERS + kept_elements(launch) * (2 if is_double(launch) else 1)
    return RegisterUse(
        launch.name, min(wanted, gpu.registers_per_thread), 4 * max(wanted - gpu.registers_per_thread, 0)
    )


def kept_elements(launch: Launch) -> int:
    """Elements that a worker keeps in registers over a staged loop: the sums of each point."""
    if launch.staged is None:
        return 0
    points = math.prod(points_of(launch).values())
    sums = sum(len(node.buffers) for node in walk(launch.staged) if isinstance(node, PackedPanels))
    return points * max(sums, 1) if sums or points > 1 else 0


def likely_workers(plan: KernelPlan, launch: Launch, most: int) -> Mapping[Axis, int]:
    """The expected workers of a gang along each axis before a launch: the user's numbers, else the
    runtime's preference, halved as in `gang_workers` down to at most `most`.
    """
    axes = sorted((axis for axis in launch.axes if axis.kind is AxisKind.WORKER), key=lambda axis: axis.dimension)
    given = {Axis(count.axis, count.dimension): count.count.literal for count in plan.counts}
    left = [axis for axis in axes if given.get(axis) is None]
    preferred = dict(zip(left, PREFERRED_WORKERS.get(len(left), ()), strict=True))
    workers = {axis: given.get(axis) or preferred[axis] for axis in axes}
    for axis in left:
        while math.prod(workers.values()) > most and workers[axis] > 1:
            workers[axis] //= 2
    return workers


def gang_bytes(launch: Launch, workers: tuple[int, int, int], gpu: Gpu) -> int:
    """Bytes of shared memory of a gang with these workers; double buffers only where they fit."""
    every = shared_bytes(launch, workers)
    return every // 2 if copies_ahead(launch) and every > gpu.shared_per_block else every


def gang_workers_by_dimension(workers: Mapping[Axis, int]) -> tuple[int, int, int]:
    """The workers by dimension, 1 where a gang has no such axis."""
    x, y, z = (workers.get(Axis(AxisKind.WORKER, dimension), 1) for dimension in range(3))
    return x, y, z
