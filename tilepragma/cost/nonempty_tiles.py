"""How many tiles of a launch have work: those whose condition holds, if one condition guards the
whole tile.

Mapped loops run over a box of tiles; a tile's condition is a conjunction of affine inequalities in
their iterators. All loops but the longest are enumerated. The condition holds on an interval of the
longest loop.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilepragma.cost.parameter_batch import Numbers, ParameterBatch, declared_along, ragged, summed
from tilepragma.cost.tile_work import MappedNest
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import Binary, Expression
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop

#: The most tiles that are enumerated along all loops but the longest; beyond, sampled launches
#: represent the rest.
BUDGET = 2**18


def nonempty_tiles(nest: MappedNest, trips: tuple[Numbers, ...]) -> tuple[Numbers, bool] | None:
    """For each case of the nest, whose loops have `trips` iterations: the tiles that satisfy the
    plan's non-empty condition (which may be slightly weak), and whether all were counted. None if
    tiles have no condition.
    """
    content = _content(nest.body)
    if not isinstance(content, If) or content.otherwise is not None:
        return None
    launched = np.prod(trips, axis=0, dtype=np.int64)
    order = sorted(range(len(trips)), key=lambda place: int(trips[place].sum()))
    outer = np.prod([trips[place] for place in order[:-1]], axis=0, dtype=np.int64) + np.zeros_like(launched)
    stride = 1 + int(outer.sum()) // BUDGET
    index = np.arange(0, len(launched), stride)
    loops = [nest.loops[place].loop for place in order]
    counts = np.zeros(len(index), dtype=np.int64)
    try:
        for case, batch in _iterations(loops[:-1], nest.batch.at(index)):
            counts += summed(case, _holding(nest.body, loops[-1], batch), len(index))
    except UncountableError:
        return None
    if stride == 1:
        return counts, True
    part = np.where(launched[index] > 0, counts / np.maximum(launched[index], 1), 0.0)
    every = np.repeat(part, stride)[: len(launched)] * launched
    return np.asarray(np.rint(every), dtype=np.int64), False


def _content(body: Block) -> object:
    """The tile's only statement besides declarations, else None."""
    statements = [node for _, node in declared_along(body, ParameterBatch(1, {})) if not isinstance(node, Declaration)]
    return statements[0] if len(statements) == 1 else None


def _iterations(loops: list[Loop], batch: ParameterBatch) -> Iterator[tuple[Numbers, ParameterBatch]]:
    """All iterations of loops with independent bounds, with the case of each."""
    if not loops:
        yield np.arange(batch.count), batch
        return
    loop, *others = loops
    for index, place in ragged(batch.all(batch.evaluation.trips(loop))):
        for case, inner in _iterations(others, batch.iterations(loop, index, place)):
            yield index[case], inner


def _holding(body: Block, loop: Loop, batch: ParameterBatch) -> Numbers:
    """The iterations of the loop (of step 1) for which the tile's condition holds."""
    evaluation = batch.evaluation
    first = batch.all(evaluation.value(loop.lower))
    low, high = first, first + batch.all(evaluation.trips(loop)) - 1
    if np.any(batch.all(evaluation.value(loop.step)) != 1):
        raise UncountableError("a mapped loop has a step other than 1")
    samples = [_differences(body, batch.inside({loop.iterator.name: value})) for value in (0, 1, 2)]
    for at_zero, at_one, at_two in zip(*samples, strict=True):
        slope = at_one - at_zero
        if np.any(at_two - at_one != slope):
            raise UncountableError("a tile's condition is not affine")
        size = np.maximum(np.abs(slope), 1)
        low = np.where(slope > 0, np.maximum(low, -(at_zero // size)), low)
        high = np.where(slope < 0, np.minimum(high, at_zero // size), high)
        high = np.where((slope == 0) & (at_zero < 0), low - 1, high)
    return np.asarray(np.maximum(high - low + 1, 0), dtype=np.int64)


def _differences(body: Block, batch: ParameterBatch) -> list[Numbers]:
    """Values that are >= 0 exactly where the tile's condition holds."""
    for declared, statement in declared_along(body, batch):
        if isinstance(statement, If):
            return [declared.all(side) for side in _sides(statement.condition, declared)]
    raise UncountableError("tiles have no condition")


def _sides(condition: Expression, batch: ParameterBatch) -> Iterator[Numbers]:
    match condition:
        case Binary(operator="&&"):
            yield from _sides(condition.left, batch)
            yield from _sides(condition.right, batch)
        case Binary(operator=("<" | "<=" | ">" | ">=") as operator):
            left, right = (batch.all(batch.evaluation.value(side)) for side in (condition.left, condition.right))
            yield (right - left if operator in ("<", "<=") else left - right) - (len(operator) == 1)
        case _:
            raise UncountableError("a tile's condition is no conjunction of inequalities")
