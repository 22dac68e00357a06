"""Memory transactions of a warp, from the plan's own text. Workers whose iterators differ by one
are neighbours along dimension 0.

Subscripts are affine in the iterators, so the difference between neighbours is the same everywhere.
It is evaluated at the origin.
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
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Axis, Block, Declaration, If, Loop, TileNest
from tilepragma.ir.traversal import loops_and_tiled, statements_of, walk
from tilepragma.model.bank_conflicts import element_conflicts
from tilepragma.model.execution_time import Integers, Numbers
from tilepragma.model.roofline import scattered_bytes
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import HostLoop

#: The distance of elements in different rows.
_APART = 2**20

#: An access in memory: the distance between neighbouring workers' elements, and an element's bytes.
Step = tuple[int, int]


def neighbour_steps(nest: TileNest, place: Place) -> tuple[Step, ...]:
    """The accesses of a nest to arrays in memory; one that depends on data is uncoalesced."""
    return tuple((_step(worker, beside), element_bytes(array)) for array, worker, beside in _neighbours(nest, place))


def array_tile_conflicts(nest: TileNest, place: Place, banks: int, width: int) -> Numbers:
    """The mean slowdown by bank conflicts of a nest's accesses to the scratchpads of the launch's
    staged form, for each case. Other arrays count as fully serialised. Raises UncountableError.
    """
    batch = place.batch
    lengths = {
        scratchpad.array: [
            batch.all(batch.evaluation.value(length)) for length in scratchpad.object.lengths if length is not None
        ]
        for scratchpad in place.launch.staged_scratchpads
    }
    conflicts = []
    for array, worker, beside in _neighbours(nest, place):
        if worker is None or beside is None or array not in lengths:
            conflicts.append(np.full(batch.count, banks))
            continue
        stride = np.zeros(batch.count, dtype=np.int64)
        for start, end, length in zip(worker, beside, lengths[array], strict=True):
            stride = stride * length + (end - start)
        steps = map(int, np.unique(stride))
        degrees = {step: element_conflicts(step, element_bytes(array), banks, width) for step in steps}
        conflicts.append(np.array([degrees[int(step)] for step in stride]))
    return np.asarray(np.mean(conflicts, axis=0) if conflicts else np.ones(batch.count), dtype=np.float64)


_Subscripts = tuple[int, ...] | None


def _neighbours(nest: TileNest, place: Place) -> Iterator[tuple[DataObject, _Subscripts, _Subscripts]]:
    """The array of each access to memory, with the subscripts of a worker and of its neighbour."""
    axis = Axis(AxisKind.WORKER, 0)
    taken = {loop.loop.iterator.name for loop in nest.loops if any(tile.axis == axis for tile in loop.tiles)}
    origin = _origin(place)
    first, second = (_accesses(nest.body, origin.inside(dict.fromkeys(taken, value))) for value in (0, 1))
    for (array, subscripts), (_, neighbour) in zip(first, second, strict=True):
        yield array, subscripts, neighbour


def wasted(steps: tuple[Step, ...], warp: int, row: Integers, width: int) -> Numbers:
    """Bytes that a warp moves per byte that it uses, averaged over accesses with these steps.
    Memory moves `width` bytes at a time, and a `row` of workers holds neighbouring lanes.
    """
    lanes = np.minimum(row, warp)
    rows = -(-warp // lanes)
    parts = [rows * scattered_bytes(np.asarray(step), lanes, size, width) / (warp * size) for step, size in steps]
    return np.asarray(np.maximum(np.mean(parts, axis=0), 1.0) if parts else np.ones(len(row)), dtype=np.float64)


def _origin(place: Place) -> ParameterBatch:
    """The first case, with iterators and declared names set to 0."""
    names = {step.loop.iterator.name for step in place.around if isinstance(step, HostLoop)}
    names |= {loop.iterator.name for loop in loops_and_tiled(place.launch.body)}
    for node in walk(place.launch.body):
        if isinstance(node, Declaration):
            names |= {declarator.object.name for declarator in node.declarators}
    return place.batch.at(np.zeros(1, dtype=np.int64)).inside(dict.fromkeys(names, 0))


def _accesses(block: Block, batch: ParameterBatch) -> Iterator[tuple[DataObject, _Subscripts]]:
    """The array of each access and its subscripts, None if they depend on data."""
    for declared, statement in declared_along(block, batch):
        if isinstance(statement, (If, Loop, TileNest, Block)):
            parts = (statement,) if isinstance(statement, Block) else statements_of(statement)
            for part in parts:
                yield from _accesses(part, declared)
            continue
        for use in uses(statement):
            if is_of_memory(use):
                try:
                    values = (declared.evaluation.value(subscript) for subscript in use.subscripts)
                    subscripts: _Subscripts = tuple(int(declared.all(value)[0]) for value in values)
                except UncountableError:
                    subscripts = None
                yield from [(use.object, subscripts)] * (use.reads + use.writes)


def _step(subscripts: _Subscripts, neighbour: _Subscripts) -> int:
    if subscripts is None or neighbour is None or subscripts[:-1] != neighbour[:-1]:
        return _APART
    return abs(neighbour[-1] - subscripts[-1])
