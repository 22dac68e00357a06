"""Memory traffic of one tile: the elements of each array that it reads and writes, each counted
once (ICS'08 4.6: unions of footprints).

    loads  = sum over arrays of | union of the images of the tile's points under its reads  |
    stores = sum over arrays of | union of the images of the tile's points under its writes |

Tiles are small: images are listed, and what is in several of them is counted once.
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
from tilepragma.cost.tile_work import MappedNest, TileParts, axis_of, dealt_nest
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage, access_to
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop, PackedPanels, Statement, TileNest
from tilepragma.plan.array_bytes import element_bytes

#: Iterations that are gone through, of all cases together.
BUDGET = 2**21


@dataclass(frozen=True, eq=False)
class ArrayTraffic:
    """Elements of `array`, of so many `bytes`, that a tile reads, that it writes, and that it does
    either with, in each case; and the rows (values of all subscripts but the last) in which those
    lie that it reads and that it writes.
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
    """Of the tile that stands for all of a launch. `error`: by what part the sum of all was off in
    the cases that were compared; 0 where all were counted, None where none could be compared.
    """

    arrays: tuple[ArrayTraffic, ...]
    error: float | None

    @property
    def elements(self) -> Numbers:
        """N_mem: elements moved in and out."""
        return np.asarray(sum(array.read + array.written for array in self.arrays), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class GangTile:
    """A launch's tile in each case, at the first place of `order` where it has points. Where
    workers take the loops that are dealt out together with gangs it has the iterations of so many
    `workers` along each dimension.
    """

    place: Place
    order: tuple[TileParts, ...]
    workers: Mapping[int, Values]

    @property
    def cases(self) -> int:
        """How many there are."""
        return self.place.lanes.count


def counted_traffic(tile: GangTile) -> tuple[ArrayTraffic, ...]:
    """The traffic of each array, from all points of the tiles. Raises UncountableError, also where they are too many."""
    entries = entries_of(tile.place, ENTRIES)
    launch = tile.place.launch
    found = _Images(launch.body)
    left = np.arange(tile.cases)
    for of_launches, of_tiles in tile.order:
        nest = dealt_nest(launch, entries.at_part(*of_launches).at(left))
        if nest is None:
            raise UncountableError(f"{launch.name} has no tiles")
        own = {dimension: chosen(value, left) for dimension, value in tile.workers.items()}
        left = np.setdiff1d(left, found.visit(_Gang(nest, nest.at_part(*of_tiles), own), left))
        if not len(left):
            break
    return found.traffic(tile.cases)


@dataclass(frozen=True)
class _Gang:
    """One gang's tile: `lanes` are in its first iteration, and workers take more of them."""

    nest: MappedNest
    lanes: ParameterBatch
    workers: Mapping[int, Values]

    def iterations(self, wanted: frozenset[str]) -> tuple[ParameterBatch, Numbers]:
        """Those of loops with such iterators, each with its case."""
        lanes, case = self.lanes, np.arange(self.lanes.count)
        for tiled in self.nest.loops:
            dimension, with_workers, points = axis_of(tiled)
            name = tiled.loop.iterator.name
            if not with_workers or name not in wanted:
                continue
            evaluation = lanes.evaluation
            first, step = evaluation.value(access_to(tiled.loop.iterator)), evaluation.value(tiled.loop.step)
            beyond = evaluation.value(tiled.loop.lower) + step * evaluation.trips(tiled.loop)
            extent = np.minimum(
                lanes.all(chosen(self.workers.get(dimension, 1), case) * points), (beyond - first) // step
            )
            lengths = np.maximum(extent, 0)
            if lengths.sum() > BUDGET:
                raise UncountableError(f"there are more than {BUDGET} iterations to go through")
            index, place = members(lengths)
            lanes = lanes.at(index, {name: chosen(first, index) + chosen(step, index) * place})
            case = case[index]
        return lanes, case


@dataclass
class _Images:
    """What points under `body` touch: of each array the subscripts, with the case that they are of,
    of reads and of writes.

    Accesses whose subscripts are made of the same names are gone through together, by the loops
    that these names or conditions depend on.
    """

    body: Block
    counter: Counter = field(default_factory=lambda: Counter(budget=BUDGET))
    touched: dict[tuple[DataObject, bool], list[tuple[Numbers, ...]]] = field(default_factory=dict)
    known: dict[int, tuple[Use, ...]] = field(default_factory=dict)
    names: dict[tuple[Expression, ...], frozenset[str]] = field(default_factory=dict)

    def visit(self, gang: _Gang, cases: Numbers) -> Numbers:
        """Goes through the points of tiles of these cases, and says which have some."""
        found = [np.zeros(0, dtype=np.int64)]
        for wanted in dict.fromkeys(self._wanted(use) for use in uses(self.body) if is_of_memory(use)):
            every = wanted | self.counter.decisive((), gang.nest.body)
            lanes, index = gang.iterations(every)
            found += self._visit(gang.nest.body, lanes, cases[index], wanted)
        return np.unique(np.concatenate(found))

    def _wanted(self, use: Use) -> frozenset[str]:
        if use.subscripts not in self.names:
            self.names[use.subscripts] = names_behind(use.subscripts, self.body)
        return self.names[use.subscripts]

    def _visit(
        self, node: Statement, lanes: ParameterBatch, case: Numbers, wanted: frozenset[str]
    ) -> Iterator[Numbers]:
        if isinstance(node, Block):
            for there, statement in declared_along(node, lanes):
                if isinstance(statement, Declaration):
                    self._touch(statement, there, case, wanted)
                elif is_leaf(statement, there):
                    yield case
                    self._touch(statement, there, case, wanted)
                else:
                    yield from self._visit(statement, there, case, wanted)
        elif isinstance(node, If):
            for part, index in branches(node, lanes):
                yield from self._visit(part, lanes.at(index), case[index], wanted)
        elif isinstance(node, (Loop, TileNest)):
            loops = (node,) if isinstance(node, Loop) else tuple(tiled.loop for tiled in node.loops)
            yield from self._loops(loops, node.body, lanes, case, wanted)
        elif isinstance(node, PackedPanels):
            yield from self._visit(node.body, lanes, case, wanted)

    def _loops(
        self, loops: tuple[Loop, ...], body: Block, lanes: ParameterBatch, case: Numbers, wanted: frozenset[str]
    ) -> Iterator[Numbers]:
        if not loops:
            yield from self._visit(body, lanes, case, wanted)
            return
        name = loops[0].iterator.name
        if name in wanted or name in self.counter.decisive(loops[1:], body):
            for index, child in self.counter.iterations(loops[0], lanes):
                yield from self._loops(loops[1:], body, child, case[index], wanted)
            return
        index = np.flatnonzero(lanes.all(lanes.evaluation.trips(loops[0])))
        inside = lanes.inside({name: loops[0].lower}).at(index)
        yield from self._loops(loops[1:], body, inside, case[index], wanted)

    def _touch(self, statement: Statement, lanes: ParameterBatch, case: Numbers, wanted: frozenset[str]) -> None:
        if id(statement) not in self.known:
            self.known[id(statement)] = tuple(use for use in uses(statement) if is_of_memory(use))
        for use in self.known[id(statement)]:
            if self._wanted(use) != wanted:
                continue
            values = tuple(lanes.all(lanes.evaluation.value(subscript)) for subscript in use.subscripts)
            for writes, done in ((False, use.reads), (True, use.writes)):
                if done:
                    self.touched.setdefault((use.object, writes), []).append((case, *values))

    def traffic(self, cases: int) -> tuple[ArrayTraffic, ...]:
        """How many elements of each array there are in each case."""
        return tuple(self._of_array(array, cases) for array in dict.fromkeys(array for array, _ in self.touched))

    def _of_array(self, array: DataObject, cases: int) -> ArrayTraffic:
        read, written = (self.touched.get((array, writes), []) for writes in (False, True))
        return ArrayTraffic(
            array,
            element_bytes(array),
            read=_distinct(read, cases),
            written=_distinct(written, cases),
            touched=_distinct([*read, *written], cases),
            read_rows=_distinct([one[:-1] for one in read], cases),
            written_rows=_distinct([one[:-1] for one in written], cases),
        )


def is_of_memory(use: Use) -> bool:
    """Whether it is an element of an array in the device's memory."""
    kept = use.object.scope in (Scope.EXTERNAL, Scope.REGION, Scope.TEMPORARY)
    return kept and use.object.storage is not Storage.SCALAR and len(use.subscripts) == use.object.rank


def _distinct(parts: list[tuple[Numbers, ...]], cases: int) -> Numbers:
    """The number of different subscripts in each case."""
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
