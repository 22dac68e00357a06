"""Walks over the LoopTree, generic over node types, so that no pass writes its own."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, get_args

from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import KernelDirective, LoopDirective
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.loop_tree import Barrier, Block, Loop, PackedPanels, Stage, Statement, TileNest
from tilepragma.ir.types import ArrayType, PointerType, RecordType, ScalarType, VoidType

S = TypeVar("S", bound=Statement)

_CHILDREN = "_children"
_EXPRESSIONS = get_args(Expression)
_LEAVES = (SourceRange, DataObject, ScalarType, RecordType, PointerType, ArrayType, VoidType)


def children(node: Any) -> tuple[Any, ...]:
    """The direct sub-nodes of an expression, statement, declarator or initializer, in textual
    order.

    Types, ranges, data objects and directives are not nodes. Of a TileNest these are the bounds and
    steps of its loops and its body: the loops' own bodies are the nest seen a second time. Buffers
    are accesses of their body seen a second time.
    """
    fields = vars(node)
    found: tuple[Any, ...] | None = fields.get(_CHILDREN)
    if found is None:
        # Nodes never change: what was found stays beside the fields, where comparisons and copies
        # do not see it.
        found = fields[_CHILDREN] = tuple(_children(node))
    return found


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
    """The direct sub-nodes that are no expressions: no statement stands in one."""
    return [child for child in children(node) if not isinstance(child, _EXPRESSIONS)]


def without_expressions(node: Any) -> Iterator[Any]:
    """As `walk`, but for expressions and what is below them."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(statements_of(node)))


def loops_in(node: Any) -> Iterator[Loop]:
    """The canonical loops that `node` is and has below it, in pre-order; not those of tile nests."""
    return (expression for expression in without_expressions(node) if isinstance(expression, Loop))


def loops_and_tiled(node: Any) -> Iterator[Loop]:
    """As `loops_in`, and the loops of tile nests, which stand there as they were written."""
    for expression in without_expressions(node):
        if isinstance(expression, TileNest):
            yield from (tiled.loop for tiled in expression.loops)
        elif isinstance(expression, Loop):
            yield expression


def loop_directives(node: Any) -> list[LoopDirective]:
    """What the user says of the loops of `node`, tiled or not, in pre-order."""
    return [loop.directive for loop in loops_and_tiled(node) if loop.directive is not None]


def workers_meet(node: Any) -> bool:
    """Whether the workers of a gang meet at it or in it: at a barrier, or at a copy of their tile."""
    return any(isinstance(expression, (Barrier, Stage)) for expression in without_expressions(node))


def mentions(node: Any, object_: DataObject) -> bool:
    """Whether an access to the object stands in `node`."""
    return any(isinstance(node, Access) and node.object == object_ for node in walk(node))


def with_blocks(statement: S, change: Callable[[Block], Block]) -> S:
    """`statement` with `change` applied to every block that is a direct part of it (bodies and branches)."""
    parts = {field.name: getattr(statement, field.name) for field in dataclasses.fields(statement)}
    changed: dict[str, Any] = {name: change(part) for name, part in parts.items() if isinstance(part, Block)}
    return dataclasses.replace(statement, **changed) if changed else statement


def flat(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements with braces looked through: every local has a name of its own."""
    for statement in statements:
        if isinstance(statement, Block):
            yield from flat(statement.statements)
        else:
            yield statement


def _nodes(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if type(value) is tuple:
            yield from _nodes(value)
        elif _is_node(_kind(value)):
            yield value


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, PackedPanels):
        yield node.body
        return
    if isinstance(node, TileNest):
        for tiled in node.loops:
            yield from (tiled.loop.lower, tiled.loop.upper, tiled.loop.step)
        yield node.body
        return
    for name in _field_names(_kind(node)):
        value = getattr(node, name)
        if type(value) is tuple:
            yield from _nodes(value)
        elif _is_node(_kind(value)):
            yield value


# Walks are where planning spends its time: what holds for all nodes of a type is found out once.


def _kind(value: Any) -> Any:
    """Its type, as a key that type checkers know to be hashable."""
    return type(value)


@functools.cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@functools.cache
def _is_node(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) and not issubclass(kind, _LEAVES) and not _is_directive(kind)


def _is_directive(kind: type) -> bool:
    return kind.__module__ == "tilepragma.ir.directives"


def named_in_clauses(kernel: KernelDirective, body: Block) -> frozenset[str]:
    """What `private`, `firstprivate` and `reduction` clauses name."""
    directives: list[KernelDirective | LoopDirective] = [kernel, *loop_directives(body)]
    privates = [name for directive in directives for clause in directive.privates for name in clause.names]
    reductions = [name for directive in directives for clause in directive.reductions for name in clause.names]
    return frozenset((*privates, *reductions))
