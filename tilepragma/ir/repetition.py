"""Whether statements are as much work whatever the arrays hold, so that they can be repeated on what they left."""

from __future__ import annotations

from typing import Any

from tilepragma.ir.expressions import Access, Assignment, DataObject, Expression, Increment
from tilepragma.ir.looptree import Break, Declaration, ForLoop, If, Kernel, Loop, Return, Switch, While
from tilepragma.ir.traversal import loops_in, walk

_DECIDING = (Break, ForLoop, If, Loop, Switch, While)


def is_as_much_work_again(kernel: Kernel) -> bool:
    """Whether what runs depends on iterators and on numbers that the kernel leaves alone. May say no of kernels of which it does."""
    iterators = {loop.iterator for loop in loops_in(kernel.body)}
    changed = {one for node in walk(kernel.body) for one in _assigned(node)} - iterators
    called = (node for function in kernel.functions for node in walk(function.body))
    return not (
        any(_depends(node, changed) for node in walk(kernel.body))
        or any(isinstance(node, _DECIDING) for node in called)
    )


def _assigned(node: Any) -> tuple[DataObject, ...]:
    """What a node declares or assigns to."""
    match node:
        case Declaration():
            return tuple(one.object for one in node.declarators)
        case Assignment() | Increment():
            return (node.target.object,)
    return ()


def _depends(node: Any, changed: set[DataObject]) -> bool:
    """Whether a statement decides by values."""
    match node:
        case ForLoop() | While() | Break() | Return():
            return True
        case If() | Switch():
            return _has_values(node.condition, changed)
        case Loop():
            return any(_has_values(bound, changed) for bound in (node.lower, node.upper, node.step))
    return False


def _has_values(expression: Expression, changed: set[DataObject]) -> bool:
    accesses = (node for node in walk(expression) if isinstance(node, Access))
    return any(one.subscripts or one.object in changed for one in accesses)
