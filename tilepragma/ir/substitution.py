"""Replaces objects and nodes in a piece of the loop tree; shares unchanged parts."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Set
from typing import Any, TypeVar

from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import KernelDirective, LoopDirective, PrivateClause, ReductionClause
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.types import RecordType, ScalarType, VoidType

T = TypeVar("T")
N = TypeVar("N")
_Directive = TypeVar("_Directive", KernelDirective, LoopDirective)


def with_objects(node: T, instead: Mapping[DataObject, DataObject]) -> T:
    """`node`, a statement or expression, with the objects that `instead` gives."""

    def changed(part: Any) -> Any:
        replacement = instead.get(part) if isinstance(part, DataObject) else None
        return with_parts(part, changed) if replacement is None else replacement

    result: T = changed(node) if instead else node
    return result


def with_accesses(node: T, change: Callable[[Access], Expression]) -> T:
    """`node` with `change` applied to every access, those in subscripts first."""
    return with_each(node, Access, change)


def with_each(node: T, kind: type[N], change: Callable[[N], Any]) -> T:
    """`node` with `change` applied to every node of the kind, inner ones first."""

    def changed(part: Any) -> Any:
        if isinstance(part, DataObject):
            return part
        inner = with_parts(part, changed)
        return change(inner) if isinstance(inner, kind) else inner

    result: T = changed(node)
    return result


def with_node(node: T, old: Expression, new: Expression) -> T:
    """`node` with `new` in place of every expression that equals `old`."""

    def changed(part: Any) -> Any:
        if type(part) is type(old) and part == old:
            return new
        return part if isinstance(part, DataObject) else with_parts(part, changed)

    result: T = changed(node)
    return result


def with_parts(node: Any, change: Callable[[Any], Any]) -> Any:
    """`node` with `change` applied to its fields or members; the same object if none changes."""
    if type(node) is tuple:
        members = tuple(map(change, node))
        return node if all(map(operator.is_, members, node)) else members
    kind: Any = type(node)
    changes = {}
    for name in _fields(kind):
        old = getattr(node, name)
        new = change(old)
        if new is not old:
            changes[name] = new
    return dataclasses.replace(node, **changes) if changes else node


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node in which objects may be; none if it is no node."""
    plain = (SourceRange, ScalarType, RecordType, VoidType)
    if not dataclasses.is_dataclass(kind) or issubclass(kind, plain) or kind.__module__ == "tilepragma.ir.directives":
        return ()
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in ("range", "header"))


def without_names_in_clauses(kernel: Kernel, names: Set[str]) -> Kernel:
    """The kernel without these names in its `private` and `reduction` clauses."""

    def left(clause: PrivateClause | ReductionClause) -> tuple[str, ...]:
        return tuple(name for name in clause.names if name not in names)

    def changed(directive: _Directive) -> _Directive:
        privates = (
            clause if clause.first else dataclasses.replace(clause, names=left(clause)) for clause in directive.privates
        )
        reductions = (dataclasses.replace(clause, names=left(clause)) for clause in directive.reductions)
        return dataclasses.replace(
            directive,
            privates=tuple(clause for clause in privates if clause.names),
            reductions=tuple(clause for clause in reductions if clause.names),
        )

    def loop(node: Loop) -> Loop:
        return node if node.directive is None else dataclasses.replace(node, directive=changed(node.directive))

    body = with_each(kernel.body, Loop, loop)
    return dataclasses.replace(kernel, directive=changed(kernel.directive), body=body)
