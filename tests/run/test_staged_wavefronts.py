"""Tiles of wavefronts in memory of gangs: to the last bit what the original computes, at sizes that divide nothing, and clean under Oclgrind."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.oclgrind import oclgrind
from tests.support.planning import PlanningWorkshop
from tests.support.programs import FLAGS
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.plan.kernel_plan import KernelPlan

SOURCE = Path(__file__).parent / "staged_wavefronts.c"
#: Extents of tiles, in the order of the rows: no divisors of each other, nor of the arrays.
ODD = (3, 5, 7, 4)
CASES = (
    ("nine", "23", "5"),
    ("five", "37", "7"),
    ("once", "41", "1"),
    ("back", "30", "1"),
    ("line", "11", "9"),
    ("cube", "13", "4"),
)
FORMS = ("opencl-gpu", "cuda")


@dataclass(frozen=True)
class Programs:
    """The original and the translated program, with the plans of its regions."""

    workshop: PlanningWorkshop
    original: Path
    translated: Path
    plans: dict[str, KernelPlan]

    def tiles(self, kernel: str) -> str:
        """TILEK_SIZES for odd tiles of the kernel."""
        return ",".join(f"{one.object.name}={size}" for one, size in zip(self.plans[kernel].sizes, ODD, strict=False))

    def agree(self, form: str, case: tuple[str, ...], **more: str) -> None:
        target = target_environment(form, self.workshop.cache)
        if target.absent is not None:
            pytest.skip(target.absent)
        expected = self.workshop.run(self.original, TargetEnvironment("original", ()), *case)
        assert self.workshop.run(self.translated, target, *case, **more) == expected


@pytest.fixture(scope="module")
def programs(planning: PlanningWorkshop) -> Programs:
    folder = planning.folder / "staged_wavefronts"
    folder.mkdir(parents=True, exist_ok=True)
    here = PlanningWorkshop(folder, planning.cache, planning.runtime)
    source = Path(shutil.copy(SOURCE, folder))
    translated = here.build_translated(source, FLAGS)
    return Programs(
        here, here.build_original(source), translated, {value.kernel.name: value for value in here.plans.values()}
    )


def test_all_keep_their_tiles_in_memory_of_gangs(programs: Programs) -> None:
    staged = {
        name: [each.array.name for each in plan.device[0].staged_scratchpads] for name, plan in programs.plans.items()
    }
    assert staged == {"nine": ["u"], "five": ["u", "f"], "once": ["v"], "back": ["u"], "line": ["v"], "cube": ["v"]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_results_are_those_of_the_original(programs: Programs, case: tuple[str, ...], form: str) -> None:
    programs.agree(form, case, TILEK_SIZES=programs.tiles(case[0]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_sizes_at_which_boxes_have_gaps(programs: Programs, case: tuple[str, ...]) -> None:
    """Tiles of one point along some rows, numbers as arguments."""
    sizes = ",".join(f"{one.object.name}={1 + place}" for place, one in enumerate(programs.plans[case[0]].sizes))
    programs.agree("cuda", case, TILEK_SIZES=sizes, TILEK_SPECIALIZE="0")


@pytest.mark.skipif(shutil.which("oclgrind") is None, reason="oclgrind is not installed")
@pytest.mark.parametrize(
    ("case", "specialize"), [(("nine", "13", "4"), "1"), (("once", "13", "1"), "0"), (("cube", "7", "2"), "1")]
)
def test_no_race_and_no_stray_access(programs: Programs, case: tuple[str, ...], specialize: str) -> None:
    variables = {"TILEK_SIZES": programs.tiles(case[0]), "TILEK_SPECIALIZE": specialize}
    assert oclgrind(programs.workshop, "gpu", programs.translated, *case, **variables) == ""
