"""The scalars that a plan's steps read: arguments of launches, and inputs of host loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.expressions import DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Block, Kernel, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostCondition, Launch, Step


def scalar_arguments(kernel: Kernel, steps: Iterable[Step], shared: Iterable[DataObject]) -> tuple[DataObject, ...]:
    """Outer scalars that the steps read, unless passed by address or private to an instance."""
    read = {use.object for use in function_uses(kernel.functions) if use.reads}
    # One host function runs the loops and all launches beside them, whose bounds it evaluates.
    steps = tuple(steps)
    read |= set(_read_by(kernel, steps, inside=not all(isinstance(step, Launch) for step in steps)))
    read -= set(shared)
    return tuple(
        object_
        for object_ in kernel.objects
        if object_ in read and object_.storage is Storage.SCALAR and object_.scope is not Scope.LOCAL
    )


def _read_by(kernel: Kernel, steps: Iterable[Step], *, inside: bool) -> Iterator[DataObject]:
    """What launches, host loops and conditions read, and the bounds of launches `inside` them."""
    for step in steps:
        if isinstance(step, Launch):
            private = set(step.privates) - set(step.first_privates) | _iterators(step.body)
            launch_uses = uses(step.body, kernel.functions, launch=not inside)
            yield from (use.object for use in launch_uses if use.reads and use.object not in private)
            yield from step.first_privates
            continue
        values = (
            (step.condition,) if isinstance(step, HostCondition) else (step.loop.lower, step.loop.upper, step.loop.step)
        )
        yield from (use.object for value in values for use in uses(value) if use.reads)
        yield from _read_by(kernel, step.steps, inside=True)


def _iterators(body: Block) -> set[DataObject]:
    return {tiled.loop.iterator for nest in walk(body) if isinstance(nest, TileNest) for tiled in nest.loops}
