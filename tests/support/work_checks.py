"""A plan's work, counted from its bounds, against a run of its steps point by point."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.support.plan_runs import LaunchRun, TileRun
from tilepragma.plan.evaluation import UncountableError
from tilepragma.plan.tile_traffic import tile_traffic
from tilepragma.plan.tile_work import Fronts
from tilepragma.plan.work import LaunchWork


def check_launch(launch: LaunchWork, case: int, runs: list[LaunchRun]) -> None:
    """Compares one case of a launch with its runs: launches, tiles, points, and those of the tile in the middle."""
    own = _entries(launch, case)
    assert launch.exact
    assert launch.launches[case] == len(runs)
    assert launch.points[case] == sum(run.points for run in runs)
    dealt = np.prod([loop.trips[own] for loop in launch.loops], axis=0, dtype=np.int64)
    if launch.loops:
        # Where a loop around the tiles has no iterations none of them begins.
        some = Counter(len(run.tiles) for run in runs if run.tiles)
        assert some <= Counter(dealt.repeat(launch.repeats[own]).tolist())
        if launch.working is not None:
            # A condition may hold where only points between the integers satisfy it.
            begun = sum(tile.points > 0 for run in runs for tile in run.tiles)
            held = int((launch.working * launch.repeats)[own].sum())
            assert begun <= held <= int((dealt * launch.repeats[own]).sum())
    if launch.tile.points is None or not runs:
        return
    if np.any(launch.repeats[own] != 1):
        # Which of the runs an entry stands for depends on where the loop stands that makes no difference.
        found = {tile.points for run in runs for tile in run.tiles}
        assert launch.tile.points[case] in found or not found
        return
    middle = own.start + (own.stop - own.start - 1) // 2
    place = 0
    for loop in launch.loops:
        place = place * loop.trips[middle] + (loop.trips[middle] - 1) // 2
    tiles = runs[middle - own.start].tiles
    if tiles and tiles[place].points:
        assert launch.tile.points[case] == tiles[place].points
        fronts = sorted(points for front in launch.tile.fronts for points in _of_case(front, case))
        assert not launch.tile.fronts or fronts == sorted(tiles[place].fronts)
        _check_traffic(launch, case, tiles[place])


def _check_traffic(launch: LaunchWork, case: int, tile: TileRun) -> None:
    if any(loop.points > 1 for loop in launch.loops):
        return  # a worker has several of these tiles
    try:
        found = tile_traffic(launch.place, {}, launch.tile.points)
    except UncountableError:
        return
    assert found.error == 0
    elements = {(one.array.name, False): one.read[case] for one in found.arrays}
    elements |= {(one.array.name, True): one.written[case] for one in found.arrays}
    assert {key: int(value) for key, value in elements.items() if value} == {
        key: len(value) for key, value in tile.touched.items()
    }


def _of_case(fronts: Fronts, case: int) -> list[int]:
    assert len(fronts.points[fronts.case == case]) == fronts.steps[case]
    return [int(one) for one in fronts.points[fronts.case == case]]


def _entries(launch: LaunchWork, case: int) -> slice:
    ends = np.append(launch.starts, len(launch.repeats))
    return slice(int(ends[case]), int(ends[case + 1]))
