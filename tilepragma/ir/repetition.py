"""Whether a kernel does as much work whatever its arrays hold, so that it can be repeated on what it left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilepragma.ir.expressions import Access, Assignment, DataObject, Increment, Scope
from tilepragma.ir.loop_tree import Break, Declaration, ForLoop, If, Kernel, Loop, Return, Switch, While
from tilepragma.ir.traversal import walk

_DECIDING = (Break, ForLoop, If, Loop, Switch, While)


def is_as_much_work_again(kernel: Kernel) -> bool:
    """Whether what runs, and where it reads and writes, depends on iterators and on numbers that
    the kernel leaves alone. May say no of kernels of which it does.
    """
    values = _values(kernel)
    called = (node for function in kernel.functions for node in walk(function.body))
    return not (
        any(_decides(node, values) for node in walk(kernel.body)) or any(isinstance(node, _DECIDING) for node in called)
    )


def _values(kernel: Kernel) -> set[DataObject]:
    """The scalars that have what comes of elements, and those from outside that the kernel changes."""
    assigned = [one for node in walk(kernel.body) for one in _assigned(node)]
    found = {target for target, _ in assigned if target.scope is not Scope.LOCAL}
    while True:
        further = {target for target, value in assigned if target not in found and _has_values(value, found)}
        if not further:
            return found
        found |= further


def _assigned(node: Any) -> Iterator[tuple[DataObject, Any]]:
    """What a node gives a value, and the value; loops give their iterators none."""
    match node:
        case Declaration():
            yield from ((declarator.object, declarator.initializer) for declarator in node.declarators)
        case Assignment():
            yield node.target.object, node.value
        case Increment():
            yield node.target.object, node.target


def _decides(node: Any, values: set[DataObject]) -> bool:
    """Whether a node runs otherwise, or means another element, for other values."""
    match node:
        case ForLoop() | While() | Break() | Return():
            return True
        case If() | Switch():
            return _has_values(node.condition, values)
        case Loop():
            return any(_has_values(bound, values) for bound in (node.lower, node.upper, node.step))
        case Access():
            return any(_has_values(subscript, values) for subscript in node.subscripts)
    return False


def _has_values(node: Any, values: set[DataObject]) -> bool:
    return any(isinstance(node, Access) and (node.subscripts or node.object in values) for node in walk(node))
