"""Memory traffic of one tile: the elements of each array that it reads and writes, each counted once (ICS'08 4.6: unions of footprints).

    loads  = sum over arrays of | union of the images of the tile's points under its reads  |
    stores = sum over arrays of | union of the images of the tile's points under its writes |

Tiles are small, so images are listed and what is in several of them is counted once. For many sizes the numbers are polynomials in the sizes, as
long as the order of their lengths stays the same: these are found from small tiles and compared with some of the tiles asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope, Storage, access_to
from tilepragma.ir.looptree import Block, Buffered, Declaration, If, Loop, Statement, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import RecordType, ScalarType
from tilepragma.plan.counting import Counter, branches, names_behind
from tilepragma.plan.evaluation import UncountableError, Values
from tilepragma.plan.kernel_plan import HostLoop
from tilepragma.plan.lanes import Lanes, Numbers, chosen, declared_along, is_leaf, ragged
from tilepragma.plan.launch_entries import ENTRIES, Place, entries_of
from tilepragma.plan.tile_work import PARTS, DealtNest, axis_of, dealt_nest

#: Iterations that are gone through, the most that a set of cases is counted in full for.
BUDGET = 2**21
#: Extents of the tiles from which polynomials are found; how many tiles for each unknown; how many of those asked for are compared.
_SMALL, _EACH, _COMPARED = (2, 7), 3, 6


@dataclass(frozen=True, eq=False)
class ArrayTraffic:
    """Elements of `array`, of so many `bytes`, that a tile reads and that it writes, in each case."""

    array: DataObject
    bytes: int
    read: Numbers
    written: Numbers


@dataclass(frozen=True, eq=False)
class TileTraffic:
    """Of the tile in the middle of a launch. `error`: by what part the sum of all was off in the cases that were compared; 0 where all were
    counted.
    """

    arrays: tuple[ArrayTraffic, ...]
    error: float

    @property
    def elements(self) -> Numbers:
        """N_mem: elements moved in and out."""
        return np.asarray(sum(one.read + one.written for one in self.arrays), dtype=np.int64)

    @property
    def bytes(self) -> Numbers:
        """Bytes moved in and out."""
        return np.asarray(sum((one.read + one.written) * one.bytes for one in self.arrays), dtype=np.int64)


def tile_traffic(place: Place, workers: Mapping[int, Values], points: Numbers | None) -> TileTraffic:
    """The traffic of the launch's tile in the middle in each case, where a gang has so many `workers` along each dimension (of loops that workers
    take together with gangs). `points`, where known, are the tile's. Raises UncountableError.
    """
    few = place.lanes.count == 1
    if few or (points is not None and int(points.sum()) <= BUDGET):
        try:
            return TileTraffic(_counted(place, workers), 0.0)
        except UncountableError:
            if few:
                raise
    return _fitted(place, workers, points)


def _counted(place: Place, workers: Mapping[int, Values]) -> tuple[ArrayTraffic, ...]:
    entries = entries_of(place, ENTRIES)
    cases = place.lanes.count
    found = _Images(place.launch.body)
    left = np.arange(cases)
    for of_launches, of_tiles in itertools.product(PARTS, PARTS):
        nest = dealt_nest(place.launch, entries.at_part(*of_launches).at(left))
        if nest is None:
            raise UncountableError(f"{place.launch.name} has no tiles")
        own = {dimension: chosen(value, left) for dimension, value in workers.items()}
        left = np.setdiff1d(left, found.visit(_Gang(nest, nest.at_part(*of_tiles), own), left))
        if not len(left):
            break
    return found.traffic(cases)


@dataclass(frozen=True)
class _Gang:
    """One gang's tile: `lanes` are in its first iteration, and workers take more of them."""

    nest: DealtNest
    lanes: Lanes
    workers: Mapping[int, Values]

    def iterations(self, wanted: frozenset[str]) -> tuple[Lanes, Numbers]:
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
            index, place = (np.concatenate(parts) for parts in zip(*ragged(np.maximum(extent, 0)), strict=True))
            lanes = lanes.at(index, {name: chosen(first, index) + chosen(step, index) * place})
            case = case[index]
        return lanes, case


@dataclass
class _Images:
    """What points under `body` touch: of each array the subscripts, with the case that they are of, of reads and of writes.

    Accesses whose subscripts are made of the same names are gone through together, by the loops that these names or conditions depend on.
    """

    body: Block
    counter: Counter = field(default_factory=lambda: Counter(budget=BUDGET))
    touched: dict[tuple[DataObject, bool], list[tuple[Numbers, ...]]] = field(default_factory=dict)
    known: dict[int, tuple[Use, ...]] = field(default_factory=dict)

    def visit(self, gang: _Gang, cases: Numbers) -> Numbers:
        """Goes through the points of tiles of these cases, and says which have some."""
        found = [np.zeros(0, dtype=np.int64)]
        for wanted in dict.fromkeys(self._wanted(use) for use in uses(self.body) if _is_of_memory(use)):
            every = wanted | self.counter.decisive((), gang.nest.body)
            lanes, index = gang.iterations(every)
            found += self._visit(gang.nest.body, lanes, cases[index], wanted)
        return np.unique(np.concatenate(found))

    def _wanted(self, use: Use) -> frozenset[str]:
        return names_behind(use.subscripts, self.body)

    def _visit(self, node: Statement, lanes: Lanes, case: Numbers, wanted: frozenset[str]) -> Iterator[Numbers]:
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
        elif isinstance(node, Buffered):
            yield from self._visit(node.body, lanes, case, wanted)

    def _loops(
        self, loops: tuple[Loop, ...], body: Block, lanes: Lanes, case: Numbers, wanted: frozenset[str]
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

    def _touch(self, statement: Statement, lanes: Lanes, case: Numbers, wanted: frozenset[str]) -> None:
        if id(statement) not in self.known:
            self.known[id(statement)] = tuple(one for one in uses(statement) if _is_of_memory(one))
        for use in self.known[id(statement)]:
            if self._wanted(use) != wanted:
                continue
            values = tuple(lanes.all(lanes.evaluation.value(one)) for one in use.subscripts)
            for writes, done in ((False, use.reads), (True, use.writes)):
                if done:
                    self.touched.setdefault((use.object, writes), []).append((case, *values))

    def traffic(self, cases: int) -> tuple[ArrayTraffic, ...]:
        """How many elements of each array there are in each case."""
        arrays = dict.fromkeys(array for array, _ in self.touched)
        return tuple(
            ArrayTraffic(
                array,
                element_bytes(array),
                _distinct(self.touched.get((array, False), []), cases),
                _distinct(self.touched.get((array, True), []), cases),
            )
            for array in arrays
        )


def _is_of_memory(use: Use) -> bool:
    """Whether it is an element of an array in the device's memory."""
    kept = use.object.scope in (Scope.EXTERNAL, Scope.REGION, Scope.TEMPORARY)
    return kept and use.object.storage is not Storage.SCALAR and len(use.subscripts) == use.object.rank


def element_bytes(array: DataObject) -> int:
    """Bytes of an element."""
    if isinstance(array.element, ScalarType):
        return array.element.bits // 8
    return array.element.size if isinstance(array.element, RecordType) else 8


def _distinct(parts: list[tuple[Numbers, ...]], cases: int) -> Numbers:
    """The number of different subscripts in each case."""
    if not parts:
        return np.zeros(cases, dtype=np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    place = columns[0]
    for column in columns[1:]:
        least = column.min()
        place = place * (column.max() - least + 1) + column - least
    _, first = np.unique(place, return_index=True)
    return np.bincount(columns[0][first], minlength=cases)


# -- many sizes -------------------------------------------------------------------------------------------------------


def _fitted(place: Place, workers: Mapping[int, Values], points: Numbers | None) -> TileTraffic:
    """Polynomials in what differs between cases, and by what they are off."""
    varied = _Varied.of(place, workers)
    if not len(varied.values):
        same = _counted(*varied.with_values(np.zeros((0, 1), dtype=np.int64)))
        return TileTraffic(tuple(_repeated(one, place.lanes.count) for one in same), 0.0)
    degree = max((one.object.rank for one in _uses_of(place)), default=1)
    powers = [p for p in itertools.product(range(degree + 1), repeat=len(varied.values)) if sum(p) <= degree]
    generator = np.random.default_rng(len(powers))
    small = generator.integers(*_SMALL, (len(varied.values), _EACH * len(powers)), endpoint=True)
    terms, wanted = _terms(small, powers), _terms(varied.values, powers)
    found = tuple(
        replace(one, read=_polynomial(terms, one.read, wanted), written=_polynomial(terms, one.written, wanted))
        for one in _counted(*varied.with_values(small))
    )
    return TileTraffic(found, max(_errors(varied, found, points), default=1.0))


def _errors(varied: _Varied, found: tuple[ArrayTraffic, ...], points: Numbers | None) -> Iterator[float]:
    """By what part the sum of all is off, for some cases; those that take too long to count are left out."""
    cases = varied.values.shape[1]
    order = np.arange(cases) if points is None else np.argsort(points, kind="stable")
    guess = TileTraffic(found, 0.0).elements
    for case in order[np.unique(np.linspace(0, cases - 1, _COMPARED).astype(np.int64))]:
        try:
            exact = TileTraffic(_counted(*varied.with_values(varied.values[:, [case]])), 0.0).elements
        except UncountableError:
            continue
        yield abs(int(guess[case]) - int(exact[0])) / max(int(exact[0]), 1)


def _repeated(one: ArrayTraffic, cases: int) -> ArrayTraffic:
    return replace(one, read=np.repeat(one.read, cases), written=np.repeat(one.written, cases))


def _polynomial(terms: npt.NDArray[np.float64], values: Numbers, wanted: npt.NDArray[np.float64]) -> Numbers:
    """What the polynomial that has these values at `terms` has at the terms wanted."""
    factors = np.linalg.lstsq(terms, values.astype(np.float64), rcond=None)[0]
    return np.maximum(np.rint(wanted @ factors), 0).astype(np.int64)


def _terms(values: Numbers, powers: list[tuple[int, ...]]) -> npt.NDArray[np.float64]:
    """The monomials of each column of `values`, a row of terms for each."""
    numbers = values.astype(np.float64)
    return np.stack([np.prod(numbers ** np.array(own)[:, None], axis=0) for own in powers], axis=1)


@dataclass(frozen=True)
class _Varied:
    """What differs between the cases of a launch: `values` of the scalars `names`, then of the numbers of workers along `dimensions`."""

    place: Place
    workers: Mapping[int, Values]
    names: tuple[str, ...]
    dimensions: tuple[int, ...]
    values: Numbers

    @staticmethod
    def of(place: Place, workers: Mapping[int, Values]) -> _Varied:
        """What the launch or the loops around it mention."""
        steps = [step.loop if isinstance(step, HostLoop) else step.condition for step in place.around]
        mentioned = {
            one.object.name for part in (place.launch.body, *steps) for one in walk(part) if isinstance(one, Access)
        }
        found = {name: place.lanes.get(name) for name in sorted(mentioned)}
        names = tuple(name for name, value in found.items() if isinstance(value, np.ndarray))
        dimensions = tuple(key for key, value in workers.items() if isinstance(value, np.ndarray))
        rows = [*(found[name] for name in names), *(workers[key] for key in dimensions)]
        values = np.array([place.lanes.all(row) for row in rows if row is not None], dtype=np.int64)
        return _Varied(place, workers, names, dimensions, values.reshape(len(rows), place.lanes.count))

    def with_values(self, values: Numbers) -> tuple[Place, dict[int, Values]]:
        """The launch and the workers where what differs has these values, a column for each of the new cases."""
        own: dict[str, Values | Expression | None] = dict(zip(self.names, values[: len(self.names)], strict=True))
        lanes = self.place.lanes.at(np.zeros(values.shape[1], dtype=np.int64), own)
        workers = dict(zip(self.dimensions, values[len(self.names) :], strict=True))
        return Place(self.place.launch, self.place.around, lanes), {**self.workers, **workers}


def _uses_of(place: Place) -> Iterator[Use]:
    return (one for one in uses(place.launch.body) if _is_of_memory(one))
