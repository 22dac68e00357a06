"""Choose the bands that get diamond tiles (concurrent start), on cores and on devices.

On cores all bands of few rows get them. A wavefront of skewed tiles has as many tiles as there are
tiles of time: few for few time steps. On two cores, diamonds take 0.6 to 0.8 of the time of skewed
tiles for jacobi-2d. On devices, where a launch for each time step is the alternative, only the
user's clause asks for diamonds: we have not timed them there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.ir.directives import TemporalTiles
from tilepragma.lower.band_loops import PlannedBand

if TYPE_CHECKING:
    from tilepragma.poly.dependences import Dependence

Parts = tuple[PlannedBand, ...]

_MOST_ROWS = 3
"""The most rows of a band that gets diamonds by default. With four rows (time and three of a grid),
building and proving the tiles takes ten times as long as for skewed tiles, and heat-3d gains
little.
"""


def ways_to_tile(
    planned: Parts, on_cores: TemporalTiles, on_devices: TemporalTiles, dependences: tuple[Dependence, ...]
) -> Iterator[tuple[Parts, Parts]]:
    """The bands for cores and for devices, best first, the variant without diamonds last."""
    host = planned
    if on_cores is not TemporalTiles.SKEWED:
        host = tuple(
            _concurrent_start(each, dependences)
            if on_cores is TemporalTiles.DIAMOND or len(each.part.band) <= _MOST_ROWS
            else each
            for each in planned
        )
    if on_devices is TemporalTiles.DIAMOND:
        diamonds = tuple(_concurrent_start(each, dependences) for each in planned) if host == planned else host
        device = tuple(_in_steps(diamond, each, dependences) for diamond, each in zip(diamonds, planned, strict=True))
        if device != planned:
            yield host, device
    if host != planned:
        yield host, planned
    yield planned, planned


def _concurrent_start(planned: PlannedBand, dependences: tuple[Dependence, ...]) -> PlannedBand:
    from tilepragma.poly.wavefronts import concurrent_start

    start = concurrent_start(planned.part, dependences, planned.points.along)
    return planned if start is None else replace(planned, part=start.part, concurrent=start)


def _in_steps(diamond: PlannedBand, skewed: PlannedBand, dependences: tuple[Dependence, ...]) -> PlannedBand:
    """The band with diamonds run step by step, if points of one step are independent."""
    from tilepragma.poly.wavefronts import concurrent_tile

    start = diamond.concurrent
    return skewed if start is None or concurrent_tile(start, dependences) is None else diamond
