"""Where accesses find elements that are in packed panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import Panel
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import objects_in


def place_in_buffer(
    object_: DataObject, subscripts: tuple[Expression, ...], buffer: Panel
) -> tuple[Expression, ...] | None:
    """The subscripts in the buffer for an access to an element.

    None if the access is not spelled like the buffer's; only iterators may be constants there.
    """
    if object_ != buffer.access.object or len(subscripts) != len(buffer.access.subscripts):
        return None
    instead: dict[DataObject, DataObject] = {}
    for new, old in zip(_mentioned(subscripts), _mentioned(buffer.access.subscripts), strict=False):
        if replace(new, const=old.const) == old:
            instead[old] = new
    if with_objects(buffer.access.subscripts, instead) != subscripts:
        return None
    return with_objects(buffer.subscripts, instead)


def _mentioned(subscripts: tuple[Expression, ...]) -> Iterator[DataObject]:
    return (object_ for part in subscripts for object_ in objects_in(part))
