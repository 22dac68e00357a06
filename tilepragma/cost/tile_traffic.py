"""Memory traffic of one tile: the elements of each array that it reads and writes, each counted
once (ICS'08 4.6: unions of footprints).

    loads  = sum over arrays of | union of the images of the tile's points under its reads  |
    stores = sum over arrays of | union of the images of the tile's points under its writes |

Tiles are small: the images are enumerated, and shared elements counted once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter, branches, names_behind
from tilepragma.cost.launch_counts import ENTRIES, Place, entries_of
from tilepragma.cost.parameter_batch import Numbers, ParameterBatch, chosen, declared_along, is_leaf
from tilepragma.cost.tile_work import MappedNest, TileParts, axis_of, mapped_nest
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage, access_to
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop, PackedPanels, Statement, TileNest
from tilepragma.plan.array_bytes import element_bytes

#: The most iterations enumerated over all cases.
BUDGET = 2**21


@dataclass(frozen=True, eq=False)
class ArrayTraffic:
    """Elements of `array`, of `bytes` each, that a tile reads, writes, and touches in each case;
    and the rows (values of all subscripts but the last) that hold the read and the written
    elements.
    """

    array: DataObject
    bytes: int
    read: Numbers
    written: Numbers
    touched: Numbers
    read_rows: Numbers
    written_rows: Numbers


@dataclass(frozen=True, eq=False)
class TileTraffic:
    """The traffic of the representative tile of a launch. `error`: the relative error of the total
    in the compared cases; 0 if all were counted, None if none could be compared.
    """

    arrays: tuple[ArrayTraffic, ...]
    error: float | None

    @property
    def elements(self) -> Numbers:
        """N_mem: elements moved in and out."""
        return np.asarray(sum(array.read + array.written for array in self.arrays), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class GangTile:
    """A launch's tile in each case, at the first place of `order` where it has points. If mapped
    loops go to workers too, it has the iterations of so many `workers` along each dimension.
    """

    place: Place
    order: tuple[TileParts, ...]
    workers: Mapping[int, Values]

    @property
    def cases(self) -> int:
        """The number of cases."""
        return self.place.batch.count


def counted_traffic(tile: GangTile) -> tuple[ArrayTraffic, ...]:
    """The traffic of each array over all points of the tiles. Raises UncountableError."""
    entries = entries_of(tile.place, ENTRIES)
    launch = tile.place.launch
    images = _Images(launch.body)
    left = np.arange(tile.cases)
    for of_launches, of_tiles in tile.order:
        nest = mapped_nest(launch, entries.at_part(*of_launches).at(left))
        if nest is None:
            raise UncountableError(f"{launch.name} has no tiles")
        workers = {dimension: chosen(value, left) for dimension, value in tile.workers.items()}
        left = np.setdiff1d(left, images.visit(_Gang(nest, nest.at_part(*of_tiles), workers), left))
        if not len(left):
            break
    return images.traffic(tile.cases)


@dataclass(frozen=True)
class _Gang:
    """A gang's tile: `batch` is at its first iteration, and its workers take further ones."""

    nest: MappedNest
    batch: ParameterBatch
    workers: Mapping[int, Values]

    def iterations(self, wanted: frozenset[str]) -> tuple[ParameterBatch, Numbers]:
        """The iterations of mapped loops with such iterators, each with its case."""
        batch, case = self.batch, np.arange(self.batch.count)
        for tiled in self.nest.loops:
            dimension, with_workers, points = axis_of(tiled)
            name = tiled.loop.iterator.name
            if not with_workers or name not in wanted:
                continue
            evaluation = batch.evaluation
            first, step = evaluation.value(access_to(tiled.loop.iterator)), evaluation.value(tiled.loop.step)
            beyond = evaluation.value(tiled.loop.lower) + step * evaluation.trips(tiled.loop)
            extent = np.minimum(
                batch.all(chosen(self.workers.get(dimension, 1), case) * points), (beyond - first) // step
            )
            lengths = np.maximum(extent, 0)
            if lengths.sum() > BUDGET:
                raise UncountableError(f"more than {BUDGET} iterations to enumerate")
            index, place = members(lengths)
            batch = batch.at(index, {name: chosen(first, index) + chosen(step, index) * place})
            case = case[index]
        return batch, case


@dataclass
class _Images:
    """The elements that points under `body` touch: for each array and direction (read or write) the
    case and the subscripts.

    Accesses whose subscripts use the same names share one enumeration, over the loops that these
    names or conditions depend on.
    """

    body: Block
    counter: Counter = field(default_factory=lambda: Counter(budget=BUDGET))
    touched: dict[tuple[DataObject, bool], list[tuple[Numbers, ...]]] = field(default_factory=dict)
    known: dict[int, tuple[Use, ...]] = field(default_factory=dict)
    names: dict[tuple[Expression, ...], frozenset[str]] = field(default_factory=dict)

    def visit(self, gang: _Gang, cases: Numbers) -> Numbers:
        """Collects the points of tiles of these cases, and returns the cases that have some."""
        cases_with_points = [np.zeros(0, dtype=np.int64)]
        for wanted in dict.fromkeys(self._wanted(use) for use in uses(self.body) if is_of_memory(use)):
            every = wanted | self.counter.decisive((), gang.nest.body)
            batch, index = gang.iterations(every)
            cases_with_points += self._visit(gang.nest.body, batch, cases[index], wanted)
        return np.unique(np.concatenate(cases_with_points))

    def _wanted(self, use: Use) -> frozenset[str]:
        if use.subscripts not in self.names:
            self.names[use.subscripts] = names_behind(use.subscripts, self.body)
        return self.names[use.subscripts]

    def _visit(
        self, node: Statement, batch: ParameterBatch, case: Numbers, wanted: frozenset[str]
    ) -> Iterator[Numbers]:
        if isinstance(node, Block):
            for declared, statement in declared_along(node, batch):
                if isinstance(statement, Declaration):
                    self._touch(statement, declared, case, wanted)
                elif is_leaf(statement, declared):
                    yield case
                    self._touch(statement, declared, case, wanted)
                else:
                    yield from self._visit(statement, declared, case, wanted)
        elif isinstance(node, If):
            for part, index in branches(node, batch):
                yield from self._visit(part, batch.at(index), case[index], wanted)
        elif isinstance(node, (Loop, TileNest)):
            loops = (node,) if isinstance(node, Loop) else tuple(tiled.loop for tiled in node.loops)
            yield from self._loops(loops, node.body, batch, case, wanted)
        elif isinstance(node, PackedPanels):
            yield from self._visit(node.body, batch, case, wanted)

    def _loops(
        self, loops: tuple[Loop, ...], body: Block, batch: ParameterBatch, case: Numbers, wanted: frozenset[str]
    ) -> Iterator[Numbers]:
        if not loops:
            yield from self._visit(body, batch, case, wanted)
            return
        name = loops[0].iterator.name
        if name in wanted or name in self.counter.decisive(loops[1:], body):
            for index, child in self.counter.iterations(loops[0], batch):
                yield from self._loops(loops[1:], body, child, case[index], wanted)
            return
        index = np.flatnonzero(batch.all(batch.evaluation.trips(loops[0])))
        inside = batch.inside({name: loops[0].lower}).at(index)
        yield from self._loops(loops[1:], body, inside, case[index], wanted)

    def _touch(self, statement: Statement, batch: ParameterBatch, case: Numbers, wanted: frozenset[str]) -> None:
        if id(statement) not in self.known:
            self.known[id(statement)] = tuple(use for use in uses(statement) if is_of_memory(use))
        for use in self.known[id(statement)]:
            if self._wanted(use) != wanted:
                continue
            values = tuple(batch.all(batch.evaluation.value(subscript)) for subscript in use.subscripts)
            for writes, done in ((False, use.reads), (True, use.writes)):
                if done:
                    self.touched.setdefault((use.object, writes), []).append((case, *values))

    def traffic(self, cases: int) -> tuple[ArrayTraffic, ...]:
        """How many elements of each array are touched in each case."""
        return tuple(self._of_array(array, cases) for array in dict.fromkeys(array for array, _ in self.touched))

    def _of_array(self, array: DataObject, cases: int) -> ArrayTraffic:
        read, written = (self.touched.get((array, writes), []) for writes in (False, True))
        return ArrayTraffic(
            array,
            element_bytes(array),
            read=_distinct(read, cases),
            written=_distinct(written, cases),
            touched=_distinct([*read, *written], cases),
            read_rows=_distinct([columns[:-1] for columns in read], cases),
            written_rows=_distinct([columns[:-1] for columns in written], cases),
        )


def is_of_memory(use: Use) -> bool:
    """Whether the use is an array element in the device's memory."""
    kept = use.object.scope in (Scope.EXTERNAL, Scope.REGION, Scope.TEMPORARY)
    return kept and use.object.storage is not Storage.SCALAR and len(use.subscripts) == use.object.rank


def _distinct(parts: list[tuple[Numbers, ...]], cases: int) -> Numbers:
    """The number of distinct subscripts in each case."""
    if not parts:
        return np.zeros(cases, dtype=np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if not len(columns[0]):
        return np.zeros(cases, dtype=np.int64)
    place = columns[0]
    for column in columns[1:]:
        least = column.min()
        place = place * (column.max() - least + 1) + column - least
    _, first = np.unique(place, return_index=True)
    return np.bincount(columns[0][first], minlength=cases)
