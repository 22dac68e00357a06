"""Walks over the loop tree for all passes, generic over the types of nodes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, get_args

from tilepragma.base.memoization import kind_of, once
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import KernelDirective, LoopDirective, ReductionClause
from tilepragma.ir.expressions import Access, AddressOf, Assignment, DataObject, Expression, Increment
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    Declarator,
    Loop,
    PackedPanels,
    Stage,
    Statement,
    TileNest,
)
from tilepragma.ir.types import ArrayType, PointerType, RecordType, ScalarType, VoidType

S = TypeVar("S", bound=Statement)

_CHILDREN = "_children"
_EXPRESSIONS = get_args(Expression)
_LEAVES = (SourceRange, DataObject, ScalarType, RecordType, PointerType, ArrayType, VoidType)


def children(node: Any) -> tuple[Any, ...]:
    """The direct sub-nodes of an expression, statement, declarator or initializer, in order.

    Types, ranges, data objects and directives are no nodes. A TileNest has the bounds and steps of
    its loops, its guard and its body; the loops' bodies repeat the nest. Buffers repeat accesses.
    """
    fields = vars(node)
    cached: tuple[Any, ...] | None = fields.get(_CHILDREN)
    if cached is None:
        # Nodes never change. Comparisons and copies do not see a value beside the fields.
        cached = fields[_CHILDREN] = tuple(_children(node))
    return cached


def walk(node: Any) -> Iterator[Any]:
    """`node` and all nodes below it, in pre-order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        below = vars(node).get(_CHILDREN)
        if below is None:
            below = children(node)
        if below:
            waiting.extend(below[::-1])


def statements_of(node: Any) -> list[Any]:
    """The direct sub-nodes that are no expressions; expressions contain no statements."""
    return [child for child in children(node) if not isinstance(child, _EXPRESSIONS)]


def without_expressions(node: Any) -> Iterator[Any]:
    """Like `walk`, but without expressions."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(statements_of(node)))


def loops_in(node: Any) -> Iterator[Loop]:
    """The canonical loops at and below `node`, in pre-order, without those of tile nests."""
    return (part for part in without_expressions(node) if isinstance(part, Loop))


def loops_and_tiled(node: Any) -> Iterator[Loop]:
    """Like `loops_in`, with the loops of tile nests as they were written."""
    for part in without_expressions(node):
        if isinstance(part, TileNest):
            yield from (tiled.loop for tiled in part.loops)
        elif isinstance(part, Loop):
            yield part


def perfect_nest(statement: Statement) -> Iterator[Loop]:
    """The perfectly nested loops from a statement inwards."""
    while True:
        if isinstance(statement, Block) and len(statement.statements) == 1:
            statement = statement.statements[0]
        elif isinstance(statement, Loop):
            yield statement
            statement = statement.body
        else:
            return


@once
def nests_in(node: Any) -> tuple[TileNest, ...]:
    """The tile nests at and below `node`, in pre-order."""
    return tuple(part for part in without_expressions(node) if isinstance(part, TileNest))


def unwrapped(statement: Statement) -> Statement:
    """The statement without braces around all of it."""
    while isinstance(statement, Block) and len(statement.statements) == 1:
        statement = statement.statements[0]
    return statement


def loop_directives(node: Any) -> list[LoopDirective]:
    """The user's directives for the loops of `node`, tiled or not, in pre-order."""
    return [loop.directive for loop in loops_and_tiled(node) if loop.directive is not None]


def says_independent(kernel: KernelDirective, body: Block) -> bool:
    """Whether the user calls iterations of a kernel's loops independent."""
    return kernel.independent or any(directive.independent for directive in loop_directives(body))


def workers_meet(node: Any) -> bool:
    """Whether the workers of a gang synchronise in `node`, at a barrier or a copy of their tile."""
    return any(isinstance(part, (Barrier, Stage)) for part in without_expressions(node))


def declared_in(node: Any) -> set[DataObject]:
    """The objects that declarations at and below `node` declare."""
    return {part.object for part in walk(node) if isinstance(part, Declarator)}


def changed_in(node: Any) -> frozenset[DataObject]:
    """The objects that expressions at and below `node` assign, change, or take the address of."""
    return frozenset(part.target.object for part in walk(node) if isinstance(part, (Assignment, Increment, AddressOf)))


def objects_in(node: Any) -> Iterator[DataObject]:
    """The object of each access at and below `node`, in pre-order."""
    return (access.object for access in walk(node) if isinstance(access, Access))


def access_count(node: Any, object_: DataObject) -> int:
    """How many accesses to the object `node` contains."""
    return sum(other == object_ for other in objects_in(node))


def mentions(node: Any, object_: DataObject) -> bool:
    """Whether `node` contains an access to the object."""
    return object_ in objects_in(node)


def with_blocks(statement: S, change: Callable[[Block], Block]) -> S:
    """`statement` with `change` applied to its direct blocks (bodies and branches)."""
    parts = {field.name: getattr(statement, field.name) for field in dataclasses.fields(statement)}
    changed: dict[str, Any] = {name: change(part) for name, part in parts.items() if isinstance(part, Block)}
    return dataclasses.replace(statement, **changed) if changed else statement


def flat(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements without braces; every local has a unique name."""
    for statement in statements:
        if isinstance(statement, Block):
            yield from flat(statement.statements)
        else:
            yield statement


def without_plain_braces(block: Block) -> Iterator[Statement]:
    """The block's statements; inner braces that declare nothing are dissolved."""
    for statement in block.statements:
        if isinstance(statement, Block) and not any(isinstance(part, Declaration) for part in statement.statements):
            yield from without_plain_braces(statement)
        else:
            yield statement


def _nodes(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if type(value) is tuple:
            yield from _nodes(value)
        elif _is_node(kind_of(value)):
            yield value


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, PackedPanels):
        yield node.body
        return
    if isinstance(node, TileNest):
        for tiled in node.loops:
            yield from tiled.loop.bounds
        if node.guard is not None:
            yield node.guard
        yield node.body
        return
    yield from _nodes(tuple(getattr(node, name) for name in _field_names(kind_of(node))))


# Planning spends most time in walks, so facts about node types are cached.


@functools.cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@functools.cache
def _is_node(kind: type) -> bool:
    is_directive = kind.__module__ == "tilepragma.ir.directives"
    return dataclasses.is_dataclass(kind) and not issubclass(kind, _LEAVES) and not is_directive


def named_in_clauses(kernel: KernelDirective, body: Block) -> frozenset[str]:
    """The names in `private`, `firstprivate` and `reduction` clauses."""
    directives: list[KernelDirective | LoopDirective] = [kernel, *loop_directives(body)]
    privates = [name for directive in directives for clause in directive.privates for name in clause.names]
    return frozenset((*privates, *operators_by_clause(kernel, body)))


def reduction_clauses(kernel: KernelDirective, body: Block) -> tuple[ReductionClause, ...]:
    """The `reduction` clauses of the kernel and its loops."""
    directives: list[KernelDirective | LoopDirective] = [kernel, *loop_directives(body)]
    return tuple(clause for directive in directives for clause in directive.reductions)


def operators_by_clause(kernel: KernelDirective, body: Block) -> dict[str, str]:
    """The operators of `reduction` clauses, by the names in them."""
    return {name: clause.operator for clause in reduction_clauses(kernel, body) for name in clause.names}
