"""Unrolls short loops over a stencil's points, inside the loops over a mesh.

    for (dy = -1; dy <= 1; dy++) if (dy) s += u[y + dy];  →  s += u[y - 1]; s += u[y + 1];

These loops have numbers as bounds, and only update numbers and elements that stay the same. Order
stays; conditions are decided.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace

from tilepragma.ir.accesses import Use, leaves_early, uses, written_in
from tilepragma.ir.evaluation import operation
from tilepragma.ir.expressions import COMPARISONS, Access, Binary, DataObject, Expression, Index, Unary, integer
from tilepragma.ir.loop_tree import Block, Declaration, ForLoop, Function, If, Kernel, Loop, Statement, While
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import flat, loops_in, objects_in, walk, with_blocks
from tilepragma.ir.types import ScalarType

_MOST_ROUNDS, _MOST_STATEMENTS = 7, 64
"""of one loop, and of the statements that one loop becomes"""


def with_unrolled_stencil_loops(kernel: Kernel, *, elements: bool = False) -> Kernel:
    """The kernel with these loops unrolled if their iterators are dead; else the same object. With
    `elements`, loops that only update numbers stay.
    """
    wanted = frozenset(
        loop.iterator
        for loop in loops_in(kernel.body)
        if not loop.declares_iterator
        and (loop.iterator.name in kernel.read_after or _is_read_outside(loop, kernel.body))
    )

    def unrolled(statement: Statement) -> list[Statement] | None:
        if not isinstance(statement, Loop):
            return None
        return [with_unrolled_loops(statement, kernel.functions, wanted, elements=elements)]

    body = _with_statements(kernel.body, unrolled)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _is_read_outside(loop: Loop, body: Block) -> bool:
    reads = (use for use in uses(body) if use.object == loop.iterator and use.reads)
    return any(all(around.iterator != loop.iterator for around in use.loops) for use in reads)


def with_unrolled_loops(
    loop: Loop,
    functions: tuple[Function, ...] = (),
    wanted: frozenset[DataObject] = frozenset(),
    *,
    elements: bool = False,
) -> Loop:
    """A loop over a mesh with the short loops in its body unrolled, at any depth.

    Loops over `wanted` iterators stay; with `elements`, those too that only update numbers. The
    same object if there are no others.
    """

    def rounds(statement: Statement) -> list[Statement] | None:
        if not isinstance(statement, Loop):
            return None
        writes = (use for use in uses(statement.body, functions) if use.writes)
        if elements and not any(use.object.rank for use in writes):
            return None
        return _rounds(statement, functions, wanted)

    body = _with_statements(loop.body, rounds)
    return loop if body is loop.body else replace(loop, body=body)


def _with_statements(block: Block, instead: Callable[[Statement], list[Statement] | None]) -> Block:
    """The block, or an equal one, with other statements at any depth; None keeps a statement."""
    parts: list[Statement] = []
    for statement in block.statements:
        replacement = instead(statement)
        if replacement is None:
            changed = with_blocks(statement, lambda inner: _with_statements(inner, instead))
            replacement = [statement if changed == statement else changed]
        parts += replacement
    same = len(parts) == len(block.statements) and all(map(operator.is_, parts, block.statements))
    return block if same else replace(block, statements=tuple(parts))


def _rounds(loop: Loop, functions: tuple[Function, ...], wanted: frozenset[DataObject]) -> list[Statement] | None:
    """The statements of all iterations; None if there are too many, or other statements."""
    values = None if loop.iterator in wanted else _values(loop)
    if values is None or loop.directive is not None or leaves_early(loop.body):
        return None
    if any(use.writes and use.object.rank and not _is_fixed(use, loop) for use in uses(loop.body, functions)):
        return None
    body: list[Statement] = []
    for statement in flat(loop.body.statements):
        inner = _rounds(statement, functions, wanted) if isinstance(statement, Loop) else [statement]
        nodes = (node for part in inner or () for node in walk(part))
        if inner is None or any(isinstance(node, (Declaration, ForLoop, While)) for node in nodes):
            return None
        body += inner
    if any(any(loops_in(statement)) for statement in body) or len(values) * len(body) > _MOST_STATEMENTS:
        return None
    return [unrolled for value in values for statement in body for unrolled in _with_value(statement, loop, value)]


def _is_fixed(use: Use, loop: Loop) -> bool:
    """Whether all iterations use the same element, by its subscripts."""
    changing = {loop.iterator, *written_in(loop.body)}
    indices = (*use.subscripts, *(step.index for step in use.path if isinstance(step, Index)))
    return len(use.subscripts) == use.object.rank and all(changing.isdisjoint(objects_in(index)) for index in indices)


def _values(loop: Loop) -> tuple[int, ...] | None:
    """The iterator's values in turn, if they are few and known."""
    first, last, step = (polynomial(bound).constant for bound in loop.bounds)
    element = loop.iterator.element
    if first is None or last is None or not step or not isinstance(element, ScalarType) or not element.signed:
        return None
    values = []
    while operation(loop.comparison, first, last):
        values.append(first)
        first += step
        if len(values) > _MOST_ROUNDS:
            return None
    return tuple(values)


def _with_value(statement: Statement, loop: Loop, value: int) -> Iterator[Statement]:
    """The statement for this value of the iterator, with decided conditions."""

    def change(access: Access) -> Expression:
        if access.object == loop.iterator:
            return replace(integer(value), range=access.range)
        known = [polynomial(subscript).constant for subscript in access.subscripts]
        parts = (old if new is None else integer(new) for new, old in zip(known, access.subscripts, strict=True))
        return access if known.count(None) == len(known) else replace(access, subscripts=tuple(parts))

    yield from _decided(with_accesses(statement, change))


def _decided(statement: Statement) -> Iterator[Statement]:
    if not isinstance(statement, If) or (holds := _number(statement.condition)) is None:
        yield statement
    elif (branch := statement.then if holds else statement.otherwise) is not None:
        yield from (part for inner in flat(branch.statements) for part in _decided(inner))


def _number(value: Expression) -> int | None:
    """The value of a condition on numbers, if it is decided."""
    if isinstance(value, Unary) and value.operator == "!":
        known = _number(value.operand)
        return None if known is None else int(not known)
    if isinstance(value, Binary) and value.operator in ("&&", "||"):
        sides = [_number(side) for side in (value.left, value.right)]
        decisive = int(value.operator == "||")
        if any(side is not None and bool(side) == bool(decisive) for side in sides):
            return decisive
        return None if None in sides else 1 - decisive
    if isinstance(value, Binary) and value.operator in COMPARISONS:
        distance = (polynomial(value.left) - polynomial(value.right)).constant
        return None if distance is None else operation(value.operator, distance, 0)
    return polynomial(value).constant
