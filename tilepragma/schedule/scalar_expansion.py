"""Hoist scalars that a loop body declares and its inner loops update (for scalar expansion).

    for (j) { double s = 0; for (k) s += ..; c[j] = s; }
-> double s; for (j) { s = 0; for (k) s += ..; c[j] = s; }

Both compute the same: no iteration may read what another left in its own object. An array can
replace the hoisted scalar, and then distribution can split its statements
(storage/array_expansion.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilepragma.ir.directives import KernelDirective, LoopDirective
from tilepragma.ir.expressions import Access, Assignment, DataObject, Increment, Scope, Storage
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, ExpressionStatement, Kernel, Statement
from tilepragma.ir.substitution import with_objects, without_names_in_clauses
from tilepragma.ir.traversal import loop_directives, loops_in, operators_by_clause, walk, with_blocks
from tilepragma.ir.types import ScalarType
from tilepragma.schedule.candidate import counts_as_work


def with_hoisted_scalars(kernel: Kernel) -> tuple[Kernel, frozenset[DataObject]] | None:
    """The kernel with such scalars hoisted, and without `private` and `reduction` clauses for those
    that loops update and nothing reads afterwards; and these scalars. None if there are none.
    """
    instead = {scalar: replace(scalar, scope=Scope.EXTERNAL, const=False) for scalar in _updated_inside(kernel)}
    freed = frozenset(_private_sums(kernel))
    if not instead and not freed:
        return None
    body = with_objects(_block(kernel.body, instead), instead)
    hoisted = tuple(instead.values())
    kernel = without_names_in_clauses(replace(kernel, body=body), {scalar.host for scalar in freed})
    return replace(kernel, objects=(*kernel.objects, *hoisted)), frozenset((*hoisted, *freed))


def _private_sums(kernel: Kernel) -> Iterator[DataObject]:
    """Numeric scalars in such clauses that long loops update and nothing reads afterwards."""
    directives: list[KernelDirective | LoopDirective] = [kernel.directive, *loop_directives(kernel.body)]
    private = {
        *operators_by_clause(kernel.directive, kernel.body),
        *(
            name
            for directive in directives
            for clause in directive.privates
            if not clause.first
            for name in clause.names
        ),
    }
    for scalar in long_sums(kernel.body.statements):
        if scalar.host in private and scalar.name not in kernel.read_after and _is_number(scalar):
            yield scalar


def _updated_inside(kernel: Kernel) -> Iterator[DataObject]:
    """Numeric scalars that a loop body declares and a later long loop in that body updates."""
    for loop in loops_in(kernel.body):
        statements = loop.body.statements
        for place, statement in enumerate(statements):
            if isinstance(statement, Declaration):
                updated = long_sums(statements[place + 1 :])
                plain = (declarator.object for declarator in statement.declarators if _is_plain(declarator))
                yield from (object_ for object_ in plain if object_ in updated)


def long_sums(statements: tuple[Statement, ...]) -> frozenset[DataObject]:
    """The scalars that long innermost loops among the statements update."""
    loops = (loop for each in statements for loop in loops_in(each) if counts_as_work(loop))
    innermost = (loop for loop in loops if not any(loops_in(loop.body)))
    updates = (node for loop in innermost for node in walk(loop) if isinstance(node, (Assignment, Increment)))
    targets = (node.target for node in updates if isinstance(node.target, Access))
    return frozenset(target.object for target in targets if target.object.storage is Storage.SCALAR)


def _is_plain(declarator: Declarator) -> bool:
    return _is_number(declarator.object) and not isinstance(declarator.initializer, tuple)


def _is_number(object_: DataObject) -> bool:
    return object_.storage is Storage.SCALAR and isinstance(object_.element, ScalarType) and not object_.volatile


def _block(block: Block, instead: Mapping[DataObject, DataObject]) -> Block:
    statements = (each for statement in block.statements for each in _statements(statement, instead))
    return replace(block, statements=tuple(statements))


def _statements(statement: Statement, instead: Mapping[DataObject, DataObject]) -> Iterator[Statement]:
    """The statement with assignments for declarations of hoisted scalars, declarators in order."""
    if not isinstance(statement, Declaration) or not any(
        declarator.object in instead for declarator in statement.declarators
    ):
        yield with_blocks(statement, lambda block: _block(block, instead))
        return
    for declarator in statement.declarators:
        if declarator.object not in instead:
            yield replace(statement, declarators=(declarator,))
        elif declarator.value is not None:
            target = Access(declarator.object, (), (), declarator.object.element, declarator.object.range)
            value = Assignment("=", target, declarator.value, declarator.object.element, statement.range)
            yield ExpressionStatement(value, statement.range)
