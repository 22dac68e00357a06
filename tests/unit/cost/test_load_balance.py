"""What part of a launch the busiest core has, against what it has when the tiles of every launch are distributed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.plan_runs import run_steps
from tests.unit.cost.test_launch_work import planned
from tilepragma.cost.host_prediction import slowest_part
from tilepragma.cost.launch_work import plan_work
from tilepragma.ir.directives import Target

#: Sizes of the nests, and extents of their tiles, a layout a row.
SIZES = {
    "sor 1-d": ({"n": 91, "steps": 20}, [[16, 8], [19, 30], [4, 5], [32, 8]]),
    "sor 2-d": ({"n": 17, "m": 15, "steps": 9}, [[8, 4, 3], [3, 5, 4], [12, 4, 4]]),
    "jacobi 1-d diamond": ({"n": 203, "steps": 13}, [[8], [64]]),
    "sgemm": ({"n": 43, "m": 21, "p": 3}, [[8], [16], [64]]),
    "triangles": ({"n": 37}, [[8, 4, 8], [5, 16, 8]]),
    "lu": ({"n": 41}, [[8, 8, 8], [16, 5, 8]]),
}


def points_of_cores(name: str, scalars: dict[str, int], layout: list[int], cores: int) -> list[tuple[float, int]]:
    """Points of the busiest core and of all, for each launch in the order in which they run; where they overlap, the next free core takes a tile."""
    result = planned(name)
    numbers = {**scalars, **{one.object.name: size for one, size in zip(result.sizes, layout, strict=True)}}
    runs = run_steps(result.host_steps, numbers)
    tiles = [[tile.points for tile in run.tiles] for run in runs]
    if result.host[0].pipelined:
        return [(max(max(own, default=0), sum(own) / cores), sum(own)) for own in tiles]
    return [(max(sum(own[core::cores]) for core in range(cores)), sum(own)) for own in tiles]


@pytest.mark.parametrize("cores", [2, 3])
@pytest.mark.parametrize("name", SIZES)
def test_the_share_of_the_busiest_core(name: str, cores: int) -> None:
    scalars, layouts = SIZES[name]
    columns = {one.object.name: own for one, own in zip(planned(name).sizes, np.array(layouts).T, strict=True)}
    work = plan_work(planned(name), scalars, columns, Target.THREADS)
    (launch,) = work
    for case, layout in enumerate(layouts):
        part = slowest_part(launch, cores)
        assert part is not None
        every = points_of_cores(name, scalars, layout, cores)
        expected = sum(most for most, _ in every) / sum(whole for _, whole in every)
        assert part[case] == pytest.approx(expected, rel=0.08), layout
