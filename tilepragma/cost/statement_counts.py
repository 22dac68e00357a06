"""All points of a launch, counted on the user's region: they do not depend on tile sizes."""

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
    ParameterBatch,
    chosen,
    declared_along,
    is_leaf,
    loops_of,
    places,
)
from tilepragma.cost.tile_traffic import is_of_memory
from tilepragma.ir.accesses import uses
from tilepragma.ir.evaluation import TooManyError, Values
from tilepragma.ir.loop_tree import Block, ExpressionStatement, Loop, Statement, TileNest
from tilepragma.ir.traversal import statements_of, walk
from tilepragma.model.execution_time import Integers
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import KernelPlan, Launch

#: Sampled iterations of a loop that is too long to enumerate.
SAMPLES = 512


@dataclass(frozen=True)
class SourceCounts:
    """How often the user's statements run, by source position; estimates unless `exact`."""

    plan: KernelPlan
    counts: Mapping[object, Values]
    exact: bool

    @staticmethod
    def of(plan: KernelPlan, scalars: Mapping[str, Values]) -> SourceCounts:
        """The counts of the plan's region, once for each distinct case. Raises UncountableError."""
        cases, distinct, index = distinct_cases(scalars)
        batch, exact = ParameterBatch(cases, distinct), True
        try:
            counts = Counter().count(plan.kernel.body, batch)
        except TooManyError:
            counts, exact = Counter(samples=SAMPLES).count(plan.kernel.body, batch), False
        spread = {leaf: chosen(values, index) for leaf, values in counts.items()}
        return SourceCounts(plan, {place: values for leaf, values in spread.items() for place in leaf}, exact)

    def at(self, index: Integers) -> SourceCounts:
        """The cases at `index`."""
        return replace(self, counts={place: chosen(values, index) for place, values in self.counts.items()})

    def of_launch(self, launch: Launch, among: tuple[Launch, ...], batch: ParameterBatch) -> Counts | None:
        """How often the region runs the launch's statements. None if another launch of the tree
        (`among`) runs some of them, or if the launch does more than the region.
        """
        leaves = sorted(leaves_under(launch.body, batch), key=len, reverse=True)
        run = {place for leaf in leaves for place in leaf}
        others = (place for launch_ in among if launch_ != launch for place in places(launch_.body))
        if launch.scratchpads or not run <= self.counts.keys() or not run.isdisjoint(others):
            return None
        counts: Counts = {}
        seen: set[object] = set()
        for leaf in leaves:
            # A statement may occur in several places, each for different iterations.
            if not seen.issuperset(leaf):
                counts[leaf] = self.counts[leaf[0]]
                seen.update(leaf)
        return counts

    def operations(self, leaf: Leaf) -> int:
        """Floating-point operations of the leaf's statements, those under data conditions too."""
        return sum(self._operations.get(place, 0) for place in leaf)

    def accesses(self, leaf: Leaf) -> int:
        """Bytes that the leaf's statements read and write in memory, counting every access."""
        return sum(self._accesses.get(place, 0) for place in leaf)

    @cached_property
    def _operations(self) -> dict[object, int]:
        return {place: operations_in(statement) for place, statement in self._statements}

    @cached_property
    def _accesses(self) -> dict[object, int]:
        def accessed(statement: ExpressionStatement) -> int:
            in_memory = (use for use in uses(statement) if is_of_memory(use))
            return sum((use.reads + use.writes) * element_bytes(use.object) for use in in_memory)

        return {place: accessed(statement) for place, statement in self._statements}

    @property
    def _statements(self) -> Iterator[tuple[object, ExpressionStatement]]:
        for body in (self.plan.kernel.body, *(launch.body for launch in (*self.plan.host, *self.plan.device))):
            for node in walk(body):
                if isinstance(node, ExpressionStatement):
                    yield from ((place, node) for place in places(node))


def distinct_cases(scalars: Mapping[str, Values]) -> tuple[int, dict[str, Values], Integers]:
    """The number of distinct cases, their values, and the distinct case of each given case."""
    varied = {name: value for name, value in scalars.items() if not isinstance(value, int)}
    if not varied:
        return 1, dict(scalars), np.zeros(1, dtype=np.int64)
    unique, index = np.unique(np.array(np.broadcast_arrays(*varied.values())), axis=1, return_inverse=True)
    return unique.shape[1], {**scalars, **dict(zip(varied, unique, strict=True))}, index.reshape(-1)


def each_case(cases: int, values: Mapping[str, Values]) -> Iterator[dict[str, int]]:
    """The values of each of so many cases."""
    for case in range(cases):
        yield {name: int(np.broadcast_to(value, (cases,))[case]) for name, value in values.items()}


def leaves_under(node: Statement, batch: ParameterBatch) -> set[Leaf]:
    """The leaves that `Counter.count` finds under the statement. Raises UncountableError."""
    if isinstance(node, (Loop, TileNest)):
        batch = batch.inside({loop.iterator.name: loop.lower for loop in loops_of(node)})
    leaves: set[Leaf] = set()
    if not isinstance(node, Block):
        for part in [part for part in statements_of(node) if isinstance(part, Block)] or [Block((node,))]:
            leaves |= leaves_under(part, batch)
        return leaves
    leaf: list[object] = []
    for declared, statement in declared_along(node, batch):
        if is_leaf(statement, declared):
            leaf += places(statement)
        else:
            leaves |= leaves_under(statement, declared)
    return {*leaves, tuple(leaf)} if leaf else leaves
