"""Batches of cases of a plan's sizes, and the leaves of LoopTrees: statements that run together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.evaluation import Evaluation, UncountableError, Values
from tilepragma.ir.expressions import Expression
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Break,
    Declaration,
    ExpressionStatement,
    ForLoop,
    If,
    Loop,
    PackedPanels,
    Return,
    Stage,
    Statement,
    TileNest,
    While,
)
from tilepragma.ir.traversal import walk
from tilepragma.model.execution_time import Integers

#: A leaf, identified by the source positions of its statements.
Leaf = tuple[object, ...]
#: How often leaves run, in each case.
Counts = dict[Leaf, Values]

#: Iterations evaluated at a time: few enough for the arrays to stay in the cache.
CHUNK = 2**16


class ParameterBatch:
    """`count` cases, each with a value for every name. Values are computed on demand: `values`,
    which may be expressions over the `parent`, else those of `parent` at `index`.
    """

    def __init__(
        self,
        count: int,
        values: Mapping[str, Values | Expression | None],
        parent: ParameterBatch | None = None,
        index: Integers | None = None,
    ) -> None:
        self.count = count
        self._values = dict(values)
        self._parent = parent
        self._index = index
        self._cache: dict[str, Values | None] = {}
        self.evaluation = Evaluation(self)

    def get(self, name: str) -> Values | None:
        """The values of a name, None where it has none."""
        if name not in self._cache:
            self._cache[name] = self._find(name)
        return self._cache[name]

    def _find(self, name: str) -> Values | None:
        if name in self._values:
            given = self._values[name]
            if given is None or isinstance(given, (int, np.ndarray)):
                return given
            assert self._parent is not None
            try:
                return self._parent.evaluation.value(given)
            except UncountableError:
                return None
        if self._parent is None:
            return None
        value = self._parent.get(name)
        return value if self._index is None or value is None else chosen(value, self._index)

    def inside(self, values: Mapping[str, Values | Expression | None]) -> ParameterBatch:
        """The same cases with further values."""
        return ParameterBatch(self.count, values, self)

    def at(self, index: Integers, values: Mapping[str, Values | Expression | None] = {}) -> ParameterBatch:
        """The cases at `index`, with further values."""
        return ParameterBatch(len(index), values, self, index)

    def iterations(self, loop: Loop, index: Integers, number: Integers) -> ParameterBatch:
        """The iterations of a loop with these numbers from 0, in the cases at `index`."""
        lower, step = (chosen(self.evaluation.value(bound), index) for bound in (loop.lower, loop.step))
        return self.at(index, {loop.iterator.name: lower + step * number})

    def all(self, values: Values) -> Integers:
        """A value for each case."""
        return np.broadcast_to(np.asarray(values, dtype=np.int64), (self.count,))

    def holds(self, condition: Expression) -> npt.NDArray[np.bool_]:
        """Whether the condition holds, for each case. Raises UncountableError."""
        return np.broadcast_to(self.evaluation.holds(condition), (self.count,))


def in_parts(batch: ParameterBatch, compute: Callable[[ParameterBatch], Values]) -> Integers:
    """The result for each case, computed from CHUNK cases at a time."""
    if batch.count <= CHUNK:
        return batch.all(compute(batch))
    cuts = range(0, batch.count, CHUNK)
    parts = (batch.at(np.arange(first, min(first + CHUNK, batch.count))) for first in cuts)
    return np.concatenate([part.all(compute(part)) for part in parts])


def chosen(values: Values, index: Integers) -> Values:
    """The values of the cases at `index`."""
    return values if isinstance(values, int) or values.ndim == 0 else values[index]


def samples(trips: Integers, most: int, number: Integers, index: Integers) -> tuple[Integers, Integers]:
    """The `number`-th of at most `most` even parts of so many iterations, in the cases at `index`:
    the iteration in its middle, and how many it stands for.
    """
    every, taken = trips[index], np.maximum(np.minimum(trips, most), 1)[index]
    first, beyond = number * every // taken, (number + 1) * every // taken
    return np.maximum(first + beyond - 1, 0) // 2, beyond - first


def summed(case: Integers, values: Values, count: int) -> Integers:
    """The sum of the values of each of `count` cases; `case` has the case of each value."""
    result = np.zeros(count, dtype=np.int64)
    np.add.at(result, case, values)
    return result


def ragged(lengths: Integers) -> Iterator[tuple[Integers, Integers]]:
    """The case of each member and its number in the case, CHUNK members at a time."""
    ends = np.cumsum(lengths)
    every = int(ends[-1]) if len(ends) else 0
    for first in range(0, every, CHUNK):
        beyond = min(every, first + CHUNK)
        low, high = np.searchsorted(ends, (first, beyond - 1), side="right")
        cases = np.arange(low, high + 1)
        index = np.repeat(cases, np.minimum(ends[cases], beyond) - np.maximum(ends[cases] - lengths[cases], first))
        yield index, np.arange(first, beyond) - (ends - lengths)[index]


def declared_along(block: Block, batch: ParameterBatch) -> Iterator[tuple[ParameterBatch, Statement]]:
    """The statements of a block except barriers, each with the values declared before it."""
    for statement in block.statements:
        if not isinstance(statement, (Barrier, Stage)):
            yield batch, statement
        if isinstance(statement, Declaration):
            initial = {declarator.object.name: declarator.initializer for declarator in statement.declarators}
            batch = batch.inside({name: None if isinstance(value, tuple) else value for name, value in initial.items()})


def loops_of(node: Loop | TileNest) -> tuple[Loop, ...]:
    """The loops of a nest, the outermost first."""
    return (node,) if isinstance(node, Loop) else tuple(tiled.loop for tiled in node.loops)


def is_leaf(statement: Statement, batch: ParameterBatch) -> bool:
    """Whether the statement counts as one. Raises UncountableError if data decides a loop."""
    if isinstance(statement, (While, ForLoop)):
        raise UncountableError(f"a loop runs until data says so{_line(statement)}")
    if isinstance(statement, (Loop, TileNest, Block, PackedPanels)):
        if any(isinstance(node, (Break, Return)) for node in walk(statement)):
            raise UncountableError(f"a loop is left early{_line(statement)}")
        return False
    if not isinstance(statement, If):
        return not any(isinstance(node, (Loop, While, ForLoop)) for node in walk(statement))
    inner = any(isinstance(node, (Loop, TileNest, While, ForLoop)) for node in walk(statement))
    try:
        batch.evaluation.value(statement.condition)
    except UncountableError:
        if inner:
            raise
        return True
    return False


def places(statement: Statement) -> Iterator[object]:
    """The identities of a leaf's statements: their source positions."""
    for node in walk(statement):
        if isinstance(node, ExpressionStatement):
            yield id(node) if node.range == NOWHERE else node.range


def add(counts: Counts, added: Counts) -> None:
    """Adds up executions of the same leaves."""
    for leaf, values in added.items():
        counts[leaf] = counts[leaf] + values if leaf in counts else values


def _line(statement: Statement) -> str:
    place = getattr(statement, "range", NOWHERE)
    return "" if place == NOWHERE else f" (line {place.start.line})"
