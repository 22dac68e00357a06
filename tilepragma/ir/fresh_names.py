"""Names for objects that a plan adds to a region: none that the region or its functions use already."""

from __future__ import annotations

import itertools

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Block, Declarator, Kernel, Loop
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG, ScalarType


def names_in(kernel: Kernel, *bodies: Block) -> frozenset[str]:
    """Every identifier that the region's own text mentions, its functions', and what was made of them."""
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
    """Identifiers of new objects: `taken` are those that no new one may have."""

    taken: set[str]

    def scalar(self, base: str, type_: ScalarType = LONG) -> DataObject:
        """A new scalar of a type, scope LOCAL, whose name starts with `base`."""
        free = (base if count == 1 else f"{base}_{count}" for count in itertools.count(1))
        name = next(one for one in free if one not in self.taken)
        self.taken.add(name)
        return DataObject(name, name, type_, Storage.SCALAR, Scope.LOCAL)
