"""Overlapped tiles of time steps, boxes and those that gangs walk through, on devices against the
original, to the last bit, at awkward sizes, degrees and scratchpads.

All kernels run on the stand-in for CUDA, which compiles quickly; one of them on OpenCL's program
for GPUs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.planning import PlanningWorkshop
from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.ir.loop_tree import Barrier
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.planner import candidate_search

SOURCE = Path(__file__).parent / "overlapped.c"
SIZES = (("33", "7"), ("9", "1"), ("2", "3"), ("1", "0"), ("70", "9"), ("5", "40"))
SMALL = ("10", "7")
WINDOWS = ((1, 1), (1, 1000), (3, 9), (4, 17), (1000, 1), (1000, 1000))
"""Time steps of a launch, and the extent of scratchpads or chunks: both more than there are, and than what fits."""
BOXES, STREAMED = "boxes", "streamed"


@dataclass(frozen=True)
class Programs:
    """The original and the program with overlapped tiles, and the regions' plans."""

    original: Path
    translated: Path
    plans: tuple[KernelPlan, ...]

    def sizes(self, degree: int, extent: int) -> str:
        """TILEK_SIZES for tiles of so many steps, and scratchpads of this extent, each a little different."""
        names = dict.fromkeys(size.object.name for plan in self.plans for size in plan.sizes)
        # A gang's walk takes longer than it keeps planes: fewer than these take long here.
        result = {"_degree": degree, "_scratchpad": extent, "_chunk": extent + 2}
        mine = [(name, more) for name in names for end, more in result.items() if name.endswith(end)]
        return ",".join(
            f"{name}={more if name.endswith('_degree') else more + place % 3}"
            for place, (name, more) in enumerate(mine)
        )


def built(planning: PlanningWorkshop, form: str, flags: Iterable[str] = ()) -> Programs:
    folder = planning.folder / "-".join(("overlapped", form, *flags))
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(shutil.copy(SOURCE, folder))
    here = PlanningWorkshop(folder, planning.cache, planning.runtime)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TILEK_TILES", form)
        # What cores run is others' to test, and takes long to plan.
        environment.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
        translated = here.build_translated(source, (*FLAGS, *flags))
    return Programs(here.build_original(source, (*FLAGS, *flags)), translated, tuple(here.plans.values()))


@pytest.fixture(scope="module")
def build(planning: PlanningWorkshop) -> Callable[..., Programs]:
    """Builds a form with flags once, in whatever order tests ask."""
    return cache(lambda form, *flags: built(planning, form, flags))


@pytest.fixture(params=[BOXES, STREAMED])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def programs(build: Callable[..., Programs], form: str) -> Programs:
    return build(form)


@pytest.fixture
def one_kernel(build: Callable[..., Programs], form: str) -> Programs:
    return build(form, "-DONLY_ONE")


@pytest.fixture(scope="module")
def standin(shared_scratch: Path) -> TargetEnvironment:
    return target_environment("cuda", shared_scratch)


@pytest.fixture(scope="module")
def opencl(shared_scratch: Path) -> TargetEnvironment:
    result = target_environment("opencl-gpu", shared_scratch)
    if result.absent is not None:
        pytest.skip(result.absent)
    return result


def expected(workshop: Workshop, programs: Programs, size: tuple[str, ...]) -> str:
    return workshop.run(programs.original, TargetEnvironment("original", ()), *size)


def test_all_have_scratchpads_on_devices_alone(programs: Programs, form: str) -> None:
    assert len(programs.plans) == 10
    for plan in programs.plans:
        assert all(launch.scratchpads for launch in plan.device), plan.kernel.name
        assert not any(launch.scratchpads for launch in plan.host), plan.kernel.name
        rings = [each.origin[0] is None for launch in plan.device for each in launch.scratchpads]
        # There is nothing to walk along in one dimension.
        assert set(rings) == {form == STREAMED and not plan.kernel.name.startswith("line")}, plan.kernel.name


def test_both_ways_to_wait_are_there(build: Callable[..., Programs]) -> None:
    # Once for a position; where that takes more planes than there is room for, between statements.
    waits = {
        plan.kernel.name: {sum(isinstance(node, Barrier) for node in walk(launch.body)) > 2 for launch in plan.device}
        for plan in build(STREAMED).plans
        if not plan.kernel.name.startswith("line")
    }
    assert [name for name, often in waits.items() if often == {True}] == ["cube_box"]
    assert [name for name, often in waits.items() if often != {False}] == ["cube_box"]


@pytest.mark.parametrize("size", SIZES, ids="x".join)
def test_matches_the_original(
    workshop: Workshop, programs: Programs, standin: TargetEnvironment, size: tuple[str, ...]
) -> None:
    assert workshop.run(programs.translated, standin, *size) == expected(workshop, programs, size)


def test_cores_match_without_second_arrays(
    workshop: Workshop, programs: Programs, host_target: TargetEnvironment
) -> None:
    assert workshop.run(programs.translated, host_target, *SIZES[0]) == expected(workshop, programs, SIZES[0])


@pytest.mark.parametrize(("degree", "extent"), WINDOWS)
def test_any_degree_and_scratchpad(
    workshop: Workshop, programs: Programs, standin: TargetEnvironment, degree: int, extent: int
) -> None:
    more = {"TILEK_SIZES": programs.sizes(degree, extent), "TILEK_SPECIALIZE": "0"}
    assert workshop.run(programs.translated, standin, *SMALL, **more) == expected(workshop, programs, SMALL)


@pytest.mark.parametrize(("degree", "extent"), [(2, 9), (3, 1000)])
def test_any_degree_in_registers(
    workshop: Workshop, build: Callable[..., Programs], standin: TargetEnvironment, degree: int, extent: int
) -> None:
    programs = build(STREAMED)
    more = {"TILEK_SIZES": programs.sizes(degree, extent)}
    assert workshop.run(programs.translated, standin, *SIZES[0], **more) == expected(workshop, programs, SIZES[0])


def test_on_opencl(workshop: Workshop, one_kernel: Programs, opencl: TargetEnvironment) -> None:
    # One program, compiled once, for all of them.
    for size in SIZES:
        more = {"TILEK_SIZES": one_kernel.sizes(2, 15), "TILEK_SPECIALIZE": "0"}
        assert workshop.run(one_kernel.translated, opencl, *size, **more) == expected(workshop, one_kernel, size)


def test_chunks_of_more_than_there_may_be(workshop: Workshop, one_kernel: Programs, standin: TargetEnvironment) -> None:
    # A program of 32 bits, in which the sum of two such numbers is none.
    more = {"TILEK_SIZES": one_kernel.sizes(3, (1 << 31) - 9)}
    assert workshop.run(one_kernel.translated, standin, *SMALL, **more) == expected(workshop, one_kernel, SMALL)


def test_of_its_own_size_on_opencl(workshop: Workshop, one_kernel: Programs, opencl: TargetEnvironment) -> None:
    assert workshop.run(one_kernel.translated, opencl, *SIZES[0]) == expected(workshop, one_kernel, SIZES[0])
