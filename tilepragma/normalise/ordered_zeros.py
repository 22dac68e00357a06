"""Minima and maxima where the order of iterations decides at most the sign of a zero.

-0.0 and +0.0 are equal, and a comparison keeps the first of them in textual order. Every other
result has the same bits in any order. So launches reduce such scalars in any order, and the
original loop runs again where the result is a zero (`runtime/check/zero_sign.c`). That is right for
a kernel that reads none of the arrays it writes: the runtime restores the values of scalars.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.accesses import uses, written_in
from tilepragma.ir.expressions import Assignment, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Block, FloatingRules, Kernel, Loop, TileNest
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.signs import Signs
from tilepragma.ir.traversal import children, loop_directives, named_in_clauses
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import KernelPlan, Reduction

#: tilek.h, TILEK_MOST_RESTORED: the most scalars whose values the runtime restores.
MOST_RESTORED = 16


@dataclass(frozen=True)
class OrderedZero:
    """A reduced scalar whose zero may have the wrong sign after launches on hosts or devices."""

    object: DataObject
    hosts: bool
    devices: bool


def signs_of(kernel: Kernel, floating: FloatingRules) -> Signs:
    """The signs of the kernel's values; scalars whose zeros can be corrected are settled."""
    signs = Signs(kernel.body, kernel.functions)
    return Signs(kernel.body, kernel.functions, frozenset(_settled(kernel, floating, signs)))


@once
def signs_in(plan: KernelPlan) -> Signs:
    """The signs of what the plan's kernel computes."""
    return signs_of(plan.kernel, plan.floating)


@once
def ordered_zeros(plan: KernelPlan) -> tuple[OrderedZero, ...]:
    """The scalars for which the plan's launches rely on the original loop, by name."""
    reductions = (reduction for launch in (*plan.host, *plan.device) for reduction in launch.reductions)
    if not any(reduction.is_floating and not reduction.rounds for reduction in reductions):
        return ()
    settled = signs_in(plan).settled
    of_hosts = (reduction for launch in plan.host for reduction in launch.reductions)
    on_hosts = {reduction.object for reduction in of_hosts if not _keeps_order(plan, reduction)}
    on_devices = {reduction.object for launch in plan.device for reduction in launch.reductions}
    scalars = sorted(settled & (on_hosts | on_devices), key=lambda scalar: scalar.name)
    return tuple(OrderedZero(scalar, scalar in on_hosts, scalar in on_devices) for scalar in scalars)


def _settled(kernel: Kernel, floating: FloatingRules, signs: Signs) -> Iterator[DataObject]:
    named = named_in_clauses(kernel.directive, kernel.body)
    written = written_in(kernel.body, kernel.functions)
    scalars = [object_ for object_ in written if object_.is_outside_scalar]
    numbers = all(isinstance(scalar.element, ScalarType) for scalar in scalars)
    if not numbers or len(scalars) > MOST_RESTORED or kernel.original_sweeps or not _can_run_again(kernel):
        return
    for scalar in scalars:
        if scalar.host not in named:
            updates = reduction_updates(scalar, kernel.body, floating, signs)
            if isinstance(updates, Updates) and updates.orders_zeros:
                yield scalar


def _can_run_again(kernel: Kernel) -> bool:
    """Whether a second run, from the scalars' first values, gives the result of one run."""
    arrays = (use for use in uses(kernel.body, kernel.functions) if use.object.storage is not Storage.SCALAR)
    shared = [use for use in arrays if use.object.scope not in (Scope.LOCAL, Scope.TEMPORARY)]
    written = {use.object for use in shared if use.writes}
    # Launches check that arrays do not overlap, except for loops that the user calls independent.
    loops = loop_directives(kernel.body)
    independent = kernel.directive.independent or any(loop.independent for loop in loops)
    return not written or not (independent or any(use.reads and use.object in written for use in shared))


def _keeps_order(plan: KernelPlan, reduction: Reduction) -> bool:
    """Whether hosts combine the outermost loop's partial results in order and keep zero signs."""
    scalar = reduction.object
    if reduction.operator in ("fmin", "fmax"):
        return False
    launches = [launch for launch in plan.host if any(reduced.object == scalar for reduced in launch.reductions)]
    chains = list(_chains(plan.kernel.body, scalar))
    return len(launches) == 1 and len(chains) == 1 and list(_chains(launches[0].body, scalar)) == chains


_Chain = tuple[Loop | None, ...]


def _chains(node: Any, scalar: DataObject, around: _Chain = ()) -> Iterator[_Chain]:
    """The headers of the loops around each assignment to the scalar; None for a reordering nest."""
    if isinstance(node, Assignment) and node.target.object == scalar:
        yield around
    if isinstance(node, TileNest):
        loops = tuple(_header(loop.loop) for loop in node.loops) if _in_order(node) and not around else (None,)
        yield from _chains(node.body, scalar, (*around, *loops))
        return
    inside = (*around, _header(node)) if isinstance(node, Loop) else around
    for child in children(node):
        yield from _chains(child, scalar, inside)


def _in_order(nest: TileNest) -> bool:
    """Whether instances, one after another, run the iterations in the order of the loops."""
    tiles = tuple(tile for loop in nest.loops for tile in loop.tiles)
    return nest.order == tiles and all(tile.axis is None for tile in tiles[1:])


def _header(loop: Loop) -> Loop:
    return replace(loop, body=Block(()), directive=None)
