"""Regions without a word on tiles: what plan each gets, and that no order among the instances of a launch is relied on."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.cases import CaseFile, read_cases
from tests.support.planning import PlanningWorkshop, settings
from tests.support.programs import FLAGS, Suite, first_difference
from tilepragma.driver import TranslateRequest, translate
from tilepragma.plan.summary import PlanKind, plan_kind

FILES = tuple(
    read_cases(Path(__file__).parent / "cases" / f"{name}.c") for name in ("automatic", "stencils", "algebra", "traps")
)

WAVEFRONTS, HOST_LOOPS, DOALL = {PlanKind.WAVEFRONTS}, {PlanKind.HOST_LOOPS}, {PlanKind.DOALL}
#: Parallel in more ways than one.
PARALLEL = WAVEFRONTS | HOST_LOOPS
#: What each kernel is found to be, by the beginning of its name; the first that fits counts.
KINDS = {
    "stencils": (("seidel", WAVEFRONTS), ("", HOST_LOOPS)),
    "algebra": (
        ("lu_left", WAVEFRONTS),
        ("cholesky_rows", WAVEFRONTS),
        ("pascal_square", WAVEFRONTS),
        ("shortest", WAVEFRONTS),
        ("reaches", WAVEFRONTS),
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
        # Their locals tie the iterations together.
        ("local_", {PlanKind.AS_WRITTEN}),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_parallelism_is_found(name: str) -> None:
    source = Path(__file__).parent / "cases" / f"{name}.c"
    include = f"-I{Path(__file__).resolve().parents[1] / 'support'}"
    plans = translate(TranslateRequest(str(source), options=(*FLAGS, include), last="plan")).plans
    found = {plan.kernel.name: plan_kind(plan) for plan in plans}
    wrong = {
        kernel: kind.value
        for kernel, kind in found.items()
        if kind not in next(kinds for start, kinds in KINDS[name] if kernel.startswith(start))
    }
    assert found
    assert not wrong


@functools.cache
def suite(planning: PlanningWorkshop, file: CaseFile) -> Suite:
    folder = planning.folder / "cases"
    return Suite(PlanningWorkshop(folder, planning.cache, planning.runtime, planning.plans), file, flags=FLAGS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: Path(file.path).stem)
def test_instances_run_in_any_order(planning: PlanningWorkshop, shared_scratch: Path, file: CaseFile) -> None:
    built = suite(planning, file)
    wrong = []
    built.translated(file.cases[0], settings(shared_scratch, (), ())[0].target)  # now the plans are known
    for setting in settings(shared_scratch, ("cuda",), planning.plans.values()):
        for case in file.cases:
            said = first_difference(built.original(case), built.translated(case, setting.target))
            if said is not None:
                wrong.append(f"{case.name} on {setting.label}: {said}")
    assert not wrong, "\n".join(wrong)
