"""Dependences that loops of one nest carry, for any subset of its statements.

Leaves are what distribution can separate: everything inside loops other than loops and blocks. A
memory-based dependence

    { S[i] -> T[j] }   with distances   { [d] : d = j - i on the loops around both }

counts for a given set of leaves inside k sequential loops: { d : d_1 = ... = d_k = 0 }.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.loop_tree import Block, If, Loop, Statement
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.schedule.strategy import Region, is_outside_scalar

if TYPE_CHECKING:
    from tilepragma.poly.dependences import Dependence

#: Leaves by their place in the nest, in textual order.
Leaves = frozenset[int]


@dataclass(frozen=True)
class _Edge:
    """A dependence and the leaves at its ends: several if it concerns a loop's bounds."""

    dependence: Dependence
    sources: Leaves
    sinks: Leaves


@dataclass
class NestDependences:
    """The dependences of the nest `root`; restricted copies of the nest share its `leaves`."""

    root: Loop
    leaves: tuple[Statement, ...]
    _edges: list[_Edge]
    _named: frozenset[str]
    _fixed: dict[tuple[int, int], Any] = field(default_factory=dict)
    _differ: dict[tuple[int, int, int], bool] = field(default_factory=dict)

    def leaves_under(self, node: Any) -> Leaves:
        """The leaves under `node`."""
        return frozenset(self._numbers[id(leaf)] for leaf in leaves_of(node))

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(leaf): number for number, leaf in enumerate(self.leaves)}

    def loops_around(self, loop: Loop) -> int:
        """The number of loops of the nest around one of its loops."""
        return sum(any(inner.index == loop.index for inner in loops_in(outer.body)) for outer in loops_in(self.root))

    def between(self, loop: Loop, around: int, leaves: Leaves) -> Dependence | None:
        """A dependence on an array or local that `loop` carries inside `around` outer loops."""
        for number, edge in enumerate(self._edges):
            object_ = edge.dependence.source.object
            if not (edge.sources & leaves and edge.sinks & leaves) or is_outside_scalar(object_):
                continue
            if object_.host in self._named:
                continue
            place = _place(edge.dependence, loop)
            if place is not None and self._may_differ(number, around, place):
                return edge.dependence
        return None

    def order(self, loop: Loop, around: int, leaves: Leaves) -> tuple[tuple[int, int], ...]:
        """The (source, sink) leaves ordered in a `loop` iteration, inside `around` outer loops."""
        order: dict[tuple[int, int], None] = {}
        for number, edge in enumerate(self._edges):
            pairs = [(source, sink) for source in edge.sources & leaves for sink in edge.sinks & leaves]
            if not pairs or all(pair in order for pair in pairs) or _place(edge.dependence, loop) is None:
                continue
            if not self._inside(number, around).is_empty():
                order |= dict.fromkeys(pairs)
        return tuple(order)

    def _inside(self, number: int, around: int) -> Any:
        """{ d in distances : d_1 = ... = d_around = 0 }"""
        from tilepragma.poly.dependences import with_zero

        known = self._fixed.get((number, around))
        if known is None:
            known = self._edges[number].dependence.distances
            for place in range(around):
                known = with_zero(known, place)
            self._fixed[number, around] = known
        return known

    def _may_differ(self, number: int, around: int, place: int) -> bool:
        from tilepragma.poly.dependences import may_differ

        key = (number, around, place)
        if key not in self._differ:
            self._differ[key] = may_differ(self._inside(number, around), place)
        return self._differ[key]


def nest_dependences(root: Loop, region: Region, named: frozenset[str]) -> NestDependences:
    """The dependences of a nest. Raises OperationLimitError. Clauses give each instance its copy of
    the objects `named`, which its iterations use in order.
    """
    leaves = tuple(leaves_of(root))
    holding = _holding(root, leaves)
    edges = []
    for dependence in region.dependences:
        ends = id(dependence.source_statement.node), id(dependence.sink_statement.node)
        if ends[0] in holding and ends[1] in holding:
            edges.append(_Edge(dependence, holding[ends[0]], holding[ends[1]]))
    return NestDependences(root, leaves, edges, named)


def leaves_of(node: Statement) -> Iterator[Statement]:
    """The leaves under a statement, in text order; a condition comes before its branches."""
    ahead = [node]  # nested generators would pass each leaf through every level
    while ahead:
        current = ahead.pop()
        if isinstance(current, Loop):
            ahead.append(current.body)
        elif isinstance(current, Block):
            ahead.extend(reversed(current.statements))
        else:
            yield current
            if isinstance(current, If):
                ahead.extend(branch for branch in (current.otherwise, current.then) if branch is not None)


def loops_of(node: Statement) -> Iterator[Loop]:
    """The loops under a statement, with itself, outside of leaves."""
    if isinstance(node, Loop):
        yield node
        yield from loops_of(node.body)
    elif isinstance(node, (Block, If)):
        inside = node.statements if isinstance(node, Block) else (node.then, node.otherwise)
        for statement in inside:
            yield from loops_of(statement) if statement is not None else ()


def _holding(root: Loop, leaves: tuple[Statement, ...]) -> dict[int, Leaves]:
    """The leaves that each node of the nest, by identity, stands in or holds."""
    numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
    holding: dict[int, Leaves] = {}
    for leaf in leaves:
        inside = (leaf.condition,) if isinstance(leaf, If) else (leaf,)
        holding |= {id(node): frozenset({numbers[id(leaf)]}) for part in inside for node in walk(part)}
        holding[id(leaf)] = frozenset({numbers[id(leaf)]})
    for loop in loops_in(root):
        if id(loop) not in holding:
            holding[id(loop)] = frozenset(numbers[id(leaf)] for leaf in leaves_of(loop))
    return holding


def _place(dependence: Dependence, loop: Loop) -> int | None:
    return next((place for place, around in enumerate(dependence.loops) if around.index == loop.index), None)
