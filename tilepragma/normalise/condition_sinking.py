"""Condition sinking: moves data-dependent conditions around loops to the statements inside.

    if (mask[i]) for (j …) S;       becomes       for (j …) if (mask[i]) S;

A loop under a condition that depends on data cannot be tiled. A condition moves where nothing in
the loop changes what it reads, and the loop's header can be evaluated whether it holds or not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.expressions import Assignment, Binary, Call, Increment
from tilepragma.ir.loop_tree import Block, Declaration, Function, If, Kernel, Loop, Statement
from tilepragma.ir.traversal import walk, with_blocks


def with_sunk_conditions(kernel: Kernel) -> Kernel:
    """The kernel with such conditions moved into the loops; the same object where none moves."""
    changed = _block(kernel.body, kernel.functions)
    return kernel if changed == kernel.body else dataclasses.replace(kernel, body=changed)


def _block(block: Block, functions: tuple[Function, ...]) -> Block:
    statements: list[Statement] = []
    for statement in block.statements:
        statements += _inside(statement, functions)
    inner = (with_blocks(statement, lambda block: _block(block, functions)) for statement in statements)
    return dataclasses.replace(block, statements=tuple(inner))


def _inside(statement: Statement, functions: tuple[Function, ...]) -> tuple[Statement, ...]:
    """The statements under a condition: loops move outside, the condition inside."""
    if not isinstance(statement, If) or statement.otherwise is not None:
        return (statement,)
    parts = tuple(_flat(statement.then))
    loops = [part for part in parts if isinstance(part, Loop)]
    if not loops or not _is_invariant(statement, functions) or not all(map(_may_enter, loops)):
        return (statement,)
    return tuple(_guarded(part, statement) for part in parts)


def _flat(block: Block) -> Iterator[Statement]:
    for statement in block.statements:
        if isinstance(statement, Block) and not any(isinstance(part, Declaration) for part in statement.statements):
            yield from _flat(statement)
        else:
            yield statement


def _guarded(statement: Statement, by: If) -> Statement:
    if isinstance(statement, Loop):
        guarded = If(by.condition, statement.body, None, by.range)
        return dataclasses.replace(statement, body=Block((guarded,), statement.body.range))
    return If(by.condition, Block((statement,), by.range), None, by.range)


def _is_invariant(statement: If, functions: tuple[Function, ...]) -> bool:
    """Whether the condition reads arrays, has no effect, and stays the same under it."""
    if any(isinstance(part, (Assignment, Increment, Call)) for part in walk(statement.condition)):
        return False
    if any(isinstance(part, Declaration) for part in _flat(statement.then)):
        return False
    written = {use.object for use in uses(statement.then, functions) if use.writes}
    read = {use.object for use in uses(statement.condition)}
    return any(object_.rank for object_ in read) and not read & written


def _may_enter(loop: Loop) -> bool:
    """Whether the header can be evaluated under any condition, and the body guarded."""
    if leaves_early(loop.body) or loop.directive is not None:
        return False
    bounds = (loop.lower, loop.upper, loop.step)
    risky = any(isinstance(part, Binary) and part.operator in ("/", "%") for bound in bounds for part in walk(bound))
    return not risky and not any(use.object.rank for bound in bounds for use in uses(bound))
