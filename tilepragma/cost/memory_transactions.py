"""What the lanes of a warp meet in memory at once, from the plan's own text: neighbours along
dimension 0 are workers whose iterators differ by one.

Subscripts are affine in the iterators, so that a subscript's difference between neighbours is the
same everywhere: it is found at the origin.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilepragma.cost.launch_counts import Place
from tilepragma.cost.parameter_batch import ParameterBatch, declared_along
from tilepragma.cost.tile_traffic import is_of_memory
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import Axis, Block, Declaration, If, Loop, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.model.bank_conflicts import Banks, element_conflicts
from tilepragma.model.execution_time import Integers, Numbers
from tilepragma.model.roofline import scattered_bytes
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import HostLoop

#: Elements between neighbours that are not in one row.
_APART = 2**20

#: An access in memory: elements between what neighbouring workers meet, and bytes of one.
Step = tuple[int, int]


def neighbour_steps(nest: TileNest, place: Place) -> tuple[Step, ...]:
    """The accesses of a nest of workers to arrays in memory, as they stand in the text; those whose subscripts depend on data are apart."""
    return tuple((_step(here, beside), element_bytes(array)) for array, here, beside in _neighbours(nest, place))


def box_conflicts(nest: TileNest, place: Place, banks: Banks) -> Numbers:
    """How many times as long as one without conflicts of banks the accesses of a nest of workers
    take, on average, in the scratchpads of the launch's staged form, for each case; those of other
    arrays take as long as when each lane is served by itself. Raises UncountableError.
    """
    lanes = place.lanes
    lengths = {
        scratchpad.array: [
            lanes.all(lanes.evaluation.value(length)) for length in scratchpad.object.lengths if length is not None
        ]
        for scratchpad in place.launch.staged_scratchpads
    }
    found = []
    for array, here, beside in _neighbours(nest, place):
        if here is None or beside is None or array not in lengths:
            found.append(np.full(lanes.count, banks.number))
            continue
        stride = np.zeros(lanes.count, dtype=np.int64)
        for one, other, length in zip(here, beside, lengths[array], strict=True):
            stride = stride * length + (other - one)
        degrees = {int(one): element_conflicts(int(one), element_bytes(array), banks) for one in np.unique(stride)}
        found.append(np.array([degrees[int(one)] for one in stride]))
    return np.asarray(np.mean(found, axis=0) if found else np.ones(lanes.count), dtype=np.float64)


_Subscripts = tuple[int, ...] | None


def _neighbours(nest: TileNest, place: Place) -> Iterator[tuple[DataObject, _Subscripts, _Subscripts]]:
    """The array of each access to memory, with the subscripts that a worker meets and its neighbour."""
    axis = Axis(AxisKind.WORKER, 0)
    taken = {loop.loop.iterator.name for loop in nest.loops if any(tile.axis == axis for tile in loop.tiles)}
    origin = _origin(place)
    here, beside = (_accesses(nest.body, origin.inside(dict.fromkeys(taken, value))) for value in (0, 1))
    for (array, one), (_, other) in zip(here, beside, strict=True):
        yield array, one, other


def wasted(steps: tuple[Step, ...], warp: int, row: Integers, at_once: int) -> Numbers:
    """How many times as many bytes as it uses a warp meets in accesses with such steps, on average:
    memory is moved `at_once` so many bytes at a time, and so many lanes of a warp are neighbours in
    a `row` of workers.
    """
    lanes = np.minimum(row, warp)
    rows = -(-warp // lanes)
    found = [rows * scattered_bytes(np.asarray(step), lanes, size, at_once) / (warp * size) for step, size in steps]
    return np.asarray(np.maximum(np.mean(found, axis=0), 1.0) if found else np.ones(len(row)), dtype=np.float64)


def _origin(place: Place) -> ParameterBatch:
    """The first case, where iterators and what is declared from them are 0."""
    names = {step.loop.iterator.name for step in place.around if isinstance(step, HostLoop)}
    for node in walk(place.launch.body):
        if isinstance(node, Loop):
            names.add(node.iterator.name)
        elif isinstance(node, TileNest):
            names |= {loop.loop.iterator.name for loop in node.loops}
        elif isinstance(node, Declaration):
            names |= {declarator.object.name for declarator in node.declarators}
    return place.lanes.at(np.zeros(1, dtype=np.int64)).inside(dict.fromkeys(names, 0))


def _accesses(block: Block, lanes: ParameterBatch) -> Iterator[tuple[DataObject, _Subscripts]]:
    """The array of each access, and its subscripts, None where they depend on data."""
    for there, statement in declared_along(block, lanes):
        if isinstance(statement, (If, Loop, TileNest, Block)):
            yield from _inside(statement, there)
            continue
        for use in uses(statement):
            if is_of_memory(use):
                for _ in range(use.reads + use.writes):
                    yield use.object, _subscripts(use.subscripts, there)


def _inside(statement: If | Loop | TileNest | Block, lanes: ParameterBatch) -> Iterator[tuple[DataObject, _Subscripts]]:
    if isinstance(statement, Block):
        yield from _accesses(statement, lanes)
    elif isinstance(statement, If):
        for part in (statement.then, statement.otherwise):
            yield from _accesses(part, lanes) if part is not None else ()
    else:
        yield from _accesses(statement.body, lanes)


def _subscripts(subscripts: tuple[Expression, ...], lanes: ParameterBatch) -> _Subscripts:
    try:
        return tuple(int(lanes.all(lanes.evaluation.value(subscript))[0]) for subscript in subscripts)
    except UncountableError:
        return None


def _step(here: _Subscripts, beside: _Subscripts) -> int:
    if here is None or beside is None or here[:-1] != beside[:-1]:
        return _APART
    return abs(beside[-1] - here[-1])
