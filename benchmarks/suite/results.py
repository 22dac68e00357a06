"""What was measured, and what follows from it: medians, ratios with their spread, geometric means. Nothing here runs anything."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.suite.contenders import (
    GCC,
    HAND_OPENMP,
    OPENBLAS,
    PLUTO,
    PLUTO_PLAIN,
    PPCG_OPENCL,
    PPCG_OPENMP,
    PPCG_TILED,
    our_name,
)

WIDTH = {"double": 8, "float": 4, "int": 4}
#: Largest difference that counts as the same result, relative to the largest element of an array,
#: where bits differ because operations are contracted or sums are taken in another order.
TOLERANCE = {"double": 1e-9, "float": 1e-3, "int": 0.0}
#: No ill-conditioned kernel is allowed more: beyond that a result says nothing.
MOST_TOLERANCE = 1e-2
BEST = "best of peers"
ALL = "all"
#: Contenders on the same cores without a library: of these the best counts.
ON_CORES = (GCC, HAND_OPENMP, PPCG_OPENMP, PPCG_TILED, PLUTO, PLUTO_PLAIN)
_AGAINST = {"threads": (GCC, HAND_OPENMP, BEST, OPENBLAS), "opencl": (GCC, PPCG_OPENCL), "cuda": (GCC,)}


@dataclass(frozen=True)
class Limits:
    """What the machine reaches on all cores: bytes per second of a copy, operations per second of
    multiply-adds by type. `elsewhere`: our targets that run on something else, of which no limit is
    known.
    """

    bandwidth: float
    operations: dict[str, float]
    elsewhere: tuple[str, ...] = ()

    def holds_for(self, contender: str) -> bool:
        """Whether a contender runs on what was measured."""
        return contender not in map(our_name, self.elsewhere)

    def share(self, type_: str, flops: float, moved: float, seconds: float) -> float:
        """The share of the least time in which the machine could do the arithmetic or move the data, whichever takes longer."""
        bounds = [moved / self.bandwidth if self.bandwidth else 0.0]
        if self.operations.get(type_):
            bounds.append(flops / self.operations[type_])
        return max(bounds) / seconds


@dataclass
class Measurement:
    """One contender on one case. `match` is "bits", "tolerance", or what is wrong; `difference` is
    relative to the largest element. `kernels`: of ours on a device, the seconds of its launches
    alone, without copies, from a run of its own.
    """

    seconds: list[float] = field(default_factory=list)
    match: str = ""
    difference: float = 0.0
    kernels: float | None = None

    @property
    def ran(self) -> bool:
        return bool(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def right(self) -> bool:
        return self.match in ("bits", "tolerance")


@dataclass
class Row:
    """All contenders on one case at one type. `flops` and `moved` (bytes) are those of one run."""

    case: str
    group: str
    type: str
    sizes: dict[str, int]
    flops: float
    moved: float
    contenders: dict[str, Measurement] = field(default_factory=dict)


@dataclass(frozen=True)
class Ratio:
    """How many times faster our `target` is than `against` (over 1: faster): of medians, and least and most in one round."""

    target: str
    against: str
    value: float
    least: float
    most: float


def best_peer(row: Row) -> str | None:
    """The fastest contender on the cores with the right results."""
    present = [
        name for name in ON_CORES if name in row.contenders and row.contenders[name].ran and row.contenders[name].right
    ]
    return min(present, key=lambda name: row.contenders[name].median, default=None)


def ratio(row: Row, target: str, against: str) -> Ratio | None:
    """Ours on `target` against a contender, or None where one of them has no time or a wrong result."""
    other = best_peer(row) if against == BEST else against
    ours, peer = row.contenders.get(our_name(target)), row.contenders.get(other or "")
    if ours is None or peer is None or not (ours.ran and peer.ran and ours.right and peer.right):
        return None
    rounds = [theirs / own for theirs, own in zip(peer.seconds, ours.seconds, strict=False)]
    return Ratio(target, against, peer.median / ours.median, min(rounds), max(rounds))


def ratios(row: Row, targets: Iterable[str]) -> list[Ratio]:
    """Every ratio that a row has."""
    result = (ratio(row, target, against) for target in targets for against in _AGAINST.get(target, (GCC,)))
    return [each for each in result if each is not None]


def geometric_mean(values: Sequence[float]) -> float:
    """Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    return math.exp(math.fsum(map(math.log, values)) / len(values))


@dataclass(frozen=True)
class Mean:
    """The geometric mean of one kind of ratio over a group of cases, with the least and its case."""

    group: str
    type: str
    target: str
    against: str
    count: int
    value: float
    least: float
    least_case: str


def means(rows: Sequence[Row], targets: Sequence[str]) -> list[Mean]:
    """Geometric means by group, by group and type where a group has several, and over everything where there are several groups."""
    types: dict[str, set[str]] = {}
    for row in rows:
        types.setdefault(row.group, set()).add(row.type)
    collected: dict[tuple[str, str, str, str], list[tuple[float, str]]] = {}
    for row in rows:
        kinds = [(row.group, ALL)]
        kinds += [(row.group, row.type)] if len(types[row.group]) > 1 else []
        kinds += [(ALL, ALL)] if len(types) > 1 else []
        for each in ratios(row, targets):
            for kind in kinds:
                values = collected.setdefault((*kind, each.target, each.against), [])
                values.append((each.value, f"{row.case} {row.type}"))
    results = [
        Mean(*key, len(values), geometric_mean([value for value, _ in values]), *min(values))
        for key, values in collected.items()
    ]
    return sorted(results, key=lambda mean: (mean.group != ALL, mean.group, mean.type != ALL, mean.type, mean.target))
