"""What text mentions: the objects that it accesses and declares, and declarations nothing needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Declaration, Declarator, Statement
from tilepragma.ir.traversal import mentions, walk


def accessed_objects(roots: Iterable[Any]) -> dict[DataObject, None]:
    """The objects that trees access, in order."""
    return dict.fromkeys(node.object for root in roots for node in walk(root) if isinstance(node, Access))


def declared_objects(root: Any) -> set[DataObject]:
    """The objects that a tree declares."""
    return {node.object for node in walk(root) if isinstance(node, Declarator)}


def is_idle(statement: Statement, rest: tuple[Statement, ...]) -> bool:
    """Whether the statement is a planner's constant that the rest does not read: not printed."""
    if not isinstance(statement, Declaration) or statement.range != NOWHERE:
        return False
    return all(
        declarator.object.const and not any(mentions(later, declarator.object) for later in rest)
        for declarator in statement.declarators
    )
