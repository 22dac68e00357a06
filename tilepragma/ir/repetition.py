"""Whether a kernel's work does not depend on array values, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilepragma.ir.expressions import Access, Assignment, DataObject, Increment, Scope
from tilepragma.ir.loop_tree import Break, Declaration, ForLoop, If, Kernel, Loop, Return, Switch, While
from tilepragma.ir.traversal import walk

_DECIDING = (Break, ForLoop, If, Loop, Switch, While)


def has_fixed_work(kernel: Kernel) -> bool:
    """Whether control and accesses surely depend only on iterators and unchanged numbers."""
    dependent = _data_dependent(kernel)
    called = (node for function in kernel.functions for node in walk(function.body))
    decides = any(_decides(node, dependent) for node in walk(kernel.body))
    return not decides and not any(isinstance(node, _DECIDING) for node in called)


def _data_dependent(kernel: Kernel) -> set[DataObject]:
    """The scalars that depend on array elements, and outside scalars that the kernel changes."""
    assigned = [assignment for node in walk(kernel.body) for assignment in _assigned(node)]
    dependent = {target for target, _ in assigned if target.scope is not Scope.LOCAL}
    while True:
        further = {
            target for target, value in assigned if target not in dependent and _depends_on_data(value, dependent)
        }
        if not further:
            return dependent
        dependent |= further


def _assigned(node: Any) -> Iterator[tuple[DataObject, Any]]:
    """Each object that a node assigns, with a node that holds the value; loops do not count."""
    match node:
        case Declaration():
            yield from ((declarator.object, declarator) for declarator in node.declarators)
        case Assignment():
            yield node.target.object, node.value
        case Increment():
            yield node.target.object, node.target


def _decides(node: Any, dependent: set[DataObject]) -> bool:
    """Whether the node runs otherwise, or accesses another element, for other values."""
    match node:
        case ForLoop() | While() | Break() | Return():
            return True
        case If() | Switch():
            return _depends_on_data(node.condition, dependent)
        case Loop():
            return any(_depends_on_data(bound, dependent) for bound in node.bounds)
        case Access():
            return any(_depends_on_data(subscript, dependent) for subscript in node.subscripts)
    return False


def _depends_on_data(node: Any, dependent: set[DataObject]) -> bool:
    return any(isinstance(node, Access) and (node.subscripts or node.object in dependent) for node in walk(node))
