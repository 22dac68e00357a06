"""Thread coarsening: how many points each worker of a register tile computes on the planned GPU,
which also sets the unrolling of its loops over them.

The choice follows the registers that a compiler gives the emitted kernel, and its spills. A launch
keeps POINTS unless the model predicts others to be much faster. The planner compiles only points
that could be faster if a kernel needed no registers beyond its sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from tilepragma.cost.gang_memory import gang_bytes, register_use, shared_bytes, staged_bytes
from tilepragma.cost.gang_workers import gang_workers_by_dimension, likely_workers
from tilepragma.cost.operation_counts import operations_in
from tilepragma.cost.tile_traffic import is_double
from tilepragma.ir.loop_tree import ExpressionStatement, Loop, Stage
from tilepragma.ir.traversal import walk
from tilepragma.model.device import Gpu
from tilepragma.model.register_tile_time import RegisterTile, least_registers, step_seconds
from tilepragma.plan.kernel_plan import KernelPlan, Launch, RegisterCounts
from tilepragma.plan.summary import copies_ahead, points_of, staged_arrays
from tilepragma.planner.assembly import Planned
from tilepragma.sizes.model_pick import WORTH
from tilepragma.storage.staging import with_points_of_workers
from tilepragma.verify.proofs import proof_of
from tilepragma.verify.rules import PlanFault, verify

#: Candidates besides POINTS: points along the axis of neighbours, and along the next axis.
OTHERS = ((8, 8), (8, 4), (4, 4), (2, 8), (4, 2), (2, 4), (2, 2), (1, 1))

#: A compiler's register counts of a plan's device launches.
Compiler = Callable[[KernelPlan], RegisterCounts]


def with_measured_points(planned: Planned, gpu: Gpu, compiler: Compiler) -> Planned:
    """The planned kernel with the compiler's register counts, and with points that pay off.

    Changed launches are proven again; if the proof fails, they stay as they were.
    """
    plan = planned.plan
    if plan.untransformed is not None or not plan.device or not any(target.is_device for target in plan.targets):
        return planned
    plan = replace(plan, registers=compiler(plan))
    better: dict[str, tuple[int, int]] = {}
    why: list[str] = []
    for launch in plan.device:
        choice = _better(plan, launch, gpu, compiler) if points_of(launch) else None
        if choice is not None:
            better[launch.name] = choice[0]
            why.append(choice[1])
    if not better:
        return replace(planned, plan=plan)
    changed = with_points_of_workers(plan, better)
    changed = replace(changed, rejected=(*changed.rejected, *why))
    proof = proof_of(changed, planned.scop)
    try:
        verify(changed, proof)
    except PlanFault:
        return replace(planned, plan=plan)
    return replace(planned, plan=replace(changed, registers=compiler(changed)), proof=proof)


def _better(plan: KernelPlan, launch: Launch, gpu: Gpu, compiler: Compiler) -> tuple[tuple[int, int], str] | None:
    """The fastest points for a launch, and a clause on its own, if these are much slower."""
    usual = _seconds(plan, launch, gpu)
    best, text, seconds = None, "", WORTH * usual
    seen = {tuple(points_of(launch).items())}
    for points in OTHERS:
        changed = with_points_of_workers(plan, {launch.name: points})
        coarsened = next(candidate for candidate in changed.device if candidate.name == launch.name)
        key = tuple(points_of(coarsened).items())
        tile = register_tile(changed, coarsened, gpu)
        if key in seen or tile is None or step_seconds(gpu, tile, least_registers(tile), 0) >= seconds:
            continue
        seen.add(key)
        time = _seconds(replace(changed, registers=compiler(changed)), coarsened, gpu)
        if time < seconds:
            best, text, seconds = points, _points_text(coarsened), time
    return None if best is None else (best, _why(plan, launch, gpu, text, seconds / usual))


def _why(plan: KernelPlan, launch: Launch, gpu: Gpu, best: str, share: float) -> str:
    use = register_use(plan, launch, gpu)
    spilled = f" and spills {use.spilled} bytes" if use.spilled else ""
    predicted = f"{best} are predicted to take {share:.2f} of the time"
    worth = predicted if share > 0 else f"no gang has room, with {best} it has"
    points = f"{_points_text(launch)} points of a worker of launch {launch.name}"
    return f"{points}, which takes {use.registers} registers{spilled}: {worth}"


def _points_text(launch: Launch) -> str:
    """`8 x 4`: the axis of neighbours last; 1 without any."""
    counts = sorted(points_of(launch).items(), key=lambda item: -item[0].dimension)
    return " x ".join(str(count) for _, count in counts) or "1"


def _seconds(plan: KernelPlan, launch: Launch, gpu: Gpu) -> float:
    """Predicted seconds, with the compiler's registers if known, else with estimated ones."""
    tile, use = register_tile(plan, launch, gpu), register_use(plan, launch, gpu)
    return float("inf") if tile is None else step_seconds(gpu, tile, use.registers, use.spilled)


def register_tile(plan: KernelPlan, launch: Launch, gpu: Gpu) -> RegisterTile | None:
    """The model's view of a staged launch whose workers run along a loop; else None."""
    loop = _staged_loop(launch)
    if loop is None:
        return None
    workers, points = likely_workers(plan, launch, gpu.threads_per_block), points_of(launch)
    by_dimension = gang_workers_by_dimension(workers)
    array_tiles = staged_arrays(launch)
    extents = [term.extent for array_tile in array_tiles for side in array_tile.sides for term in side.terms]
    steps = max((extent for extent in extents if isinstance(extent, int)), default=1)
    shared = gang_bytes(launch, by_dimension, gpu)
    reads = sum(
        len(staged.reads) * prod(term.points for side in staged.sides for term in side.terms) for staged in array_tiles
    )
    return RegisterTile(
        axes=tuple((count, points.get(axis, 1)) for axis, count in workers.items()),
        reads=reads,
        operations=sum(operations_in(node) for node in walk(loop) if isinstance(node, ExpressionStatement)),
        copied=sum(staged_bytes(array_tile, by_dimension) for array_tile in array_tiles) / steps,
        shared=shared,
        ahead=copies_ahead(launch) and shared == shared_bytes(launch, by_dimension),
        element=8 if is_double(launch) else 4,
    )


def _staged_loop(launch: Launch) -> Loop | None:
    """The loop over the staged tile: after the stage in the body of the loop over tiles."""
    for node in walk(launch.staged) if launch.staged is not None else ():
        if isinstance(node, Loop) and any(isinstance(statement, Stage) for statement in node.body.statements):
            return next((statement for statement in node.body.statements if isinstance(statement, Loop)), None)
    return None
