"""explain's lines on registers of the planned GPU: a worker's use, its source, gangs that fit."""

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
    from tilepragma.cost.gang_workers import gang_workers_by_dimension, likely_workers

    workers = _known_workers(plan, sizes, gpu)
    for launch in plan.device:
        likely = gang_workers_by_dimension(likely_workers(plan, launch, gpu.threads_per_block))
        yield f"{_of_launch(plan, launch, gpu, workers.get(launch.name, likely), launch.name in workers)} ({by})"


def _known_workers(plan: KernelPlan, sizes: Sizes, gpu: Gpu) -> Mapping[str, Workers]:
    """The workers of launches at these sizes, by launch name, where known."""
    from tilepragma.cost.gang_workers import gang_workers
    from tilepragma.cost.launch_work import plan_work
    from tilepragma.ir.evaluation import UncountableError

    numbers = sizes.by_name(plan.kernel)
    workers: dict[str, Workers] = {}
    try:
        work = plan_work(plan, numbers, {}, GPU) if numbers else ()
    except UncountableError:
        return workers
    for launch in work:
        try:
            first, second, third = gang_workers(launch.place, plan.counts, numbers, gpu.threads_per_block)
        except UncountableError:
            continue
        workers[launch.place.launch.name] = int(first[0]), int(second[0]), int(third[0])
    return workers


def _of_launch(plan: KernelPlan, launch: Launch, gpu: Gpu, workers: Workers, known: bool) -> str:
    from tilepragma.cost.gang_memory import array_tiles_fit, default_array_tile_bytes, gang_bytes, register_use
    from tilepragma.model.occupancy import occupancy

    use = register_use(plan, launch, gpu)
    first, second, third = workers
    threads = first * second * third
    shared_bytes = gang_bytes(launch, workers, gpu) + (
        default_array_tile_bytes(plan, launch) if array_tiles_fit(plan, launch) else 0
    )
    occupied = occupancy(gpu, threads, use.registers, shared_bytes)
    spilled = f"{use.spilled} bytes spilled" if use.spilled else "none spilled"
    gangs = f"gangs of {threads}" if known else f"gangs of {threads} at most"
    share = f"{occupied.share:.0%} of its warps"
    at_once = f"up to {occupied.blocks} at once on a multiprocessor, {share}, " if occupied.blocks else ""
    return f"{launch.name}: {use.registers} a worker, {spilled}; {gangs}: {at_once}{occupied.reason}"
