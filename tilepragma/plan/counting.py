"""How often the statements of a LoopTree run, for many sizes at once, without going through their points.

Loops are gone through only as far as what is inside them depends on their iterators; the innermost one never is where its bounds alone say
how long it is. What is gone through is a *lane*: one case of the sizes together with values of the iterators around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tilepragma.base.ranges import NOWHERE
from tilepragma.ir.expressions import Access, Expression
from tilepragma.ir.looptree import (
    Barrier,
    Block,
    Break,
    Buffered,
    Declaration,
    ExpressionStatement,
    ForLoop,
    If,
    Loop,
    Return,
    Stage,
    Statement,
    TileNest,
    While,
)
from tilepragma.ir.traversal import walk
from tilepragma.plan.evaluation import Evaluation, UncountableError, Values

Numbers = npt.NDArray[np.int64]

#: Statements of the user's text by their places: what a leaf, statements that run together, is known by.
Leaf = tuple[object, ...]
Counts = dict[Leaf, Values]

#: Iterations that are gone through at once, and altogether before counting is given up.
CHUNK, BUDGET = 2**20, 2**26


class Lanes:
    """`count` cases, each with a value for every name. Values are found when they are asked for: those of `parent` at `index`, or
    `own` ones, which may be expressions over those of `parent`.
    """

    def __init__(
        self,
        count: int,
        own: Mapping[str, Values | Expression | None],
        parent: Lanes | None = None,
        index: Numbers | None = None,
    ) -> None:
        self.count = count
        self._own = dict(own)
        self._parent = parent
        self._index = index
        self._found: dict[str, Values | None] = {}
        self.evaluation = Evaluation(self)

    def get(self, name: str) -> Values | None:
        """The values of a name, None where it has none."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> Values | None:
        if name in self._own:
            own = self._own[name]
            if own is None or isinstance(own, (int, np.ndarray)):
                return own
            assert self._parent is not None
            try:
                return self._parent.evaluation.value(own)
            except UncountableError:
                return None
        if self._parent is None:
            return None
        value = self._parent.get(name)
        return value if self._index is None or value is None else chosen(value, self._index)

    def inside(self, own: Mapping[str, Values | Expression | None]) -> Lanes:
        """The same cases where more has values."""
        return Lanes(self.count, own, self)

    def at(self, index: Numbers, own: Mapping[str, Values | Expression | None] = {}) -> Lanes:
        """The cases at `index`, where more has values."""
        return Lanes(len(index), own, self, index)

    def all(self, values: Values) -> Numbers:
        """A value for each case."""
        return np.broadcast_to(np.asarray(values, dtype=np.int64), (self.count,))


def chosen(values: Values, index: Numbers) -> Values:
    """The values of the cases at `index`."""
    return values if isinstance(values, int) or values.ndim == 0 else values[index]


@dataclass
class Counter:
    """Counts; `spent` are the iterations gone through so far, of which there may be `budget`."""

    budget: int = BUDGET
    spent: int = 0
    _decisive: dict[int, tuple[Any, frozenset[str]]] = field(default_factory=dict)

    def count(self, node: Statement, lanes: Lanes) -> Counts:
        """How often each leaf under the statement runs in each case. Raises UncountableError."""
        match node:
            case Block():
                return self._block(node, lanes)
            case Loop():
                return self._loops((node,), node.body, lanes)
            case TileNest():
                return self._loops(tuple(tiled.loop for tiled in node.loops), node.body, lanes)
            case If():
                return self._branches(node, lanes)
            case Buffered():
                return self._block(node.body, lanes)
            case Barrier() | Stage():
                return {}
        return self._block(Block((node,)), lanes)

    def _block(self, block: Block, lanes: Lanes) -> Counts:
        counts: Counts = {}
        leaf: list[object] = []
        for there, statement in declared_along(block, lanes):
            if is_leaf(statement, there):
                leaf += places(statement)
            else:
                add(counts, self.count(statement, there))
        if leaf:
            add(counts, {tuple(leaf): 1})
        return counts

    def _branches(self, node: If, lanes: Lanes) -> Counts:
        counts: Counts = {}
        for part, index in branches(node, lanes):
            found = self.count(part, lanes if len(index) == lanes.count else lanes.at(index))
            for leaf, values in found.items():
                whole = np.zeros(lanes.count, dtype=np.int64)
                whole[index] = values
                add(counts, {leaf: whole})
        return counts

    def _loops(self, loops: tuple[Loop, ...], body: Block, lanes: Lanes) -> Counts:
        if not loops:
            return self._block(body, lanes)
        loop, *others = loops
        inner = (*others,)
        trips = lanes.evaluation.trips(loop)
        if loop.iterator.name not in self.decisive(inner, body):
            found = self._loops(inner, body, lanes.inside({loop.iterator.name: loop.lower}))
            return {leaf: values * trips for leaf, values in found.items()}
        counts: Counts = {}
        for index, child in self.iterations(loop, lanes):
            for leaf, values in self._loops(inner, body, child).items():
                summed = np.zeros(lanes.count, dtype=np.int64)
                np.add.at(summed, index, values)
                add(counts, {leaf: summed})
        return counts

    def iterations(self, loop: Loop, lanes: Lanes) -> Iterator[tuple[Numbers, Lanes]]:
        """All iterations in order, some at a time: the cases that they belong to, and what they are cases of themselves.
        Raises UncountableError where they are too many.
        """
        trips = lanes.all(lanes.evaluation.trips(loop))
        lower, step = (lanes.evaluation.value(bound) for bound in (loop.lower, loop.step))
        ends = np.cumsum(trips)
        every = int(ends[-1]) if len(ends) else 0
        self.spent += every
        if self.spent > self.budget:
            raise UncountableError(f"there are more than {self.budget} iterations to go through")
        for first in range(0, every, CHUNK):
            at = np.arange(first, min(every, first + CHUNK))
            index = np.searchsorted(ends, at, side="right")
            place = at - (ends - trips)[index]
            value = chosen(lower, index) + chosen(step, index) * place
            yield index, lanes.at(index, {loop.iterator.name: value})

    def decisive(self, loops: tuple[Loop, ...], body: Block) -> frozenset[str]:
        """The names that say how often leaves of the loops run."""
        key = id(body)
        if key not in self._decisive:
            self._decisive[key] = body, _decisive(body)
        found = set(self._decisive[key][1])
        for loop in loops:
            found |= _names((loop.lower, loop.upper, loop.step))
        return frozenset(found)


def declared_along(block: Block, lanes: Lanes) -> Iterator[tuple[Lanes, Statement]]:
    """The statements of a block that are no declarations, each with the cases in which the declarations before it have their values."""
    for statement in block.statements:
        if isinstance(statement, Declaration):
            own = {one.object.name: _initial(one.initializer) for one in statement.declarators}
            lanes = lanes.inside(own)
        elif not isinstance(statement, (Barrier, Stage)):
            yield lanes, statement


def _initial(initializer: Any) -> Expression | None:
    return None if isinstance(initializer, tuple) else initializer


def is_leaf(statement: Statement, lanes: Lanes) -> bool:
    """Whether the statement counts as one, conditions on data in it or not. Raises UncountableError for a loop that depends on data."""
    if isinstance(statement, (While, ForLoop)):
        raise UncountableError(f"a loop runs until data says so{_line(statement)}")
    if isinstance(statement, (Loop, TileNest, Block, Buffered)):
        if any(isinstance(one, (Break, Return)) for one in walk(statement)):
            raise UncountableError(f"a loop is left early{_line(statement)}")
        return False
    if not isinstance(statement, If):
        return not any(isinstance(one, (Loop, While, ForLoop)) for one in walk(statement))
    inner = any(isinstance(one, (Loop, TileNest, While, ForLoop)) for one in walk(statement))
    try:
        lanes.evaluation.value(statement.condition)
    except UncountableError:
        if inner:
            raise
        return True
    return False


def branches(node: If, lanes: Lanes) -> Iterator[tuple[Block, Numbers]]:
    """The branches that some cases take, and which. Raises UncountableError."""
    holds = np.broadcast_to(lanes.evaluation.holds(node.condition), (lanes.count,))
    for part, taken in ((node.then, holds), (node.otherwise, ~holds)):
        index = np.flatnonzero(taken)
        if part is not None and len(index):
            yield part, index


def places(statement: Statement) -> Iterator[object]:
    """What the statements in a leaf are known by: their places in the user's text."""
    for one in walk(statement):
        if isinstance(one, ExpressionStatement):
            yield id(one) if one.range == NOWHERE else one.range


def add(counts: Counts, more: Counts) -> None:
    """Adds up executions of the same leaves."""
    for leaf, values in more.items():
        counts[leaf] = counts[leaf] + values if leaf in counts else values


def total(counts: Iterable[Values]) -> Values:
    """The sum over all leaves."""
    result: Values = 0
    for values in counts:
        result = result + values
    return result


def _decisive(body: Block) -> frozenset[str]:
    """Names in bounds and conditions under `body`, and in what is declared from them."""
    found: set[str] = set()
    declarations: dict[str, set[str]] = {}
    for node in walk(body):
        if isinstance(node, TileNest):
            for tiled in node.loops:
                found |= _names((tiled.loop.lower, tiled.loop.upper, tiled.loop.step))
        elif isinstance(node, Loop):
            found |= _names((node.lower, node.upper, node.step))
        elif isinstance(node, If) and _is_plain(node.condition):
            found |= _names((node.condition,))
        elif isinstance(node, Declaration):
            for one in node.declarators:
                if one.initializer is not None and not isinstance(one.initializer, tuple):
                    declarations.setdefault(one.object.name, set()).update(_names((one.initializer,)))
    return _closed(found, declarations.get)


def _closed(found: set[str], made_of: Callable[[str], set[str] | None]) -> frozenset[str]:
    waiting = list(found)
    while waiting:
        for name in made_of(waiting.pop()) or ():
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def _names(parts: Iterable[Any]) -> set[str]:
    return {one.object.name for part in parts for one in walk(part) if isinstance(one, Access)}


def _is_plain(condition: Expression) -> bool:
    return not any(isinstance(one, Access) and one.subscripts for one in walk(condition))


def _line(statement: Statement) -> str:
    place = getattr(statement, "range", NOWHERE)
    return "" if place == NOWHERE else f" (line {place.start.line})"
