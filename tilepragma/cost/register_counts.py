"""Registers that workers of device launches take: a compiler's word where it was asked, else an estimate; and the gangs that follow from them."""

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

#: Registers of a worker besides those that hold elements of arrays, before anybody has compiled the
#: kernel: ptxas 12.9 gives 29 for a sweep over a row and 38 to 51 for one over a plane, both in
#: wavefronts.
REGISTERS = 40


def register_use(plan: KernelPlan, launch: Launch, gpu: Gpu) -> RegisterUse:
    """What a compiler has found for the launch, else an estimate, in which what a GPU has no register for is spilled."""
    known = () if plan.registers is None else plan.registers.launches
    found = next((one for one in known if one.launch == launch.name), None)
    if found is not None:
        return found
    wanted = REGISTERS + kept_elements(launch) * (2 if is_double(launch) else 1)
    return RegisterUse(
        launch.name, min(wanted, gpu.registers_per_thread), 4 * max(wanted - gpu.registers_per_thread, 0)
    )


def kept_elements(launch: Launch) -> int:
    """Elements that a worker keeps in registers over a loop of the launch's staged form: for each of its points one of each sum."""
    if launch.staged is None:
        return 0
    points = math.prod(points_of(launch).values())
    sums = sum(len(node.buffers) for node in walk(launch.staged) if isinstance(node, PackedPanels))
    return points * max(sums, 1) if sums or points > 1 else 0


def likely_workers(plan: KernelPlan, launch: Launch, most: int) -> Mapping[Axis, int]:
    """The workers of a gang along each axis, before any launch is known, where a gang of the device
    has so many at `most`: those that the user says in numbers, else those that the runtime prefers,
    halved as by `gang_workers` until they are no more.
    """
    axes = sorted((axis for axis in launch.axes if axis.kind is AxisKind.WORKER), key=lambda axis: axis.dimension)
    said = {Axis(count.axis, count.dimension): count.count.literal for count in plan.counts}
    left = [axis for axis in axes if said.get(axis) is None]
    preferred = dict(zip(left, PREFERRED_WORKERS.get(len(left), ()), strict=True))
    found = {axis: said.get(axis) or preferred[axis] for axis in axes}
    for axis in left:
        while math.prod(found.values()) > most and found[axis] > 1:
            found[axis] //= 2
    return found


def gang_bytes(launch: Launch, workers: tuple[int, int, int], gpu: Gpu) -> int:
    """Bytes of its memory that a gang with so many workers along each dimension takes: what is copied ahead only where there is room for it."""
    every = shared_bytes(launch, workers)
    return every // 2 if copies_ahead(launch) and every > gpu.shared_per_block else every


def gang_workers_by_dimension(workers: Mapping[Axis, int]) -> tuple[int, int, int]:
    """The same by dimension, 1 where a gang has none."""
    one, two, three = (workers.get(Axis(AxisKind.WORKER, dimension), 1) for dimension in range(3))
    return one, two, three
