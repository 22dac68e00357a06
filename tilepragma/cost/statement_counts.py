"""All points of a launch, from the region as the user wrote it: they are as many for all tile sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.counter import Counter
from tilepragma.cost.operation_counts import operations_in
from tilepragma.cost.parameter_batch import (
    Counts,
    Leaf,
    Numbers,
    ParameterBatch,
    chosen,
    declared_along,
    is_leaf,
    places,
)
from tilepragma.cost.tile_traffic import is_of_memory
from tilepragma.ir.accesses import uses
from tilepragma.ir.evaluation import TooManyError, Values
from tilepragma.ir.loop_tree import Block, ExpressionStatement, If, Loop, PackedPanels, Statement, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import KernelPlan, Launch

#: Iterations of one loop that stand for all of them where all are too many.
SAMPLES = 512


@dataclass(frozen=True)
class SourceCounts:
    """How often the statements of the region run as the user wrote them, by their places; nearly so where not `exact`."""

    plan: KernelPlan
    counts: Mapping[object, Values]
    exact: bool

    @staticmethod
    def of(plan: KernelPlan, scalars: Mapping[str, Values]) -> SourceCounts:
        """Of the region that the plan uses; what cases have in common is counted once. Raises UncountableError."""
        cases, own, index = apart(scalars)
        lanes, exact = ParameterBatch(cases, own), True
        try:
            found = Counter().count(plan.kernel.body, lanes)
        except TooManyError:
            found, exact = Counter(samples=SAMPLES).count(plan.kernel.body, lanes), False
        spread = {leaf: chosen(values, index) for leaf, values in found.items()}
        return SourceCounts(plan, {place: values for leaf, values in spread.items() for place in leaf}, exact)

    def at(self, index: Numbers) -> SourceCounts:
        """The cases at `index`."""
        return replace(self, counts={place: chosen(values, index) for place, values in self.counts.items()})

    def of_launch(self, launch: Launch, among: tuple[Launch, ...], lanes: ParameterBatch) -> Counts | None:
        """How often what the launch runs is run by the region; None where one of `among`, the
        launches of its tree, runs some of that too, or the launch does more than the region.
        """
        leaves = sorted(leaves_under(launch.body, lanes), key=len, reverse=True)
        own = {place for leaf in leaves for place in leaf}
        others = (place for other in among if other != launch for place in places(other.body))
        if launch.scratchpads or not own <= self.counts.keys() or not own.isdisjoint(others):
            return None
        counts: Counts = {}
        seen: set[object] = set()
        for leaf in leaves:
            # The same statements may stand in several places, each for iterations of its own.
            if not seen.issuperset(leaf):
                counts[leaf] = self.counts[leaf[0]]
                seen.update(leaf)
        return counts

    def operations(self, leaf: Leaf) -> int:
        """Floating-point operations of the leaf's statements, of those under conditions on data too."""
        return sum(self._operations.get(place, 0) for place in leaf)

    def accesses(self, leaf: Leaf) -> int:
        """Bytes that the leaf's statements read and write in memory, as often as they do."""
        return sum(self._accesses.get(place, 0) for place in leaf)

    @cached_property
    def _operations(self) -> dict[object, int]:
        return {place: operations_in(one) for place, one in self._statements}

    @cached_property
    def _accesses(self) -> dict[object, int]:
        return {place: _accessed(one) for place, one in self._statements}

    @property
    def _statements(self) -> Iterator[tuple[object, ExpressionStatement]]:
        for body in (self.plan.kernel.body, *(one.body for one in (*self.plan.host, *self.plan.device))):
            for node in walk(body):
                if isinstance(node, ExpressionStatement):
                    yield from ((place, node) for place in places(node))


def apart(scalars: Mapping[str, Values]) -> tuple[int, dict[str, Values], Numbers]:
    """How many different cases of the values there are, these cases, and for each case that was given the number of its own."""
    varied = {name: value for name, value in scalars.items() if not isinstance(value, int)}
    if not varied:
        return 1, dict(scalars), np.zeros(1, dtype=np.int64)
    unique, index = np.unique(np.array(np.broadcast_arrays(*varied.values())), axis=1, return_inverse=True)
    return unique.shape[1], {**scalars, **dict(zip(varied, unique, strict=True))}, index.reshape(-1)


def each_case(cases: int, values: Mapping[str, Values]) -> Iterator[dict[str, int]]:
    """The values of each of so many cases."""
    for case in range(cases):
        yield {name: int(np.broadcast_to(value, (cases,))[case]) for name, value in values.items()}


def _accessed(statement: ExpressionStatement) -> int:
    found = (use for use in uses(statement) if is_of_memory(use))
    return sum((one.reads + one.writes) * element_bytes(one.object) for one in found)


def leaves_under(node: Statement, lanes: ParameterBatch) -> set[Leaf]:
    """The leaves that `Counter.count` finds under the statement. Raises UncountableError."""
    if isinstance(node, Block):
        return set(_leaves(node, lanes))
    if isinstance(node, If):
        parts = (node.then,) if node.otherwise is None else (node.then, node.otherwise)
        return {leaf for part in parts for leaf in _leaves(part, lanes)}
    if isinstance(node, (Loop, TileNest)):
        loops = (node,) if isinstance(node, Loop) else tuple(tiled.loop for tiled in node.loops)
        return leaves_under(node.body, lanes.inside({loop.iterator.name: loop.lower for loop in loops}))
    return leaves_under(node.body if isinstance(node, PackedPanels) else Block((node,)), lanes)


def _leaves(block: Block, lanes: ParameterBatch) -> Iterator[Leaf]:
    own: list[object] = []
    for there, statement in declared_along(block, lanes):
        if is_leaf(statement, there):
            own += places(statement)
        else:
            yield from leaves_under(statement, there)
    if own:
        yield tuple(own)
