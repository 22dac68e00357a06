"""Proves that the copies of reduced arrays get each iteration of the user's loop once.

With the user's iterations D = { [i, …] } and those of the loops over copies and runs,
E = { [copy, first, i, …] }:

    { [copy, first, i, …] -> [i, …] } is injective on E, and maps E onto D
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from tilepragma.ir.expressions import Access
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import ScopStatement

_AROUND = 2
"""The loops over copies and over runs."""


def copied_reduction_faults(kernel: Kernel) -> Iterator[str]:
    """Why loops in copies are not proven to do what the user's do, a sentence each."""
    if kernel.reductions is None:
        return
    before = kernel.without_copies
    for loop, arrays in kernel.reductions.loops:
        name = loop.iterator.host
        for array, operator in arrays:
            updates = reduction_updates(array, loop.body)
            if not isinstance(updates, Updates) or updates.operator != operator:
                yield f"'{array.host}' is not only updated by {operator} in the loop over '{name}'"
        copied = [nest for nest in loops_in(kernel.body) if _is_around(nest, loop)]
        if len(copied) != 1:
            yield f"the loop over '{name}' has no one loop over copies"
            continue
        yield from _wrong_copies(copied[0], name)
        try:
            if not _has_each_iteration_once(kernel, copied[0], before, loop):
                yield f"copies do not get each iteration of the loop over '{name}' once"
        except OperationLimitError as error:
            yield str(error).rstrip(".")


def _is_around(nest: Loop, loop: Loop) -> bool:
    """Whether the nest runs over copies, with the loop in runs inside."""
    inside = (each for each in nest.body.statements if isinstance(each, Loop))
    return any(
        isinstance(inner, Loop) and inner.index == loop.index for runs in inside for inner in runs.body.statements
    )


def _wrong_copies(nest: Loop, name: str) -> Iterator[str]:
    temporary = [node for node in walk(nest.body) if isinstance(node, Access) and len(node.subscripts) > 0]
    for node in temporary:
        first = node.subscripts[0]
        is_copy = isinstance(first, Access) and first.object == nest.iterator
        if not is_copy and any(isinstance(part, Access) and part.object == nest.iterator for part in walk(node)):
            yield f"an iteration of the loop over '{name}' touches another copy than its own"


def _has_each_iteration_once(kernel: Kernel, copied: Loop, before: Kernel, loop: Loop) -> bool:
    old = extract_scop(before.body.statements, before.functions, written_objects(before))
    new = extract_scop(kernel.body.statements, kernel.functions, written_objects(kernel), context=old.context)
    user, made = ([each for each in scop.statements if _is_in(each, loop)] for scop in (old, new))
    if len(user) != len(made):
        return False
    with operation_limit(old.context, DEFAULT_LIMIT, "proving that copies get each iteration once"):
        for written, copy in zip(user, made, strict=True):
            place = [around.index for around in copy.loops].index(copied.index)
            kept = copy.domain.reset_tuple_id().identity().project_out(isl.dim_type.out, place, _AROUND)
            if not kept.is_injective() or not kept.range().is_equal(written.domain.reset_tuple_id()):
                return False
    return True


def _is_in(statement: ScopStatement, loop: Loop) -> bool:
    return any(around.index == loop.index for around in statement.loops)
