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
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope, Storage
from tilepragma.ir.looptree import Block, Buffered, Declaration, If, Loop, Statement, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import RecordType, ScalarType
from tilepragma.plan.counting import Counter, branches
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
    found = _Images(Counter(budget=BUDGET))
    left = np.arange(cases)
    for of_launches, of_tiles in itertools.product(PARTS, PARTS):
        nest = dealt_nest(place.launch, entries.at_part(*of_launches).at(left))
        if nest is None:
            raise UncountableError(f"{place.launch.name} has no tiles")
        index, lanes = _gang(nest, nest.at_part(*of_tiles), {k: chosen(v, left) for k, v in workers.items()})
        seen = found.visit(nest.body, lanes, left[index])
        left = np.setdiff1d(left, seen)
        if not len(left):
            break
    return found.traffic(cases)


def _gang(nest: DealtNest, lanes: Lanes, workers: Mapping[int, Values]) -> tuple[Numbers, Lanes]:
    """The iterations of one gang's workers, from this one on, each with its case."""
    case = np.arange(lanes.count)
    for tiled in nest.loops:
        dimension, with_workers, points = axis_of(tiled)
        if not with_workers:
            continue
        name, step = tiled.loop.iterator.name, lanes.evaluation.value(tiled.loop.step)
        first = lanes.evaluation.values.get(name)
        assert first is not None
        beyond = lanes.evaluation.value(tiled.loop.lower) + step * lanes.evaluation.trips(tiled.loop)
        extent = np.minimum(lanes.all(chosen(workers.get(dimension, 1), case) * points), (beyond - first) // step)
        index, place = (np.concatenate(parts) for parts in zip(*ragged(np.maximum(extent, 0)), strict=True))
        lanes = lanes.at(index, {name: chosen(first, index) + chosen(step, index) * place})
        case = case[index]
    return case, lanes


@dataclass
class _Images:
    """What points touch: of each array the subscripts, with the case that they are of, of reads and of writes."""

    counter: Counter
    touched: dict[tuple[DataObject, bool], list[tuple[Numbers, ...]]] = field(default_factory=dict)
    seen: list[Numbers] = field(default_factory=list)
    known: dict[int, tuple[Use, ...]] = field(default_factory=dict)

    def visit(self, body: Block, lanes: Lanes, case: Numbers) -> Numbers:
        """Goes through the points under `body`, and says which cases have some."""
        self.seen = []
        self._visit(body, lanes, case)
        return np.unique(np.concatenate(self.seen)) if self.seen else np.zeros(0, dtype=np.int64)

    def _visit(self, node: Statement, lanes: Lanes, case: Numbers) -> None:
        if isinstance(node, Block):
            for one in node.statements:
                if isinstance(one, Declaration):
                    self._touch(one, lanes, case)
            for there, statement in declared_along(node, lanes):
                if is_leaf(statement, there):
                    self.seen.append(case)
                    self._touch(statement, there, case)
                else:
                    self._visit(statement, there, case)
        elif isinstance(node, If):
            for part, index in branches(node, lanes):
                self._visit(part, lanes.at(index), case[index])
        elif isinstance(node, (Loop, TileNest)):
            loops = (node,) if isinstance(node, Loop) else tuple(tiled.loop for tiled in node.loops)
            self._loops(loops, node.body, lanes, case)
        elif isinstance(node, Buffered):
            self._visit(node.body, lanes, case)

    def _loops(self, loops: tuple[Loop, ...], body: Block, lanes: Lanes, case: Numbers) -> None:
        if not loops:
            self._visit(body, lanes, case)
            return
        for index, child in self.counter.iterations(loops[0], lanes):
            self._loops(loops[1:], body, child, case[index])

    def _touch(self, statement: Statement, lanes: Lanes, case: Numbers) -> None:
        if id(statement) not in self.known:
            self.known[id(statement)] = tuple(one for one in uses(statement) if _is_of_memory(one))
        for use in self.known[id(statement)]:
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
