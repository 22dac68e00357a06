"""What accesses mean while elements are in buffers."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.loop_tree import Panel
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import walk


def place_in_buffer(
    object_: DataObject, subscripts: tuple[Expression, ...], buffer: Panel
) -> tuple[Expression, ...] | None:
    """Where in the buffer the element is that an access inside means; None where the access is not
    spelled like the buffer's, save that an iterator may be a constant there.
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


def _mentioned(subscripts: tuple[Expression, ...]) -> list[DataObject]:
    return [node.object for part in subscripts for node in walk(part) if isinstance(node, Access)]
