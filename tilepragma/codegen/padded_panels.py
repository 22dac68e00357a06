"""Padded panels as functions of their own, for compilers of host functions.

The columns that fill no register tile run beside the full ones, in the same loops. In one function
both kinds of tiles share registers, and gcc (12) spills more around the full ones: products of
floats took 1.08 times as long where no columns are left at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Declaration, Loop, PackedPanels
from tilepragma.ir.traversal import walk


def is_padded_panel(node: PackedPanels) -> bool:
    """Whether the tiles inside are padded, and this is the outermost statement of them."""
    return any(buffer.padded and not buffer.stored for buffer in node.buffers)


def objects_outside(node: PackedPanels) -> tuple[DataObject, ...]:
    """What the statement and its buffers mention and do not declare, each once, in order."""
    nodes = list(_everything(node))
    inside = {node.iterator for node in nodes if isinstance(node, Loop) and node.declares_iterator}
    inside |= {each.object for node in nodes if isinstance(node, Declaration) for each in node.declarators}
    mentioned = (node.object for node in nodes if isinstance(node, Access))
    return tuple(one for one in dict.fromkeys(mentioned) if one not in inside)


def _everything(root: Any) -> Iterator[Any]:
    """All nodes below, those of buffers too."""
    for node in walk(root):
        yield node
        if isinstance(node, PackedPanels):
            for buffer in node.buffers:
                for part in (*buffer.loops, *buffer.declarations, buffer.access, *buffer.conditions):
                    yield from walk(part)
