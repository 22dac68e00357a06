"""If-conversion: control flow that tiles can hold.

Conditions that depend on data move around loops to the statements inside:

    if (mask[i]) for (j …) S;       becomes       for (j …) if (mask[i]) S;

A loop under such a condition cannot be tiled. A condition moves where nothing in the loop changes
what it reads, and the loop's header can be evaluated whether it holds or not.

The body of a distributed loop with a `continue` becomes `do { … } while (0)`, which `continue`
leaves. The tiles then decide what runs next: another tile's loop, a guard, or no loop. Elsewhere
`if (c) continue; rest` becomes `if (!c) rest`: dependences appear under the condition, and no loop
ends early.
"""

from __future__ import annotations

import dataclasses

from tilepragma.ir.accesses import leaves_early, used_in, uses, written_in
from tilepragma.ir.expressions import Assignment, Binary, Call, Increment, integer, negated
from tilepragma.ir.loop_tree import Block, Continue, Declaration, Function, If, Kernel, Loop, Statement, While
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import loops_in, walk, with_blocks, without_plain_braces
from tilepragma.user_tiles.mapping import is_called_independent, top_loops, user_clauses
from tilepragma.user_tiles.tile_nests import chain_from


def with_sunk_conditions(kernel: Kernel) -> Kernel:
    """The kernel with conditions on data moved into loops; the same object if none moves."""
    changed = _sunk(kernel.body, kernel.functions)
    return kernel if changed == kernel.body else dataclasses.replace(kernel, body=changed)


def _sunk(block: Block, functions: tuple[Function, ...]) -> Block:
    statements: list[Statement] = []
    for statement in block.statements:
        statements += _inside(statement, functions)
    inner = (with_blocks(statement, lambda block: _sunk(block, functions)) for statement in statements)
    return dataclasses.replace(block, statements=tuple(inner))


def _inside(statement: Statement, functions: tuple[Function, ...]) -> tuple[Statement, ...]:
    """The statements under a condition: loops move outside, the condition inside."""
    if not isinstance(statement, If) or statement.otherwise is not None:
        return (statement,)
    parts = tuple(without_plain_braces(statement.then))
    loops = [part for part in parts if isinstance(part, Loop)]
    if not loops or not _is_invariant(statement, functions) or not all(map(_may_enter, loops)):
        return (statement,)
    return tuple(_guarded(part, statement) for part in parts)


def _guarded(statement: Statement, by: If) -> Statement:
    if isinstance(statement, Loop):
        guarded = If(by.condition, statement.body, None, by.range)
        return dataclasses.replace(statement, body=Block((guarded,), statement.body.range))
    return If(by.condition, Block((statement,), by.range), None, by.range)


def _is_invariant(statement: If, functions: tuple[Function, ...]) -> bool:
    """Whether the condition reads arrays, has no effect, and stays the same under it."""
    if any(isinstance(part, (Assignment, Increment, Call)) for part in walk(statement.condition)):
        return False
    if any(isinstance(part, Declaration) for part in without_plain_braces(statement.then)):
        return False
    written = written_in(statement.then, functions)
    read = used_in(statement.condition)
    return any(object_.rank for object_ in read) and not read & written


def _may_enter(loop: Loop) -> bool:
    """Whether the header can be evaluated under any condition, and the body guarded."""
    if leaves_early(loop.body) or loop.directive is not None:
        return False
    bounds = loop.bounds
    risky = any(isinstance(part, Binary) and part.operator in ("/", "%") for bound in bounds for part in walk(bound))
    return not risky and not any(use.object.rank for bound in bounds for use in uses(bound))


def with_closed_iterations(kernel: Kernel) -> Kernel:
    """The kernel with `do … while (0)` in tiled or independent loops; not around tiled loops."""
    nests = (nest for statement in kernel.body.statements for nest in top_loops(statement))
    loops = (loop for nest in nests for loop in chain_from(nest))
    called = (loop.index for loop in loops if is_called_independent(loop, kernel.directive))
    marked = frozenset((*user_clauses(kernel.body), *called))

    def closed(loop: Loop) -> Loop:
        if loop.index not in marked or not leaves_early(loop.body) or user_clauses(loop.body):
            return loop
        once = While(integer(0), loop.body, True, loop.body.range)
        return dataclasses.replace(loop, body=Block((once,), loop.body.range))

    if not any(loop.index in marked and leaves_early(loop.body) for loop in loops_in(kernel.body)):
        return kernel
    return dataclasses.replace(kernel, body=with_each(kernel.body, Loop, closed))


def with_conditions_for_continues(kernel: Kernel) -> Kernel:
    """The kernel with what follows `if (c) continue;` under the opposite condition."""

    def conditioned(loop: Loop) -> Loop:
        if not leaves_early(loop.body):
            return loop
        return dataclasses.replace(loop, body=Block(_after_continues(loop.body.statements), loop.body.range))

    if not any(isinstance(node, Continue) for node in walk(kernel.body)):
        return kernel
    return dataclasses.replace(kernel, body=with_each(kernel.body, Loop, conditioned))


def _after_continues(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The statements, with what follows the first `continue` under the opposite condition."""
    for place, statement in enumerate(statements):
        if not isinstance(statement, If) or not isinstance(next(reversed(statement.then.statements), None), Continue):
            continue
        before = Block(statement.then.statements[:-1], statement.then.range)
        rest = _after_continues(statements[place + 1 :])
        otherwise = statement.otherwise.statements if statement.otherwise is not None else ()
        after = Block((*otherwise, Block(rest, statement.range)) if otherwise else rest, statement.range)
        if before.statements:
            nested = If(statement.condition, before, after if after.statements else None, statement.range)
        else:
            nested = If(negated(statement.condition), after, None, statement.range)
        return (*statements[:place], nested)
    return statements
