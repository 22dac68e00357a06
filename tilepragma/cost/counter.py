"""How often the statements of a LoopTree run, for many sizes in parallel, without visiting points.

A loop is enumerated only if its iterator decides how often its body's statements run. The innermost
loop is never enumerated if its bounds give its length, nor are loops around affine conditions. A
batch holds cases of the sizes with values of the surrounding iterators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.guarded_points import guarded_points
from tilepragma.cost.parameter_batch import (
    Counts,
    ParameterBatch,
    add,
    declared_along,
    is_leaf,
    loops_of,
    places,
    ragged,
    samples,
    summed,
)
from tilepragma.ir.evaluation import TooManyError, Values
from tilepragma.ir.expressions import Access, Expression
from tilepragma.ir.loop_tree import Barrier, Block, Declaration, If, Loop, PackedPanels, Stage, Statement, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.model.execution_time import Integers

#: Enumerated iterations after which counting gives up.
BUDGET = 2**26


@dataclass
class Counter:
    """Counts executions. `spent`: the iterations enumerated so far, at most `budget`. With
    `samples`, a longer loop runs only so many iterations, each from the middle of those it
    represents.
    """

    budget: int = BUDGET
    samples: int | None = None
    spent: int = 0
    _decisive: dict[int, tuple[Any, frozenset[str]]] = field(default_factory=dict)

    def count(self, node: Statement, batch: ParameterBatch) -> Counts:
        """How often each leaf under the statement runs in each case. Raises UncountableError."""
        match node:
            case Block():
                return self._block(node, batch)
            case Loop() | TileNest():
                return self._loops(loops_of(node), node.body, batch)
            case If():
                return self._branches(node, batch)
            case PackedPanels():
                return self._block(node.body, batch)
            case Barrier() | Stage():
                return {}
        return self._block(Block((node,)), batch)

    def _block(self, block: Block, batch: ParameterBatch) -> Counts:
        counts: Counts = {}
        leaf: list[object] = []
        for declared, statement in declared_along(block, batch):
            if is_leaf(statement, declared):
                leaf += places(statement)
            else:
                add(counts, self.count(statement, declared))
        if leaf:
            add(counts, {tuple(leaf): 1})
        return counts

    def _branches(self, node: If, batch: ParameterBatch) -> Counts:
        counts: Counts = {}
        for part, index in branches(node, batch):
            part_counts = self.count(part, batch if len(index) == batch.count else batch.at(index))
            for leaf, values in part_counts.items():
                whole = np.zeros(batch.count, dtype=np.int64)
                whole[index] = values
                add(counts, {leaf: whole})
        return counts

    def _loops(self, loops: tuple[Loop, ...], body: Block, batch: ParameterBatch) -> Counts:
        if not loops:
            return self._block(body, batch)
        loop, *others = loops
        inner = (*others,)
        trips = batch.evaluation.trips(loop)
        if loop.iterator.name not in self.decisive(inner, body):
            inner_counts = self._loops(inner, body, batch.inside({loop.iterator.name: loop.lower}))
            return {leaf: values * trips for leaf, values in inner_counts.items()}
        guarded = guarded_points(loops, body, batch)
        if guarded is not None:
            return guarded
        counts: Counts = {}
        for index, child, repeats in self._some(loop, batch, trips):
            for leaf, values in self._loops(inner, body, child).items():
                add(counts, {leaf: summed(index, repeats * values, batch.count)})
        return counts

    def _some(
        self, loop: Loop, batch: ParameterBatch, trips: Values
    ) -> Iterator[tuple[Integers, ParameterBatch, Values]]:
        """Like `iterations`, or samples of them, with the number that each sample represents."""
        if self.samples is None:
            yield from ((index, child, 1) for index, child in self.iterations(loop, batch))
            return
        every = batch.all(trips)
        for index, place in ragged(np.minimum(every, self.samples)):
            middle, repeats = samples(every, self.samples, place, index)
            yield index, batch.iterations(loop, index, middle), repeats

    def iterations(self, loop: Loop, batch: ParameterBatch) -> Iterator[tuple[Integers, ParameterBatch]]:
        """All iterations in order, in chunks: their cases and batch. Raises UncountableError."""
        trips = batch.all(batch.evaluation.trips(loop))
        self.spent += int(trips.sum())
        if self.spent > self.budget:
            raise TooManyError(f"there are more than {self.budget} iterations to go through")
        for index, place in ragged(trips):
            yield index, batch.iterations(loop, index, place)

    def decisive(self, loops: tuple[Loop, ...], body: Block) -> frozenset[str]:
        """The names that decide how often leaves of the loops run."""
        key = id(body)
        if key not in self._decisive:
            self._decisive[key] = body, _decisive(body)
        return self._decisive[key][1].union(*(_names((loop.lower, loop.upper, loop.step)) for loop in loops))


def branches(node: If, batch: ParameterBatch) -> Iterator[tuple[Block, Integers]]:
    """The branches that some cases take, with these cases. Raises UncountableError."""
    holds = batch.holds(node.condition)
    for part, taken in ((node.then, holds), (node.otherwise, ~holds)):
        index = np.flatnonzero(taken)
        if part is not None and len(index):
            yield part, index


def names_behind(parts: Iterable[Any], body: Block) -> frozenset[str]:
    """The names in `parts`, and those behind them in declarations under `body`."""
    names: set[str] = set()
    declarations: dict[str, set[str]] = {}
    for node in walk(body):
        if isinstance(node, Declaration):
            for declarator in node.declarators:
                if declarator.initializer is not None and not isinstance(declarator.initializer, tuple):
                    declarations.setdefault(declarator.object.name, set()).update(_names((declarator.initializer,)))
    waiting = _names(parts)
    while waiting:
        names |= waiting
        waiting = {name for name_ in waiting for name in declarations.get(name_, ())} - names
    return frozenset(names)


def _decisive(body: Block) -> frozenset[str]:
    """Names in bounds and conditions under `body`, and in the declarations behind them."""
    parts: list[Expression] = []
    for node in walk(body):
        if isinstance(node, (Loop, TileNest)):
            parts += (bound for loop in loops_of(node) for bound in (loop.lower, loop.upper, loop.step))
        elif isinstance(node, If) and not any(
            isinstance(inner, Access) and inner.subscripts for inner in walk(node.condition)
        ):
            parts.append(node.condition)
    return names_behind(parts, body)


def _names(parts: Iterable[Any]) -> set[str]:
    return {node.object.name for part in parts for node in walk(part) if isinstance(node, Access)}
