"""A performance over many inputs: its mean, the least and the most of it (TileK paper, Table 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tilepragma.base.frozen_values import dataclass


@dataclass(frozen=True)
class Spread:
    """The mean, the least and the most of a performance over all inputs."""

    mean: float
    least: float
    most: float

    def over(self, other: Spread) -> tuple[float, float]:
        """How many times as much it is as another one, which is above 0: of the means, and where each is worst."""
        return self.mean / other.mean, self.least / other.least


def spread_of(values: Iterable[float]) -> Spread:
    """Of at least one value."""
    found = tuple(values)
    return Spread(math.fsum(found) / len(found), min(found), max(found))
