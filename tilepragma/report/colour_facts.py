"""Why points of one colour are not adjacent on devices, where a condition selects a colour."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import Binary, DataObject, Expression
from tilepragma.ir.loop_tree import Block, If, Statement
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.source_text import plain_text


def unsplit_colours(plan: KernelPlan) -> Iterator[str]:
    """A clause for each array that is relaxed under a condition on the parity of its place."""
    if plan.as_written is not None or not plan.device:
        return
    reported: set[DataObject] = set()
    for condition, statement in _conditions(plan.kernel.body):
        for array in _relaxed(statement):
            if array not in reported:
                reported.add(array)
                line = condition.range.start.line
                yield (
                    f"arrays split by colour, on devices: '{plain_text(condition)}' on line {line} keeps every other "
                    f"element of '{array.host}' from being computed, and loops go through all of them; sor(redblack) "
                    "on the loops without this condition, once a sweep, has an array for each class of elements (the "
                    "mesh's first one has the first colour)"
                )


def _conditions(body: Block) -> Iterator[tuple[Expression, Statement]]:
    """Conditions that compare the parity of a sum with something, and the guarded statements."""
    for node in (node for node in walk(body) if isinstance(node, If)):
        condition = node.condition
        if isinstance(condition, Binary) and condition.operator in ("==", "!="):
            yield from ((condition, node.then) for side in (condition.left, condition.right) if _is_parity(side))


def _is_parity(value: Expression) -> bool:
    if not isinstance(value, Binary) or (value.operator, polynomial(value.right).constant) not in (("%", 2), ("&", 1)):
        return False
    return sum(1 for product, _ in polynomial(value.left).terms if product) > 1


def _relaxed(statement: Statement) -> Iterator[DataObject]:
    """The arrays of which some elements are computed from others."""
    all_uses = list(uses(statement))
    for write in all_uses:
        if write.writes and write.object.rank:
            others = (use for use in all_uses if use.reads and use.object == write.object)
            if any(use.subscripts != write.subscripts for use in others):
                yield write.object
