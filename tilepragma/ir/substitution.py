"""Replaces objects and nodes in a piece of the loop tree; shares unchanged parts."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.types import RecordType, ScalarType, VoidType

T = TypeVar("T")
N = TypeVar("N")


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
