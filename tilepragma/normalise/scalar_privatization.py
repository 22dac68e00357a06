"""Scalar privatization: declares integers that only one iteration uses in that iteration.

    int k;                                          for (i)
    for (i)                                             for (j) {
        for (j) { k = i * n + j; a[k] = b[k]; }             int k = i * n + j; a[k] = b[k];
                                                        }

Both compute the same where each iteration writes the integer before it reads it and nobody reads it
after the kernel. The analysis knows the subscripts of the second form (`forward_substitution`). The
pass moves only integers in subscripts: launches handle other scalars (`scalars`).
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


def with_private_scalars(kernel: Kernel) -> Kernel:
    """The kernel with such integers declared in the innermost block with all uses, once a nest."""
    movable = tuple(_movable(kernel))
    if not movable:
        return kernel
    nodes = (node.object for node in walk(kernel.body) if isinstance(node, (Access, Declarator)))
    named = (*kernel.objects, *nodes, *(loop.iterator for loop in loops_and_tiled(kernel.body)))
    move = _Move(itertools.count(2), {object_.name for object_ in named})
    body = kernel.body
    moved = []
    for scalar in movable:
        inner = move.into(body, scalar, False)
        if inner is not None:
            body = inner
            moved.append(scalar)
    return replace(kernel, body=body, objects=tuple(object_ for object_ in kernel.objects if object_ not in moved))


def _movable(kernel: Kernel) -> Iterator[DataObject]:
    """Outer integers in subscripts that nobody reads after the kernel, in order of first use."""
    named = {name for clause in kernel.directive.reductions for name in clause.names}
    named |= {name for clause in kernel.directive.privates if clause.first for name in clause.names}
    for directive in loop_directives(kernel.body):
        named |= {name for clause in directive.privates for name in clause.names}
        named |= {name for clause in directive.reductions for name in clause.names}
    elsewhere = used_elsewhere(kernel)
    written = {use.object for use in uses(kernel.body, kernel.functions) if use.writes}
    needed = in_subscripts(kernel.body)
    for object_ in kernel.objects:
        outside = (
            object_.scope is Scope.EXTERNAL and object_ in written and object_ not in elsewhere and object_ in needed
        )
        forgotten = object_.name not in kernel.read_after and object_.host not in named
        if outside and forgotten and is_local_index(replace(object_, scope=Scope.LOCAL)):
            yield object_


def used_elsewhere(kernel: Kernel) -> set[DataObject]:
    """The objects that functions, addresses, headers of loops or no text at all may write."""
    elsewhere = {use.object for use in function_uses(kernel.functions)} | implied_objects(kernel.body)
    elsewhere |= {node.target.object for node in walk(kernel.body) if isinstance(node, AddressOf)}
    elsewhere |= {loop.iterator for loop in loops_and_tiled(kernel.body)}
    return elsewhere


def in_subscripts(body: Block) -> frozenset[DataObject]:
    """The scalars that subscripts read, directly or through assignments."""
    needed = {
        inner
        for node in walk(body)
        if isinstance(node, Access)
        for subscript in node.subscripts
        for inner in _objects(subscript)
    }
    assigned = [node for node in walk(body) if isinstance(node, Assignment) and node.target.object.rank == 0]
    size = 0
    while size != len(needed):
        size = len(needed)
        needed |= {inner for node in assigned if node.target.object in needed for inner in _objects(node.value)}
    return frozenset(needed)


def _objects(value: Expression) -> Iterator[DataObject]:
    return (node.object for node in walk(value) if isinstance(node, Access))


@dataclass(frozen=True)
class _Move:
    """Moves scalars; `taken` are the names in use."""

    numbers: Iterator[int]
    taken: set[str]

    def into(self, block: Block, object_: DataObject, in_loop: bool) -> Block | None:
        """The block with the scalar declared in it or inside; None if old values may be read."""
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
        """The block with a copy of the scalar in each of these statements."""
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
        """The statements, which write the scalar before they read it, with a copy of it."""
        private = replace(object_, name=self._free(object_.name), scope=Scope.LOCAL)
        first, *rest = with_objects(tuple(statements), {object_: private})
        place = getattr(first, "range", NOWHERE)
        done = first.expression if isinstance(first, ExpressionStatement) else None
        plain = isinstance(done, Assignment) and done.operator == "=" and done.target == access_to(private)
        if isinstance(done, Assignment) and plain and not mentions(done.value, private):
            return (Declaration((Declarator(private, done.value),), place), *rest)
        return (Declaration((Declarator(private, None),), place), first, *rest)

    def _free(self, name: str) -> str:
        """A free name like this; the name itself for the first copy."""
        if name in self.taken:
            self.taken.discard(name)
            return name
        return next(free for free in (f"{name}_{number}" for number in self.numbers) if free not in self.taken)


def _is_closed(statement: Statement, object_: DataObject) -> bool:
    """Whether only inner blocks of the statement use the scalar, and read only what they wrote."""
    if isinstance(statement, Loop):
        headers: tuple[Expression, ...] = (statement.lower, statement.upper, statement.step)
    elif isinstance(statement, If):
        headers = (statement.condition,)
    elif isinstance(statement, Block):
        headers = ()
    else:
        return False
    return not any(mentions(header, object_) for header in headers) and exposed_read(statement, object_) is None
