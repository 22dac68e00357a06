"""`sor(multilayer)` on every target, against the sequential reference of tests/references/sor.h, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import FLAGS, Workshop
from tests.support.targets import TargetEnvironment

SOURCE = Path(__file__).parent / "multilayer.c"
NAMES = ["five", "backward", "iterators", "nine", "three", "seven"]
MESHES = (("0", "2"), ("1", "7"), ("4", "3"), ("16", "0"), ("24", "12"), ("21", "8"), ("35", "11"))
"""inner points along each dimension (12 at most in space), sweeps: subdomains are of 4 to 8, groups of 3 and 2 sweeps"""

pytestmark = pytest.mark.xdist_group("multilayer")


@pytest.fixture(scope="module")
def program(workshop: Workshop) -> Path:
    folder = workshop.folder / "multilayer"
    folder.mkdir(parents=True, exist_ok=True)
    built = folder / "multilayer.c"
    built.write_text(SOURCE.read_text().replace("../references", str(SOURCE.parents[1] / "references")))
    return workshop.build_translated(built, FLAGS)


def names(mesh: tuple[str, str]) -> list[str]:
    """Of the relaxations that a mesh has."""
    return NAMES if int(mesh[0]) % 2 else NAMES[:3]


def test_all_targets_compute_the_same(workshop: Workshop, target: TargetEnvironment, program: Path) -> None:
    for mesh in MESHES:
        assert workshop.run(program, target, *mesh).splitlines() == names(mesh), mesh


def test_without_a_launch_the_order_is_the_same(workshop: Workshop, program: Path) -> None:
    """`if(0)` leaves all to the loops that stand instead of the user's."""
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_STRICT", "1")))
    for mesh in MESHES:
        assert workshop.run(program, threads, *mesh, "0").splitlines() == names(mesh), mesh


def test_verifying_compares_with_that_order(workshop: Workshop, program: Path) -> None:
    threads = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_VERIFY", "1")))
    said = workshop.run(program, threads, "21", "8").splitlines()
    assert [each for each in said if each in NAMES] == NAMES
    assert not any("differs" in each for each in said)
