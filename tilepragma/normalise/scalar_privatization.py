"""Integers declared before the loops that only one iteration uses, declared in it instead, as C
programs since C99 would have them.

    int k;                                          for (i)
    for (i)                                             for (j) {
        for (j) { k = i * n + j; a[k] = b[k]; }             int k = i * n + j; a[k] = b[k];
                                                        }

The two compute the same where each iteration writes the integer before it reads it and nobody reads
it after the kernel. Of the second, subscripts are known (`local_values`, `named_subscripts`). Only
integers that subscripts are made of are moved: other scalars are dealt with where launches are
planned (`scalars`), and sums outside of their loops have plans of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import function_uses, implied_objects, uses
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    DataObject,
    Expression,
    Scope,
    access_to,
    is_local_index,
)
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, ExpressionStatement, If, Kernel, Loop, Statement
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import loop_directives, loops_and_tiled, mentions, walk, with_blocks


def with_inner_scalars(kernel: Kernel) -> Kernel:
    """The kernel with such integers declared in the innermost block that has all of their uses, one for each nest that uses them."""
    found = tuple(_movable(kernel))
    if not found:
        return kernel
    move = _Move(itertools.count(2), {one.name for one in _named(kernel)})
    body = kernel.body
    moved = []
    for one in found:
        inner = move.into(body, one, False)
        if inner is not None:
            body = inner
            moved.append(one)
    return replace(kernel, body=body, objects=tuple(object_ for object_ in kernel.objects if object_ not in moved))


def _named(kernel: Kernel) -> Iterator[DataObject]:
    yield from kernel.objects
    yield from (node.object for node in walk(kernel.body) if isinstance(node, (Access, Declarator)))
    yield from (loop.iterator for loop in loops_and_tiled(kernel.body))


def _movable(kernel: Kernel) -> Iterator[DataObject]:
    """Outside integers that subscripts are made of, which nobody reads after the kernel, in the order of their first use."""
    said = {name for clause in kernel.directive.reductions for name in clause.names}
    said |= {name for clause in kernel.directive.privates if clause.first for name in clause.names}
    for directive in loop_directives(kernel.body):
        said |= {name for clause in directive.privates for name in clause.names}
        said |= {name for clause in directive.reductions for name in clause.names}
    elsewhere = {use.object for use in function_uses(kernel.functions)} | implied_objects(kernel.body)
    elsewhere |= {node.target.object for node in walk(kernel.body) if isinstance(node, AddressOf)}
    elsewhere |= {loop.iterator for loop in loops_and_tiled(kernel.body)}
    written = {use.object for use in uses(kernel.body, kernel.functions) if use.writes}
    needed = in_subscripts(kernel.body)
    for object_ in kernel.objects:
        outside = (
            object_.scope is Scope.EXTERNAL and object_ in written and object_ not in elsewhere and object_ in needed
        )
        forgotten = object_.name not in kernel.read_after and object_.host not in said
        if outside and forgotten and is_local_index(replace(object_, scope=Scope.LOCAL)):
            yield object_


def in_subscripts(body: Block) -> frozenset[DataObject]:
    """The scalars that subscripts name, and those that are assigned to such."""
    needed = {
        inner
        for node in walk(body)
        if isinstance(node, Access)
        for subscript in node.subscripts
        for inner in _objects(subscript)
    }
    assigned = [node for node in walk(body) if isinstance(node, Assignment) and node.target.object.rank == 0]
    known = 0
    while known != len(needed):
        known = len(needed)
        needed |= {inner for node in assigned if node.target.object in needed for inner in _objects(node.value)}
    return frozenset(needed)


def _objects(value: Expression) -> Iterator[DataObject]:
    return (node.object for node in walk(value) if isinstance(node, Access))


@dataclass(frozen=True)
class _Move:
    """Moves one scalar after another; `taken` are the names that objects have."""

    numbers: Iterator[int]
    taken: set[str]

    def into(self, block: Block, object_: DataObject, in_loop: bool) -> Block | None:
        """The block with the scalar declared in it, or in blocks of it; None where some iteration may read what another one, or nobody, wrote."""
        places = [place for place, statement in enumerate(block.statements) if mentions(statement, object_)]
        if all(_is_closed(block.statements[place], object_) for place in places):
            inner = self._into_each(block, places, object_)
            if inner is not None:
                return inner
        rest = block.statements[places[0] :]
        if not in_loop or exposed_read(Block(rest, block.range), object_) is not None:
            return None
        return replace(block, statements=(*block.statements[: places[0]], *self._declared(rest, object_)))

    def _into_each(self, block: Block, places: list[int], object_: DataObject) -> Block | None:
        """With one of its own in each of these statements."""
        statements = list(block.statements)
        for place in places:
            changed = self._inside(statements[place], object_)
            if changed is None:
                return None
            statements[place] = changed
        return replace(block, statements=tuple(statements))

    def _inside(self, statement: Statement, object_: DataObject) -> Statement | None:
        in_loop = isinstance(statement, Loop)
        refused = False

        def change(block: Block) -> Block:
            nonlocal refused
            if not mentions(block, object_):
                return block
            inner = self.into(block, object_, in_loop)
            refused = refused or inner is None
            return inner or block

        changed = with_blocks(statement, change)
        return None if refused else changed

    def _declared(self, statements: Iterable[Statement], object_: DataObject) -> tuple[Statement, ...]:
        """The statements, which write the scalar before they read it, with one of their own."""
        own = replace(object_, name=self._free(object_.name), scope=Scope.LOCAL)
        first, *rest = with_objects(tuple(statements), {object_: own})
        place = getattr(first, "range", NOWHERE)
        done = first.expression if isinstance(first, ExpressionStatement) else None
        plain = isinstance(done, Assignment) and done.operator == "=" and done.target == access_to(own)
        if isinstance(done, Assignment) and plain and not mentions(done.value, own):
            return (Declaration((Declarator(own, done.value),), place), *rest)
        return (Declaration((Declarator(own, None),), place), first, *rest)

    def _free(self, name: str) -> str:
        """A name like this one, which it is itself where all uses lie in one block."""
        if name in self.taken:
            self.taken.discard(name)
            return name
        return next(free for free in (f"{name}_{number}" for number in self.numbers) if free not in self.taken)


def _is_closed(statement: Statement, object_: DataObject) -> bool:
    """Whether the statement is a loop, a condition or a block of which only inner blocks use the scalar, and read only what they wrote."""
    if isinstance(statement, Loop):
        own: tuple[Expression, ...] = (statement.lower, statement.upper, statement.step)
    elif isinstance(statement, If):
        own = (statement.condition,)
    elif isinstance(statement, Block):
        own = ()
    else:
        return False
    return not any(mentions(one, object_) for one in own) and exposed_read(statement, object_) is None
