"""Which parts get tiles that begin together, diamonds, on cores and on devices.

On cores all bands of few rows that have such tiles: a wavefront of skewed tiles of time steps has
as many tiles as there are tiles of time, few for a few time steps, and jacobi-2d on two cores takes
0.6 to 0.8 of the time with diamonds. On devices, where a launch for each time step is the other
way, only where the user asks for them: nobody has timed them there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.ir.directives import TemporalTiles
from tilepragma.lower.band_loops import PlannedBand

if TYPE_CHECKING:
    from tilepragma.poly.program_model import ProgramDependence

Parts = tuple[PlannedBand, ...]

_MOST_ROWS = 3
"""Rows of a band up to which it gets diamonds unasked: with four (time and three of a grid) to
write the points of one and to prove them takes ten times as long as for skewed tiles, and heat-3d
gains little.
"""


def ways_to_tile(
    planned: Parts, on_cores: TemporalTiles, on_devices: TemporalTiles, dependences: tuple[ProgramDependence, ...]
) -> Iterator[tuple[Parts, Parts]]:
    """The parts for cores and for devices, the best way first; the last is that without diamonds."""
    host = planned
    if on_cores is not TemporalTiles.SKEWED:
        host = tuple(
            _beginning_together(each, dependences)
            if on_cores is TemporalTiles.DIAMOND or len(each.part.band) <= _MOST_ROWS
            else each
            for each in planned
        )
    if on_devices is TemporalTiles.DIAMOND:
        diamonds = tuple(_beginning_together(each, dependences) for each in planned) if host == planned else host
        device = tuple(_in_steps(one, each, dependences) for one, each in zip(diamonds, planned, strict=True))
        if device != planned:
            yield host, device
    if host != planned:
        yield host, planned
    yield planned, planned


def _beginning_together(planned: PlannedBand, dependences: tuple[ProgramDependence, ...]) -> PlannedBand:
    from tilepragma.poly.concurrent_start import concurrent_start

    found = concurrent_start(planned.part, dependences, planned.points.along)
    return planned if found is None else replace(planned, part=found.part, concurrent=found)


def _in_steps(diamond: PlannedBand, skewed: PlannedBand, dependences: tuple[ProgramDependence, ...]) -> PlannedBand:
    """The part whose workers go through a diamond step by step, where points of one step wait for no other of them."""
    from tilepragma.poly.intra_tile import concurrent_tile

    start = diamond.concurrent
    return skewed if start is None or concurrent_tile(start, dependences) is None else diamond
