"""Tiles of time steps that begin together, on every target against the original, to the last bit, at awkward sizes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.planning import PlanningWorkshop
from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan
from tilepragma.plan.summary import are_wavefronts

SOURCE = Path(__file__).parent / "stencils.c"
SIZES = (("33", "7"), ("9", "1"), ("1", "0"))
MORE_SIZES = (("70", "20"), ("5", "40"), ("3", "2"))
TILES = (1, 5, 1000)


@dataclass(frozen=True)
class Programs:
    """The original and the program with diamonds on devices too, the regions' plans, and the names of all tile sizes."""

    original: Path
    translated: Path
    plans: tuple[KernelPlan, ...]

    def tiles(self, extent: int) -> str:
        """TILEK_SIZES for tiles of this extent, each a little different."""
        names = dict.fromkeys(size.object.name for plan in self.plans for size in plan.sizes)
        return ",".join(f"{name}={extent + place % 3}" for place, name in enumerate(names))


@pytest.fixture(scope="module")
def programs(planning: PlanningWorkshop) -> Programs:
    folder = planning.folder / "stencils"
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(shutil.copy(SOURCE, folder))
    here = PlanningWorkshop(folder, planning.cache, planning.runtime)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TILEK_TILES", "diamond")
        translated = here.build_translated(source, FLAGS)
    return Programs(here.build_original(source), translated, tuple(here.plans.values()))


def expected(workshop: Workshop, programs: Programs, size: tuple[str, ...]) -> str:
    return workshop.run(programs.original, TargetEnvironment("original", ()), *size)


def test_all_are_wavefronts_of_one_pair(programs: Programs) -> None:
    assert len(programs.plans) == 8
    for plan in programs.plans:
        for steps in (plan.host_steps, plan.device_steps):
            assert are_wavefronts(steps, plan.sizes), plan.kernel.name
            (loop,) = steps
            assert isinstance(loop, HostLoop)
            assert len(loop.steps) == 1


@pytest.mark.parametrize("size", SIZES, ids="x".join)
def test_matches_the_original(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, size: tuple[str, ...]
) -> None:
    assert workshop.run(programs.translated, target, *size) == expected(workshop, programs, size)


@pytest.mark.parametrize("size", MORE_SIZES, ids="x".join)
def test_matches_the_original_on_cores(
    workshop: Workshop, programs: Programs, host_target: TargetEnvironment, size: tuple[str, ...]
) -> None:
    assert workshop.run(programs.translated, host_target, *size) == expected(workshop, programs, size)


@pytest.mark.parametrize("extent", TILES)
def test_any_tile_size(workshop: Workshop, programs: Programs, host_target: TargetEnvironment, extent: int) -> None:
    tiles = programs.tiles(extent)
    result = workshop.run(programs.translated, host_target, *SIZES[0], TILEK_SIZES=tiles)
    assert result == expected(workshop, programs, SIZES[0])


def test_one_program_for_all_tiles(workshop: Workshop, programs: Programs, device_target: TargetEnvironment) -> None:
    for extent in (3, 40):
        more = {"TILEK_SIZES": programs.tiles(extent), "TILEK_SPECIALIZE": "0"}
        assert workshop.run(programs.translated, device_target, *SIZES[0], **more) == expected(
            workshop, programs, SIZES[0]
        )
