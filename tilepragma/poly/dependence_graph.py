"""The dependence graph's carried dependences: which loop carries which, memoized."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Scope, Storage
from tilepragma.ir.loop_tree import Loop
from tilepragma.poly.dependences import Dependence, carried_at
from tilepragma.poly.scop import Scop


@dataclass
class Carried:
    """The dependences of a Scop, except of outer scalars, which iterations may privatize."""

    scop: Scop
    dependences: tuple[Dependence, ...]
    _carrying: dict[int, frozenset[int]] = field(default_factory=dict)

    def by(self, loop: Loop, statements: Collection[str]) -> Iterator[Dependence]:
        """The dependences between these statements that `loop` carries."""
        for number, dependence in enumerate(self.dependences):
            if dependence.source_statement.name not in statements or dependence.sink_statement.name not in statements:
                continue
            if dependence.source.object.storage is Storage.SCALAR and dependence.source.object.scope is not Scope.LOCAL:
                continue
            if any(each.index == loop.index for each in dependence.loops) and loop.index in self._loops(number):
                yield dependence

    def statements_under(self, loop: Loop) -> frozenset[str]:
        """The names of the statements in the loop."""
        return frozenset(
            statement.name
            for statement in self.scop.statements
            if any(each.index == loop.index for each in statement.loops)
        )

    def _loops(self, number: int) -> frozenset[int]:
        if number not in self._carrying:
            self._carrying[number] = frozenset(loop.index for loop in carried_at(self.dependences[number]))
        return self._carrying[number]
