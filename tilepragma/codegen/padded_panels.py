"""Outlines padded panels into functions, for compilers of host functions.

The columns that fill no register tile run beside the full ones, in the same loops. In one function
both kinds of tiles share registers, and gcc (12) spills more around the full ones: products of
floats took 1.08 times as long even without remaining columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Declaration, Loop, PackedPanels
from tilepragma.ir.traversal import walk


def has_padded_tiles(node: PackedPanels) -> bool:
    """Whether the tiles inside are padded, and this is their outermost statement."""
    return any(panel.padded and not panel.stored for panel in node.buffers)


def objects_outside(node: PackedPanels) -> tuple[DataObject, ...]:
    """The objects that the statement and its panels mention but do not declare, in order."""
    nodes = list(_everything(node))
    inside = {node.iterator for node in nodes if isinstance(node, Loop) and node.declares_iterator}
    inside |= {declarator.object for node in nodes if isinstance(node, Declaration) for declarator in node.declarators}
    mentioned = (node.object for node in nodes if isinstance(node, Access))
    return tuple(object_ for object_ in dict.fromkeys(mentioned) if object_ not in inside)


def _everything(root: Any) -> Iterator[Any]:
    """All nodes below, including those of panels."""
    for node in walk(root):
        yield node
        if isinstance(node, PackedPanels):
            for panel in node.buffers:
                for part in (*panel.loops, *panel.declarations, panel.access, *panel.conditions):
                    yield from walk(part)
