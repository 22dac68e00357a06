"""How a plan's workers access global memory: for reports, and for staging in shared memory.

What neighbouring workers of a finished plan access simultaneously, by the relations of its proof:

R = { [plan instance] -> S[i] },  F = { S[i] -> A[a] },  p' = p with the next value of the mapped
loop

{ a' - a : a = F(R(p)), a' = F(R(p')) }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.loop_tree import Loop, TiledLoop
from tilepragma.ir.polynomial import Polynomial, number, polynomial
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.poly.adjacency import BROADCAST, COALESCED, Pattern, Reach, pattern, step_by
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Reference
from tilepragma.verify.certificate import NotProvenError
from tilepragma.verify.instances import InstanceMap
from tilepragma.verify.launch_tree_relation import Mapped
from tilepragma.verify.proofs import instance_maps, region_without_dependences

#: Of delinearised arrays the strides, greatest first.
Layouts = Mapping[DataObject, tuple[Polynomial, ...]]


@dataclass(frozen=True)
class WorkerAccess:
    """An access of a launch along one of its worker-mapped loops; `pattern` is its change in the
    next iteration.

    `apart`: the distance to the next worker's element, if known. `first`: the loop has the tiles of
    worker axis 0. `blocked`: a worker runs several iterations in turn, so that the next worker's
    element is as many further on. `depth`: the number of loops around the access.
    """

    launch: str
    reference: Reference
    along: TiledLoop
    pattern: Pattern
    apart: Polynomial | None
    first: bool
    blocked: bool
    depth: int


def accesses_of(plan: KernelPlan) -> tuple[WorkerAccess, ...]:
    """Each device launch's global memory accesses along loops of workers; empty if isl gives up."""
    if not any(axis.kind is AxisKind.WORKER for launch in plan.device for axis in launch.axes):
        return ()
    sizes = {size.object: size.device for size in plan.sizes}
    try:
        region = region_without_dependences(replace(plan, kernel=plan.device_kernel or plan.kernel))
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking at what workers access"):
            executed = instance_maps(region, plan.device_steps, sizes)
            accesses = [access for instances in executed for access in _accesses(instances, region.scop.layouts)]
    except (OperationLimitError, NotProvenError):
        return ()
    private = {launch.name: frozenset(launch.privates) for launch in plan.device}
    return tuple(use for use in accesses if use.reference.is_global and use.reference.object not in private[use.launch])


def uncoalesced(accesses: Iterable[WorkerAccess], launch: str) -> tuple[DataObject, ...]:
    """The arrays of a launch whose accesses by neighbouring workers only staging coalesces.

    In nested loops, accesses outside the deepest loops do not count.
    """
    launch_uses = [access for access in accesses if access.launch == launch and access.first]
    deepest = max((use.depth for use in launch_uses), default=0)
    scattered = (use.reference.object for use in launch_uses if use.depth == deepest and not is_side_by_side(use))
    return tuple(dict.fromkeys(scattered))


def is_side_by_side(access: WorkerAccess) -> bool:
    """Whether one transaction serves neighbouring workers."""
    reach = access.pattern.reach
    return reach is Reach.BROADCAST or (reach is Reach.COALESCED and not access.blocked)


def _accesses(executed: InstanceMap, layouts: Layouts) -> Iterator[WorkerAccess]:
    leaf = executed.leaf
    if leaf.launch is None or leaf.node is None or isinstance(leaf.node, Loop):
        return
    for element in leaf.path:
        if not isinstance(element, Mapped):
            continue
        for place, tiled in enumerate(element.nest.loops):
            workers = [tile for tile in tiled.tiles if tile.kind is TileKind.WORKER]
            if not workers or element.first + place >= leaf.depth:
                continue
            by = polynomial(tiled.loop.step).constant
            direction = [0] * leaf.depth
            direction[element.first + place] = by or 0
            step = step_by(leaf.domain, tuple(direction)) if by else None
            axis, blocked = workers[-1].axis, tiled.tiles[-1] is not workers[-1]
            first = axis is not None and axis.dimension == 0
            for reference in executed.statement.references:
                access_pattern = pattern(executed.relation.apply_range(reference.relation), step)
                apart = _apart(access_pattern, reference.object, layouts)
                change = _in_elements(access_pattern, apart)
                yield WorkerAccess(leaf.launch.name, reference, tiled, change, apart, first, blocked, leaf.depth)


def _apart(access_pattern: Pattern, object_: DataObject, layouts: Layouts) -> Polynomial | None:
    """The distance to the next worker's element: the sum of moves times passed elements."""
    if access_pattern.reach in (Reach.BROADCAST, Reach.COALESCED):
        return number(0 if access_pattern.reach is Reach.BROADCAST else 1)
    if not access_pattern.moves or (object_.storage is Storage.ROWS and any(access_pattern.moves[:-1])):
        return None
    passed = [number(1)]
    if object_ in layouts:
        passed += reversed(layouts[object_])
    else:
        for length in reversed(object_.lengths[1:]):
            passed.append(passed[-1] * polynomial(length) if length is not None else passed[-1])
    result = number(0)
    for move, by in zip(reversed(access_pattern.moves), passed, strict=False):
        result = result + number(move) * by
    return result


def _in_elements(access_pattern: Pattern, apart: Polynomial | None) -> Pattern:
    """The pattern; rows of one element make the next row's element contiguous."""
    constant = None if apart is None else apart.constant
    if access_pattern.reach is not Reach.STRIDED or constant is None or abs(constant) > 1:
        return access_pattern
    return COALESCED if constant else BROADCAST
