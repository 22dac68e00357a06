"""`sor(redblack)` on every target, against sequential relaxations point by point in the order of the colours, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment

SOURCE = Path(__file__).parent / "red_black.c"
NAMES = [
    "five",
    "nine",
    "flat",
    "flat iterators",
    "symmetric",
    "converge",
    "converge most",
    "reduced",
    "reduced most",
    "obstacles",
    "obstacles most",
    "mirrored",
    "line",
    "wide",
    "cube",
]
MESHES = (("0", "2"), ("1", "3"), ("9", "0"), ("14", "5"))
"""inner points along each dimension, sweeps"""


pytestmark = pytest.mark.xdist_group("red_black")


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Path:
    folder = workshop.folder / "red_black"
    folder.mkdir(parents=True, exist_ok=True)
    built = folder / "red_black.c"
    built.write_text(SOURCE.read_text().replace("../references", str(SOURCE.parents[1] / "references")))
    return workshop.build_translated(built, FLAGS)


@pytest.mark.parametrize("mesh", MESHES, ids="-".join)
def test_all_targets_compute_the_same(
    workshop: Workshop, target: TargetEnvironment, program: Path, mesh: tuple[str, str]
) -> None:
    assert workshop.run(program, target, *mesh).splitlines() == NAMES


def test_without_a_launch_the_order_is_the_same(workshop: Workshop, program: Path) -> None:
    """`if(0)` leaves all to the loops that stand instead of the user's."""
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_STRICT", "1")))
    assert workshop.run(program, threads, "9", "4", "0").splitlines() == NAMES


def test_verifying_compares_with_that_order(workshop: Workshop, program: Path) -> None:
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_VERIFY", "1")))
    said = workshop.run(program, threads, "9", "4").splitlines()
    assert [each for each in said if each in NAMES] == NAMES
    assert not any("differs" in each for each in said)
