"""Memory traffic of tiles of many sizes.

The numbers of elements are polynomials in the sizes, at most of the array's rank, while the order
of the sizes' lengths stays the same. Small tiles determine the polynomials, and some of the
requested tiles check them.
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

#: Extents of the small tiles; small tiles for each unknown; requested tiles that are checked.
_SMALL, _EACH, _COMPARED = (2, 7), 3, 6
#: The relative error up to which polynomials are accepted.
_RIGHT = 0.02


def tile_traffic(place: Place, tile: TileWork, workers: Mapping[int, Values]) -> TileTraffic:
    """The traffic of a launch's representative tile, for a gang's `workers` along each dimension.

    It is counted if there are few points, else it comes from polynomials if these are right, else
    from boxes. Raises UncountableError.
    """
    gang = GangTile(place, tile.order, workers)
    few = gang.cases == 1
    iterations = np.prod([np.max(count) for count in workers.values()], dtype=np.int64)
    if few or (tile.points is not None and int(tile.points.sum() * iterations) <= BUDGET):
        try:
            return TileTraffic(counted_traffic(gang), 0.0)
        except UncountableError:
            pass
    fitted = None if few else _maybe_fitted(gang, tile.points)
    if fitted is not None and fitted.error is not None and fitted.error <= _RIGHT:
        return fitted
    boxes = boxed_traffic(gang)
    error = max(_errors(_Varied.of(gang), boxes, tile.points), default=None)
    if fitted is not None and fitted.error is not None and error is not None and fitted.error < error:
        return fitted
    return TileTraffic(boxes, error)


def estimated_traffic(place: Place, tile: TileWork, workers: Mapping[int, Values]) -> TileTraffic:
    """A quick estimate: unchecked polynomials, else boxes. Raises UncountableError."""
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
    """Polynomials in the values that vary between cases, and their error."""
    varied = _Varied.of(tile)
    arrays = _polynomials(varied)
    return TileTraffic(arrays, max(_errors(varied, arrays, points), default=None) if len(varied.values) else 0.0)


def _polynomials(varied: _Varied) -> tuple[ArrayTraffic, ...]:
    """Traffic by polynomials in the varying values, from small tiles. Raises UncountableError."""
    place, cases = varied.tile.place, varied.tile.cases
    if not len(varied.values):
        same = counted_traffic(varied.with_values(np.zeros((0, 1), dtype=np.int64)))
        return tuple(_changed(array, lambda values: np.repeat(values, cases)) for array in same)
    degree = max((use.object.rank for use in _uses_of(place)), default=1)
    powers = [p for p in itertools.product(range(degree + 1), repeat=len(varied.values)) if sum(p) <= degree]
    generator = np.random.default_rng(len(powers))
    small = generator.integers(*_SMALL, (len(varied.values), _EACH * len(powers)), endpoint=True)
    terms, wanted = _terms(small, powers), _terms(varied.values, powers)
    return tuple(
        _changed(array, lambda values: _polynomial(terms, values, wanted))
        for array in counted_traffic(varied.with_values(small))
    )


def _errors(varied: _Varied, traffic: tuple[ArrayTraffic, ...], points: Numbers | None) -> Iterator[float]:
    """The relative error of the total in some cases; skips cases that take too long."""
    cases = varied.values.shape[1]
    order = np.arange(cases) if points is None else np.argsort(points, kind="stable")
    guess = TileTraffic(traffic, 0.0).elements
    for case in order[np.unique(np.linspace(0, cases - 1, _COMPARED).astype(np.int64))]:
        try:
            exact = TileTraffic(counted_traffic(varied.with_values(varied.values[:, [case]])), 0.0).elements
        except UncountableError:
            continue
        yield abs(int(guess[case]) - int(exact[0])) / max(int(exact[0]), 1)


def _changed(traffic: ArrayTraffic, change: Callable[[Numbers], Numbers]) -> ArrayTraffic:
    """The traffic with all numbers changed."""
    return ArrayTraffic(
        traffic.array,
        traffic.bytes,
        read=change(traffic.read),
        written=change(traffic.written),
        touched=change(traffic.touched),
        read_rows=change(traffic.read_rows),
        written_rows=change(traffic.written_rows),
    )


def _polynomial(terms: npt.NDArray[np.float64], values: Numbers, wanted: npt.NDArray[np.float64]) -> Numbers:
    """The polynomial with these values at `terms`, evaluated at the terms `wanted`."""
    factors = np.linalg.lstsq(terms, values.astype(np.float64), rcond=None)[0]
    return np.maximum(np.rint(wanted @ factors), 0).astype(np.int64)


def _terms(values: Numbers, powers: list[tuple[int, ...]]) -> npt.NDArray[np.float64]:
    """The monomials of each column of `values`, a row of terms for each column."""
    numbers = values.astype(np.float64)
    return np.stack([np.prod(numbers ** np.array(exponents)[:, None], axis=0) for exponents in powers], axis=1)


@dataclass(frozen=True)
class _Varied:
    """The values that vary between cases: scalars `names`, then workers along `dimensions`."""

    tile: GangTile
    names: tuple[str, ...]
    dimensions: tuple[int, ...]
    values: Numbers

    @staticmethod
    def of(tile: GangTile) -> _Varied:
        """The names that the launch or the loops around it mention."""
        place, workers = tile.place, tile.workers
        steps = [step.loop if isinstance(step, HostLoop) else step.condition for step in place.around]
        mentioned = {
            node.object.name for part in (place.launch.body, *steps) for node in walk(part) if isinstance(node, Access)
        }
        values_by_name = {name: place.batch.get(name) for name in sorted(mentioned)}
        names = tuple(name for name, value in values_by_name.items() if isinstance(value, np.ndarray))
        dimensions = tuple(key for key, value in workers.items() if isinstance(value, np.ndarray))
        rows = [*(values_by_name[name] for name in names), *(workers[key] for key in dimensions)]
        values = np.array([place.batch.all(row) for row in rows if row is not None], dtype=np.int64)
        return _Varied(tile, names, dimensions, values.reshape(len(rows), place.batch.count))

    def with_values(self, values: Numbers) -> GangTile:
        """The tile with these varying values, a column for each of the new cases."""
        values_of: dict[str, Values | Expression | None] = dict(zip(self.names, values[: len(self.names)], strict=True))
        place = self.tile.place
        batch = place.batch.at(np.zeros(values.shape[1], dtype=np.int64), values_of)
        workers = dict(zip(self.dimensions, values[len(self.names) :], strict=True))
        moved = Place(place.launch, place.around, batch)
        return replace(self.tile, place=moved, workers={**self.tile.workers, **workers})


def _uses_of(place: Place) -> Iterator[Use]:
    return (use for use in uses(place.launch.body) if is_of_memory(use))
