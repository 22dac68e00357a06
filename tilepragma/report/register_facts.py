"""What explain says of registers on the GPU that is planned for: what a worker of each launch takes, who says so, and the gangs that follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.plan.targets import GPU
from tilepragma.report.size_values import Sizes

if TYPE_CHECKING:
    from tilepragma.model.device import Device, Gpu

Workers = tuple[int, int, int]


def register_rows(plan: KernelPlan, sizes: Sizes, device: Device | None) -> tuple[str, ...]:
    """A clause on each device launch; none where no GPU is planned for."""
    from tilepragma.model.device import Gpu

    if plan.registers is None or not isinstance(device, Gpu):
        return ()
    return tuple(_rows(plan, sizes, plan.registers.by, device))


def _rows(plan: KernelPlan, sizes: Sizes, by: str, gpu: Gpu) -> Iterator[str]:
    from tilepragma.cost.register_counts import gang_workers_by_dimension, likely_workers

    known = _known_workers(plan, sizes, gpu)
    for launch in plan.device:
        likely = gang_workers_by_dimension(likely_workers(plan, launch, gpu.threads_per_block))
        yield f"{_of_launch(plan, launch, gpu, known.get(launch.name, likely), launch.name in known)} ({by})"


def _known_workers(plan: KernelPlan, sizes: Sizes, gpu: Gpu) -> Mapping[str, Workers]:
    """The workers of launches at these sizes, by their names, as far as they are known."""
    from tilepragma.cost.block_shapes import gang_workers
    from tilepragma.cost.launch_work import PlanWork, plan_work
    from tilepragma.ir.evaluation import UncountableError

    numbers = sizes.by_name(plan.kernel)
    work = plan_work(plan, numbers, {}, GPU) if numbers else None
    found: dict[str, Workers] = {}
    for launch in work.launches if isinstance(work, PlanWork) else ():
        try:
            one, two, three = gang_workers(launch.place, plan.counts, numbers, gpu.threads_per_block)
        except UncountableError:
            continue
        found[launch.place.launch.name] = int(one[0]), int(two[0]), int(three[0])
    return found


def _of_launch(plan: KernelPlan, launch: Launch, gpu: Gpu, workers: Workers, known: bool) -> str:
    from tilepragma.cost.register_counts import gang_bytes, register_use
    from tilepragma.cost.tile_bytes import array_tiles_fit, default_array_tile_bytes
    from tilepragma.model.occupancy import BlockUse, occupancy

    use = register_use(plan, launch, gpu)
    one, two, three = workers
    threads = one * two * three
    own = gang_bytes(launch, workers, gpu) + (
        default_array_tile_bytes(plan, launch) if array_tiles_fit(plan, launch) else 0
    )
    found = occupancy(gpu, BlockUse(threads, use.registers, own))
    spilled = f"{use.spilled} bytes spilled" if use.spilled else "none spilled"
    gangs = f"gangs of {threads}" if known else f"gangs of {threads} at most"
    at_once = (
        f"up to {found.blocks} at once on a multiprocessor, {found.share:.0%} of its warps, " if found.blocks else ""
    )
    return f"{launch.name}: {use.registers} a worker, {spilled}; {gangs}: {at_once}{found.reason}"
