"""Minima and maxima of which the order of the iterations decides at most the sign of a zero.

Of zeros of both signs, which are equal, a comparison keeps the first in the order of the text. Any other result has the same bits in any order.
So such scalars are reduced in any order, and where a result is a zero after all, the original loop runs again (`runtime/zero_sign.c`). A kernel
can run again if it reads nothing that it writes but scalars, whose values before are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import Assignment, DataObject, Scope, Storage
from tilepragma.ir.looptree import Block, FloatingRules, Kernel, Loop, TileNest
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.signs import Signs
from tilepragma.ir.traversal import children, loop_directives
from tilepragma.plan.kernel_plan import KernelPlan, Reduction
from tilepragma.plan.launches import named_in_clauses

MOST_SCALARS = 16
"""As many scalars as the runtime keeps values of (TILEK_MOST_ORDERED_ZEROS)."""


@dataclass(frozen=True)
class OrderedZero:
    """A scalar of which launches of these targets find the sign of a zero in another order than the text's."""

    object: DataObject
    hosts: bool
    devices: bool


def signs_of(kernel: Kernel, floating: FloatingRules) -> Signs:
    """The signs of what the kernel computes; those of zeros that the original loop looks after are settled."""
    signs = Signs(kernel.body, kernel.functions)
    return Signs(kernel.body, kernel.functions, frozenset(_settled(kernel, floating, signs)))


def ordered_zeros(plan: KernelPlan) -> tuple[OrderedZero, ...]:
    """Those of the plan."""
    reductions = (one for launch in (*plan.host, *plan.device) for one in launch.reductions)
    if not any(one.is_floating and not one.rounds for one in reductions):
        return ()
    settled = signs_of(plan.kernel, plan.floating).settled
    on_hosts = {one.object for launch in plan.host for one in launch.reductions if not _keeps_order(plan, one)}
    on_devices = {one.object for launch in plan.device for one in launch.reductions}
    return tuple(
        OrderedZero(one, one in on_hosts, one in on_devices)
        for one in sorted(settled & (on_hosts | on_devices), key=lambda one: one.name)
    )


def _settled(kernel: Kernel, floating: FloatingRules, signs: Signs) -> Iterator[DataObject]:
    named = named_in_clauses(kernel.directive, kernel.body)
    written = {use.object for use in uses(kernel.body, kernel.functions) if use.writes}
    scalars = [one for one in written if one.storage is Storage.SCALAR and one.scope is not Scope.LOCAL]
    if not scalars or len(scalars) > MOST_SCALARS or kernel.swept or not _can_run_again(kernel):
        return
    for scalar in scalars:
        if scalar.host not in named:
            updates = reduction_updates(scalar, kernel.body, floating, signs)
            if isinstance(updates, Updates) and updates.orders_zeros:
                yield scalar


def _can_run_again(kernel: Kernel) -> bool:
    """Whether a second run, with the scalars' values from before the first, gives what one run gives."""
    read, written = set[DataObject](), set[DataObject]()
    for use in uses(kernel.body, kernel.functions):
        if use.object.storage is not Storage.SCALAR and use.object.scope is not Scope.LOCAL:
            (written if use.writes else read).add(use.object)
            if use.reads:
                read.add(use.object)
    # Different arrays are apart, which launches check, but for those of loops that the user says are independent.
    vouched = any(one.independent for one in loop_directives(kernel.body))
    return not written or (written.isdisjoint(read) and not vouched)


def _keeps_order(plan: KernelPlan, reduction: Reduction) -> bool:
    """Whether hosts find the zero that the text does: partial values are of consecutive stretches of the outermost loop, and are combined
    in order. Of fmin and fmax C leaves open which zero stays.
    """
    scalar = reduction.object
    if reduction.operator in ("fmin", "fmax"):
        return False
    launches = [one for one in plan.host if any(each.object == scalar for each in one.reductions)]
    written = list(_chains(plan.kernel.body, scalar, ()))
    return len(launches) == 1 and len(written) == 1 and list(_chains(launches[0].body, scalar, ())) == written


_Chain = tuple[Loop | None, ...]


def _chains(node: Any, scalar: DataObject, around: _Chain) -> Iterator[_Chain]:
    """The loops, without their bodies, around each assignment to the scalar; None stands for loops in an order of their own."""
    if isinstance(node, Assignment) and node.target.object == scalar:
        yield around
    if isinstance(node, TileNest):
        loops = tuple(_header(one.loop) for one in node.loops) if _in_order(node) and not around else (None,)
        yield from _chains(node.body, scalar, (*around, *loops))
        return
    inside = (*around, _header(node)) if isinstance(node, Loop) else around
    for child in children(node):
        yield from _chains(child, scalar, inside)


def _in_order(nest: TileNest) -> bool:
    """Whether instances, one after another, go through its iterations as its loops do."""
    tiles = tuple(tile for loop in nest.loops for tile in loop.tiles)
    return nest.order == tiles and all(tile.axis is None for tile in tiles[1:])


def _header(loop: Loop) -> Loop:
    return replace(loop, body=Block(()), directive=None)
