"""Continue elimination: an iteration's `continue` becomes control flow that tiles can hold.

The body of a distributed loop becomes `do { … } while (0)`, which `continue` leaves. The tiles then
decide what runs next: another tile's loop, a guard, or no loop. Elsewhere `if (c) continue; rest`
becomes `if (!c) rest`: dependences appear under the condition, and no loop ends early.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from tilepragma.ir.accesses import leaves_early
from tilepragma.ir.expressions import integer, negated
from tilepragma.ir.loop_tree import Block, Continue, If, Kernel, Loop, Statement, While
from tilepragma.ir.traversal import loops_in, walk, with_blocks
from tilepragma.user_tiles.mapping import is_called_independent, top_loops, user_clauses
from tilepragma.user_tiles.tile_nests import chain_from


def with_closed_iterations(kernel: Kernel) -> Kernel:
    """The kernel with closed bodies of tiled and independent loops; not around tiled loops."""
    marked = frozenset((*user_clauses(kernel.body), *_called_independent(kernel)))
    if not any(loop.index in marked and leaves_early(loop.body) for loop in loops_in(kernel.body)):
        return kernel
    return dataclasses.replace(kernel, body=_block(kernel.body, marked))


def _called_independent(kernel: Kernel) -> Iterator[int]:
    for statement in kernel.body.statements:
        for nest in top_loops(statement):
            yield from (loop.index for loop in chain_from(nest) if is_called_independent(loop, kernel.directive))


def _block(block: Block, marked: frozenset[int]) -> Block:
    return dataclasses.replace(block, statements=tuple(_statement(s, marked) for s in block.statements))


def _statement(statement: Statement, marked: frozenset[int]) -> Statement:
    changed = with_blocks(statement, lambda block: _block(block, marked))
    if not isinstance(changed, Loop) or changed.index not in marked:
        return changed
    if not leaves_early(changed.body) or user_clauses(changed.body):
        return changed
    once = While(integer(0), changed.body, True, changed.body.range)
    return dataclasses.replace(changed, body=Block((once,), changed.body.range))


def with_conditions_for_continues(kernel: Kernel) -> Kernel:
    """The kernel with what follows `if (c) continue;` under the opposite condition."""
    if not any(isinstance(node, Continue) for node in walk(kernel.body)):
        return kernel
    return dataclasses.replace(kernel, body=_conditioned(kernel.body))


def _conditioned(block: Block) -> Block:
    return dataclasses.replace(block, statements=tuple(map(_conditioned_loop, block.statements)))


def _conditioned_loop(statement: Statement) -> Statement:
    changed = with_blocks(statement, _conditioned)
    if not isinstance(changed, Loop) or not leaves_early(changed.body):
        return changed
    body = Block(_after_continues(changed.body.statements), changed.body.range)
    return dataclasses.replace(changed, body=body)


def _after_continues(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The statements, with what follows the first `continue` under the opposite condition."""
    for place, statement in enumerate(statements):
        if not isinstance(statement, If) or not _ends_with_continue(statement):
            continue
        before = Block(statement.then.statements[:-1], statement.then.range)
        rest = _after_continues(statements[place + 1 :])
        otherwise = (*(statement.otherwise.statements if statement.otherwise is not None else ()),)
        after = Block((*otherwise, Block(rest, statement.range)) if otherwise else rest, statement.range)
        if before.statements:
            nested = If(statement.condition, before, after if after.statements else None, statement.range)
        else:
            nested = If(negated(statement.condition), after, None, statement.range)
        return (*statements[:place], nested)
    return statements


def _ends_with_continue(statement: If) -> bool:
    return bool(statement.then.statements) and isinstance(statement.then.statements[-1], Continue)
