"""Nests that only hyperplanes make parallel, on every target against the original, to the last bit, at any tile size."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.programs import Workshop
from tests.support.targets import TargetEnvironment
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.plan.kernel_plan import KernelPlan

SOURCE = Path(__file__).parent / "hyperplanes.c"
SIZES = (("37", "5"), ("70", "9"), ("3", "2"), ("1", "0"))
TILES = (1, 7, 1000)


@dataclass(frozen=True)
class Programs:
    """The original and the translated program, the regions' plans, and the names of all tile sizes."""

    original: Path
    translated: Path
    plans: dict[str, KernelPlan]

    def tiles(self, extent: int) -> str:
        """TILEK_SIZES for tiles of this extent, each a little different."""
        names = dict.fromkeys(size.object.name for plan in self.plans.values() for size in plan.sizes)
        return ",".join(f"{name}={extent + place % 3}" for place, name in enumerate(names))


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> Programs:
    folder = workshop.folder / "hyperplanes"
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(shutil.copy(SOURCE, folder))
    plans = {plan.kernel.name: plan for plan in translate(TranslateRequest(str(source))).plans}
    return Programs(workshop.build_original(source), workshop.build_translated(source), plans)


def original(workshop: Workshop, programs: Programs, size: tuple[str, ...]) -> str:
    return workshop.run(programs.original, TargetEnvironment("original", ()), *size)


def test_each_kernel_has_launches(programs: Programs) -> None:
    assert [name for name, plan in programs.plans.items() if plan.untransformed is not None] == []


@pytest.mark.parametrize("size", SIZES, ids="x".join)
def test_matches_the_original(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, size: tuple[str, ...]
) -> None:
    expected = original(workshop, programs, size)
    assert workshop.run(programs.translated, target, *size) == expected


@pytest.mark.parametrize("extent", TILES)
def test_any_tile_size(workshop: Workshop, programs: Programs, host_target: TargetEnvironment, extent: int) -> None:
    expected = original(workshop, programs, SIZES[0])
    tiles = programs.tiles(extent)
    assert workshop.run(programs.translated, host_target, *SIZES[0], TILEK_SIZES=tiles) == expected


def test_a_program_for_other_tiles(workshop: Workshop, programs: Programs, device_target: TargetEnvironment) -> None:
    expected = original(workshop, programs, SIZES[0])
    tiles = programs.tiles(TILES[1])
    assert workshop.run(programs.translated, device_target, *SIZES[0], TILEK_SIZES=tiles) == expected


def test_one_program_for_all_tiles(workshop: Workshop, programs: Programs, device_target: TargetEnvironment) -> None:
    expected = original(workshop, programs, SIZES[0])
    for extent in TILES:
        more = {"TILEK_SIZES": programs.tiles(extent), "TILEK_SPECIALIZE": "0"}
        assert workshop.run(programs.translated, device_target, *SIZES[0], **more) == expected
