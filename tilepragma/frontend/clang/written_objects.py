"""What a piece of the loop tree may write, and whether it changes an expression's value."""

from __future__ import annotations

from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, AddressOf, Assignment, Call, Callee, DataObject, Expression, Increment
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.traversal import objects_in, walk
from tilepragma.ir.types import PointerType, Type


@dataclass(frozen=True)
class Written:
    """The objects that may be written, and those whose address is passed on."""

    objects: frozenset[DataObject]
    addressed: frozenset[DataObject]

    @property
    def all(self) -> frozenset[DataObject]:
        """All these objects."""
        return self.objects | self.addressed

    def spoils(self, expression: Expression) -> DataObject | None:
        """The first object that the expression reads and that may be written, or None."""
        return next(filter(self.all.__contains__, objects_in(expression)), None)


def written_in(*nodes: Any) -> Written:
    """Everything that the nodes may write: assignments, iterators, arguments passed by address."""
    objects: set[DataObject] = set()
    addressed: set[DataObject] = set()
    for root in nodes:
        for node in walk(root):
            if isinstance(node, (Assignment, Increment)):
                objects.add(node.target.object)
            elif isinstance(node, Loop):
                objects.add(node.iterator)
            elif isinstance(node, AddressOf) and not _is_read_only(node.type):
                addressed.add(node.target.object)
            elif isinstance(node, Call) and node.callee is Callee.USER:
                passed = (argument for argument in node.arguments if isinstance(argument, Access))
                pointers = (argument for argument in passed if isinstance(argument.type, PointerType))
                addressed |= {pointer.object for pointer in pointers if not _is_read_only(pointer.type)}
    return Written(frozenset(objects), frozenset(addressed))


def _is_read_only(type_: Type) -> bool:
    """Whether the function takes a pointer argument as one to const; for rows, to const numbers."""
    while isinstance(type_, PointerType) and isinstance(type_.pointee, PointerType):
        type_ = type_.pointee
    return isinstance(type_, PointerType) and type_.const


def has_effects(expression: Expression) -> bool:
    """Whether evaluating the expression may change anything."""
    return bool(written_in(expression).all)
