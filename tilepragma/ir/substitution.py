"""Replaces objects and nodes in a piece of the loop tree; shares unchanged parts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.types import RecordType, ScalarType, VoidType

T = TypeVar("T")
N = TypeVar("N")


def with_objects(node: T, instead: Mapping[DataObject, DataObject]) -> T:
    """`node`, a statement or expression, with the objects that `instead` gives."""
    return _changed(node, instead) if instead else node


def _changed(node: Any, instead: Mapping[DataObject, DataObject]) -> Any:
    if isinstance(node, DataObject):
        replacement = instead.get(node)
        if replacement is not None:
            return replacement
    if type(node) is tuple:
        parts = tuple(_changed(part, instead) for part in node)
        return node if all(new is old for new, old in zip(parts, node, strict=True)) else parts
    kind: Any = type(node)
    changes = {}
    for name in _fields(kind):
        old = getattr(node, name)
        new = _changed(old, instead)
        if new is not old:
            changes[name] = new
    return dataclasses.replace(node, **changes) if changes else node


def with_accesses(node: T, change: Callable[[Access], Expression]) -> T:
    """`node` with `change` applied to every access, those in subscripts first."""
    result: T = _with_kind(node, Access, change)
    return result


def with_each(node: T, kind: type[N], change: Callable[[N], Any]) -> T:
    """`node` with `change` applied to every node of the kind, inner ones first."""
    result: T = _with_kind(node, kind, change)
    return result


def _with_kind(node: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    if type(node) is tuple:
        parts = tuple(_with_kind(part, kind, change) for part in node)
        return node if all(new is old for new, old in zip(parts, node, strict=True)) else parts
    if isinstance(node, DataObject):
        return node
    node_type: Any = type(node)
    changes = {}
    for name in _fields(node_type):
        old = getattr(node, name)
        new = _with_kind(old, kind, change)
        if new is not old:
            changes[name] = new
    changed = dataclasses.replace(node, **changes) if changes else node
    return change(changed) if isinstance(changed, kind) else changed


def with_node(node: T, old: Expression, new: Expression) -> T:
    """`node` with `new` in place of every expression that equals `old`."""
    result: T = _with_node(node, old, new)
    return result


def _with_node(node: Any, old: Expression, new: Expression) -> Any:
    if type(node) is tuple:
        parts = tuple(_with_node(part, old, new) for part in node)
        return node if all(changed is unchanged for changed, unchanged in zip(parts, node, strict=True)) else parts
    if type(node) is type(old) and node == old:
        return new
    if isinstance(node, DataObject):
        return node
    kind: Any = type(node)
    changes = {}
    for name in _fields(kind):
        before = getattr(node, name)
        after = _with_node(before, old, new)
        if after is not before:
            changes[name] = after
    return dataclasses.replace(node, **changes) if changes else node


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node in which objects may be; none if it is no node."""
    plain = (SourceRange, ScalarType, RecordType, VoidType)
    if not dataclasses.is_dataclass(kind) or issubclass(kind, plain) or kind.__module__ == "tilepragma.ir.directives":
        return ()
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in ("range", "header"))
