"""The programs that targets compile at run time, and the files in which readers find them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.device_program import cuda_program, opencl_program
from tilepragma.codegen.dialect import CUDA, OPENCL, PROCESSOR, Dialect
from tilepragma.codegen.entry_points import DeviceProgram
from tilepragma.codegen.processor_program import processor_program
from tilepragma.ir.directives import Target
from tilepragma.plan.kernel_plan import KernelPlan


@dataclass(frozen=True)
class TargetProgram:
    """A program form: `name` is its field in the manifest, `suffix` that of the readers' file.
    `for_hosts`: it runs the launches of hosts.
    """

    name: str
    dialect: Dialect
    suffix: str
    printed: Callable[[KernelPlan], DeviceProgram]
    for_hosts: bool = False


PROGRAMS = (
    TargetProgram("opencl", OPENCL, "cl", opencl_program),
    TargetProgram("processors", PROCESSOR, "cpu.cl", processor_program, for_hosts=True),
    TargetProgram("cuda", CUDA, "cu", cuda_program),
)


def programs_of(
    plan: KernelPlan, targets: Collection[Target], on_devices: bool = True
) -> tuple[tuple[TargetProgram, DeviceProgram], ...]:
    """The plan's programs for those of the `targets` that it allows; without `on_devices` only the
    programs that run the launches of hosts. A region that runs as written has none.
    """
    wanted = {target for target in plan.targets if target in targets} if plan.as_written is None else set()
    forms = [form for form in PROGRAMS if form.dialect.target in wanted and (on_devices or form.for_hosts)]
    return tuple((form, form.printed(plan)) for form in forms)
