"""Names for objects that a plan adds to a region, unused by the region and its functions."""

from __future__ import annotations

import itertools
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Block, Declarator, Kernel, Loop
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG, ScalarType


def names_in(kernel: Kernel, *bodies: Block) -> frozenset[str]:
    """Every identifier in the region's text, its functions, and the `bodies` made of them."""
    objects: set[DataObject] = set(kernel.objects)
    for body in (kernel.body, *bodies, *(function.body for function in kernel.functions)):
        for node in walk(body):
            if isinstance(node, (Access, Declarator)):
                objects.add(node.object)
            elif isinstance(node, Loop):
                objects.add(node.iterator)
    return frozenset(object_.name for object_ in objects) | {function.name for function in kernel.functions}


@dataclass
class Names:
    """Makes identifiers for objects, each different from all those `taken`."""

    taken: set[str] = field(default_factory=set)

    def unique(self, base: str) -> str:
        """`base`, or with `_2`, `_3`, … if that is taken."""
        free = (base if count == 1 else f"{base}_{count}" for count in itertools.count(1))
        name = next(candidate for candidate in free if candidate not in self.taken)
        self.taken.add(name)
        return name

    def scalar(self, base: str, type_: ScalarType = LONG) -> DataObject:
        """A new LOCAL scalar of a type, whose name starts with `base`."""
        name = self.unique(base)
        return DataObject(name, name, type_, Storage.SCALAR, Scope.LOCAL)
