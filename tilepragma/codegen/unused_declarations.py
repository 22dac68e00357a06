"""Finds the planner's declarations that no statement reads; they are not printed."""

from __future__ import annotations

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import Access
from tilepragma.ir.loop_tree import Declaration, Statement
from tilepragma.ir.traversal import walk


def is_idle(statement: Statement, rest: tuple[Statement, ...]) -> bool:
    """Whether the statement is a planner's constant that the rest does not read."""
    if not isinstance(statement, Declaration) or statement.range != NOWHERE:
        return False
    return all(
        declarator.object.const
        and not any(
            isinstance(node, Access) and node.object == declarator.object for later in rest for node in walk(later)
        )
        for declarator in statement.declarators
    )
