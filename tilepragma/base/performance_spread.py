"""A performance over many inputs: its mean, least and greatest values (TileK paper, Table 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tilepragma.base.frozen_values import dataclass


@dataclass(frozen=True)
class Spread:
    """The mean, least and greatest values of a performance over all inputs."""

    mean: float
    least: float
    most: float

    def over(self, baseline: Spread) -> tuple[float, float]:
        """The ratio to a baseline above 0: of the means, and of the least values."""
        return self.mean / baseline.mean, self.least / baseline.least


def spread_of(values: Iterable[float]) -> Spread:
    """The spread of at least one value."""
    numbers = tuple(values)
    return Spread(math.fsum(numbers) / len(numbers), min(numbers), max(numbers))
