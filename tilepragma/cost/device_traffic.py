"""What a plan moves between a GPU's memory and its L2, in sectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilepragma.cost.gang_workers import gang_workers
from tilepragma.cost.launch_work import plan_work
from tilepragma.cost.model_work import launch_model, roofline_demand
from tilepragma.cost.ptx_walk import Traffic
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.device import Gpu
from tilepragma.plan.array_bytes import array_bytes
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.targets import GPU


def memory_sectors(
    plan: KernelPlan, scalars: Mapping[str, int], gpu: Gpu, traffic: Traffic | None = None
) -> float | None:
    """Sectors that memory delivers and takes with the plan's own tile sizes, caches empty before.
    None where sections are not known.

    Where the last cache holds all arrays, what launches read that they have not written comes from
    memory, each sector once, and nothing goes back: by `traffic`, if it is complete, else the
    sections of arrays that hold values from before. Larger arrays move what the launches' tiles
    demand (`roofline_demand`).
    """
    try:
        arrays = array_bytes(plan, scalars)
        if sum(array.bytes for array in arrays) <= gpu.memories[-2].size:
            if traffic is not None and traffic.complete:
                return float(traffic.sectors)
            before = (argument.reads and (argument.copy_in or argument.present) for argument in plan.arrays)
            return sum(array.bytes for array, is_read in zip(arrays, before, strict=True) if is_read) / gpu.transaction
        total = 0.0
        for work in plan_work(plan, scalars, {}, GPU):
            workers = gang_workers(work.place, plan.counts, scalars, gpu)
            x, y, z = (int(count.max()) for count in workers)
            demand = roofline_demand(launch_model(work, gpu, (x, y, z)), gpu, arrays)
            total += float(np.sum(demand.traffic[-1]))
        return total / gpu.transaction
    except UncountableError:
        return None
