"""What the host can evaluate right before a launch: its value is the same in the whole region."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilepragma.base.memoization import once
from tilepragma.ir.accesses import written_in
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Call,
    Callee,
    Comma,
    DataObject,
    Expression,
    Increment,
    Scope,
    Storage,
)
from tilepragma.ir.loop_tree import Declaration, Kernel
from tilepragma.ir.traversal import walk


@once
def written_objects(kernel: Kernel) -> frozenset[DataObject]:
    """Every object that a statement of the region writes, other than by its declaration."""
    written: set[DataObject] = set()
    for statement in kernel.body.statements:
        if not isinstance(statement, Declaration):
            written |= written_in(statement, kernel.functions)
    for function in kernel.functions:
        written |= written_in(function.body, kernel.functions)
    return frozenset(written)


def host_evaluable(written: Iterable[DataObject], known: Iterable[DataObject] = ()) -> Callable[[Expression], bool]:
    """A predicate: the expression reads only unwritten outside scalars, and has no side effect.

    Array elements do not count: inside a data region the host's copy may be stale. The host also
    knows the `known` objects: iterators of its loops, and tile sizes.
    """
    changing, given = frozenset(written), frozenset(known)
    return lambda value: all(_evaluable(node, changing, given) for node in walk(value))


def _evaluable(node: object, changing: frozenset[DataObject], given: frozenset[DataObject]) -> bool:
    if isinstance(node, (Assignment, Increment, AddressOf, Comma)):
        return False
    if isinstance(node, Call):
        return node.callee is not Callee.USER
    if isinstance(node, Access):
        object_ = node.object
        return object_ in given or (object_.is_outside_scalar and object_ not in changing and not object_.volatile)
    return True


def invariant_members(kernel: Kernel) -> dict[str, DataObject]:
    """The outside structs' members that the region reads as numbers and never writes, by name."""
    written = written_objects(kernel)
    numbers = (object_ for object_ in kernel.objects if object_.storage is Storage.SCALAR and object_ not in written)
    return {number.host: number for number in numbers if "->" in number.host and number.scope is Scope.EXTERNAL}
