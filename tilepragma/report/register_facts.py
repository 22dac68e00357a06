"""What explain says of registers on the GPU that is planned for: what a worker of each launch takes, who says so, and the gangs that follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilepragma.plan.kernel_plan import KernelPlan, Launch

if TYPE_CHECKING:
    from tilepragma.model.devices import Device, Gpu


def register_rows(plan: KernelPlan, device: Device | None) -> tuple[str, ...]:
    """A clause on each device launch; none where no GPU is planned for."""
    from tilepragma.model.devices import Gpu

    if plan.registers is None or not isinstance(device, Gpu):
        return ()
    return tuple(_rows(plan, plan.registers.by, device))


def _rows(plan: KernelPlan, by: str, gpu: Gpu) -> Iterator[str]:
    for launch in plan.device:
        text = _of_launch(plan, launch, gpu)
        yield f"{text} ({by})"


def _of_launch(plan: KernelPlan, launch: Launch, gpu: Gpu) -> str:
    from tilepragma.model.occupancy import BlockUse, occupancy
    from tilepragma.plan.register_counts import gang_bytes, gang_workers_by_dimension, likely_workers, register_use

    use = register_use(plan, launch, gpu)
    one, two, three = gang_workers_by_dimension(likely_workers(plan, launch))
    threads = one * two * three
    found = occupancy(gpu, BlockUse(threads, use.registers, gang_bytes(launch, (one, two, three), gpu)))
    spilled = f"{use.spilled} bytes spilled" if use.spilled else "none spilled"
    at_once = f"{found.blocks} at once on a multiprocessor, {found.share:.0%} of its threads, " if found.blocks else ""
    return f"{launch.name}: {use.registers} a worker, {spilled}; gangs of {threads}: {at_once}{found.reason}"
