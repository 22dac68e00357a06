"""Memory traffic of tiles of many sizes.

The numbers of elements are polynomials in the sizes, of the array's rank at most, as long as the
order of the sizes' lengths stays the same. They are found from small tiles, and compared with some
of the tiles asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.launch_counts import Place
from tilepragma.cost.parameter_batch import Numbers
from tilepragma.cost.tile_traffic import BUDGET, ArrayTraffic, GangTile, TileTraffic, counted_traffic, is_of_memory
from tilepragma.cost.tile_work import TileWork
from tilepragma.cost.traffic_boxes import boxed_traffic
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.ir.expressions import Access, Expression
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostLoop

#: Extents of the tiles from which polynomials are found; how many tiles for each unknown; how many
#: of those asked for are compared.
_SMALL, _EACH, _COMPARED = (2, 7), 3, 6
#: By what part polynomials may be off to be taken for right.
_RIGHT = 0.02


def tile_traffic(place: Place, tile: TileWork, workers: Mapping[int, Values]) -> TileTraffic:
    """The traffic of the tile that stands for all of a launch, where a gang has so many `workers`
    along each dimension.

    It is counted where there are few points, else from polynomials where these are right, else from
    boxes. Raises UncountableError.
    """
    gang = GangTile(place, tile.order, workers)
    few = gang.cases == 1
    iterations = np.prod([np.max(count) for count in workers.values()], dtype=np.int64)
    if few or (tile.points is not None and int(tile.points.sum() * iterations) <= BUDGET):
        try:
            return TileTraffic(counted_traffic(gang), 0.0)
        except UncountableError:
            pass
    found = None if few else _maybe_fitted(gang, tile.points)
    if found is not None and found.error is not None and found.error <= _RIGHT:
        return found
    boxes = boxed_traffic(gang)
    error = max(_errors(_Varied.of(gang), boxes, tile.points), default=None)
    if found is not None and found.error is not None and error is not None and found.error < error:
        return found
    return TileTraffic(boxes, error)


def estimated_traffic(place: Place, tile: TileWork, workers: Mapping[int, Values]) -> TileTraffic:
    """The same in little time: polynomials that nothing is compared with, boxes where there are none. Raises UncountableError."""
    gang = GangTile(place, tile.order, workers)
    try:
        return TileTraffic(_polynomials(_Varied.of(gang)), None)
    except UncountableError:
        return TileTraffic(boxed_traffic(gang), None)


def _maybe_fitted(gang: GangTile, points: Numbers | None) -> TileTraffic | None:
    try:
        return _fitted(gang, points)
    except UncountableError:
        return None


def _fitted(tile: GangTile, points: Numbers | None) -> TileTraffic:
    """Polynomials in what differs between cases, and by what they are off."""
    varied = _Varied.of(tile)
    found = _polynomials(varied)
    return TileTraffic(found, max(_errors(varied, found, points), default=None) if len(varied.values) else 0.0)


def _polynomials(varied: _Varied) -> tuple[ArrayTraffic, ...]:
    """What polynomials in what differs between cases say, found from small tiles. Raises UncountableError."""
    place, cases = varied.tile.place, varied.tile.cases
    if not len(varied.values):
        same = counted_traffic(varied.with_values(np.zeros((0, 1), dtype=np.int64)))
        return tuple(_changed(one, lambda own: np.repeat(own, cases)) for one in same)
    degree = max((use.object.rank for use in _uses_of(place)), default=1)
    powers = [p for p in itertools.product(range(degree + 1), repeat=len(varied.values)) if sum(p) <= degree]
    generator = np.random.default_rng(len(powers))
    small = generator.integers(*_SMALL, (len(varied.values), _EACH * len(powers)), endpoint=True)
    terms, wanted = _terms(small, powers), _terms(varied.values, powers)
    return tuple(
        _changed(one, lambda values: _polynomial(terms, values, wanted))
        for one in counted_traffic(varied.with_values(small))
    )


def _errors(varied: _Varied, found: tuple[ArrayTraffic, ...], points: Numbers | None) -> Iterator[float]:
    """By what part the sum of all is off, for some cases; those that take too long to count are left out."""
    cases = varied.values.shape[1]
    order = np.arange(cases) if points is None else np.argsort(points, kind="stable")
    guess = TileTraffic(found, 0.0).elements
    for case in order[np.unique(np.linspace(0, cases - 1, _COMPARED).astype(np.int64))]:
        try:
            exact = TileTraffic(counted_traffic(varied.with_values(varied.values[:, [case]])), 0.0).elements
        except UncountableError:
            continue
        yield abs(int(guess[case]) - int(exact[0])) / max(int(exact[0]), 1)


def _changed(one: ArrayTraffic, change: Callable[[Numbers], Numbers]) -> ArrayTraffic:
    """With all numbers changed."""
    return ArrayTraffic(
        one.array,
        one.bytes,
        read=change(one.read),
        written=change(one.written),
        touched=change(one.touched),
        read_rows=change(one.read_rows),
        written_rows=change(one.written_rows),
    )


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

    tile: GangTile
    names: tuple[str, ...]
    dimensions: tuple[int, ...]
    values: Numbers

    @staticmethod
    def of(tile: GangTile) -> _Varied:
        """What the launch or the loops around it mention."""
        place, workers = tile.place, tile.workers
        steps = [step.loop if isinstance(step, HostLoop) else step.condition for step in place.around]
        mentioned = {
            node.object.name for part in (place.launch.body, *steps) for node in walk(part) if isinstance(node, Access)
        }
        found = {name: place.lanes.get(name) for name in sorted(mentioned)}
        names = tuple(name for name, value in found.items() if isinstance(value, np.ndarray))
        dimensions = tuple(key for key, value in workers.items() if isinstance(value, np.ndarray))
        rows = [*(found[name] for name in names), *(workers[key] for key in dimensions)]
        values = np.array([place.lanes.all(row) for row in rows if row is not None], dtype=np.int64)
        return _Varied(tile, names, dimensions, values.reshape(len(rows), place.lanes.count))

    def with_values(self, values: Numbers) -> GangTile:
        """The tile where what differs has these values, a column for each of the new cases."""
        own: dict[str, Values | Expression | None] = dict(zip(self.names, values[: len(self.names)], strict=True))
        place = self.tile.place
        lanes = place.lanes.at(np.zeros(values.shape[1], dtype=np.int64), own)
        workers = dict(zip(self.dimensions, values[len(self.names) :], strict=True))
        moved = Place(place.launch, place.around, lanes)
        return replace(self.tile, place=moved, workers={**self.tile.workers, **workers})


def _uses_of(place: Place) -> Iterator[Use]:
    return (use for use in uses(place.launch.body) if is_of_memory(use))
