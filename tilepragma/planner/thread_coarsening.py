"""How many points a worker of a register tile has on the GPU that is planned for, and so how its
loops over them are unrolled: by the registers that a compiler gives the emitted kernel, and what it
spills.

A launch keeps POINTS unless the model takes others to be much faster. Only those are compiled that
could be, if a compiler needed no more registers than hold the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.host_prediction import is_double
from tilepragma.cost.model_work import shared_bytes, staged_bytes
from tilepragma.cost.operation_counts import operations_in
from tilepragma.cost.register_counts import gang_bytes, gang_workers_by_dimension, likely_workers, register_use
from tilepragma.ir.directives import DEVICE_TARGETS
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

#: Points along the axis of neighbours, and along the next one, that are tried besides POINTS.
OTHERS = ((8, 8), (8, 4), (4, 4), (2, 8), (4, 2), (2, 4), (2, 2), (1, 1))

_DEVICES = frozenset(DEVICE_TARGETS)

#: What a compiler makes of the device launches of a plan.
Compiler = Callable[[KernelPlan], RegisterCounts]


def with_measured_points(planned: Planned, gpu: Gpu, compiler: Compiler) -> Planned:
    """What was planned with what the compiler says of its launches, and with other points for
    workers where that is worth it. Changed launches are proven anew; where that fails, they stay as
    they were.
    """
    plan = planned.plan
    if plan.as_written is not None or not plan.device or _DEVICES.isdisjoint(plan.targets):
        return planned
    plan = replace(plan, registers=compiler(plan))
    better = [found for launch in plan.device if points_of(launch) for found in _better(plan, launch, gpu, compiler)]
    if not better:
        return replace(planned, plan=plan)
    changed = with_points_of_workers(plan, {one.launch: one.points for one in better})
    changed = replace(changed, rejected=(*changed.rejected, *(one.why for one in better)))
    proof = proof_of(changed)
    try:
        verify(changed, proof)
    except PlanFault:
        return replace(planned, plan=plan)
    return Planned(replace(changed, registers=compiler(changed)), proof)


@dataclass(frozen=True)
class _Choice:
    """`points` for the workers of a launch; `why` is a clause on those that it had."""

    launch: str
    points: tuple[int, int]
    why: str


def _better(plan: KernelPlan, launch: Launch, gpu: Gpu, compiler: Compiler) -> Iterator[_Choice]:
    """The fastest points for a launch, if they are much faster than those that it has."""
    usual = _seconds(plan, launch, gpu)
    best, text, seconds = None, "", WORTH * usual
    seen = {tuple(points_of(launch).items())}
    for points in OTHERS:
        other = with_points_of_workers(plan, {launch.name: points})
        own = next(one for one in other.device if one.name == launch.name)
        key = tuple(points_of(own).items())
        tile = register_tile(other, own, gpu)
        if key in seen or tile is None or step_seconds(gpu, tile, least_registers(tile), 0) >= seconds:
            continue
        seen.add(key)
        time = _seconds(replace(other, registers=compiler(other)), own, gpu)
        if time < seconds:
            best, text, seconds = points, _points_text(own), time
    if best is not None:
        yield _Choice(launch.name, best, _why(plan, launch, gpu, text, seconds / usual))


def _why(plan: KernelPlan, launch: Launch, gpu: Gpu, best: str, share: float) -> str:
    use = register_use(plan, launch, gpu)
    spilled = f" and spills {use.spilled} bytes" if use.spilled else ""
    worth = (
        f"{best} are predicted to take {share:.2f} of the time"
        if share > 0
        else f"no gang has room, with {best} it has"
    )
    return f"{_points_text(launch)} points of a worker of launch {launch.name}, which takes {use.registers} registers{spilled}: {worth}"


def _points_text(launch: Launch) -> str:
    """`8 x 4`: along the axis of neighbours last; 1 where there are no more."""
    found = sorted(points_of(launch).items(), key=lambda one: -one[0].dimension)
    return " x ".join(str(count) for _, count in found) or "1"


def _seconds(plan: KernelPlan, launch: Launch, gpu: Gpu) -> float:
    """With the registers that the plan's compiler says, else estimated ones."""
    tile, use = register_tile(plan, launch, gpu), register_use(plan, launch, gpu)
    return float("inf") if tile is None else step_seconds(gpu, tile, use.registers, use.spilled)


def register_tile(plan: KernelPlan, launch: Launch, gpu: Gpu) -> RegisterTile | None:
    """What the model must know of a staged launch whose workers go along a loop; None of others."""
    loop = _staged_loop(launch)
    if loop is None:
        return None
    workers, points = likely_workers(plan, launch, gpu.threads_per_block), points_of(launch)
    by_dimension = gang_workers_by_dimension(workers)
    boxes = staged_arrays(launch)
    steps = max(
        (term.extent for box in boxes for side in box.sides for term in side.terms if isinstance(term.extent, int)),
        default=1,
    )
    shared = gang_bytes(launch, by_dimension, gpu)
    reads = 0
    for box in boxes:
        serves = 1
        for side in box.sides:
            for term in side.terms:
                serves *= term.points
        reads += len(box.reads) * serves
    return RegisterTile(
        axes=tuple((count, points.get(axis, 1)) for axis, count in workers.items()),
        reads=reads,
        operations=sum(operations_in(node) for node in walk(loop) if isinstance(node, ExpressionStatement)),
        copied=sum(staged_bytes(box, by_dimension) for box in boxes) / steps,
        shared=shared,
        ahead=copies_ahead(launch) and shared == shared_bytes(launch, by_dimension),
        element=8 if is_double(launch) else 4,
    )


def _staged_loop(launch: Launch) -> Loop | None:
    """The loop over the tile that a stage copies for: behind the stage in the body of the loop over tiles."""
    for node in walk(launch.staged) if launch.staged is not None else ():
        if isinstance(node, Loop) and any(isinstance(statement, Stage) for statement in node.body.statements):
            return next((statement for statement in node.body.statements if isinstance(statement, Loop)), None)
    return None
