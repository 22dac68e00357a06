"""Objects of a piece of LoopTree replaced by others: iterators of loops that move into the host's hands, for instance."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from tilepragma.ir.directives import KernelDirective, LoopDirective
from tilepragma.ir.expressions import DataObject

T = TypeVar("T")


def with_objects(node: T, replaced: Mapping[DataObject, DataObject]) -> T:
    """`node` with every use and declaration of an object that `replaced` knows meaning the other one.

    Nodes in which nothing changes are the very same nodes. Lengths of arrays are not looked into.
    """
    changed: T = _changed(node, replaced)
    return changed


def _changed(node: Any, replaced: Mapping[DataObject, DataObject]) -> Any:
    if isinstance(node, DataObject):
        return replaced.get(node, node)
    if type(node) is tuple:
        parts = tuple(_changed(part, replaced) for part in node)
        same = all(new is old for new, old in zip(parts, node, strict=True))
        return node if same else parts
    if not dataclasses.is_dataclass(node) or isinstance(node, (type, KernelDirective, LoopDirective)):
        return node
    fields = {field.name: getattr(node, field.name) for field in dataclasses.fields(node)}
    changes = {name: new for name, old in fields.items() if (new := _changed(old, replaced)) is not old}
    return dataclasses.replace(node, **changes) if changes else node
