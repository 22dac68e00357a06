"""What a plan's device launches execute, counted in the program that NVRTC makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilepragma.cost.ptx_walk import PlanCounts
    from tilepragma.model.device import Gpu
    from tilepragma.plan.kernel_plan import KernelPlan


def compiled_counts(plan: KernelPlan, scalars: Mapping[str, int], gpu: Gpu) -> PlanCounts:
    """The counts of a plan with its own tile sizes, for these scalars. Raises UncountableError,
    also where no compiler takes the program.
    """
    from tilepragma.codegen.device_program import device_program
    from tilepragma.codegen.dialect import CUDA
    from tilepragma.codegen.launch_numbers import LaunchNumbers, definitions
    from tilepragma.cost.device_geometry import launch_geometries
    from tilepragma.cost.device_traffic import memory_sectors
    from tilepragma.cost.ptx_walk import LaunchCounts, PlanCounts, Traffic, entry_points, walk_launch
    from tilepragma.ir.evaluation import UncountableError
    from tilepragma.pyruntime.nvrtc import NvrtcError, open_nvrtc

    if gpu.compute_capability is None:
        raise UncountableError(f"{gpu.name} has no compute capability")
    program = device_program(plan, CUDA)
    parameters = dict(zip((launch.name for launch in program.launches), program.parameters, strict=True))
    launches = [
        LaunchNumbers(plan, geometry, scalars, parameters[geometry.launch.name])
        for geometry in launch_geometries(plan, scalars, gpu)
    ]
    major, minor = gpu.compute_capability
    try:
        compiler = open_nvrtc()
        options = (*compiler_options(plan), *definitions(program, launches))
        entries = entry_points(compiler.ptx(program.text, 10 * major + minor, options))
    except NvrtcError as error:
        raise UncountableError(str(error)) from None
    traffic = Traffic(complete=all(numbers.geometry.exact for numbers in launches))
    walked: dict[object, LaunchCounts] = {}
    counts: dict[str, tuple[int, LaunchCounts]] = {}
    for numbers in launches:
        geometry = numbers.geometry
        name, grid, group, arguments = geometry.launch.name, geometry.grid, geometry.group, numbers.arguments()
        key = (name, grid, group, arguments)
        if key not in walked:
            walked[key] = walk_launch(entries[name], grid, group, arguments, traffic)
        times, before = counts.get(name, (0, LaunchCounts()))
        counts[name] = (times + geometry.repeats, before + walked[key].times(geometry.repeats))
    return PlanCounts(f"NVRTC {compiler.version}", counts, memory_sectors(plan, scalars, gpu, traffic))


def compiler_options(plan: KernelPlan) -> tuple[str, ...]:
    """NVRTC's options that decide what a plan's arithmetic becomes, as the runtime passes them."""
    fused = plan.floating.contract or plan.floating.fast
    return (*(("--use_fast_math",) if plan.floating.fast else ()), f"--fmad={str(fused).lower()}")
