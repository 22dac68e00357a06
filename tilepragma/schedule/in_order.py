"""Ordered regions: outer loops and their nests run in text order, and each nest has its own proof.

    nest 0; for (g = …) { nest 1; nest 2; … }
-> the launches of nest 0, then the host's loop over g around those of nest 1, those of nest 2, …

The order between nests and rounds is that of the region, so only the nests need proofs. A proof of
a nest holds for any value of g.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeGuard

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel, Loop, Statement
from tilepragma.ir.traversal import loops_and_tiled, loops_in
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Step, launches_in
from tilepragma.plan.sor_mesh import one_sweep
from tilepragma.poly.dependences import memory_dependences
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.scop import Scop
from tilepragma.verify.certificate import Fault, Proof
from tilepragma.verify.instances import Original
from tilepragma.verify.proofs import faults_of_part, faults_of_text

_RULE = "parts keep their order"


@dataclass(frozen=True)
class OrderedNest:
    """A nest, the outer loop around it if any, and its original mathematics."""

    loop: Loop | None
    nest: Statement
    original: Original


def keeps_order(statement: Statement) -> TypeGuard[Loop]:
    """Whether the statement of an ordered region is a loop over several nests, not a nest."""
    return isinstance(statement, Loop) and len(statement.body.statements) > 1


def parts_in_order(
    statements: tuple[Statement, ...],
    kernel: Kernel,
    before: tuple[OrderedNest, ...] = (),
    instead: Mapping[DataObject, DataObject] = MappingProxyType({}),
) -> tuple[OrderedNest, ...]:
    """The nests in the outermost loops. Raises OperationLimitError. `before` are the nests of the
    region before its arrays moved, `instead` maps the old arrays to the new ones. Both have the
    same dependences.
    """
    written = written_objects(kernel)
    twins = (part for part in before if part.loop is not None)
    parts = []
    for loop, nest in _nests(statements):
        settled = set() if loop is None else {loop.iterator}
        twin = None if loop is None else next(twins, None)
        context = None if twin is None else twin.original.scop.context
        scop = extract_scop((nest,), kernel.functions, written - settled, context=context)
        with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
            known = None
            if twin is not None:
                from tilepragma.verify.storage import moved_dependences

                known = moved_dependences(twin.original.scop, twin.original.dependences, scop, instead)
            parts.append(OrderedNest(loop, nest, Original(scop, memory_dependences(scop) if known is None else known)))
    return tuple(parts)


def proof_in_order(plan: KernelPlan, statements: tuple[Statement, ...], parts: tuple[OrderedNest, ...]) -> Proof:
    """The plan of an ordered region with all faults that keep it from being proven."""
    return Proof(plan, tuple(_faults(plan, statements, parts)))


def _nests(statements: tuple[Statement, ...]) -> Iterator[tuple[Loop | None, Statement]]:
    for statement in statements:
        if keeps_order(statement):
            yield from ((statement, nest) for nest in statement.body.statements)
        else:
            yield None, statement


def _faults(plan: KernelPlan, statements: tuple[Statement, ...], parts: tuple[OrderedNest, ...]) -> Iterator[Fault]:
    yield from faults_of_text(plan)
    runs = [_steps_of_parts(steps, statements) for steps in (plan.host_steps, plan.device_steps)]
    for run in runs:
        if run is None:
            yield Fault(_RULE, "the launches are not those of the nests, one after another", False)
            return
    scratchpads = any(launch.scratchpads for launch in plan.device)
    for part, *steps in zip(parts, *(run for run in runs if run is not None), strict=True):
        original = replace(part.original, touching=_touching(plan.kernel, part) if scratchpads else None)
        yield from faults_of_part(plan, part.nest, part.loop, original, tuple(dict.fromkeys(steps)))


def _touching(kernel: Kernel, part: OrderedNest) -> Scop | None:
    """The Scop of one original sweep of an MLSOR region: all its nests together touch as much."""
    if not kernel.original_sweeps or part.loop is None:
        return None
    body = one_sweep(kernel, part.loop).statements
    return extract_scop(body, kernel.functions, written_objects(kernel), context=part.original.scop.context)


def _steps_of_parts(steps: tuple[Step, ...], statements: tuple[Statement, ...]) -> tuple[tuple[Step, ...], ...] | None:
    """The steps of each nest in order; None if the host's loops or the order differ."""
    left = list(steps)
    result: list[tuple[Step, ...]] = []
    for statement in statements:
        if not keeps_order(statement):
            result.append(_taken(left, statement))
            continue
        step = left.pop(0) if left else None
        if not isinstance(step, HostLoop) or replace(step.loop, body=statement.body) != statement:
            return None
        inside = list(step.steps)
        result += (_taken(inside, nest) for nest in statement.body.statements)
        if inside:
            return None
    return None if left else tuple(result)


def _taken(left: list[Step], nest: Statement) -> tuple[Step, ...]:
    """Remove and return the leading steps that run loops of the nest."""
    known = {loop.index for loop in loops_in(nest)}
    count = 0
    while count < len(left) and _loops(left[count]) & known:
        count += 1
    taken = tuple(left[:count])
    del left[:count]
    return taken


def _loops(step: Step) -> set[int]:
    """The indices of the region's loops, and of loops in their place, that the step runs."""
    steps: tuple[Step, ...] = (step,)
    return {loop.index for launch in launches_in(steps) for loop in loops_and_tiled(launch.body)}
