"""Accesses that mean the same elements in all iterations of a loop: `total[2]`, or `w[k]` in a loop over k whose bounds do not change."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import Access, DataObject, Expression, Index
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.traversal import walk


@dataclass(frozen=True)
class SteadyAccesses:
    """Which accesses mean the same elements in all iterations of a loop."""

    loop: Loop
    kernel: Kernel

    def holds(self, use: Use) -> bool | None:
        """Whether the access is to all of an array's dimensions, and nothing in it, nor in an index
        behind a member, changes with the loop.

        None where that is not known, or where it goes through elements from one that does not
        change to one that does.
        """
        if len(use.subscripts) != use.object.rank:
            return False
        inside = {loop.iterator: loop for loop in use.loops}
        ahead = [*use.subscripts, *(step.index for step in use.path if isinstance(step, Index))]
        found: list[bool | None] = []
        for value in ahead:  # grows
            for one in {node.object for node in walk(value) if isinstance(node, Access)}:
                if one not in inside:
                    found.append(self._is_steady(one))
                    continue
                loop = inside.pop(one)
                ends = [self._all_steady(end, inside) for end in (loop.lower, loop.upper)]
                found.append(None if ends.count(True) == 1 else ends[0])
        return False if False in found else None if None in found else True

    def _all_steady(self, value: Expression, inside: Collection[DataObject]) -> bool | None:
        named = {node.object for node in walk(value) if isinstance(node, Access)}
        found = [None if one in inside else self._is_steady(one) for one in named]
        return False if False in found else None if None in found else True

    def _is_steady(self, one: DataObject) -> bool | None:
        if one == self.loop.iterator or one in self._changing:
            return False
        # Of a function's own numbers that change in it nothing is known here.
        return True if one in self._known else None

    @cached_property
    def _changing(self) -> frozenset[DataObject]:
        return frozenset(use.object for use in uses(self.loop.body, self.kernel.functions) if use.writes)

    @cached_property
    def _known(self) -> frozenset[DataObject]:
        return frozenset(node.object for node in walk(self.kernel.body) if isinstance(node, Access))
