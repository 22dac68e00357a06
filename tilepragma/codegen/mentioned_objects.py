"""What text mentions: the objects that it accesses and declares, and declarations nothing needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, Loop, Statement, TileNest
from tilepragma.ir.traversal import children, mentions, walk


def accessed_objects(roots: Iterable[Any]) -> dict[DataObject, None]:
    """The objects that trees access, in order."""
    return dict.fromkeys(node.object for root in roots for node in walk(root) if isinstance(node, Access))


def is_idle(statement: Statement, rest: tuple[Statement, ...]) -> bool:
    """Whether the statement is a planner's constant that the rest does not read: not printed."""
    if not isinstance(statement, Declaration) or statement.range != NOWHERE:
        return False
    objects = (declarator.object for declarator in statement.declarators)
    return all(object_.const and not any(mentions(later, object_) for later in rest) for object_ in objects)


def printed_objects(node: Any) -> dict[DataObject, None]:
    """The objects in a launch's text, in order, without bounds that the launch supplies."""
    objects: dict[DataObject, None] = {}
    _collect(node, objects)
    return objects


def _collect(node: Any, objects: dict[DataObject, None]) -> None:
    parts: Iterable[Any] = children(node)
    if isinstance(node, TileNest):
        loops = [tiled.loop for tiled in node.loops if not tiled.launch_bounds]
        parts = (*(part for loop in loops for part in loop.bounds), node.body)
    elif isinstance(node, Block):
        rest = node.statements
        parts = [part for place, part in enumerate(rest) if not is_idle(part, rest[place + 1 :])]
    elif isinstance(node, Access):
        objects.setdefault(node.object)
    elif isinstance(node, Loop) and not node.declares_iterator:
        objects.setdefault(node.iterator)
    elif isinstance(node, Declarator):
        parts = (*(length for length in node.object.lengths if length is not None), *parts)
    for part in parts:
        _collect(part, objects)
