"""Regions without a word on tiles: what plan each gets, and that no order among the instances of a launch is relied on."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.case_suites import file_named
from tests.support.cases import CaseFile
from tests.support.plan_kinds import PlanKind, plan_kind
from tests.support.planning import PlanningWorkshop, settings
from tests.support.programs import FLAGS, Suite, first_difference
from tilepragma.plan.kernel_plan import KernelPlan

WAVEFRONTS, HOST_LOOPS, DOALL = {PlanKind.WAVEFRONTS}, {PlanKind.HOST_LOOPS}, {PlanKind.DOALL}
#: Parallel in more ways than one.
PARALLEL = WAVEFRONTS | HOST_LOOPS
#: What each kernel is found to be, by the beginning of its name; the first that fits counts.
KINDS = {
    "stencils": (("seidel", WAVEFRONTS), ("tables", DOALL), ("", HOST_LOOPS)),
    "algebra": (
        ("lu_left", WAVEFRONTS),
        ("cholesky_rows", WAVEFRONTS),
        ("pascal_square", WAVEFRONTS),
        ("local_alignment", WAVEFRONTS),
        ("global_alignment", WAVEFRONTS),
        ("solve", WAVEFRONTS),
        ("polynomial_guarded", DOALL),
        ("polynomial_bounds", DOALL),
        ("reverse", DOALL),
        ("products", DOALL),
        ("attract", DOALL),
        ("median", DOALL),
        ("transpose", DOALL),
        ("tridiagonal", DOALL),
        ("", HOST_LOOPS),
    ),
    "traps": (
        ("sweeps", HOST_LOOPS),
        ("not_permutable", PARALLEL),
        ("iterators_after", PARALLEL),
        ("data_conditions", PARALLEL),
        ("decreasing", DOALL),
        ("shifted", DOALL),
        ("last_values", PARALLEL | DOALL),
        # Each instance has arrays of its own.
        ("local_arrays", DOALL),
        # Their locals tie the iterations together.
        ("local_", {PlanKind.AS_WRITTEN}),
        ("divided_wavefronts", WAVEFRONTS),
        ("divided_by_nothing", PARALLEL),
        ("divided_least", PARALLEL),
    ),
}


@functools.cache
def suite(planning: PlanningWorkshop, file: CaseFile) -> Suite:
    """The file's programs, planned here: `planned` has the plans."""
    return Suite(PlanningWorkshop(planning.folder / "cases", planning.cache, planning.runtime), file, flags=FLAGS)


def planned(suite: Suite) -> dict[str, KernelPlan]:
    suite.build()
    assert isinstance(suite.workshop, PlanningWorkshop)
    return suite.workshop.plans


def on(names: Iterable[str]) -> list[object]:
    """Parameters of these files, each of which one worker plans."""
    return [
        pytest.param(file_named(name), id=name, marks=pytest.mark.xdist_group(f"automatic {name}")) for name in names
    ]


@pytest.mark.parametrize("file", on(KINDS))
def test_parallelism_is_found(planning: PlanningWorkshop, file: CaseFile) -> None:
    name = Path(file.path).stem
    result = {kernel: plan_kind(plan) for kernel, plan in planned(suite(planning, file)).items()}
    wrong = {
        kernel: kind.value
        for kernel, kind in result.items()
        if kind not in next(kinds for start, kinds in KINDS[name] if kernel.startswith(start))
    }
    assert result
    assert not wrong


@pytest.mark.parametrize("file", on(("automatic", "stencils", "algebra", "traps")))
def test_instances_run_in_any_order(planning: PlanningWorkshop, shared_scratch: Path, file: CaseFile) -> None:
    built = suite(planning, file)
    wrong = []
    for setting in settings(shared_scratch, ("cuda",), planned(built).values()):
        for case in file.cases:
            said = first_difference(built.original(case), built.translated(case, setting.target))
            if said is not None:
                wrong.append(f"{case.name} on {setting.label}: {said}")
    assert not wrong, "\n".join(wrong)
