"""Loop-invariant accesses: `total[2]`, or `w[k]` in an inner loop over k with constant bounds."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import Access, DataObject, Expression, Index
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.traversal import walk


@dataclass(frozen=True)
class InvariantAccesses:
    """Tells which accesses touch the same elements in all iterations of a loop."""

    loop: Loop
    kernel: Kernel

    def holds(self, use: Use) -> bool | None:
        """Whether the use indexes all dimensions of its array, and no index changes with the loop.

        None where that is unknown, or where the use covers a range with only one invariant end.
        """
        if len(use.subscripts) != use.object.rank:
            return False
        inside = {loop.iterator: loop for loop in use.loops}
        ahead = [*use.subscripts, *(step.index for step in use.path if isinstance(step, Index))]
        answers: list[bool | None] = []
        for value in ahead:  # grows
            for object_ in {node.object for node in walk(value) if isinstance(node, Access)}:
                if object_ not in inside:
                    answers.append(self._is_invariant(object_))
                    continue
                loop = inside.pop(object_)
                ends = [self._all_invariant(end, inside) for end in (loop.lower, loop.upper)]
                answers.append(None if ends.count(True) == 1 else ends[0])
        return False if False in answers else None if None in answers else True

    def _all_invariant(self, value: Expression, inside: Collection[DataObject]) -> bool | None:
        named = {node.object for node in walk(value) if isinstance(node, Access)}
        answers = [None if object_ in inside else self._is_invariant(object_) for object_ in named]
        return False if False in answers else None if None in answers else True

    def _is_invariant(self, object_: DataObject) -> bool | None:
        if object_ == self.loop.iterator or object_ in self._changing:
            return False
        # The analysis knows nothing of a called function's locals that change.
        return True if object_ in self._known else None

    @cached_property
    def _changing(self) -> frozenset[DataObject]:
        return frozenset(use.object for use in uses(self.loop.body, self.kernel.functions) if use.writes)

    @cached_property
    def _known(self) -> frozenset[DataObject]:
        return frozenset(node.object for node in walk(self.kernel.body) if isinstance(node, Access))
