"""A plan's work, counted from its bounds, against a point-by-point run of its steps."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.support.plan_runs import LaunchRun
from tilepragma.cost.launch_work import LaunchWork
from tilepragma.cost.tile_traffic import GangTile, counted_traffic
from tilepragma.cost.tile_work import Fronts


def check_launch(launch: LaunchWork, case: int, runs: list[LaunchRun]) -> None:
    """Compare a case of a launch with its runs: launches, tiles, points, and those of a tile."""
    entries = _entries(launch, case)
    assert launch.exact
    assert launch.launches[case] == len(runs)
    assert launch.points[case] == sum(run.points for run in runs)
    tile_counts = np.prod([trips[entries] for trips in launch.trips], axis=0, dtype=np.int64)
    if launch.loops:
        # No tile begins where a loop around the tiles has no iterations.
        some = Counter(len(run.tiles) for run in runs if run.tiles)
        assert some <= Counter(tile_counts.repeat(launch.repeats[entries]).tolist())
        if launch.nonempty is not None:
            # A condition may hold where only points between the integers satisfy it.
            begun = sum(tile.points > 0 for run in runs for tile in run.tiles)
            working = int((launch.nonempty * launch.repeats)[entries].sum())
            assert begun <= working <= int((tile_counts * launch.repeats[entries]).sum())
    tiles = [tile for run in runs for tile in run.tiles]
    if launch.tile.points is None or not launch.tile.points[case]:
        return
    # The counts choose the representative tile, but it must be one of the tiles that ran.
    alike = [tile for tile in tiles if tile.points == launch.tile.points[case]]
    if launch.tile.fronts:
        fronts = sorted(points for front in launch.tile.fronts for points in _of_case(front, case))
        alike = [tile for tile in alike if sorted(tile.fronts) == fronts]
    assert alike
    if not any(loop.points > 1 for loop in launch.loops):
        assert _traffic(launch, case) in [{key: len(value) for key, value in tile.touched.items()} for tile in alike]


def _traffic(launch: LaunchWork, case: int) -> dict[tuple[str, bool], int]:
    """Elements of each array that the tile reads and writes."""
    traffic = counted_traffic(GangTile(launch.place, launch.tile.order, {}))
    elements = {(array.array.name, False): int(array.read[case]) for array in traffic}
    elements |= {(array.array.name, True): int(array.written[case]) for array in traffic}
    return {key: value for key, value in elements.items() if value}


def _of_case(fronts: Fronts, case: int) -> list[int]:
    assert len(fronts.points[fronts.case == case]) == fronts.steps[case]
    return [int(count) for count in fronts.points[fronts.case == case]]


def _entries(launch: LaunchWork, case: int) -> slice:
    ends = np.append(launch.starts, len(launch.repeats))
    return slice(int(ends[case]), int(ends[case + 1]))
