"""What the planner declares at each statement and no text of the statement needs: it is not printed."""

from __future__ import annotations

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import Access
from tilepragma.ir.loop_tree import Declaration, Statement
from tilepragma.ir.traversal import walk


def is_idle(statement: Statement, rest: tuple[Statement, ...]) -> bool:
    """Whether it is a constant that the planner declared (the user's text has none there) and nobody reads."""
    if not isinstance(statement, Declaration) or statement.range != NOWHERE:
        return False
    return all(
        declarator.object.const
        and not any(
            isinstance(node, Access) and node.object == declarator.object for later in rest for node in walk(later)
        )
        for declarator in statement.declarators
    )
